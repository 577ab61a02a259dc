/* SPDX-License-Identifier: Apache-2.0 */
/* Target: kernels_manifest_parse (aot/manifest.json). What it accepts must be safe to use. */
#include <stdlib.h>
#include <string.h>

#include "runtime/manifest.h"
#include "runtime/pjrt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) {
        abort();
    }
}

static void check_signature(const kernels_signature *signature) {
    require(strlen(signature->name) > 0 && signature->argument_count <= KERNELS_OPERANDS_MAX);
    require(signature->rtol >= 0 && signature->atol >= 0);
    for (size_t i = 0; i < signature->specialisation_count; i++) {
        const kernels_specialisation *item = &signature->specialisations[i];
        require(item->input_count == signature->argument_count);
        require(item->output_count <= KERNELS_OPERANDS_MAX);
        require(!strchr(item->file, '/') && strcmp(item->file, "..") != 0 && strlen(item->sha256) == 64);
        for (size_t j = 0; j < item->output_count; j++) {
            require(kernels_shape_bytes(&item->outputs[j]) <= (uint64_t)1 << 46);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_signatures functions;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_view text = {(const char *)data, size};
    if (kernels_manifest_parse(text, "manifest.json", &functions, &error) == KERNELS_OK) {
        for (size_t i = 0; i < functions.count; i++) {
            check_signature(&functions.items[i]);
        }
        kernels_signatures_dispose(&functions);
    }
    kernels_error_dispose(&error);
    return 0;
}
