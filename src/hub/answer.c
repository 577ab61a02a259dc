/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/answer.h"

#include <string.h>

#include "base/document.h"
#include "base/error.h"
#include "base/view.h"
#include "hub/headers.h"
#include "hub/printable.h"
#include "hub/url.h"

/* Texts of a server that are worth keeping. */
#define MESSAGE_LIMIT ((size_t)4096)

static bool matches_repository_path(const char *url) {
    kernels_url parsed;
    if (kernels_url_parse(kernels_view_of(url), &parsed, NULL) != KERNELS_OK || !parsed.secure) {
        return false;
    }
    return kernels_view_starts_with(parsed.path, KERNELS_VIEW("/api/models/")) ||
           kernels_view_starts_with(parsed.path, KERNELS_VIEW("/api/datasets/")) ||
           kernels_view_starts_with(parsed.path, KERNELS_VIEW("/api/spaces/")) ||
           (!kernels_view_starts_with(parsed.path, KERNELS_VIEW("/resolve/")) &&
            kernels_view_contains(parsed.path, KERNELS_VIEW("/resolve/")));
}

static kernels_status plain_status(unsigned http_status) {
    switch (http_status) {
    case 400:
        return KERNELS_BAD_REQUEST;
    case 401:
        return KERNELS_AUTHENTICATION;
    case 403:
        return KERNELS_FORBIDDEN;
    case 409:
        return KERNELS_CONFLICT;
    case 429:
        return KERNELS_RATE_LIMITED;
    default:
        return KERNELS_HTTP;
    }
}

kernels_status kernels_answer_status(unsigned http_status, kernels_view headers, const char *url) {
    static const struct {
        const char *code;
        kernels_status status;
    } codes[] = {
        {"RevisionNotFound", KERNELS_REVISION_NOT_FOUND},
        {"EntryNotFound", KERNELS_ENTRY_NOT_FOUND},
        {"GatedRepo", KERNELS_GATED_REPOSITORY},
    };
    if (http_status < 400) {
        return KERNELS_OK;
    }
    kernels_view code = kernels_headers_find(headers, "X-Error-Code");
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (kernels_view_equal_text(code, codes[i].code)) {
            return codes[i].status;
        }
    }
    kernels_view message = kernels_headers_find(headers, "X-Error-Message");
    if (kernels_view_equal_text(message, "Access to this resource is disabled.")) {
        return KERNELS_DISABLED_REPOSITORY;
    }
    if (kernels_view_equal_text(code, "RepoNotFound") ||
        (http_status == 401 && !kernels_view_equal_text(message, "Invalid credentials in Authorization header") &&
         matches_repository_path(url))) {
        return KERNELS_REPOSITORY_NOT_FOUND;
    }
    return plain_status(http_status);
}

/* Appends a line unless it stands there already. */
static void add_line(kernels_buffer *out, kernels_view line) {
    kernels_view text = kernels_view_trim_ascii(line);
    kernels_view rest = kernels_buffer_view(out);
    kernels_view piece;
    while (rest.size > 0 && kernels_view_split(&rest, '\n', &piece)) {
        if (kernels_view_equal(piece, text)) {
            return;
        }
    }
    if (text.size == 0 || out->size + text.size + 1 > MESSAGE_LIMIT) {
        return;
    }
    if (out->size > 0) {
        kernels_buffer_add_char(out, '\n');
    }
    kernels_buffer_add_view(out, text);
}

static void add_lines(kernels_buffer *out, kernels_view text) {
    kernels_view rest = text;
    kernels_view line;
    while (rest.size > 0 && kernels_view_split(&rest, '\n', &line)) {
        add_line(out, line);
    }
}

/* "error": text or list of texts, alone or before "error_description". */
static void add_error_member(kernels_buffer *out, const kernels_node *root) {
    const kernels_node *error = kernels_node_find(root, "error");
    kernels_view description = kernels_node_text(kernels_node_find(root, "error_description"));
    if (kernels_node_is(error, KERNELS_NODE_ARRAY)) {
        for (size_t i = 0; i < error->count; i++) {
            add_lines(out, kernels_node_text(error->as.items[i]));
        }
        add_lines(out, description);
        return;
    }
    kernels_view text = kernels_node_text(error);
    if (text.size == 0 || description.size == 0) {
        add_lines(out, text.size ? text : description);
        return;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer joined = KERNELS_BUFFER_INIT(2 * MESSAGE_LIMIT);
    kernels_buffer_printf(&joined, "%.*s: %.*s", KERNELS_VIEW_ARGS(text), KERNELS_VIEW_ARGS(description));
    add_lines(out, kernels_buffer_view(&joined));
}

static void add_errors_member(kernels_buffer *out, const kernels_node *root) {
    const kernels_node *errors = kernels_node_find(root, "errors");
    if (!kernels_node_is(errors, KERNELS_NODE_ARRAY)) {
        return;
    }
    for (size_t i = 0; i < errors->count; i++) {
        add_lines(out, kernels_node_text(kernels_node_find(errors->as.items[i], "message")));
    }
}

void kernels_answer_message(kernels_buffer *out, kernels_view headers, kernels_view body) {
    add_lines(out, kernels_headers_find(headers, "X-Error-Message"));
    kernels_document document;
    if (kernels_json_parse(body, "answer", &document, NULL) == KERNELS_OK) {
        add_error_member(out, document.root);
        add_errors_member(out, document.root);
        kernels_document_dispose(&document);
        return;
    }
    kernels_view type = kernels_headers_find(headers, "Content-Type");
    bool is_html = kernels_view_contains(type, KERNELS_VIEW("html")) ||
                   kernels_view_starts_with(kernels_view_trim_ascii(body), KERNELS_VIEW("<"));
    if (!is_html) {
        add_lines(out, kernels_view_slice(body, 0, MESSAGE_LIMIT));
    }
}

kernels_view kernels_answer_request_id(kernels_view headers) {
    static const char *const names[] = {"X-Request-Id", "X-Amzn-Trace-Id", "X-Amz-Cf-Id", NULL};
    return kernels_headers_find_any(headers, names);
}

static const char *advice(kernels_status status) {
    switch (status) {
    case KERNELS_REPOSITORY_NOT_FOUND:
        return "; check the repository id, and for a private repository set HF_TOKEN or run `hf auth login`";
    case KERNELS_GATED_REPOSITORY:
        return "; ask for access on the repository's page, then set HF_TOKEN or run `hf auth login`";
    case KERNELS_AUTHENTICATION:
        return "; set HF_TOKEN to a valid token or run `hf auth login`";
    case KERNELS_FORBIDDEN:
        return "; the token lacks the right to do this";
    case KERNELS_RATE_LIMITED:
        return "; wait a while, or use a token for a higher limit";
    default:
        return "";
    }
}

kernels_status kernels_answer_fail(kernels_error *error, const char *method, const char *url, unsigned http_status,
                                   kernels_view headers, kernels_view body) {
    kernels_status status = kernels_answer_status(http_status, headers, url);
    if (status == KERNELS_OK) {
        status = KERNELS_HTTP;
    }
    kernels_view public_url = kernels_url_without_query(url);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer said = KERNELS_BUFFER_INIT(2 * MESSAGE_LIMIT);
    kernels_answer_message(&said, headers, body);
    char message[KERNELS_PRINTABLE_SIZE];
    kernels_printable(message, kernels_buffer_view(&said));
    char id[KERNELS_PRINTABLE_SIZE];
    kernels_printable(id, kernels_view_slice(kernels_answer_request_id(headers), 0, 100));
    kernels_fail(error, status, "%s %.*s: answered %u (%s)%s%s%s%s%s%s", method, KERNELS_VIEW_ARGS(public_url),
                 http_status, kernels_status_text(status), message[0] ? ": " : "", message, advice(status),
                 id[0] ? " [request id " : "", id, id[0] ? "]" : "");
    if (error) {
        error->http_status = (int)http_status;
    }
    KERNELS_CLEANUP_FREE char *subject = kernels_strndup(public_url.data, public_url.size);
    kernels_error_set_subject(error, subject);
    return status;
}
