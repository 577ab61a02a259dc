/* SPDX-License-Identifier: Apache-2.0 */
/* May others write into the cache? Then they choose what code runs. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"
#include "hub/cache.h"
#include "hub/hub_private.h"

/* Folders above the cache that are looked at. */
#define PARENT_LIMIT 64

/* Why a folder is not safe, or NULL. In a folder with the sticky bit nobody can replace what belongs to another. */
static const char *weakness(const struct stat *facts, bool is_cache) {
    if (facts->st_uid != 0 && facts->st_uid != geteuid()) {
        return "it belongs to another user";
    }
    bool open = (facts->st_mode & S_IWOTH) != 0;
    return open && (is_cache || (facts->st_mode & S_ISVTX) == 0) ? "everybody may write into it" : NULL;
}

/* The weak folder (heap text) among the cache and those above it, with its reason; NULL = none. */
static char *find_weak(const char *cache, const char **reason) {
    char *path = kernels_path_resolve(cache);
    path = path ? path : kernels_path_absolute(cache); /* not there yet: those above it count */
    for (unsigned depth = 0; path && depth < PARENT_LIMIT; depth++) {
        struct stat facts;
        *reason = stat(path, &facts) == 0 ? weakness(&facts, depth == 0) : NULL;
        if (*reason || strcmp(path, "/") == 0) {
            break;
        }
        char *parent = kernels_path_parent(path);
        kernels_free(path);
        path = parent;
    }
    if (!*reason) {
        kernels_free(path);
        return NULL;
    }
    return path;
}

kernels_status kernels_cache_guard(kernels_hub *hub, kernels_error *error) {
    if (hub->cache_is_guarded) {
        return KERNELS_OK;
    }
    const char *reason = NULL;
    KERNELS_CLEANUP_FREE char *path = find_weak(hub->config.cache, &reason);
    if (path && hub->config.strict_cache) {
        kernels_fail(error, KERNELS_UNTRUSTED,
                     "the cache %s is refused (KERNELS_VERIFY=1): others can replace what it holds, since %s: %s",
                     hub->config.cache, path, reason);
        kernels_error_set_subject(error, path);
        return KERNELS_UNTRUSTED;
    }
    if (path) {
        kernels_hub_log(hub, KERNELS_LOG_WARNING,
                        "others can replace the code in the cache %s, since %s: %s; keep it in a folder of your own",
                        hub->config.cache, path, reason);
    }
    hub->cache_is_guarded = true;
    return KERNELS_OK;
}
