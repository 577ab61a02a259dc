/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git URLs: the part of the WHATWG URL rules that git's schemes need, and the form HOST:PATH. The
 * normal form is written while parsing, so checking and normalising cannot disagree. Names outside
 * ASCII stay as they are in http hosts (no IDNA).
 */
#include <arpa/inet.h>
#include <string.h>

#include "base/buffer.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/view.h"
#include "data/text.h"
#include "kernels/data.h"

typedef struct scheme_row {
    kernels_view name;
    unsigned default_port; /* 0: none is left out */
    bool special;          /* WHATWG's word: http rules for slashes, hosts and the empty path */
} scheme_row;

static const scheme_row schemes[] = {
    {{"https", 5}, 443, true},  {{"http", 4}, 80, true},      {{"git", 3}, 0, false},      {{"ssh", 3}, 0, false},
    {{"git+ssh", 7}, 0, false}, {{"git+https", 9}, 0, false}, {{"git+http", 8}, 0, false},
};

/* One result for every way in which a text is no URL; the caller names the text. */
typedef enum outcome { OUTCOME_OK, OUTCOME_INVALID, OUTCOME_BAD_SCHEME } outcome;

static bool starts_with_char(kernels_view text, char c) { return text.size > 0 && text.data[0] == c; }

static kernels_view after(kernels_view text, size_t count) { return kernels_view_slice(text, count, text.size); }

/* Length of the part before the first byte of `stops`, or everything. */
static size_t span_until(kernels_view text, const char *stops) {
    size_t i = 0;
    while (i < text.size && (text.data[i] == '\0' || !strchr(stops, text.data[i]))) {
        i++;
    }
    return i;
}

static void add_encoded(kernels_buffer *out, kernels_view text, const char *also) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < 0x20 || byte > 0x7e || (byte != 0 && strchr(also, byte))) {
            kernels_buffer_add_char(out, '%');
            kernels_buffer_add_char(out, digits[byte >> 4]);
            kernels_buffer_add_char(out, digits[byte & 15]);
        } else {
            kernels_buffer_add_char(out, (char)byte);
        }
    }
}

/* ---- authority ---- */

static void add_userinfo(kernels_buffer *out, kernels_view userinfo) {
    static const char encoded[] = " \"#<>?`{}/:;=@[\\]^|";
    size_t colon = kernels_view_find(userinfo, ':');
    kernels_view user = kernels_view_slice(userinfo, 0, colon);
    kernels_view password = colon == SIZE_MAX ? KERNELS_VIEW("") : after(userinfo, colon + 1);
    if (user.size == 0 && password.size == 0) {
        return;
    }
    add_encoded(out, user, encoded);
    if (password.size > 0) {
        kernels_buffer_add_char(out, ':');
        add_encoded(out, password, encoded);
    }
    kernels_buffer_add_char(out, '@');
}

static outcome add_ipv6(kernels_buffer *out, kernels_view address) {
    char text[INET6_ADDRSTRLEN];
    struct in6_addr binary;
    if (address.size >= sizeof(text)) {
        return OUTCOME_INVALID;
    }
    memcpy(text, address.data, address.size);
    text[address.size] = '\0';
    if (inet_pton(AF_INET6, text, &binary) != 1 || !inet_ntop(AF_INET6, &binary, text, sizeof(text))) {
        return OUTCOME_INVALID;
    }
    kernels_buffer_printf(out, "[%s]", text);
    return OUTCOME_OK;
}

static bool has_forbidden(kernels_view host, const char *forbidden) {
    for (size_t i = 0; i < host.size; i++) {
        if (host.data[i] == '\0' || strchr(forbidden, host.data[i])) {
            return true;
        }
    }
    return false;
}

static outcome add_special_host(kernels_buffer *out, kernels_view host) {
    static const char forbidden[] = " #/:<>?@[\\]^|%\t\n\r\x7f";
    kernels_buffer decoded = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    bool good = kernels_decode_percent(&decoded, host) && !has_forbidden(kernels_buffer_view(&decoded), forbidden);
    for (size_t i = 0; good && i < decoded.size; i++) {
        good = (unsigned char)decoded.data[i] >= 0x20;
        kernels_buffer_add_char(out, kernels_to_lower(decoded.data[i]));
    }
    if (decoded.failure != KERNELS_OK) {
        out->failure = decoded.failure;
    }
    kernels_buffer_dispose(&decoded);
    return good ? OUTCOME_OK : OUTCOME_INVALID;
}

static outcome add_host(kernels_buffer *out, const scheme_row *scheme, kernels_view host) {
    if (starts_with_char(host, '[')) {
        bool closed = host.data[host.size - 1] == ']';
        return closed ? add_ipv6(out, kernels_view_slice(host, 1, host.size - 1)) : OUTCOME_INVALID;
    }
    if (scheme->special) {
        return add_special_host(out, host);
    }
    if (has_forbidden(host, " #/:<>?@[\\]^|\t\n\r")) {
        return OUTCOME_INVALID;
    }
    add_encoded(out, host, "");
    return OUTCOME_OK;
}

static outcome add_port(kernels_buffer *out, const scheme_row *scheme, kernels_view port) {
    uint64_t number = 0;
    if (port.size == 0) {
        return OUTCOME_OK;
    }
    if (!kernels_view_to_u64(port, &number) || number > 65535) {
        return OUTCOME_INVALID;
    }
    if (scheme->default_port == 0 || number != scheme->default_port) {
        kernels_buffer_printf(out, ":%u", (unsigned)number);
    }
    return OUTCOME_OK;
}

/* Where the host ends: at the first colon that is not inside brackets. */
static size_t host_length(kernels_view text) {
    bool inside = false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '[' || text.data[i] == ']') {
            inside = text.data[i] == '[';
        } else if (text.data[i] == ':' && !inside) {
            return i;
        }
    }
    return text.size;
}

static outcome add_authority(kernels_buffer *out, const scheme_row *scheme, kernels_view authority) {
    size_t at = kernels_view_find_last(authority, '@');
    kernels_view rest = at == SIZE_MAX ? authority : after(authority, at + 1);
    size_t length = host_length(rest);
    kernels_view host = kernels_view_slice(rest, 0, length);
    kernels_view port = after(rest, length + 1);
    if (host.size == 0 && (scheme->special || at != SIZE_MAX || length < rest.size)) {
        return OUTCOME_INVALID;
    }
    if (at != SIZE_MAX) {
        add_userinfo(out, kernels_view_slice(authority, 0, at));
    }
    outcome result = add_host(out, scheme, host);
    return result == OUTCOME_OK ? add_port(out, scheme, port) : result;
}

/* ---- path, query, fragment ---- */

/* 0: an ordinary segment, else how many dots it means ("%2e" is a dot). */
static unsigned dot_count(kernels_view segment) {
    unsigned dots = 0;
    while (segment.size > 0) {
        if (segment.data[0] == '.') {
            segment = after(segment, 1);
        } else if (segment.size >= 3 &&
                   kernels_view_equal_ascii_case(kernels_view_slice(segment, 0, 3), KERNELS_VIEW("%2e"))) {
            segment = after(segment, 3);
        } else {
            return 0;
        }
        if (++dots > 2) {
            return 0;
        }
    }
    return dots;
}

static void drop_last_segment(kernels_buffer *out, size_t path_start) {
    while (out->size > path_start && out->data[--out->size] != '/') {
    }
}

/* path begins with a separator or is empty. */
static void add_path(kernels_buffer *out, const scheme_row *scheme, kernels_view path) {
    const char *separators = scheme->special ? "/\\" : "/";
    size_t start = out->size;
    while (path.size > 0 && out->failure == KERNELS_OK) {
        path = after(path, 1);
        kernels_view segment = kernels_view_slice(path, 0, span_until(path, separators));
        path = after(path, segment.size);
        unsigned dots = dot_count(segment);
        if (dots == 2) {
            drop_last_segment(out, start);
        }
        if (dots == 0) {
            kernels_buffer_add_char(out, '/');
            add_encoded(out, segment, " \"#<>?`{}");
        } else if (path.size == 0) {
            kernels_buffer_add_char(out, '/');
        }
    }
    if (scheme->special && out->size == start) {
        kernels_buffer_add_char(out, '/');
    }
}

/* A path without a host must not begin with two slashes, or it would be read as one. */
static void add_lone_path(kernels_buffer *out, const scheme_row *scheme, kernels_view path) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    add_path(&text, scheme, path);
    if (kernels_view_starts_with(kernels_buffer_view(&text), KERNELS_VIEW("//"))) {
        kernels_buffer_add_text(out, "/.");
    }
    kernels_buffer_add_view(out, kernels_buffer_view(&text));
    if (text.failure != KERNELS_OK) {
        out->failure = text.failure;
    }
    kernels_buffer_dispose(&text);
}

/* rest begins with "?" or "#" or is empty. */
static void add_query_and_fragment(kernels_buffer *out, const scheme_row *scheme, kernels_view rest) {
    size_t query = starts_with_char(rest, '?') ? span_until(rest, "#") : 0;
    if (query > 0) {
        kernels_buffer_add_char(out, '?');
        add_encoded(out, kernels_view_slice(rest, 1, query), scheme->special ? " \"#<>'" : " \"#<>");
    }
    if (query < rest.size) {
        kernels_buffer_add_char(out, '#');
        add_encoded(out, after(rest, query + 1), " \"<>`");
    }
}

/* ---- the whole ---- */

static outcome add_after_scheme(kernels_buffer *out, const scheme_row *scheme, kernels_view rest) {
    size_t slashes = 0;
    while (scheme->special && slashes < rest.size && (rest.data[slashes] == '/' || rest.data[slashes] == '\\')) {
        slashes++;
    }
    bool has_authority = scheme->special || kernels_view_starts_with(rest, KERNELS_VIEW("//"));
    if (has_authority) {
        rest = after(rest, scheme->special ? slashes : 2);
        size_t length = span_until(rest, scheme->special ? "/\\?#" : "/?#");
        kernels_buffer_add_text(out, "//");
        outcome result = add_authority(out, scheme, kernels_view_slice(rest, 0, length));
        if (result != OUTCOME_OK) {
            return result;
        }
        rest = after(rest, length);
    }
    size_t path = span_until(rest, "?#");
    if (has_authority) {
        add_path(out, scheme, kernels_view_slice(rest, 0, path));
    } else if (starts_with_char(rest, '/')) {
        add_lone_path(out, scheme, kernels_view_slice(rest, 0, path));
    } else {
        add_encoded(out, kernels_view_slice(rest, 0, path), "");
    }
    add_query_and_fragment(out, scheme, after(rest, path));
    return OUTCOME_OK;
}

/* Length of "scheme" in "scheme:...", 0 when the text does not begin so. */
static size_t scheme_length(kernels_view text) {
    if (text.size == 0 || !kernels_is_alpha(text.data[0])) {
        return 0;
    }
    for (size_t i = 1; i < text.size; i++) {
        char c = text.data[i];
        if (c == ':') {
            return i;
        }
        if (!kernels_is_alnum(c) && c != '+' && c != '-' && c != '.') {
            return 0;
        }
    }
    return 0;
}

static outcome add_url(kernels_buffer *out, kernels_view text) {
    size_t length = scheme_length(text);
    if (length == 0) {
        return OUTCOME_INVALID;
    }
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (kernels_view_equal_ascii_case(kernels_view_slice(text, 0, length), schemes[i].name)) {
            kernels_buffer_add_view(out, schemes[i].name);
            kernels_buffer_add_char(out, ':');
            return add_after_scheme(out, &schemes[i], after(text, length + 1));
        }
    }
    return OUTCOME_BAD_SCHEME;
}

/* HOST:PATH means ssh://HOST/PATH. */
static outcome add_scp(kernels_buffer *out, kernels_view text) {
    size_t colon = kernels_view_find(text, ':');
    if (colon == SIZE_MAX || colon == 0 || colon + 1 == text.size || text.data[colon + 1] == '/') {
        return OUTCOME_INVALID;
    }
    kernels_buffer url = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_text(&url, "ssh://");
    kernels_buffer_add_view(&url, kernels_view_slice(text, 0, colon));
    kernels_buffer_add_char(&url, '/');
    kernels_buffer_add_view(&url, after(text, colon + 1));
    if (url.failure != KERNELS_OK) {
        out->failure = url.failure;
    }
    outcome result = add_url(out, kernels_buffer_view(&url));
    kernels_buffer_dispose(&url);
    return result;
}

/* Outer blanks and control characters trimmed; tabs and line ends removed everywhere. */
static void add_cleaned(kernels_buffer *out, kernels_view text) {
    while (text.size > 0 && (unsigned char)text.data[0] <= 0x20) {
        text = after(text, 1);
    }
    while (text.size > 0 && (unsigned char)text.data[text.size - 1] <= 0x20) {
        text.size--;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (!strchr("\t\n\r", text.data[i]) || text.data[i] == '\0') {
            kernels_buffer_add_char(out, text.data[i]);
        }
    }
}

static kernels_status fail_url(kernels_view text, outcome result, kernels_error *error) {
    static const char accepted[] = "https, http, git, ssh, git+ssh, git+https, git+http";
    char quoted[KERNELS_QUOTE_SIZE];
    kernels_quote(text, quoted);
    if (result == OUTCOME_BAD_SCHEME) {
        char scheme[KERNELS_QUOTE_SIZE];
        kernels_view clean = kernels_view_trim_ascii(text);
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "unsupported scheme %s in git URL %s: expected one of %s",
                            kernels_quote(kernels_view_slice(clean, 0, kernels_view_find(clean, ':')), scheme), quoted,
                            accepted);
    }
    return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                        "invalid git URL %s: expected a URL (%s) or HOST:PATH, such as https://host/owner/name", quoted,
                        accepted);
}

/* out receives the normal form; the caller disposes it in any case. */
static kernels_status parse(kernels_view text, kernels_buffer *out, kernels_error *error) {
    kernels_buffer clean = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    add_cleaned(&clean, text);
    outcome result = add_url(out, kernels_buffer_view(&clean));
    if (result == OUTCOME_INVALID && out->failure == KERNELS_OK) {
        kernels_buffer_reset(out);
        result = add_scp(out, text);
    }
    kernels_status status = kernels_buffer_status(&clean, error);
    kernels_buffer_dispose(&clean);
    KERNELS_TRY(status);
    KERNELS_TRY(kernels_buffer_status(out, error));
    return result == OUTCOME_OK ? KERNELS_OK : fail_url(text, result, error);
}

kernels_status kernels_git_url_check(kernels_view text, kernels_error *error) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_status status = parse(text, &out, error);
    kernels_buffer_dispose(&out);
    return status;
}

kernels_status kernels_git_url_normalize(kernels_view text, char **normal, kernels_error *error) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_status status = parse(text, &out, error);
    if (status != KERNELS_OK) {
        kernels_buffer_dispose(&out);
        return status;
    }
    return kernels_give_text(&out, normal, error);
}
