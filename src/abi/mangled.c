/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/mangled.h"

#include <string.h>

#include "base/view.h"

static bool skip(kernels_view *rest, const char *prefix) {
    kernels_view text = kernels_view_of(prefix);
    if (!kernels_view_starts_with(*rest, text)) {
        return false;
    }
    *rest = kernels_view_slice(*rest, text.size, rest->size);
    return true;
}

static bool skip_one_of(kernels_view *rest, const char *letters) {
    if (rest->size == 0 || strchr(letters, rest->data[0]) == NULL || rest->data[0] == '\0') {
        return false;
    }
    *rest = kernels_view_slice(*rest, 1, rest->size);
    return true;
}

static size_t skip_digits(kernels_view *rest, size_t limit) {
    size_t value = 0;
    while (rest->size > 0 && kernels_is_digit(rest->data[0])) {
        value = value > limit ? value : value * 10 + (size_t)(rest->data[0] - '0');
        *rest = kernels_view_slice(*rest, 1, rest->size);
    }
    return value;
}

/* "n12_" */
static void skip_offset(kernels_view *rest) {
    (void)skip(rest, "n");
    (void)skip_digits(rest, SIZE_MAX / 16);
    (void)skip(rest, "_");
}

/* h <offset> | v <offset> <offset> */
static bool skip_call_offset(kernels_view *rest) {
    if (skip(rest, "h")) {
        skip_offset(rest);
        return true;
    }
    if (skip(rest, "v")) {
        skip_offset(rest);
        skip_offset(rest);
        return true;
    }
    return false;
}

/* Tables, guards and thunks are of the class they belong to. */
static void skip_special(kernels_view *rest) {
    static const char *const prefixes[] = {"TV", "TT", "TI", "TS", "GV", "GR"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (skip(rest, prefixes[i])) {
            return;
        }
    }
    kernels_view behind = *rest;
    bool is_covariant = skip(&behind, "Tc"); /* has two offsets */
    bool is_thunk = (is_covariant || skip(&behind, "T")) && skip_call_offset(&behind);
    is_thunk = is_thunk && (!is_covariant || skip_call_offset(&behind));
    *rest = is_thunk ? behind : *rest;
}

/* <length><identifier>; false when none follows. A length past the end makes rest unusable (overrun). */
static bool take_name(kernels_view *rest, kernels_view *name, bool *overrun) {
    if (rest->size == 0 || !kernels_is_digit(rest->data[0])) {
        return false;
    }
    size_t length = skip_digits(rest, rest->size);
    if (length > rest->size) {
        *overrun = true;
        return false;
    }
    *name = kernels_view_slice(*rest, 0, length);
    *rest = kernels_view_slice(*rest, length, rest->size);
    return true;
}

static kernels_abi_scope itanium_scope(kernels_view rest) {
    kernels_abi_scope scope = {{"", 0}, {"", 0}};
    kernels_view name;
    bool overrun = false;
    skip_special(&rest);
    while (skip(&rest, "Z")) {
    }
    if (!skip(&rest, "N")) {
        return scope;
    }
    while (skip_one_of(&rest, "rVK")) {
    }
    (void)skip_one_of(&rest, "RO");
    for (size_t i = 0; take_name(&rest, &name, &overrun); i++) {
        if (i == 0) {
            scope.first = name;
        } else if (i == 1) {
            scope.second = name;
        }
    }
    return overrun ? (kernels_abi_scope){{"", 0}, {"", 0}} : scope;
}

/* ?name@inner@outer@@...: scopes stand innermost first, up to the first @@. */
static kernels_abi_scope microsoft_scope(kernels_view name) {
    kernels_abi_scope scope = {{"", 0}, {"", 0}};
    size_t end = 0;
    while (end + 1 < name.size && !(name.data[end] == '@' && name.data[end + 1] == '@')) {
        end++;
    }
    kernels_view path = kernels_view_slice(name, 0, end + 1 < name.size ? end : 0);
    size_t split = kernels_view_find_last(path, '@');
    if (split == SIZE_MAX) {
        return scope;
    }
    scope.first = kernels_view_slice(path, split + 1, path.size);
    path = kernels_view_slice(path, 0, split);
    split = kernels_view_find_last(path, '@');
    scope.second = split == SIZE_MAX ? scope.second : kernels_view_slice(path, split + 1, path.size);
    return scope;
}

kernels_abi_scope kernels_abi_scope_of(kernels_view name) {
    kernels_view rest = name;
    if (skip(&rest, "_Z")) {
        return itanium_scope(rest);
    }
    return skip(&rest, "?") ? microsoft_scope(rest) : (kernels_abi_scope){{"", 0}, {"", 0}};
}

bool kernels_abi_scope_is(const kernels_abi_scope *scope, const char *first, const char *second) {
    return kernels_view_equal_text(scope->first, first) &&
           (second == NULL || kernels_view_equal_text(scope->second, second));
}

bool kernels_abi_scope_is_torch(const kernels_abi_scope *scope) {
    return kernels_abi_scope_is(scope, "c10", NULL) || kernels_abi_scope_is(scope, "at", NULL) ||
           (kernels_abi_scope_is(scope, "torch", NULL) && !kernels_abi_scope_is(scope, "torch", "stable"));
}

/* Identifiers are stepped over, so that an `Ss` inside of one does not count. */
kernels_abi_strings kernels_abi_strings_of(kernels_view name) {
    kernels_view rest = name, identifier;
    bool overrun = false;
    if (!skip(&rest, "_Z")) {
        return KERNELS_ABI_NO_STRING;
    }
    while (rest.size > 0 && !overrun) {
        if (take_name(&rest, &identifier, &overrun)) {
            if (kernels_view_equal_text(identifier, "__cxx11")) {
                return KERNELS_ABI_NEW_STRING;
            }
        } else if (skip(&rest, "B5cxx11")) {
            return KERNELS_ABI_NEW_STRING;
        } else if (skip(&rest, "Ss")) {
            return KERNELS_ABI_OLD_STRING;
        } else if (!overrun) {
            rest = kernels_view_slice(rest, rest.data[0] == 'S' && rest.size > 1 ? 2 : 1, rest.size);
        }
    }
    return KERNELS_ABI_NO_STRING;
}
