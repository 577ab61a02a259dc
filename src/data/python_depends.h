/* SPDX-License-Identifier: Apache-2.0 */
/* The names of one scope of data/python_depends.json. */
#ifndef KERNELS_SRC_DATA_PYTHON_DEPENDS_H
#define KERNELS_SRC_DATA_PYTHON_DEPENDS_H

#include "kernels/data.h"

typedef struct kernels_python_scope {
    const kernels_python_dependency *items;
    size_t count;
} kernels_python_scope;

kernels_python_scope kernels_python_scope_general(void);
kernels_python_scope kernels_python_scope_of(kernels_backend backend);
const kernels_python_dependency *kernels_python_scope_find(kernels_python_scope scope, kernels_view name);

#endif
