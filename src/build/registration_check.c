/* SPDX-License-Identifier: Apache-2.0 */
#include "build/registration_check.h"

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "build/script.h"

#define REPORT_LIMIT ((size_t)1024 * 1024)

typedef struct context {
    const kernels_script *source;
    const char *file;
    const char *python_name;
    kernels_registrations *found;
    kernels_error *error;
} context;

static kernels_status add(const context *scan, kernels_registration_type type, uint32_t line, const char *kind,
                          kernels_view name) {
    kernels_registrations *found = scan->found;
    char *file = kernels_strdup(scan->file), *copy = kernels_strndup(name.data, name.size);
    if (!file || !copy ||
        !kernels_grow((void **)&found->items, &found->capacity, found->count, sizeof *found->items,
                      KERNELS_REGISTRATION_LIMIT)) {
        kernels_free(file);
        kernels_free(copy);
        return kernels_fail(scan->error, KERNELS_LIMIT, "%s: too many op registrations", scan->file);
    }
    found->items[found->count++] = (kernels_registration){type, file, line, kind, copy};
    return KERNELS_OK;
}

/* ---- decorators of torch.library ---- */

static bool is_registration(kernels_view callee) {
    static const char *const names[] = {"custom_op",     "triton_op",     "register_kernel",
                                        "register_fake", "register_vmap", "register_torch_dispatch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (kernels_view_equal_text(callee, names[i])) {
            return true;
        }
    }
    return false;
}

/* Tokens behind "@". */
static bool is_violation(const kernels_script *source, size_t begin, size_t end) {
    kernels_script_call call, prefix;
    size_t first = 0, first_end = 0;
    if (!kernels_script_parse_call(source, begin, end, &call) || !is_registration(call.callee) ||
        !kernels_script_first_positional(source, &call, &first, &first_end)) {
        return false;
    }
    return !kernels_script_parse_call(source, first, first_end, &prefix) ||
           !kernels_view_equal_text(prefix.callee, "add_op_namespace_prefix");
}

/* The def or class line that decorators stand above: its kind, or NULL when it is none. */
static const char *definition_kind(const kernels_script *source, const kernels_script_line *line, size_t *name) {
    bool is_async = kernels_script_is(source, line->begin, "async");
    size_t keyword = line->begin + (is_async ? 1 : 0);
    *name = keyword + 1;
    if (*name >= line->end) {
        return NULL;
    }
    if (kernels_script_is(source, keyword, "def")) {
        return is_async ? "async function" : "function";
    }
    return !is_async && kernels_script_is(source, keyword, "class") ? "class" : NULL;
}

/* Line `index` is a definition; the decorators right above it are looked at. */
static kernels_status check_definition(const context *scan, size_t index) {
    const kernels_script *source = scan->source;
    const kernels_script_line *line = &source->lines[index];
    size_t name = 0;
    const char *kind = definition_kind(source, line, &name);
    size_t first = index;
    while (kind && first > 0 && source->lines[first - 1].top_level &&
           kernels_script_is(source, source->lines[first - 1].begin, "@")) {
        first--;
    }
    for (; kind && first < index; first++) {
        if (is_violation(source, source->lines[first].begin + 1, source->lines[first].end)) {
            KERNELS_TRY(add(scan, KERNELS_REGISTRATION_DECORATOR, source->tokens[line->begin].line, kind,
                            source->tokens[name].text));
        }
    }
    return KERNELS_OK;
}

/* ---- jax_op with a literal namespace ---- */

static kernels_status check_jax_op(const context *scan, size_t name) {
    const kernels_script *source = scan->source;
    kernels_script_call call = {source->tokens[name].text, name + 2, source->tokens[name + 1].match};
    size_t begin = 0, end = 0;
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer literal = KERNELS_BUFFER_INIT(KERNELS_SCRIPT_SIZE_LIMIT);
    if (!kernels_script_first_positional(source, &call, &begin, &end) ||
        !kernels_script_constant_string(source, begin, end, &literal)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_buffer_status(&literal, scan->error));
    kernels_view text = kernels_buffer_view(&literal);
    size_t colon = kernels_view_find(text, ':');
    if (colon == SIZE_MAX || colon + 1 >= text.size || text.data[colon + 1] != ':') {
        return KERNELS_OK;
    }
    bool own = kernels_view_equal_text(kernels_view_slice(text, 0, colon), scan->python_name);
    return add(scan, own ? KERNELS_REGISTRATION_OWN_LITERAL : KERNELS_REGISTRATION_OTHER_LITERAL,
               source->tokens[name].line, "op", text);
}

static kernels_status check_line(const context *scan, const kernels_script_line *line) {
    const kernels_script *source = scan->source;
    for (size_t i = line->begin; i + 2 < line->end && !line->in_scope; i++) {
        if (kernels_script_is(source, i, "jax_op") && kernels_script_is(source, i + 1, "(") &&
            (i == line->begin || !kernels_script_is(source, i - 1, "def"))) {
            KERNELS_TRY(check_jax_op(scan, i));
        }
    }
    return KERNELS_OK;
}

/* ---- files ---- */

kernels_status kernels_registration_scan(kernels_view text, const char *file, const char *python_name,
                                         kernels_registrations *found, kernels_error *error) {
    kernels_script source;
    KERNELS_TRY(kernels_script_scan(text, file, &source, error));
    context scan = {&source, file, python_name, found, error};
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < source.line_count && !status; i++) {
        status = source.lines[i].top_level ? check_definition(&scan, i) : KERNELS_OK;
        status = status ? status : check_line(&scan, &source.lines[i]);
    }
    kernels_script_dispose(&source);
    return status;
}

void kernels_registrations_dispose(kernels_registrations *found) {
    for (size_t i = 0; i < found->count; i++) {
        kernels_free(found->items[i].file);
        kernels_free(found->items[i].name);
    }
    kernels_free(found->items);
    *found = (kernels_registrations){0};
}

static kernels_status scan_file(const char *directory, const char *file, const char *python_name,
                                kernels_registrations *found, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, file);
    KERNELS_CLEANUP_FREE char *text = NULL;
    size_t size = 0;
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_file_read(path, KERNELS_SCRIPT_SIZE_LIMIT, &text, &size, error));
    return kernels_registration_scan((kernels_view){text, size}, file, python_name, found, error);
}

static kernels_status scan_directory(const char *directory, const char *python_name, kernels_registrations *found,
                                     kernels_error *error) {
    kernels_listing listing;
    KERNELS_TRY(kernels_list(directory, KERNELS_LIST_RECURSIVE, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && !status; i++) {
        if (listing.entries[i].type == KERNELS_ENTRY_FILE &&
            kernels_view_ends_with(kernels_view_of(listing.entries[i].path), KERNELS_VIEW(".py"))) {
            status = scan_file(directory, listing.entries[i].path, python_name, found, error);
        }
    }
    kernels_listing_dispose(&listing);
    return status;
}

static void describe(const kernels_registration *found, kernels_buffer *violations, size_t *violation_count,
                     kernels_buffer *warnings, bool for_tpu) {
    if (found->type == KERNELS_REGISTRATION_DECORATOR ||
        (found->type == KERNELS_REGISTRATION_OTHER_LITERAL && for_tpu)) {
        kernels_buffer_printf(violations, "\n  %s:%u %s %s", found->file, found->line, found->kind, found->name);
        (*violation_count)++;
    } else if (warnings) {
        kernels_buffer_printf(warnings,
                              "%s:%u registers %s under a fixed namespace: two versions of the kernel cannot be "
                              "loaded together; use add_op_namespace_prefix\n",
                              found->file, found->line, found->name);
    }
}

kernels_status kernels_registration_check(const char *directory, const char *python_name, bool for_tpu,
                                          kernels_buffer *warnings, kernels_error *error) {
    kernels_registrations found = {0};
    kernels_status status = scan_directory(directory, python_name, &found, error);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer violations = KERNELS_BUFFER_INIT(REPORT_LIMIT);
    size_t count = 0;
    for (size_t i = 0; i < found.count; i++) {
        describe(&found.items[i], &violations, &count, warnings, for_tpu);
    }
    kernels_registrations_dispose(&found);
    if (status || count == 0) {
        return status;
    }
    return kernels_fail(error, KERNELS_CHECK_FAILED,
                        "%zu op registration%s not use add_op_namespace_prefix from ._ops, so that two versions of "
                        "the kernel would collide:%s",
                        count, count == 1 ? " does" : "s do", kernels_buffer_text(&violations));
}
