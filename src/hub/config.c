/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/config.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/repo_url.h"
#include "hub/url.h"

#define DEFAULT_TIMEOUT_SECONDS 10
#define TIMEOUT_LIMIT_SECONDS 86400
#define PASSWORD_ENTRY_SIZE 4096

typedef struct variables {
    kernels_environment_function *get;
    void *payload;
} variables;

const char *kernels_environment_of_process(void *payload, const char *name) {
    (void)payload;
    return getenv(name);
}

/* NULL for an unset variable and for an empty one: an empty path or URL would only break later. */
static const char *value_of(variables env, const char *name) {
    const char *value = env.get(env.payload, name);
    return value && value[0] ? value : NULL;
}

static bool is_true(variables env, const char *name) {
    static const char *const words[] = {"1", "ON", "YES", "TRUE"};
    kernels_view value = kernels_view_of(value_of(env, name));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (kernels_view_equal_ascii_case(value, kernels_view_of(words[i]))) {
            return true;
        }
    }
    return false;
}

static unsigned seconds_of(variables env, const char *name) {
    uint64_t seconds = 0;
    if (!kernels_view_to_u64(kernels_view_of(value_of(env, name)), &seconds) || seconds == 0) {
        return DEFAULT_TIMEOUT_SECONDS;
    }
    return seconds > TIMEOUT_LIMIT_SECONDS ? TIMEOUT_LIMIT_SECONDS : (unsigned)seconds;
}

/* ---- "~" and "$NAME" in paths ---- */

static void add_home(variables env, kernels_buffer *out) {
    const char *home = value_of(env, "HOME");
    if (home) {
        kernels_buffer_add_text(out, home);
        return;
    }
    /* Without HOME (services, cron): what the user database says, as the Python client does. */
    struct passwd entry;
    struct passwd *found = NULL;
    char text[PASSWORD_ENTRY_SIZE];
    if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) == 0 && found && found->pw_dir) {
        kernels_buffer_add_text(out, found->pw_dir);
    } else {
        kernels_buffer_add_char(out, '~');
    }
}

/* Length of the variable reference at text ("$A", "${A}"), 0 when there is none; name is set. */
static size_t reference_at(kernels_view text, kernels_view *name) {
    if (text.size < 2 || text.data[0] != '$') {
        return 0;
    }
    if (text.data[1] == '{') {
        size_t close = kernels_view_find(text, '}');
        if (close == SIZE_MAX) {
            return 0;
        }
        *name = kernels_view_slice(text, 2, close);
        return close + 1;
    }
    size_t end = 1;
    while (end < text.size && (kernels_is_alnum(text.data[end]) || text.data[end] == '_')) {
        end++;
    }
    *name = kernels_view_slice(text, 1, end);
    return end > 1 ? end : 0;
}

static void add_expanded(variables env, kernels_buffer *out, kernels_view text) {
    size_t at = 0;
    while (at < text.size) {
        kernels_view name = {0};
        size_t size = reference_at(kernels_view_slice(text, at, text.size), &name);
        KERNELS_CLEANUP_FREE char *name_text = size ? kernels_strndup(name.data, name.size) : NULL;
        const char *value = name_text ? env.get(env.payload, name_text) : NULL;
        if (value) {
            kernels_buffer_add_text(out, value);
            at += size;
        } else {
            kernels_buffer_add_char(out, text.data[at]);
            at++;
        }
    }
}

/* Heap text, NULL = no memory. */
static char *expand(variables env, const char *path) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_view text = kernels_view_of(path);
    if (text.size > 0 && text.data[0] == '~' && (text.size == 1 || text.data[1] == '/')) {
        add_home(env, &out);
        text = kernels_view_slice(text, 1, text.size);
    }
    add_expanded(env, &out, text);
    return kernels_buffer_take(&out);
}

/* ---- the values ---- */

/* Expanded value of a variable, else `fallback` (which it then owns); NULL = no memory. */
static char *path_or(variables env, const char *name, char *fallback) {
    const char *value = value_of(env, name);
    if (!value) {
        return fallback;
    }
    kernels_free(fallback);
    return expand(env, value);
}

/* A folder among those that a user may delete at any time. */
static char *below_user_cache(variables env, const char *name) {
    const char *base = value_of(env, "XDG_CACHE_HOME");
    KERNELS_CLEANUP_FREE char *folder = expand(env, base ? base : "~/.cache");
    return folder ? kernels_path_join(folder, name) : NULL;
}

static bool read_paths(variables env, kernels_hub_config *config) {
    config->home = path_or(env, "HF_HOME", below_user_cache(env, "huggingface"));
    config->state = below_user_cache(env, "kernels");
    if (!config->home || !config->state) {
        return false;
    }
    config->hub_cache = path_or(env, "HUGGINGFACE_HUB_CACHE", kernels_path_join(config->home, "hub"));
    config->hub_cache = path_or(env, "HF_HUB_CACHE", config->hub_cache);
    config->token_path = path_or(env, "HF_TOKEN_PATH", kernels_path_join(config->home, "token"));
    if (!config->hub_cache || !config->token_path) {
        return false;
    }
    config->cache = path_or(env, "KERNELS_CACHE", kernels_strdup(config->hub_cache));
    return config->cache != NULL;
}

static bool copy_value(variables env, const char *name, char **copy) {
    const char *value = value_of(env, name);
    *copy = kernels_strdup(value);
    return !value || *copy;
}

static bool read_texts(variables env, kernels_hub_config *config) {
    const char *proxy = value_of(env, "http_proxy") ? NULL : value_of(env, "HTTP_PROXY");
    /* In a CGI program HTTP_PROXY is a header sent by the client. */
    if (value_of(env, "REQUEST_METHOD")) {
        proxy = NULL;
    }
    config->http_proxy = kernels_strdup(proxy);
    return copy_value(env, "HF_HUB_USER_AGENT_ORIGIN", &config->origin) &&
           copy_value(env, "SSL_CERT_FILE", &config->ca_file) &&
           copy_value(env, "SSL_CERT_DIR", &config->ca_directory) && (!proxy || config->http_proxy);
}

static void read_switches(variables env, kernels_hub_config *config) {
    config->offline = is_true(env, value_of(env, "HF_HUB_OFFLINE") ? "HF_HUB_OFFLINE" : "TRANSFORMERS_OFFLINE");
    config->no_telemetry =
        is_true(env, "HF_HUB_DISABLE_TELEMETRY") || is_true(env, "DISABLE_TELEMETRY") || is_true(env, "DO_NOT_TRACK");
    config->no_symlinks = is_true(env, "HF_HUB_DISABLE_SYMLINKS");
    config->no_progress = is_true(env, "HF_HUB_DISABLE_PROGRESS_BARS");
    config->no_implicit_token = is_true(env, "HF_HUB_DISABLE_IMPLICIT_TOKEN");
    const char *verify = value_of(env, "KERNELS_VERIFY");
    config->strict_cache = verify && strcmp(verify, "1") == 0;
    config->metadata_timeout = seconds_of(env, "HF_HUB_ETAG_TIMEOUT");
    config->download_timeout = seconds_of(env, "HF_HUB_DOWNLOAD_TIMEOUT");
}

kernels_status kernels_hub_endpoint_check(const char *text, const char *source, char **endpoint, kernels_error *error) {
    kernels_view trimmed = kernels_view_of(text);
    while (kernels_view_ends_with(trimmed, KERNELS_VIEW("/"))) {
        trimmed = kernels_view_slice(trimmed, 0, trimmed.size - 1);
    }
    kernels_url url;
    kernels_status status = kernels_url_parse(trimmed, &url, error);
    if (status != KERNELS_OK) {
        return kernels_wrap(error, status, "%s is not the address of a Hub", source);
    }
    if (url.query.data) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "%s is not the address of a Hub: it has a query", source);
    }
    *endpoint = kernels_strndup(trimmed.data, trimmed.size);
    return *endpoint ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status read_endpoint(variables env, kernels_hub_config *config, kernels_error *error) {
    if (is_true(env, "HUGGINGFACE_CO_STAGING")) {
        return kernels_hub_endpoint_check(KERNELS_HUB_STAGING_ENDPOINT, "HUGGINGFACE_CO_STAGING", &config->endpoint,
                                          error);
    }
    const char *value = value_of(env, "HF_ENDPOINT");
    return kernels_hub_endpoint_check(value ? value : KERNELS_HUB_PUBLIC_ENDPOINT, "HF_ENDPOINT", &config->endpoint,
                                      error);
}

kernels_status kernels_hub_config_read(kernels_environment_function *environment, void *payload,
                                       kernels_hub_config *config, kernels_error *error) {
    variables env = {environment, payload};
    kernels_hub_config read = {0};
    read_switches(env, &read);
    kernels_status status = read_endpoint(env, &read, error);
    if (status == KERNELS_OK && (!read_paths(env, &read) || !read_texts(env, &read))) {
        status = kernels_fail_no_memory(error);
    }
    if (status != KERNELS_OK) {
        kernels_hub_config_dispose(&read);
        return status;
    }
    *config = read;
    return KERNELS_OK;
}

void kernels_hub_config_dispose(kernels_hub_config *config) {
    kernels_free(config->endpoint);
    kernels_free(config->home);
    kernels_free(config->hub_cache);
    kernels_free(config->cache);
    kernels_free(config->token_path);
    kernels_free(config->state);
    kernels_free(config->origin);
    kernels_free(config->ca_file);
    kernels_free(config->ca_directory);
    kernels_free(config->http_proxy);
    *config = (kernels_hub_config){0};
}
