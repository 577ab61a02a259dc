/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_build_parse, kernels_build_metadata of whatever it accepts, and kernels_build_migrate, whose result
 * must be of edition 5. */
#include <stdlib.h>
#include <string.h>

#include "kernels/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_migration(kernels_view text) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_build build = {0};
    unsigned edition = 0;
    char *migrated = NULL;
    if (kernels_build_migrate(text, "build.toml", "MIT", &edition, &migrated, &error) == KERNELS_OK && migrated &&
        (kernels_build_parse((kernels_view){migrated, strlen(migrated)}, "migrated", &build, NULL, NULL) !=
             KERNELS_OK ||
         build.edition != 5)) {
        abort();
    }
    kernels_build_dispose(&build);
    kernels_string_free(migrated);
    kernels_error_dispose(&error);
}

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
    check_migration(text);
    return 0;
}
