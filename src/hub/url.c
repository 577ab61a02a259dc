/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/url.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/view.h"
#include "hub/printable.h"

#define HTTP_PORT 80
#define HTTPS_PORT 443
#define HOST_LIMIT 255

static bool is_plain_host_byte(char c) { return kernels_is_alnum(c) || c == '.' || c == '-' || c == '_'; }

/* Bytes that no URL we send may hold: blanks and control characters end or split a request line, a
 * backslash is "/" to some parsers. */
static bool has_forbidden_byte(kernels_view text) {
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c <= 0x20 || c == 0x7f || c == '\\' || c == '"' || c == '<' || c == '>') {
            return true;
        }
    }
    return false;
}

static kernels_status fail_url(kernels_error *error, kernels_view text, const char *reason) {
    char shown[KERNELS_PRINTABLE_SIZE];
    kernels_printable(shown, kernels_view_slice(text, 0, kernels_view_find(text, '?')));
    return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "'%s' is not a usable URL: %s", shown, reason);
}

static bool parse_host(kernels_view host) {
    if (host.size == 0 || host.size > HOST_LIMIT) {
        return false;
    }
    if (host.data[0] == '[') {
        if (host.size < 4 || host.data[host.size - 1] != ']') {
            return false;
        }
        for (size_t i = 1; i + 1 < host.size; i++) {
            if (!kernels_is_alnum(host.data[i]) && host.data[i] != ':' && host.data[i] != '.') {
                return false;
            }
        }
        return true;
    }
    for (size_t i = 0; i < host.size; i++) {
        if (!is_plain_host_byte(host.data[i])) {
            return false;
        }
    }
    return true;
}

/* Splits "host[:port]". */
static bool parse_authority(kernels_view authority, kernels_url *url) {
    size_t host_end = authority.size;
    size_t colon = kernels_view_find_last(authority, ':');
    size_t bracket = kernels_view_find_last(authority, ']');
    if (colon != SIZE_MAX && (bracket == SIZE_MAX || colon > bracket)) {
        host_end = colon;
        uint64_t port = 0;
        if (!kernels_view_to_u64(kernels_view_slice(authority, colon + 1, authority.size), &port) || port == 0 ||
            port > UINT16_MAX) {
            return false;
        }
        url->port = (uint16_t)port;
    }
    url->host = kernels_view_slice(authority, 0, host_end);
    return parse_host(url->host);
}

static bool parse_scheme(kernels_view *rest, bool *secure) {
    kernels_view schemes[] = {KERNELS_VIEW("http://"), KERNELS_VIEW("https://")};
    for (size_t i = 0; i < 2; i++) {
        kernels_view head = kernels_view_slice(*rest, 0, schemes[i].size);
        if (kernels_view_equal_ascii_case(head, schemes[i])) {
            *secure = i == 1;
            *rest = kernels_view_slice(*rest, schemes[i].size, rest->size);
            return true;
        }
    }
    return false;
}

kernels_status kernels_url_parse(kernels_view text, kernels_url *url, kernels_error *error) {
    kernels_url parsed = {0};
    if (text.size > KERNELS_URL_LIMIT) {
        return fail_url(error, text, "it is longer than 16 KiB");
    }
    if (has_forbidden_byte(text)) {
        return fail_url(error, text, "it holds a blank, a control character, a backslash or a quote");
    }
    kernels_view rest = text;
    if (!parse_scheme(&rest, &parsed.secure)) {
        return fail_url(error, text, "expected http:// or https://");
    }
    parsed.port = parsed.secure ? HTTPS_PORT : HTTP_PORT;
    size_t end = 0;
    while (end < rest.size && rest.data[end] != '/' && rest.data[end] != '?' && rest.data[end] != '#') {
        end++;
    }
    if (!parse_authority(kernels_view_slice(rest, 0, end), &parsed)) {
        return fail_url(error, text, "expected a host name or address with an optional port, and no user name");
    }
    rest = kernels_view_slice(rest, end, rest.size);
    rest = kernels_view_slice(rest, 0, kernels_view_find(rest, '#'));
    size_t question = kernels_view_find(rest, '?');
    parsed.path = kernels_view_slice(rest, 0, question);
    if (question != SIZE_MAX) {
        parsed.query = (kernels_view){rest.data + question + 1, rest.size - question - 1};
    }
    *url = parsed;
    return KERNELS_OK;
}

bool kernels_url_same_origin(const kernels_url *a, const kernels_url *b) {
    return a->secure == b->secure && a->port == b->port && kernels_view_equal_ascii_case(a->host, b->host);
}

/* Everything of base before its path: "https://host:1". */
static kernels_view origin_text(kernels_view base, const kernels_url *url) {
    size_t after_host = (size_t)(url->host.data + url->host.size - base.data);
    while (after_host < base.size && base.data[after_host] != '/' && base.data[after_host] != '?' &&
           base.data[after_host] != '#') {
        after_host++;
    }
    return kernels_view_slice(base, 0, after_host);
}

/* Does it begin with a scheme, whichever? */
static bool is_absolute(kernels_view reference) {
    size_t end = 0;
    while (end < reference.size && (kernels_is_alnum(reference.data[end]) || reference.data[end] == '+' ||
                                    reference.data[end] == '-' || reference.data[end] == '.')) {
        end++;
    }
    return end > 0 && end < reference.size && reference.data[end] == ':' && kernels_is_alpha(reference.data[0]);
}

static void append_reference(kernels_buffer *out, kernels_view base, const kernels_url *url, kernels_view reference) {
    if (is_absolute(reference)) {
        kernels_buffer_add_view(out, reference);
        return;
    }
    if (kernels_view_starts_with(reference, KERNELS_VIEW("//"))) {
        kernels_buffer_add_text(out, url->secure ? "https:" : "http:");
        kernels_buffer_add_view(out, reference);
        return;
    }
    kernels_buffer_add_view(out, origin_text(base, url));
    if (kernels_view_starts_with(reference, KERNELS_VIEW("/"))) {
        kernels_buffer_add_view(out, reference);
        return;
    }
    if (kernels_view_starts_with(reference, KERNELS_VIEW("?"))) {
        kernels_buffer_add_view(out, url->path);
    } else {
        size_t slash = kernels_view_find_last(url->path, '/');
        kernels_buffer_add_view(out, kernels_view_slice(url->path, 0, slash == SIZE_MAX ? 0 : slash));
        kernels_buffer_add_char(out, '/');
    }
    kernels_buffer_add_view(out, reference);
}

kernels_status kernels_url_resolve(const char *base, kernels_view reference, char **url, kernels_error *error) {
    kernels_view base_view = kernels_view_of(base);
    kernels_url base_url;
    KERNELS_TRY(kernels_url_parse(base_view, &base_url, error));
    kernels_view trimmed = kernels_view_trim_ascii(reference);
    trimmed = kernels_view_slice(trimmed, 0, kernels_view_find(trimmed, '#'));
    if (trimmed.size == 0) {
        return kernels_fail(error, KERNELS_HTTP, "the server answered with an empty link");
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    append_reference(&out, base_view, &base_url, trimmed);
    KERNELS_TRY(kernels_buffer_status(&out, error));
    kernels_url checked;
    KERNELS_TRY(kernels_url_parse(kernels_buffer_view(&out), &checked, error));
    *url = kernels_buffer_take(&out);
    return *url ? KERNELS_OK : kernels_fail_no_memory(error);
}

kernels_view kernels_url_without_query(const char *url) {
    kernels_view text = kernels_view_of(url);
    return kernels_view_slice(text, 0, kernels_view_find(text, '?'));
}
