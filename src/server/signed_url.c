/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <time.h>

#include "base/error.h"
#include "base/view.h"
#include "server/api.h"

/* Long enough for a large upload over a slow line that waits for its turn. */
#define VALID_SECONDS 21600

/* What is signed. The path holds repository and hash. */
static kernels_view signed_text(kernels_arena *arena, const char *verb, kernels_view path, uint64_t size,
                                uint64_t expires) {
    return kernels_view_of(
        kernels_arena_printf(arena, "%s\n%.*s\n%" PRIu64 "\n%" PRIu64, verb, KERNELS_VIEW_ARGS(path), size, expires));
}

const char *kernels_signed_url(const kernels_request *request, const char *base, const char *verb, const char *path,
                               uint64_t size) {
    char signature[65];
    uint64_t expires = (uint64_t)time(NULL) + VALID_SECONDS;
    kernels_view text = signed_text(request->arena, verb, kernels_view_of(path), size, expires);
    if (text.data == NULL || kernels_auth_sign(request->service->auth, text, signature, NULL) != KERNELS_OK) {
        return NULL;
    }
    return kernels_arena_printf(request->arena, "%s%s?size=%" PRIu64 "&expires=%" PRIu64 "&signature=%s", base, path,
                                size, expires, signature);
}

kernels_status kernels_signed_url_check(const kernels_request *request, const char *verb, uint64_t *size,
                                        kernels_error *error) {
    const kernels_target *target = &request->target;
    uint64_t expires;
    if (!kernels_view_to_u64(kernels_target_query(target, "size"), size) ||
        !kernels_view_to_u64(kernels_target_query(target, "expires"), &expires)) {
        return kernels_fail(error, KERNELS_FORBIDDEN, "The address carries no valid signature");
    }
    kernels_view text = signed_text(request->arena, verb, target->raw_path, *size, expires);
    if (text.data == NULL ||
        !kernels_auth_signature_is_valid(request->service->auth, text, kernels_target_query(target, "signature"))) {
        return kernels_fail(error, KERNELS_FORBIDDEN, "The address carries no valid signature");
    }
    return expires >= (uint64_t)time(NULL)
               ? KERNELS_OK
               : kernels_fail(error, KERNELS_FORBIDDEN, "The address has expired; ask for a new one");
}
