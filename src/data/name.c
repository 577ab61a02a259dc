/* SPDX-License-Identifier: Apache-2.0 */
/* Names and identifiers: kernel names, repository ids, object ids, unique ids. */
#include <string.h>

#include "base/buffer.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/view.h"
#include "data/text.h"
#include "kernels/data.h"

bool kernels_name_is_valid(kernels_view name) {
    if (name.size < 2 || !kernels_is_lower(name.data[0]) || name.data[name.size - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (!kernels_is_lower(c) && !kernels_is_digit(c) && c != '-') {
            return false;
        }
    }
    return true;
}

static void dashes_to_underscores(char *text) {
    for (; *text; text++) {
        if (*text == '-') {
            *text = '_';
        }
    }
}

char *kernels_name_to_python(kernels_view name) {
    char *python = kernels_strndup(name.data ? name.data : "", name.size);
    if (python) {
        dashes_to_underscores(python);
    }
    return python;
}

#define REPOSITORY_PART_MAX 96

static bool is_word(char c) { return kernels_is_alnum(c) || c == '_'; }

static const char *bad_part_reason(kernels_view part) {
    if (part.size == 0 || part.size > REPOSITORY_PART_MAX) {
        return "each part needs 1 to 96 characters";
    }
    if (!is_word(part.data[0]) || !is_word(part.data[part.size - 1])) {
        return "each part must begin and end with a letter, a digit or `_`";
    }
    for (size_t i = 0; i < part.size; i++) {
        char c = part.data[i];
        if (!is_word(c) && c != '-' && c != '.') {
            return "only letters, digits, `-`, `_`, `.` and one `/` are allowed";
        }
    }
    return NULL;
}

static const char *bad_repository_id_reason(kernels_view id) {
    size_t slash = kernels_view_find(id, '/');
    if (slash != SIZE_MAX) {
        const char *reason = bad_part_reason(kernels_view_slice(id, 0, slash));
        if (reason) {
            return reason;
        }
    }
    kernels_view name = slash == SIZE_MAX ? id : kernels_view_slice(id, slash + 1, id.size);
    const char *reason = bad_part_reason(name);
    if (reason) {
        return reason;
    }
    if (kernels_view_contains(id, KERNELS_VIEW("--")) || kernels_view_contains(id, KERNELS_VIEW(".."))) {
        return "`--` and `..` are not allowed";
    }
    return kernels_view_ends_with(id, KERNELS_VIEW(".git")) ? "it must not end in `.git`" : NULL;
}

kernels_status kernels_repository_id_check(kernels_view id, kernels_error *error) {
    const char *reason = bad_repository_id_reason(id);
    if (!reason) {
        return KERNELS_OK;
    }
    char quoted[KERNELS_QUOTE_SIZE];
    return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "%s is no repository id: expected `owner/name` or `name`; %s",
                        kernels_quote(id, quoted), reason);
}

bool kernels_object_id_is_valid(kernels_view text) {
    return kernels_view_is_hex(text, 40) || kernels_view_is_hex(text, 64);
}

kernels_status kernels_object_id_parse(kernels_view text, char **id, kernels_error *error) {
    if (!kernels_object_id_is_valid(text)) {
        char quoted[KERNELS_QUOTE_SIZE];
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "Invalid git object id %s: expected 40 or 64 hexadecimal digits",
                            kernels_quote(text, quoted));
    }
    char *copy = kernels_strndup(text.data, text.size);
    if (!copy) {
        return kernels_fail_no_memory(error);
    }
    for (char *c = copy; *c; c++) {
        *c = kernels_to_lower(*c);
    }
    *id = copy;
    return KERNELS_OK;
}

char *kernels_kernel_id(kernels_view name, kernels_backend backend, const char *unique_id) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_char(&text, '_');
    kernels_buffer_add_view(&text, name);
    if (text.failure == KERNELS_OK) {
        dashes_to_underscores(text.data);
    }
    kernels_buffer_printf(&text, "_%s_%s", kernels_backend_name(backend), unique_id);
    char *id = kernels_buffer_take(&text);
    kernels_buffer_dispose(&text);
    return id;
}

kernels_status kernels_unique_id_random(char text[KERNELS_UNIQUE_ID_SIZE], kernels_error *error) {
    unsigned char bytes[8];
    KERNELS_TRY(kernels_random(bytes, sizeof(bytes), error));
    kernels_buffer encoded = KERNELS_BUFFER_INIT(KERNELS_UNIQUE_ID_SIZE - 1);
    kernels_encode_base32_lower(&encoded, bytes, sizeof(bytes));
    kernels_status status = kernels_buffer_status(&encoded, error);
    if (status == KERNELS_OK) {
        memcpy(text, encoded.data, encoded.size + 1);
    }
    kernels_buffer_dispose(&encoded);
    return status;
}

void kernels_string_free(char *text) { kernels_free(text); }
