/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of machines; what is accepted must print, parse again and print the same. */
#include <stdlib.h>
#include <string.h>

#include "resolve/system_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print(const kernels_system *system) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &out, 2, true);
    kernels_system_write(&writer, system);
    return kernels_buffer_take(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_system system, again;
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_system_parse((kernels_view){(const char *)data, size}, "system", &system, &error) == KERNELS_OK) {
        char *first = print(&system);
        if (!first || kernels_system_parse((kernels_view){first, strlen(first)}, "again", &again, NULL) != KERNELS_OK) {
            abort();
        }
        char *second = print(&again);
        if (!second || strcmp(first, second) != 0) {
            abort();
        }
        kernels_free(first);
        kernels_free(second);
    }
    kernels_error_dispose(&error);
    return 0;
}
