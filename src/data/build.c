/* SPDX-License-Identifier: Apache-2.0 */
/* Reading build.toml: which edition it is, and what to say about older ones. */
#include "data/build.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

/* ---- editions ---- */

/* 0 = none written. */
static kernels_status find_edition(kernels_reader *reader, const kernels_node *root, uint64_t *edition) {
    const kernels_place top = {.position = root->begin};
    const kernels_member *general = kernels_node_member(root, "general");
    *edition = 0;
    if (!general) {
        return KERNELS_OK;
    }
    const kernels_place general_place = {&top, general->key, 0, general->key_position};
    if (general->value->type != KERNELS_NODE_OBJECT) {
        return kernels_reader_wrong_type(reader, &general_place, "a table", general->value);
    }
    const kernels_member *member = kernels_node_member(general->value, "edition");
    if (!member) {
        return KERNELS_OK;
    }
    const kernels_place place = {&general_place, member->key, 0, member->key_position};
    KERNELS_TRY(kernels_read_unsigned(reader, &place, member->value, edition, NULL));
    if (*edition > UINT32_MAX) {
        return kernels_reader_fail(reader, &place, "expected the edition 5, found `%llu`",
                                   (unsigned long long)*edition);
    }
    if (*edition != 5) {
        return kernels_reader_fail_as(reader, KERNELS_UNSUPPORTED_EDITION, &place,
                                      "unsupported edition %llu: expected 5; a newer kernel-builder may know it",
                                      (unsigned long long)*edition);
    }
    return KERNELS_OK;
}

static const char *old_kernel_sign(const kernels_node *kernels) {
    if (!kernels_node_is(kernels, KERNELS_NODE_OBJECT)) {
        return NULL;
    }
    for (size_t i = 0; i < kernels->count; i++) {
        const kernels_node *kernel = kernels->as.members[i].value;
        if (kernels_node_find(kernel, "language")) {
            return "it has the key `language` in a kernel";
        }
        if (kernels_node_is(kernel, KERNELS_NODE_OBJECT) && !kernels_node_find(kernel, "backend")) {
            return "a kernel has no key `backend`";
        }
    }
    return NULL;
}

const char *kernels_build_old_sign(const kernels_node *root) {
    const kernels_node *general = kernels_node_find(root, "general");
    if (kernels_node_find(general, "universal")) {
        return "it has the key `general.universal`";
    }
    if (kernels_node_find(general, "cuda-minver") || kernels_node_find(general, "cuda-maxver")) {
        return "it has the key `general.cuda-minver` or `general.cuda-maxver`";
    }
    if (kernels_node_find(kernels_node_find(root, "torch"), "universal")) {
        return "it has the key `torch.universal`";
    }
    const char *sign = old_kernel_sign(kernels_node_find(root, "kernel"));
    if (sign) {
        return sign;
    }
    bool no_backends = kernels_node_is(general, KERNELS_NODE_OBJECT) && !kernels_node_find(general, "backends");
    return no_backends ? "it has no key `general.backends`" : NULL;
}

/* Which of two failed readings of an unmarked file says what its author meant. */
static bool is_meant_as_1(const kernels_node *root) {
    return kernels_node_find(kernels_node_find(root, "torch"), "universal") ||
           old_kernel_sign(kernels_node_find(root, "kernel"));
}

static bool is_meant_as_4(const kernels_node *root) {
    const kernels_node *general = kernels_node_find(root, "general");
    return kernels_node_find(root, "torch-noarch") ||
           (kernels_node_find(general, "version") && kernels_node_find(general, "license"));
}

/* ---- reading ---- */

static kernels_status read_as(const kernels_document *document, const char *name, unsigned edition, bool for_migration,
                              kernels_build *build, kernels_error *error) {
    static const unsigned masks[] = {[1] = KERNELS_EDITION_1,
                                     [2] = KERNELS_EDITION_2,
                                     [3] = KERNELS_EDITION_3,
                                     [4] = KERNELS_EDITION_4,
                                     [5] = KERNELS_EDITION_5};
    kernels_build result = {.edition = edition, .owner = kernels_arena_new(0)};
    if (!result.owner) {
        return kernels_fail_no_memory(error);
    }
    kernels_reader reader = {.name = name,
                             .arena = result.owner,
                             .error = error,
                             .mask = masks[edition],
                             .any_version_width = for_migration && edition != 5};
    kernels_status status = kernels_build_schema_read(&reader, document->root, &result);
    if (status != KERNELS_OK) {
        kernels_build_dispose(&result);
        return status;
    }
    *build = result;
    return KERNELS_OK;
}

/* Moves the error of the failed reading that says most to *error and frees the other. */
static kernels_status report(kernels_error *chosen, kernels_error *other, kernels_error *error) {
    kernels_status status = chosen->status;
    kernels_error_move(error, chosen);
    kernels_error_dispose(chosen);
    kernels_error_dispose(other);
    return status;
}

/* Tries two editions. The error is that of the first when `prefer_first`. */
static kernels_status read_as_either(const kernels_document *document, const char *name, unsigned first,
                                     unsigned second, bool prefer_first, bool for_migration, kernels_build *build,
                                     kernels_error *error) {
    kernels_error as_first = KERNELS_ERROR_INIT, as_second = KERNELS_ERROR_INIT;
    kernels_status status = read_as(document, name, first, for_migration, build, &as_first);
    if (status == KERNELS_OK) {
        return KERNELS_OK;
    }
    if (status == KERNELS_NO_MEMORY) {
        return report(&as_first, &as_second, error);
    }
    status = read_as(document, name, second, for_migration, build, &as_second);
    if (status == KERNELS_OK) {
        kernels_error_dispose(&as_first);
        return KERNELS_OK;
    }
    return prefer_first && status != KERNELS_NO_MEMORY ? report(&as_first, &as_second, error)
                                                       : report(&as_second, &as_first, error);
}

static kernels_status read_unmarked(const kernels_document *document, const char *name, bool for_migration,
                                    kernels_build *build, kernels_error *error) {
    kernels_status status =
        read_as_either(document, name, 4, 3, is_meant_as_4(document->root), for_migration, build, error);
    const char *sign = kernels_build_old_sign(document->root);
    if (status == KERNELS_OK || status == KERNELS_NO_MEMORY || !sign) {
        return status;
    }
    if (for_migration) {
        kernels_error_dispose(error);
        return read_as_either(document, name, 1, 2, is_meant_as_1(document->root), true, build, error);
    }
    return kernels_fail(error, KERNELS_UNSUPPORTED_EDITION,
                        "%s: this file is of edition 1 or 2 (%s), which is no longer read: run `kernel-builder "
                        "update-build` to bring it to edition 5",
                        name, sign);
}

kernels_status kernels_build_read_document(const kernels_document *document, const char *name, bool for_migration,
                                           kernels_build *build, kernels_error *error) {
    kernels_reader reader = {.name = name, .error = error};
    uint64_t edition = 0;
    KERNELS_TRY(find_edition(&reader, document->root, &edition));
    return edition == 5 ? read_as(document, name, 5, false, build, error)
                        : read_unmarked(document, name, for_migration, build, error);
}

/* Older editions: 3 is refused, 4 gets a warning. */
static kernels_status judge_edition(const char *name, const kernels_build *build, char **warning,
                                    kernels_error *error) {
    if (build->edition == 3) {
        return kernels_fail(error, KERNELS_UNSUPPORTED_EDITION,
                            "%s: this file has no `general.edition` and is of edition 3, which is no longer read: "
                            "run `kernel-builder update-build` to bring it to edition 5",
                            name);
    }
    if (build->edition == 4 && warning) {
        kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        kernels_buffer_printf(&text,
                              "%s: this file has no `general.edition` and was read as edition 4: run "
                              "`kernel-builder update-build` to bring it to edition 5",
                              name);
        return kernels_give_text(&text, warning, error);
    }
    return KERNELS_OK;
}

kernels_status kernels_build_parse(kernels_view text, const char *name, kernels_build *build, char **warning,
                                   kernels_error *error) {
    if (text.size > KERNELS_BUILD_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: expected at most %zu bytes, found %zu", name,
                            KERNELS_BUILD_SIZE_LIMIT, text.size);
    }
    kernels_document document = {0};
    kernels_build result = {0};
    KERNELS_TRY(kernels_toml_parse(text, name, &document, error));
    kernels_status status = kernels_build_read_document(&document, name, false, &result, error);
    kernels_document_dispose(&document);
    KERNELS_TRY(status);
    status = judge_edition(name, &result, warning, error);
    if (status != KERNELS_OK) {
        kernels_build_dispose(&result);
        return status;
    }
    *build = result;
    return KERNELS_OK;
}

kernels_status kernels_build_read(const char *kernel_dir, kernels_build *build, char **warning, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(kernel_dir, "build.toml");
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    char *data = NULL;
    size_t size = 0;
    KERNELS_TRY(kernels_file_read(path, KERNELS_BUILD_SIZE_LIMIT, &data, &size, error));
    kernels_status status = kernels_build_parse((kernels_view){data, size}, path, build, warning, error);
    if (status != KERNELS_OK) {
        kernels_error_set_subject(error, path);
    }
    kernels_free(data);
    return status;
}

void kernels_build_dispose(kernels_build *build) {
    if (build) {
        kernels_arena_free(build->owner);
        *build = (kernels_build){0};
    }
}

/* ---- derived values ---- */

size_t kernels_build_kernel_depends_count(const kernels_build *build, kernels_backend backend) {
    return build->kernel_depends_count + build->per_backend[backend].kernel_depends_count;
}

const kernels_dependency *kernels_build_kernel_depends_at(const kernels_build *build, kernels_backend backend,
                                                          size_t index) {
    return index < build->kernel_depends_count
               ? &build->kernel_depends[index]
               : &build->per_backend[backend].kernel_depends[index - build->kernel_depends_count];
}
