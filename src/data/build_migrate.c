/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bringing a build.toml to edition 5 by editing its text: missing keys are added beside their
 * neighbours, versions get two parts, a file without a framework section gets one at its end. The result is
 * read again as edition 5, so that a layout that the edits did not foresee is an error and not a broken file.
 */
#include "data/build_migrate.h"

#include <stdio.h>

#include "base/error.h"
#include "base/view.h"
#include "data/text.h"
#include "data/toml_text.h"

/* ---- versions ---- */

kernels_status kernels_migrate_version(kernels_migration *migration, const char *key, const kernels_node *value,
                                       char text[KERNELS_VERSION_TEXT_SIZE]) {
    kernels_version version;
    KERNELS_TRY(kernels_version_parse(value->as.text, &version, migration->error));
    for (size_t i = 2; i < version.count; i++) {
        if (version.parts[i] != 0) {
            char quoted[KERNELS_QUOTE_SIZE];
            return kernels_fail(migration->error, KERNELS_SCHEMA,
                                "%s:%u:%u: %s: edition 5 wants a version of 2 parts, found %s: shorten it",
                                migration->name, value->begin.line, value->begin.column, key,
                                kernels_quote(value->as.text, quoted));
        }
    }
    version.count = 2;
    kernels_version_print(&version, text);
    return KERNELS_OK;
}

/* Gives the version behind a key of a table two parts. */
static kernels_status fix_version(kernels_migration *migration, const char *path, const kernels_node *table,
                                  const char *key) {
    const kernels_node *value = kernels_node_find(table, key);
    kernels_version version;
    if (!kernels_node_is(value, KERNELS_NODE_STRING) ||
        kernels_version_parse(value->as.text, &version, NULL) != KERNELS_OK || version.count == 2) {
        return KERNELS_OK;
    }
    char text[KERNELS_VERSION_TEXT_SIZE], quoted[KERNELS_VERSION_TEXT_SIZE + 2];
    KERNELS_TRY(kernels_migrate_version(migration, path, value, text));
    int size = snprintf(quoted, sizeof(quoted), "\"%s\"", text);
    kernels_text_edits_replace_value(&migration->edits, value, (kernels_view){quoted, (size_t)size});
    return KERNELS_OK;
}

static kernels_status fix_versions(kernels_migration *migration) {
    const kernels_node *cuda = kernels_node_find(kernels_node_find(migration->root, "general"), "cuda");
    const kernels_node *torch = kernels_node_find(migration->root, "torch");
    const kernels_node *kernels = kernels_node_find(migration->root, "kernel");
    KERNELS_TRY(fix_version(migration, "general.cuda.minver", cuda, "minver"));
    KERNELS_TRY(fix_version(migration, "general.cuda.maxver", cuda, "maxver"));
    KERNELS_TRY(fix_version(migration, "torch.minver", torch, "minver"));
    KERNELS_TRY(fix_version(migration, "torch.maxver", torch, "maxver"));
    KERNELS_TRY(fix_version(migration, "torch.stable-abi", torch, "stable-abi"));
    for (size_t i = 0; kernels && i < kernels->count; i++) {
        char path[KERNELS_QUOTE_SIZE + 32], quoted[KERNELS_QUOTE_SIZE];
        const kernels_member *kernel = &kernels->as.members[i];
        (void)snprintf(path, sizeof(path), "kernel.%s.cuda-minver", kernels_quote(kernel->key, quoted));
        KERNELS_TRY(fix_version(migration, path, kernel->value, "cuda-minver"));
    }
    return KERNELS_OK;
}

/* ---- [general] and the framework ---- */

static kernels_status add_license(kernels_migration *migration, const kernels_member *anchor) {
    if (!migration->license) {
        return kernels_fail(migration->error, KERNELS_SCHEMA,
                            "%s: general.license: missing key: edition 5 needs the licence of the kernel: add `license "
                            "= \"...\"` to [general]",
                            migration->name);
    }
    kernels_buffer pair = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_text(&pair, "license = ");
    kernels_toml_add_string(&pair, kernels_view_of(migration->license));
    kernels_status status = kernels_buffer_status(&pair, migration->error);
    if (status == KERNELS_OK) {
        kernels_text_edits_add_after(&migration->edits, anchor, kernels_buffer_view(&pair));
    }
    kernels_buffer_dispose(&pair);
    return status;
}

static kernels_status complete_general(kernels_migration *migration) {
    const kernels_node *general = kernels_node_find(migration->root, "general");
    const kernels_member *anchor = kernels_node_member(general, "version");
    if (!anchor) {
        anchor = kernels_node_member(general, "name"); /* every edition requires it */
        kernels_text_edits_add_after(&migration->edits, anchor, KERNELS_VIEW("version = 1"));
    }
    kernels_text_edits_add_after(&migration->edits, anchor, KERNELS_VIEW("edition = 5"));
    return kernels_node_find(general, "license") ? KERNELS_OK : add_license(migration, anchor);
}

static void rename_key(kernels_migration *migration, const kernels_node *table, const char *from, const char *to) {
    const kernels_member *member = kernels_node_member(table, from);
    if (member) {
        kernels_text_edits_replace_key(&migration->edits, member, to);
    }
}

static void complete_framework(kernels_migration *migration) {
    const kernels_node *noarch = kernels_node_find(migration->root, "torch-noarch");
    rename_key(migration, noarch, "cuda-capabilities", "cuda_capabilities");
    rename_key(migration, noarch, "rocm-archs", "rocm_archs");
    if (!noarch && !kernels_node_find(migration->root, "torch") && !kernels_node_find(migration->root, "tvm-ffi")) {
        kernels_text_edits_append(&migration->edits, KERNELS_VIEW("[torch-noarch]\n"));
    }
}

static kernels_status collect_edits(kernels_migration *migration) {
    KERNELS_TRY(complete_general(migration));
    KERNELS_TRY(fix_versions(migration));
    if (migration->build->edition < 3) {
        KERNELS_TRY(kernels_migrate_old(migration));
    }
    complete_framework(migration);
    return KERNELS_OK;
}

/* ---- the whole ---- */

static kernels_status check_result(kernels_view text, const char *name, kernels_error *error) {
    kernels_document document = {0};
    kernels_build build = {0};
    kernels_status status = kernels_toml_parse(text, name, &document, error);
    if (status == KERNELS_OK) {
        status = kernels_build_read_document(&document, name, false, &build, error);
    }
    if (status != KERNELS_OK && status != KERNELS_NO_MEMORY) {
        status = kernels_wrap(error, status,
                              "%s: cannot be brought to edition 5 by itself, change it by hand; the result would have "
                              "this fault",
                              name);
    }
    kernels_build_dispose(&build);
    kernels_document_dispose(&document);
    return status;
}

/* body: without byte order mark, ending in a newline; out already holds what stands before it. */
static kernels_status migrate_document(kernels_view body, const char *name, const char *license,
                                       const kernels_document *document, const kernels_build *build,
                                       kernels_buffer *out, kernels_error *error) {
    kernels_migration migration = {
        .name = name, .license = license, .root = document->root, .build = build, .error = error};
    kernels_text_edits_init(&migration.edits, body);
    kernels_status status = collect_edits(&migration);
    if (status == KERNELS_OK) {
        status = kernels_text_edits_apply(&migration.edits, out, error);
    }
    kernels_text_edits_dispose(&migration.edits);
    return status == KERNELS_OK ? check_result(kernels_buffer_view(out), name, error) : status;
}

static kernels_status migrate_body(kernels_view body, const char *name, const char *license, unsigned *edition,
                                   kernels_buffer *out, kernels_error *error) {
    kernels_document document = {0};
    kernels_build build = {0};
    KERNELS_TRY(kernels_toml_parse(body, name, &document, error));
    kernels_status status = kernels_build_read_document(&document, name, true, &build, error);
    *edition = build.edition;
    if (status == KERNELS_OK && build.edition != 5) {
        status = migrate_document(body, name, license, &document, &build, out, error);
    }
    kernels_build_dispose(&build);
    kernels_document_dispose(&document);
    return status;
}

kernels_status kernels_build_migrate(kernels_view text, const char *name, const char *license, unsigned *edition,
                                     char **migrated, kernels_error *error) {
    const kernels_view mark = KERNELS_VIEW("\xef\xbb\xbf");
    bool has_mark = kernels_view_starts_with(text, mark);
    unsigned found = 0;
    if (text.size > KERNELS_BUILD_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: expected at most %zu bytes, found %zu", name,
                            KERNELS_BUILD_SIZE_LIMIT, text.size);
    }
    kernels_buffer body = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_view(&body, kernels_view_slice(text, has_mark ? mark.size : 0, text.size));
    kernels_buffer_add_text(&body, kernels_view_ends_with(text, KERNELS_VIEW("\n")) ? "" : "\n");
    kernels_buffer_add_view(&out, has_mark ? mark : KERNELS_VIEW(""));
    kernels_status status = kernels_buffer_status(&body, error);
    if (status == KERNELS_OK) {
        status = migrate_body(kernels_buffer_view(&body), name, license, &found, &out, error);
    }
    kernels_buffer_dispose(&body);
    if (status != KERNELS_OK) {
        kernels_buffer_dispose(&out);
        return status;
    }
    *edition = found;
    *migrated = found == 5 ? NULL : kernels_buffer_take(&out);
    kernels_buffer_dispose(&out);
    return KERNELS_OK;
}
