/* SPDX-License-Identifier: Apache-2.0 */
/* aot.toml: what the author of a TPU kernel wants to have compiled ahead of time. */
#ifndef KERNELS_SRC_BUILD_AOT_CONFIG_H
#define KERNELS_SRC_BUILD_AOT_CONFIG_H

#include "base/document.h"
#include "kernels/data.h"
#include "kernels/runtime.h"

#define KERNELS_AOT_FORMAT 1u
#define KERNELS_AOT_CONFIG_NAME "aot.toml"
#define KERNELS_AOT_CONFIG_SIZE_LIMIT ((size_t)1024 * 1024)
#define KERNELS_AOT_FUNCTIONS_MAX 256u
#define KERNELS_AOT_ARGUMENTS_MAX 64u
#define KERNELS_AOT_SPECIALISATIONS_MAX 1024u

/* "torch-ext/relu_tpu/pallas_kernels.py:relu" */
typedef struct kernels_aot_source {
    const char *file; /* relative to the project, safe; NULL = not given */
    const char *attribute;
} kernels_aot_source;

typedef struct kernels_aot_function {
    const char *name;
    kernels_aot_source source, reference;
    kernels_strings arguments;
    const kernels_shape *inputs; /* specialisation_count rows of arguments.count shapes */
    size_t specialisation_count;
    kernels_strings generations;
    double rtol, atol;
    bool for_tpu, for_cpu;
} kernels_aot_function;

typedef struct kernels_aot_config {
    const kernels_aot_function *functions;
    size_t count;
    kernels_document document; /* owns everything */
} kernels_aot_config;

/* Unknown keys, wrong types, repeats and values out of bounds are errors "<name>:<line>:<column>: <key>: ...". */
kernels_status kernels_aot_config_parse(kernels_view text, const char *name, kernels_aot_config *config,
                                        kernels_error *error);
/* Reads <directory>/aot.toml. */
kernels_status kernels_aot_config_read(const char *directory, kernels_aot_config *config, kernels_error *error);
void kernels_aot_config_dispose(kernels_aot_config *config);
/* NULL when there is none of that name. */
const kernels_aot_function *kernels_aot_config_find(const kernels_aot_config *config, const char *name);

/* Topology that stands for a generation: "v5e" -> "v5e:1x1"; NULL = unknown generation. */
const char *kernels_tpu_topology(const char *generation);
/* All generations there are, oldest first, for messages: "v2, v3, v4, ...". */
const char *kernels_tpu_generation_list(void);

#endif
