/* SPDX-License-Identifier: Apache-2.0 */
#include "data/python_depends.h"

#include "base/view.h"

/* The tables general_scope and backend_scopes, made from the JSON file when the build is configured. */
#include "python_depends_table.h"

kernels_python_scope kernels_python_scope_general(void) { return general_scope; }

kernels_python_scope kernels_python_scope_of(kernels_backend backend) { return backend_scopes[backend]; }

const kernels_python_dependency *kernels_python_scope_find(kernels_python_scope scope, kernels_view name) {
    for (size_t i = 0; i < scope.count; i++) {
        if (kernels_view_equal_text(name, scope.items[i].name)) {
            return &scope.items[i];
        }
    }
    return NULL;
}

const kernels_python_dependency *kernels_python_dependency_general(kernels_view name) {
    return kernels_python_scope_find(general_scope, name);
}

const kernels_python_dependency *kernels_python_dependency_backend(kernels_view name, kernels_backend backend) {
    return kernels_python_scope_find(backend_scopes[backend], name);
}
