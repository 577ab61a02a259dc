/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl, opened when the first request is made: a program that never talks to a Hub starts without
 * loading it and its thirty dependencies. Only the headers are needed to build.
 */
#ifndef KERNELS_SRC_HUB_CURL_LIBRARY_H
#define KERNELS_SRC_HUB_CURL_LIBRARY_H

#include <curl/curl.h>

#include "kernels/base.h"

/* X(name): every function used, without its "curl_". */
#define KERNELS_CURL_FUNCTIONS(X) \
    X(global_init)                \
    X(easy_init)                  \
    X(easy_cleanup)               \
    X(easy_setopt)                \
    X(easy_strerror)              \
    X(slist_append)               \
    X(slist_free_all)             \
    X(multi_init)                 \
    X(multi_cleanup)              \
    X(multi_setopt)               \
    X(multi_add_handle)           \
    X(multi_remove_handle)        \
    X(multi_perform)              \
    X(multi_poll)                 \
    X(multi_info_read)            \
    X(multi_strerror)

typedef struct kernels_curl {
#define KERNELS_CURL_MEMBER(name) __typeof__(curl_##name) *name;
    KERNELS_CURL_FUNCTIONS(KERNELS_CURL_MEMBER)
#undef KERNELS_CURL_MEMBER
} kernels_curl;

/* The table, valid until the process ends. KERNELS_MISSING_DEPENDENCY names the package to install. Thread-safe. */
kernels_status kernels_curl_open(const kernels_curl **curl, kernels_error *error);

#endif
