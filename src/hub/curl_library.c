/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* One instance for the process: curl_global_init must run once and, before libcurl 7.84, by one thread only.
 * Written inside pthread_once, constant afterwards. */
static struct {
    pthread_once_t once;
    kernels_curl functions;
    bool ready;
    char reason[256];
} library = {.once = PTHREAD_ONCE_INIT};

static void *open_any(void) {
#if defined(__APPLE__)
    static const char *const names[] = {"libcurl.4.dylib", "/usr/lib/libcurl.4.dylib"};
#else
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
#endif
    void *handle = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !handle; i++) {
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        const char *reason = handle || i > 0 ? NULL : dlerror();
        if (reason) {
            snprintf(library.reason, sizeof(library.reason), "%s", reason);
        }
    }
    return handle;
}

static void open_once(void) {
    void *handle = open_any();
    if (!handle) {
        return;
    }
/* memcpy: ISO C has no conversion from an object pointer to a function pointer. */
#define KERNELS_CURL_FIND(name)                                                                       \
    {                                                                                                 \
        void *found = dlsym(handle, "curl_" #name);                                                   \
        if (!found) {                                                                                 \
            snprintf(library.reason, sizeof(library.reason), "it lacks the function curl_%s", #name); \
            return;                                                                                   \
        }                                                                                             \
        memcpy(&library.functions.name, &found, sizeof(found));                                       \
    }
    KERNELS_CURL_FUNCTIONS(KERNELS_CURL_FIND)
#undef KERNELS_CURL_FIND
    CURLcode code = library.functions.global_init(CURL_GLOBAL_DEFAULT);
    library.ready = code == CURLE_OK;
    if (!library.ready) {
        snprintf(library.reason, sizeof(library.reason), "it cannot start: %s", library.functions.easy_strerror(code));
    }
}

kernels_status kernels_curl_open(const kernels_curl **curl, kernels_error *error) {
    if (pthread_once(&library.once, open_once) != 0 || !library.ready) {
        return kernels_fail(error, KERNELS_MISSING_DEPENDENCY,
                            "downloading needs the library libcurl 7.66 or later (Debian package libcurl4), which "
                            "cannot be used: %s; install it with `apt install libcurl4`",
                            library.reason);
    }
    *curl = &library.functions;
    return KERNELS_OK;
}
