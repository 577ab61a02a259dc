/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/repo_url.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/printable.h"
#include "hub/url.h"

#define REVISION_LIMIT 255
#define PATH_COMPONENT_LIMIT 64

const char *kernels_repository_type_name(kernels_repository_type type) {
    return type == KERNELS_REPOSITORY_MODEL ? "model" : "kernel";
}

const char *kernels_repository_type_plural(kernels_repository_type type) {
    return type == KERNELS_REPOSITORY_MODEL ? "models" : "kernels";
}

const char *kernels_repository_type_prefix(kernels_repository_type type) {
    return type == KERNELS_REPOSITORY_MODEL ? "" : "kernels/";
}

char *kernels_repo_api_url(const char *endpoint, kernels_repository_type type, const char *repo_id, const char *action,
                           const char *revision) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    kernels_buffer_printf(&out, "%s/api/%s/%s", endpoint, kernels_repository_type_plural(type), repo_id);
    if (action) {
        kernels_buffer_printf(&out, "/%s", action);
    }
    if (revision) {
        kernels_buffer_add_char(&out, '/');
        kernels_encode_percent(&out, kernels_view_of(revision), false);
    }
    return kernels_buffer_take(&out);
}

char *kernels_repo_file_url(const char *endpoint, kernels_repository_type type, const char *repo_id,
                            const char *revision, const char *path) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    kernels_buffer_printf(&out, "%s/%s%s/resolve/", endpoint, kernels_repository_type_prefix(type), repo_id);
    kernels_encode_percent(&out, kernels_view_of(revision), false);
    kernels_buffer_add_char(&out, '/');
    kernels_encode_percent(&out, kernels_view_of(path), true);
    return kernels_buffer_take(&out);
}

char *kernels_repo_lfs_url(const char *endpoint, kernels_repository_type type, const char *repo_id) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    kernels_buffer_printf(&out, "%s/%s%s.git/info/lfs/objects/batch", endpoint, kernels_repository_type_prefix(type),
                          repo_id);
    return kernels_buffer_take(&out);
}

static bool same_origin_text(const char *a, const char *b) {
    kernels_url first, second;
    return kernels_url_parse(kernels_view_of(a), &first, NULL) == KERNELS_OK &&
           kernels_url_parse(kernels_view_of(b), &second, NULL) == KERNELS_OK &&
           kernels_url_same_origin(&first, &second);
}

bool kernels_repo_url_may_have_token(const char *endpoint, const char *url) {
    return same_origin_text(endpoint, url) || same_origin_text(KERNELS_HUB_PUBLIC_ENDPOINT, url) ||
           same_origin_text("https://hf.co", url) || same_origin_text(KERNELS_HUB_STAGING_ENDPOINT, url);
}

bool kernels_repo_url_same_or_hub(const char *endpoint, const char *from, const char *to) {
    return same_origin_text(from, to) || kernels_repo_url_may_have_token(endpoint, to);
}

const char *kernels_repo_path_unsafe_reason(kernels_view path) {
    const char *reason = kernels_path_unsafe_reason(path);
    if (reason) {
        return reason;
    }
    size_t components = 0;
    kernels_view rest = path;
    kernels_view piece;
    while (kernels_view_split(&rest, '/', &piece)) {
        components++;
        if (piece.size >= 2 && kernels_is_alpha(piece.data[0]) && piece.data[1] == ':') {
            return "a component looks like a drive letter";
        }
    }
    return components > PATH_COMPONENT_LIMIT ? "it has more than 64 components" : NULL;
}

kernels_status kernels_revision_check(const char *revision, kernels_error *error) {
    kernels_view text = kernels_view_of(revision);
    const char *reason = kernels_repo_path_unsafe_reason(text);
    if (!reason && text.size > REVISION_LIMIT) {
        reason = "it is longer than 255 bytes";
    }
    if (!reason && kernels_view_contains(text, KERNELS_VIEW(".."))) {
        reason = "it holds '..'";
    }
    if (!reason) {
        return KERNELS_OK;
    }
    char shown[KERNELS_PRINTABLE_SIZE];
    kernels_printable(shown, text);
    return kernels_fail(error, KERNELS_UNSAFE_NAME, "'%s' is not a branch, tag, commit or ref: %s", shown, reason);
}

bool kernels_object_name_is_valid(kernels_view text) {
    if (text.size != 40 && text.size != 64) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!kernels_is_digit(c) && !(c >= 'a' && c <= 'f')) {
            return false;
        }
    }
    return true;
}
