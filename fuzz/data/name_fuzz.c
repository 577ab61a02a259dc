/* SPDX-License-Identifier: Apache-2.0 */
/* The small texts: kernel names, repository ids, object ids, backends, git URLs. */
#include <stdlib.h>
#include <string.h>

#include "kernels/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The normal form of a URL is its own normal form. */
static void check_git_url(kernels_view text) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *normal = NULL, *again = NULL;
    if (kernels_git_url_normalize(text, &normal, &error) == KERNELS_OK &&
        kernels_git_url_normalize((kernels_view){normal, strlen(normal)}, &again, NULL) != KERNELS_OK) {
        abort();
    }
    if (again && strcmp(normal, again) != 0) {
        abort();
    }
    kernels_string_free(normal);
    kernels_string_free(again);
    kernels_error_dispose(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const kernels_view text = {(const char *)data, size};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_backend backend;
    char *id = NULL;
    (void)kernels_name_is_valid(text);
    (void)kernels_repository_id_check(text, &error);
    (void)kernels_backend_parse_any_case(text, &backend, &error);
    (void)kernels_object_id_parse(text, &id, &error);
    kernels_string_free(id);
    kernels_error_dispose(&error);
    check_git_url(text);
    return 0;
}
