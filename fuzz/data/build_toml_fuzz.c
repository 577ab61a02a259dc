/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_build_parse, and kernels_build_metadata of whatever it accepts. */
#include <stdlib.h>

#include "kernels/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const kernels_view text = {(const char *)data, size};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_build build = {0};
    char *warning = NULL;
    if (kernels_build_parse(text, "build.toml", &build, &warning, &error) == KERNELS_OK) {
        for (unsigned i = 0; i < KERNELS_BACKEND_COUNT; i++) {
            kernels_metadata metadata = {0};
            (void)kernels_build_metadata(&build, (kernels_backend)i, "abc", NULL, &metadata, NULL);
            kernels_metadata_dispose(&metadata);
        }
    }
    kernels_build_dispose(&build);
    kernels_string_free(warning);
    kernels_error_dispose(&error);
    return 0;
}
