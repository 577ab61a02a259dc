/* SPDX-License-Identifier: Apache-2.0 */
/* Target: everything that reads header fields and bodies of a failed answer. */
#include <string.h>

#include "base/view.h"
#include "hub/answer.h"
#include "hub/headers.h"
#include "hub/printable.h"
#include "hub/retry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_view all = {(const char *)data, size};
    size_t cut = kernels_view_find(all, '\0');
    kernels_view headers = kernels_view_slice(all, 0, cut);
    kernels_view body = cut == SIZE_MAX ? (kernels_view){0} : kernels_view_slice(all, cut + 1, size);
    uint64_t value = 0;
    kernels_retry retry = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    (void)kernels_headers_link(headers, "next");
    (void)kernels_etag_normalise(kernels_headers_find(headers, "ETag"));
    (void)kernels_status_line_code(headers);
    (void)kernels_content_range_start(kernels_headers_find(headers, "Content-Range"), &value);
    (void)kernels_retry_next(&retry, 429, headers, &value);
    kernels_answer_fail(&error, "GET", "https://h/api/models/a/b", 401, headers, body);
    kernels_error_dispose(&error);
    char printed[KERNELS_PRINTABLE_SIZE];
    kernels_printable(printed, all);
    return 0;
}
