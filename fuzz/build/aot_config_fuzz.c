/* SPDX-License-Identifier: Apache-2.0 */
/* aot.toml: what is accepted keeps its promises. */
#include <stdlib.h>

#include "build/aot_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_function(const kernels_aot_function *function) {
    if (function->name == NULL || function->source.file == NULL || function->specialisation_count == 0 ||
        function->generations.count == 0 || !(function->for_tpu || function->for_cpu) || !(function->rtol >= 0)) {
        abort();
    }
    for (size_t i = 0; i < function->generations.count; i++) {
        if (kernels_tpu_topology(function->generations.items[i]) == NULL) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_aot_config config;
    if (kernels_aot_config_parse((kernels_view){(const char *)data, size}, "aot.toml", &config, &error) == KERNELS_OK) {
        for (size_t i = 0; i < config.count; i++) {
            check_function(&config.functions[i]);
        }
        kernels_aot_config_dispose(&config);
    }
    kernels_error_dispose(&error);
    return 0;
}
