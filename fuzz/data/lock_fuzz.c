/* SPDX-License-Identifier: Apache-2.0 */
/* Lock files of every kind and both forms; what is accepted must print, parse again and print the same. */
#include <stdlib.h>
#include <string.h>

#include "kernels/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const kernels_locks *locks) {
    kernels_locks again = {0};
    char *first = NULL, *second = NULL;
    if (kernels_locks_print(locks, &first, NULL) != KERNELS_OK ||
        kernels_locks_parse((kernels_view){first, strlen(first)}, locks->kind, "again", &again, NULL) != KERNELS_OK ||
        kernels_locks_print(&again, &second, NULL) != KERNELS_OK || strcmp(first, second) != 0) {
        abort();
    }
    kernels_locks_dispose(&again);
    kernels_string_free(first);
    kernels_string_free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const kernels_lock_kind kinds[] = {KERNELS_LOCK_KERNELS, KERNELS_LOCK_NIX, KERNELS_LOCK_PATHS};
    const kernels_view text = {(const char *)data, size};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_locks locks = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kernels_locks_parse(text, kinds[i], "locks", &locks, &error) == KERNELS_OK) {
            check_round_trip(&locks);
            kernels_locks_dispose(&locks);
        }
    }
    if (kernels_locks_parse_any(text, "locks", &locks, &error) == KERNELS_OK) {
        (void)kernels_locks_find_repository(&locks, KERNELS_VIEW("a/b"), NULL);
        kernels_locks_dispose(&locks);
    }
    kernels_error_dispose(&error);
    return 0;
}
