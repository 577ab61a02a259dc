/* SPDX-License-Identifier: Apache-2.0 */
/* The hub object, and the small questions one can ask a Hub. */
#include <stdarg.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/headers.h"
#include "hub/hub_private.h"
#include "hub/printable.h"
#include "hub/repo_url.h"
#include "hub/token.h"
#include "hub/url.h"
#include "hub/user_agent.h"

#define USER_AGENT_LIMIT ((size_t)4096)
#define LOG_LIMIT ((size_t)8192)

/* ---- life ---- */

static kernels_status replace(char **field, const char *value, kernels_error *error) {
    if (!value) {
        return KERNELS_OK;
    }
    kernels_free(*field);
    *field = kernels_strdup(value);
    return *field ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status apply_options(kernels_hub *hub, const kernels_hub_options *options, kernels_error *error) {
    if (options->endpoint && options->endpoint[0]) {
        char *endpoint = NULL;
        KERNELS_TRY(kernels_hub_endpoint_check(options->endpoint, "the endpoint", &endpoint, error));
        kernels_free(hub->config.endpoint);
        hub->config.endpoint = endpoint;
    }
    KERNELS_TRY(replace(&hub->config.cache, options->cache_directory, error));
    hub->config.offline = options->offline || (hub->config.offline && !options->online);
    hub->config.no_telemetry = options->no_telemetry || (hub->config.no_telemetry && !options->telemetry);
    hub->log = options->log;
    hub->payload = options->payload;
    hub->progress = hub->config.no_progress ? NULL : options->progress;
    return KERNELS_OK;
}

static kernels_status find_token(kernels_hub *hub, const kernels_hub_options *options, kernels_error *error) {
    if (options->token && !options->no_token) {
        KERNELS_TRY(kernels_token_check(options->token, error));
        return replace(&hub->token, options->token, error);
    }
    kernels_token_rule rule = options->no_token        ? KERNELS_TOKEN_NONE
                              : options->require_token ? KERNELS_TOKEN_REQUIRED
                                                       : KERNELS_TOKEN_IF_FOUND;
    return kernels_token_find(&hub->config, kernels_environment_of_process, NULL, rule, &hub->token, error);
}

static kernels_status make_http(kernels_hub *hub, const kernels_hub_options *options, kernels_error *error) {
    kernels_buffer agent = KERNELS_BUFFER_INIT(USER_AGENT_LIMIT);
    kernels_user_agent_build(&agent, kernels_compatible_version(), options->client, options->user_agent,
                             !hub->config.no_telemetry, hub->config.origin);
    hub->user_agent = kernels_buffer_take(&agent);
    if (!hub->user_agent) {
        return kernels_fail_no_memory(error);
    }
    kernels_http_options http = {
        .endpoint = hub->config.endpoint,
        .token = hub->token,
        .user_agent = hub->user_agent,
        .ca_file = hub->config.ca_file,
        .ca_directory = hub->config.ca_directory,
        .http_proxy = hub->config.http_proxy,
        .offline = hub->config.offline,
        .log = hub->log,
        .cancelled = options->cancelled,
        .payload = hub->payload,
    };
    return kernels_http_new(&http, &hub->http, error);
}

kernels_status kernels_hub_new(const kernels_hub_options *options, kernels_hub **hub, kernels_error *error) {
    static const kernels_hub_options defaults = {0};
    options = options ? options : &defaults;
    kernels_hub *made = kernels_calloc(1, sizeof(*made));
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_hub_config_read(kernels_environment_of_process, NULL, &made->config, error);
    if (status == KERNELS_OK) {
        status = apply_options(made, options, error);
    }
    if (status == KERNELS_OK) {
        status = find_token(made, options, error);
    }
    if (status == KERNELS_OK) {
        status = make_http(made, options, error);
    }
    if (status != KERNELS_OK) {
        kernels_hub_free(made);
        return status;
    }
    *hub = made;
    return KERNELS_OK;
}

void kernels_hub_free(kernels_hub *hub) {
    if (!hub) {
        return;
    }
    kernels_http_free(hub->http);
    kernels_token_free(hub->token);
    kernels_free(hub->user_agent);
    for (size_t i = 0; i < hub->trusted_publisher_count; i++) {
        kernels_free(hub->trusted_publishers[i]);
    }
    kernels_hub_config_dispose(&hub->config);
    kernels_free(hub);
}

bool kernels_hub_is_offline(const kernels_hub *hub) { return hub->config.offline; }

const char *kernels_hub_endpoint(const kernels_hub *hub) { return hub->config.endpoint; }

const char *kernels_hub_web_address(const kernels_hub *hub) {
    return strcmp(hub->config.endpoint, KERNELS_HUB_PUBLIC_ENDPOINT) == 0 ? "https://hf.co" : hub->config.endpoint;
}

const char *kernels_hub_cache_directory(const kernels_hub *hub) { return hub->config.cache; }

bool kernels_hub_has_token(const kernels_hub *hub) { return hub->token != NULL; }

uint64_t kernels_hub_request_count(const kernels_hub *hub) { return kernels_http_request_count(hub->http); }

void kernels_hub_fetched(const kernels_hub *hub, uint64_t *files, uint64_t *bytes) {
    *files = hub->fetched_files;
    *bytes = hub->fetched_bytes;
}

void kernels_hub_log(const kernels_hub *hub, kernels_log_level level, const char *format, ...) {
    if (!hub->log) {
        return;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(LOG_LIMIT);
    va_list arguments;
    va_start(arguments, format);
    kernels_buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    hub->log(hub->payload, level, kernels_buffer_text(&text));
}

/* ---- helpers shared with the other files ---- */

kernels_status kernels_hub_check_names(const char *repo_id, const char *revision, kernels_error *error) {
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(repo_id), error));
    return revision ? kernels_revision_check(revision, error) : KERNELS_OK;
}

static kernels_status parse_answer(const kernels_http_response *response, kernels_document *document,
                                   kernels_error *error) {
    kernels_view url = kernels_url_without_query(response->url);
    KERNELS_CLEANUP_FREE char *name = kernels_strndup(url.data, url.size);
    kernels_status status =
        kernels_json_parse(kernels_buffer_view(&response->body), name ? name : "answer", document, error);
    return status == KERNELS_OK
               ? status
               : kernels_wrap(error, status, "the answer of %.*s is not JSON; is HF_ENDPOINT the address of a Hub?",
                              KERNELS_VIEW_ARGS(url));
}

/* Only a next page at the same origin is followed. */
static kernels_status next_page(const kernels_http_response *response, char **next, kernels_error *error) {
    kernels_view link = kernels_headers_link(kernels_buffer_view(&response->headers), "next");
    *next = NULL;
    if (link.size == 0) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_url_resolve(response->url, link, next, error));
    kernels_url from, to;
    if (kernels_url_parse(kernels_view_of(response->url), &from, NULL) == KERNELS_OK &&
        kernels_url_parse(kernels_view_of(*next), &to, NULL) == KERNELS_OK && kernels_url_same_origin(&from, &to)) {
        return KERNELS_OK;
    }
    kernels_free(*next);
    *next = NULL;
    return kernels_fail(error, KERNELS_HTTP, "%s names a next page on another host, which is not followed",
                        response->url);
}

kernels_status kernels_hub_get_json(kernels_hub *hub, const char *url, size_t limit, kernels_document *document,
                                    char **next, kernels_error *error) {
    kernels_http_request request = {.method = KERNELS_HTTP_GET, .url = url, .repeatable = true, .body_limit = limit};
    kernels_http_response response;
    char *link = NULL;
    kernels_status status = kernels_http_send(hub->http, &request, &response, error);
    if (status == KERNELS_OK && next) {
        status = next_page(&response, &link, error);
    }
    if (status == KERNELS_OK) {
        status = parse_answer(&response, document, error);
    }
    kernels_http_response_dispose(&response);
    if (status != KERNELS_OK) {
        kernels_free(link);
    } else if (next) {
        *next = link;
    }
    return status;
}

kernels_status kernels_hub_post_json(kernels_hub *hub, const char *url, kernels_view text, bool repeatable,
                                     kernels_document *document, kernels_error *error) {
    kernels_body *body = kernels_body_new();
    if (!body) {
        return kernels_fail_no_memory(error);
    }
    kernels_body_add_text(body, text);
    kernels_http_request request = {.method = KERNELS_HTTP_POST,
                                    .url = url,
                                    .content_type = "application/json",
                                    .body = body,
                                    .repeatable = repeatable,
                                    .body_limit = KERNELS_HUB_PAGE_LIMIT};
    kernels_http_response response = {0};
    kernels_status status = kernels_body_status(body, error);
    if (status == KERNELS_OK) {
        status = kernels_http_send(hub->http, &request, &response, error);
    }
    if (status == KERNELS_OK) {
        status = parse_answer(&response, document, error);
    }
    kernels_http_response_dispose(&response);
    kernels_body_free(body);
    return status;
}

kernels_status kernels_hub_text_member(const kernels_node *node, const char *key, const char *what, kernels_view *text,
                                       kernels_error *error) {
    kernels_view found = kernels_node_text(kernels_node_find(node, key));
    if (!found.data || memchr(found.data, '\0', found.size)) {
        return kernels_fail(error, KERNELS_SCHEMA, "%s: expected a text member '%s', found none", what, key);
    }
    *text = found;
    return KERNELS_OK;
}

kernels_status kernels_hub_commit_member(const kernels_node *node, const char *key, const char *what, char commit[65],
                                         kernels_error *error) {
    kernels_view text;
    KERNELS_TRY(kernels_hub_text_member(node, key, what, &text, error));
    if (!kernels_object_name_is_valid(text)) {
        char shown[KERNELS_PRINTABLE_SIZE];
        kernels_printable(shown, text);
        return kernels_fail(error, KERNELS_UNSAFE_NAME,
                            "%s: expected a commit of 40 or 64 lower-case hex digits as '%s', found '%s'", what, key,
                            shown);
    }
    memcpy(commit, text.data, text.size);
    commit[text.size] = '\0';
    return KERNELS_OK;
}

/* ---- questions ---- */

kernels_status kernels_hub_resolve_revision(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                            const char *revision, char commit[65], kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, revision, error));
    kernels_view text = kernels_view_of(revision);
    if (kernels_object_name_is_valid(text)) {
        memcpy(commit, text.data, text.size + 1);
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *url = kernels_repo_api_url(hub->config.endpoint, type, repo_id, "revision", revision);
    if (!url) {
        return kernels_fail_no_memory(error);
    }
    kernels_document document;
    /* The answer lists every file of the repository. */
    KERNELS_TRY(kernels_hub_get_json(hub, url, KERNELS_HUB_PAGE_LIMIT, &document, NULL, error));
    kernels_status status = kernels_hub_commit_member(document.root, "sha", url, commit, error);
    kernels_document_dispose(&document);
    return status;
}

kernels_status kernels_hub_whoami(kernels_hub *hub, char **name, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer url = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    kernels_buffer_printf(&url, "%s/api/whoami-v2", hub->config.endpoint);
    KERNELS_TRY(kernels_buffer_status(&url, error));
    kernels_document document;
    KERNELS_TRY(kernels_hub_get_json(hub, kernels_buffer_text(&url), KERNELS_HUB_ANSWER_LIMIT, &document, NULL, error));
    kernels_view text;
    kernels_status status = kernels_hub_text_member(document.root, "name", kernels_buffer_text(&url), &text, error);
    char *copy = status == KERNELS_OK ? kernels_strndup(text.data, text.size) : NULL;
    kernels_document_dispose(&document);
    if (status == KERNELS_OK && !copy) {
        return kernels_fail_no_memory(error);
    }
    if (status == KERNELS_OK) {
        *name = copy;
    }
    return status;
}
