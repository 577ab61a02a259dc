/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_metadata_parse; what it accepts must print, parse again and print the same. */
#include <stdlib.h>
#include <string.h>

#include "kernels/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const kernels_metadata *metadata) {
    kernels_metadata again = {0};
    char *first = NULL, *second = NULL;
    if (kernels_metadata_print(metadata, &first, NULL) != KERNELS_OK ||
        kernels_metadata_parse((kernels_view){first, strlen(first)}, "again", &again, NULL) != KERNELS_OK ||
        kernels_metadata_print(&again, &second, NULL) != KERNELS_OK || strcmp(first, second) != 0) {
        abort();
    }
    kernels_metadata_dispose(&again);
    kernels_string_free(first);
    kernels_string_free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    if (kernels_metadata_parse((kernels_view){(const char *)data, size}, "metadata", &metadata, &error) == KERNELS_OK) {
        check_round_trip(&metadata);
    }
    kernels_metadata_dispose(&metadata);
    kernels_error_dispose(&error);
    return 0;
}
