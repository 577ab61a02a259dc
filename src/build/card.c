/* SPDX-License-Identifier: Apache-2.0 */
#include "build/card.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "build/card_template.h"
#include "build/kernel_dir.h"
#include "build/script.h"

#define NAME_LIMIT 10000 /* functions, classes */
#define TEXT_LIMIT ((size_t)64 * 1024)

typedef struct name_list {
    const char **items;
    size_t count, capacity;
    kernels_arena *arena;
} name_list;

static kernels_status add_name(name_list *list, kernels_view name, kernels_error *error) {
    const char *copy = kernels_arena_copy_text(list->arena, name);
    if (!copy || !kernels_grow((void **)&list->items, &list->capacity, list->count, sizeof *list->items, NAME_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    list->items[list->count++] = copy;
    return KERNELS_OK;
}

/* Moves the names into the arena. */
static kernels_status finish(name_list *list, kernels_strings *names, kernels_error *error) {
    const char **items = kernels_arena_array(list->arena, list->count + 1, sizeof *items);
    if (items && list->count) {
        memcpy(items, list->items, list->count * sizeof *items);
    }
    kernels_free(list->items);
    *names = (kernels_strings){items, list->count};
    return items ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* ---- __all__ ---- */

/* The names of a list literal at tokens [begin, end). */
static kernels_status read_list(const kernels_script *source, size_t begin, size_t end, name_list *names,
                                kernels_error *error) {
    while (begin < end) {
        size_t comma = kernels_script_find(source, begin, end, ",");
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(TEXT_LIMIT);
        if (kernels_script_constant_string(source, begin, comma, &text)) {
            KERNELS_TRY(kernels_buffer_status(&text, error));
            KERNELS_TRY(add_name(names, kernels_buffer_view(&text), error));
        }
        begin = comma + 1;
    }
    return KERNELS_OK;
}

/* One statement: names gets what it assigns to __all__ as a list literal. */
static kernels_status read_assignment(const kernels_script *source, size_t begin, size_t end, name_list *names,
                                      kernels_error *error) {
    bool named = false;
    if (kernels_script_find(source, begin, end, ":") < end) {
        return KERNELS_OK; /* annotated, or the head of a block */
    }
    for (size_t equal; (equal = kernels_script_find(source, begin, end, "=")) < end; begin = equal + 1) {
        named |= equal == begin + 1 && kernels_script_is(source, begin, "__all__");
    }
    bool is_list =
        named && begin + 1 < end && kernels_script_is(source, begin, "[") && source->tokens[begin].match == end - 1;
    return is_list ? read_list(source, begin + 1, end - 1, names, error) : KERNELS_OK;
}

static kernels_status read_all(const kernels_script *source, name_list *names, kernels_error *error) {
    for (size_t i = 0; i < source->line_count && !names->count; i++) {
        const kernels_script_line *line = &source->lines[i];
        size_t begin = line->begin;
        while (line->top_level && begin < line->end && !names->count) {
            size_t end = kernels_script_find(source, begin, line->end, ";");
            KERNELS_TRY(read_assignment(source, begin, end, names, error));
            begin = end + 1;
        }
    }
    return KERNELS_OK;
}

/* ---- classes ---- */

static kernels_status read_classes(const kernels_script *source, name_list *names, kernels_error *error) {
    for (size_t i = 0; i < source->line_count; i++) {
        const kernels_script_line *line = &source->lines[i];
        if (line->top_level && line->begin + 1 < line->end && kernels_script_is(source, line->begin, "class")) {
            KERNELS_TRY(add_name(names, source->tokens[line->begin + 1].text, error));
        }
    }
    return KERNELS_OK;
}

/* ---- files ---- */

typedef kernels_status reader(const kernels_script *source, name_list *names, kernels_error *error);

/* Reads one file; *found tells whether it is there. A file that is not Python holds nothing. */
static kernels_status read_file(const char *directory, const char *name, reader *read, name_list *names, bool *found,
                                kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, name);
    KERNELS_CLEANUP_FREE char *text = NULL;
    size_t size = 0;
    kernels_script source;
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    *found = kernels_file_is_regular(path);
    if (!*found) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_file_read(path, KERNELS_SCRIPT_SIZE_LIMIT, &text, &size, error));
    if (kernels_script_scan((kernels_view){text, size}, path, &source, NULL)) {
        return KERNELS_OK;
    }
    kernels_status status = read(&source, names, error);
    kernels_script_dispose(&source);
    return status;
}

static kernels_status read_functions(const char *package, kernels_card_facts *facts, bool *has_layers,
                                     kernels_error *error) {
    name_list names = {.arena = facts->owner};
    bool found = false;
    kernels_status status = read_file(package, "__init__.py", read_all, &names, &found, error);
    size_t kept = 0;
    for (size_t i = 0; i < names.count; i++) {
        bool is_layers = strcmp(names.items[i], "layers") == 0;
        *has_layers |= is_layers;
        names.items[kept] = names.items[i];
        kept += is_layers ? 0 : 1;
    }
    names.count = kept;
    kernels_status finished = finish(&names, &facts->functions, error);
    return status ? status : finished;
}

static kernels_status read_layers(const char *package, kernels_card_facts *facts, kernels_error *error) {
    name_list names = {.arena = facts->owner};
    bool found = false;
    kernels_status status = read_file(package, "layers/__init__.py", read_classes, &names, &found, error);
    if (!status && !found) {
        status = read_file(package, "layers.py", read_classes, &names, &found, error);
    }
    kernels_status finished = finish(&names, &facts->layers, error);
    return status ? status : finished;
}

kernels_status kernels_card_facts_read(const char *kernel_dir, const kernels_build *build, kernels_card_facts *facts,
                                       kernels_error *error) {
    *facts = (kernels_card_facts){.owner = kernels_arena_new(0)};
    KERNELS_CLEANUP_FREE char *python_name = kernels_name_to_python(kernels_view_of(build->name));
    KERNELS_CLEANUP_FREE char *package =
        python_name ? kernels_path_join3(kernel_dir, kernels_extension_directory(build), python_name) : NULL;
    KERNELS_CLEANUP_FREE char *benchmark = kernels_path_join(kernel_dir, "benchmarks/benchmark.py");
    if (!facts->owner || !package || !benchmark) {
        kernels_card_facts_dispose(facts);
        return kernels_fail_no_memory(error);
    }
    facts->has_benchmark = kernels_file_is_regular(benchmark);
    bool has_layers = false;
    kernels_status status = read_functions(package, facts, &has_layers, error);
    if (!status && has_layers) {
        status = read_layers(package, facts, error);
    }
    if (status) {
        kernels_card_facts_dispose(facts);
    }
    return status;
}

void kernels_card_facts_dispose(kernels_card_facts *facts) {
    kernels_arena_free(facts->owner);
    *facts = (kernels_card_facts){0};
}

/* ---- rendering ---- */

static kernels_card_value text_value(const char *text) {
    return (kernels_card_value){.type = text ? KERNELS_CARD_TEXT : KERNELS_CARD_UNDEFINED,
                                .as.text = kernels_view_of(text)};
}

static kernels_card_value list_value(kernels_strings list) {
    return (kernels_card_value){.type = list.count ? KERNELS_CARD_LIST : KERNELS_CARD_UNDEFINED, .as.list = list};
}

static kernels_status normal_url(const char *url, char **normal, kernels_error *error) {
    *normal = NULL;
    return url ? kernels_git_url_normalize(kernels_view_of(url), normal, error) : KERNELS_OK;
}

static kernels_status render(kernels_view text, const char *path, const kernels_build *build,
                             const kernels_card_facts *facts, kernels_buffer *out, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *upstream = NULL, *license = kernels_strdup(build->license);
    KERNELS_CLEANUP_FREE char *source = NULL;
    KERNELS_TRY(license ? KERNELS_OK : kernels_fail_no_memory(error));
    KERNELS_TRY(normal_url(build->upstream, &upstream, error));
    KERNELS_TRY(normal_url(build->source, &source, error));
    for (char *c = license; *c; c++) {
        *c = kernels_to_lower(*c);
    }
    const kernels_card_variable variables[] = {
        {KERNELS_VIEW("repo_id"), text_value(build->hub_repo_id)},
        {KERNELS_VIEW("version"), {.type = KERNELS_CARD_INTEGER, .as.integer = build->version}},
        {KERNELS_VIEW("license"), text_value(license)},
        {KERNELS_VIEW("functions"), list_value(facts->functions)},
        {KERNELS_VIEW("layers"), list_value(facts->layers)},
        {KERNELS_VIEW("has_benchmark"), {.type = KERNELS_CARD_BOOLEAN, .as.boolean = facts->has_benchmark}},
        {KERNELS_VIEW("upstream"), text_value(upstream)},
        {KERNELS_VIEW("source"), text_value(source)},
    };
    return kernels_card_template_render(text, path, variables, sizeof variables / sizeof *variables, out, error);
}

kernels_status kernels_card_render(const char *kernel_dir, const kernels_build *build, kernels_buffer *out,
                                   kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(kernel_dir, "CARD.md");
    KERNELS_CLEANUP_FREE char *text = NULL;
    size_t size = 0;
    kernels_card_facts facts;
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    if (!build->hub_repo_id) {
        return kernels_fail(error, KERNELS_NOT_FOUND,
                            "%s needs the name of the kernel's repository: set general.hub.repo-id in build.toml",
                            path);
    }
    KERNELS_TRY(kernels_file_read(path, KERNELS_CARD_SIZE_LIMIT, &text, &size, error));
    KERNELS_TRY(kernels_card_facts_read(kernel_dir, build, &facts, error));
    kernels_status status = render((kernels_view){text, size}, path, build, &facts, out, error);
    kernels_card_facts_dispose(&facts);
    return status;
}
