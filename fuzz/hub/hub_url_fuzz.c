/* SPDX-License-Identifier: Apache-2.0 */
/* Target: kernels_url_parse, kernels_url_resolve. Invariant: what is accepted parses again to the same parts, and
 * holds nothing that could end or split a request line. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/view.h"
#include "hub/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_view text = {(const char *)data, size};
    kernels_url url;
    if (kernels_url_parse(text, &url, NULL) == KERNELS_OK) {
        if (url.host.size == 0 || url.port == 0 || kernels_view_find(text, '\n') != SIZE_MAX ||
            kernels_view_find(url.host, '@') != SIZE_MAX) {
            abort();
        }
    }
    char *resolved = NULL;
    if (kernels_url_resolve("https://h.example:8/a/b?c", text, &resolved, NULL) == KERNELS_OK) {
        if (kernels_url_parse(kernels_view_of(resolved), &url, NULL) != KERNELS_OK ||
            strlen(resolved) > KERNELS_URL_LIMIT) {
            abort();
        }
        kernels_free(resolved);
    }
    return 0;
}
