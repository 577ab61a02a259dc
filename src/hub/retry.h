/* SPDX-License-Identifier: Apache-2.0 */
/* When and how long to wait before a request is sent again. Pure. */
#ifndef KERNELS_SRC_HUB_RETRY_H
#define KERNELS_SRC_HUB_RETRY_H

#include "kernels/base.h"

#define KERNELS_RETRY_ATTEMPTS 5         /* further attempts after the first */
#define KERNELS_RETRY_CONNECT_ATTEMPTS 2 /* when nobody answers at all */
#define KERNELS_RETRY_BUDGET_MS 60000    /* most time one request may wait in all */

typedef struct kernels_retry {
    unsigned attempts;  /* further ones made so far */
    uint64_t waited_ms; /* between them */
} kernels_retry;

/* 408, 429, 500, 502, 503, 504: worth another attempt. */
bool kernels_retry_status(unsigned http_status);
/* Counts a further attempt and says how long to wait before it: 1, 2, 4, 8, 8 s, or on 429 and 503 what the
 * server asks for (RateLimit, Retry-After) and a second. false: give up. http_status 0: the connection failed. */
bool kernels_retry_next(kernels_retry *retry, unsigned http_status, kernels_view headers, uint64_t *wait_ms);

#endif
