/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/retry.h"

#include "base/view.h"
#include "hub/headers.h"

#define SECOND_MS 1000u

bool kernels_retry_status(unsigned http_status) {
    switch (http_status) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
        return true;
    default:
        return false;
    }
}

/* Seconds of `"api";r=0;t=55`; false when there are none. */
static bool rate_limit_seconds(kernels_view value, uint64_t *seconds) {
    kernels_view rest = value;
    kernels_view piece;
    while (rest.size > 0 && kernels_view_split(&rest, ';', &piece)) {
        kernels_view item = kernels_view_trim_ascii(piece);
        if (kernels_view_starts_with(item, KERNELS_VIEW("t="))) {
            return kernels_view_to_u64(kernels_view_slice(item, 2, item.size), seconds);
        }
    }
    return false;
}

static bool asked_seconds(unsigned http_status, kernels_view headers, uint64_t *seconds) {
    if (http_status == 429 && rate_limit_seconds(kernels_headers_find(headers, "RateLimit"), seconds)) {
        return true;
    }
    /* The form with a date is rare and needs a right clock: it counts as absent. */
    return (http_status == 429 || http_status == 503) &&
           kernels_view_to_u64(kernels_headers_find(headers, "Retry-After"), seconds);
}

bool kernels_retry_next(kernels_retry *retry, unsigned http_status, kernels_view headers, uint64_t *wait_ms) {
    static const unsigned waits[KERNELS_RETRY_ATTEMPTS] = {1, 2, 4, 8, 8};
    if (retry->attempts >= KERNELS_RETRY_ATTEMPTS) {
        return false;
    }
    uint64_t seconds = waits[retry->attempts];
    uint64_t asked;
    if (asked_seconds(http_status, headers, &asked)) {
        if (asked >= KERNELS_RETRY_BUDGET_MS / SECOND_MS) {
            return false;
        }
        seconds = asked + 1;
    }
    if (retry->waited_ms + seconds * SECOND_MS > KERNELS_RETRY_BUDGET_MS) {
        return false;
    }
    retry->attempts++;
    retry->waited_ms += seconds * SECOND_MS;
    *wait_ms = seconds * SECOND_MS;
    return true;
}
