/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_writer.h"
#include "build/project.h"
#include "folder.h"
#include "vector.h"

static bool starts_with(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static void read_project(const char *name, kernels_build *build) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *path = kernels_path_join3(getenv("KERNELS_TEST_DATA"), "builder", name), *text = NULL;
    size_t size = 0;
    must(kernels_file_read(path, (size_t)1024 * 1024, &text, &size, &error), &error);
    must(kernels_build_parse((kernels_view){text, size}, path, build, NULL, &error), &error);
    kernels_free(text);
    kernels_free(path);
}

/* ---- files and pyproject.toml ---- */

static void check_texts(const kernels_node *wanted, const kernels_node *got) {
    assert_non_null(got);
    assert_int_equal(got->count, wanted->count);
    for (size_t i = 0; i < wanted->count; i++) {
        assert_true(kernels_view_equal(kernels_node_text(wanted->as.items[i]), kernels_node_text(got->as.items[i])));
    }
}

static void check_pyproject(kernels_document *document, const kernels_node *wanted, const kernels_new_file *file) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_document toml;
    must(kernels_toml_parse((kernels_view){file->content, file->size}, file->path, &toml, &error), &error);
    const kernels_node *project = kernels_node_find(toml.root, "project");
    assert_true(kernels_view_equal_text(kernels_node_text(kernels_node_find(project, "name")),
                                        vector_text(document, wanted, "project_name")));
    assert_true(kernels_view_equal_text(kernels_node_text(kernels_node_find(project, "requires-python")), ">=3.9"));
    assert_null(kernels_node_find(toml.root, "build-system"));
    check_texts(kernels_node_find(wanted, "dependencies"), kernels_node_find(project, "dependencies"));
    const kernels_node *optional = kernels_node_find(wanted, "optional_dependencies");
    const kernels_node *got = kernels_node_find(project, "optional-dependencies");
    assert_int_equal(got ? got->count : 0, optional->count);
    for (size_t i = 0; i < optional->count; i++) {
        char *key = kernels_arena_copy_text(document->arena, optional->as.members[i].key);
        check_texts(optional->as.members[i].value, kernels_node_find(got, key));
    }
    const kernels_node *tool = kernels_node_find(toml.root, "tool");
    const kernels_node *pytest = kernels_node_find(kernels_node_find(tool, "pytest"), "ini_options");
    assert_true(kernels_view_starts_with(kernels_node_text(kernels_node_find(pytest, "markers")->as.items[0]),
                                         KERNELS_VIEW("kernels_ci")));
    kernels_document_dispose(&toml);
}

static void test_create_pyproject(void **state) {
    (void)state;
    kernels_document document = vector_read("builder/create_pyproject.json");
    size_t done = 0;
    for (size_t i = 0; i < document.root->count; i++) {
        const kernels_node *one = document.root->as.items[i];
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_build build;
        kernels_file_set files = {0};
        if (strcmp(vector_text(&document, one, "framework"), "torch-noarch") != 0) {
            continue;
        }
        read_project(vector_text(&document, one, "build_toml"), &build);
        must(kernels_project_make(&build, vector_text(&document, one, "unique_id"), NULL, &files, &error), &error);
        const kernels_node *required = kernels_node_find(one, "files_required");
        assert_int_equal(files.count, required->count);
        for (size_t j = 0; j < required->count; j++) {
            assert_true(kernels_view_equal_text(kernels_node_text(required->as.items[j]), files.items[j].path));
            assert_null(strstr(files.items[j].content, "@python_name@"));
        }
        check_pyproject(&document, kernels_node_find(one, "pyproject"),
                        kernels_file_set_find(&files, "pyproject.toml"));
        kernels_file_set_dispose(&files);
        kernels_build_dispose(&build);
        done++;
    }
    print_message("%zu projects\n", done);
    kernels_document_dispose(&document);
}

/* ---- metadata ---- */

/* The vectors were made before kernels-minver: it is taken out of what we write, and checked. */
static char *without_minver(const char *text, bool has_kernel_depends) {
    const char *line = strstr(text, "  \"kernels-minver\": ");
    assert_non_null(line);
    assert_true(starts_with(line, has_kernel_depends ? "  \"kernels-minver\": \"0.17.0\",\n"
                                                     : "  \"kernels-minver\": \"0.14.0\",\n"));
    const char *rest = strchr(line, '\n') + 1;
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add(&out, text, (size_t)(line - text));
    kernels_buffer_add_text(&out, rest);
    return kernels_buffer_take(&out);
}

static void check_metadata(const kernels_node *wanted, const kernels_new_file *file) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &text, 2, false);
    kernels_json_node(&writer, wanted);
    char *expected = kernels_buffer_take(&text);
    kernels_view rest = kernels_view_of(expected);
    const char *mark = strstr(expected, "<builder version>");
    size_t at = mark ? (size_t)(mark - expected) : rest.size;
    kernels_buffer_add(&text, expected, at);
    if (mark) {
        kernels_buffer_add_text(&text, kernels_library_version());
        kernels_buffer_add_text(&text, mark + strlen("<builder version>"));
    }
    bool depends = kernels_node_find(wanted, "kernel-depends")->count > 0;
    char *got = without_minver(file->content, depends);
    assert_string_equal(got, kernels_buffer_text(&text));
    kernels_free(got);
    kernels_free(expected);
    kernels_buffer_dispose(&text);
}

static void test_metadata(void **state) {
    (void)state;
    static const kernels_provenance provenance = {.builder_version = "",
                                                  .kernel = {"0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c", true}};
    kernels_document document = vector_read("builder/metadata_files.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    size_t done = 0;
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *one = cases->as.items[i];
        const char *project = vector_text(&document, one, "build_toml");
        const kernels_node *expect = kernels_node_find(one, "expect");
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_build build;
        kernels_file_set files = {0};
        if (!starts_with(project, "projects/noarch-")) {
            continue;
        }
        kernels_provenance known = provenance;
        known.builder_version = kernels_library_version();
        const kernels_node *first = expect->as.members[0].value;
        if (!kernels_node_find(kernels_node_find(first, "provenance"), "kernel")) {
            known.kernel = (kernels_git_status){0};
        }
        read_project(project, &build);
        must(kernels_project_make(&build, "rev0001", &known, &files, &error), &error);
        for (size_t j = 0; j < expect->count; j++) {
            char *name = kernels_arena_copy_text(document.arena, expect->as.members[j].key);
            check_metadata(expect->as.members[j].value, kernels_file_set_find(&files, name));
            done++;
        }
        kernels_file_set_dispose(&files);
        kernels_build_dispose(&build);
    }
    print_message("%zu metadata files\n", done);
    assert_true(done >= KERNELS_BACKEND_COUNT);
    kernels_document_dispose(&document);
}

/* ---- file sets ---- */

static void test_placeholders(void **state) {
    (void)state;
    static const kernels_placeholder table[] = {{"python_name", "a_b"}, {"unique_id", "x"}, {NULL, NULL}};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_file_set files = {0};
    must(kernels_file_set_add_templates(&files, "project/noarch", table, &error), &error);
    const kernels_new_file *ops = kernels_file_set_find(&files, "_ops.py");
    assert_non_null(strstr(ops->content, "_NAME = \"a_b\"\n_UNIQUE_ID = \"x\"\n"));
    assert_non_null(strstr(kernels_file_set_find(&files, "pyproject.toml")->content, "@dependencies@")); /* not given */
    assert_int_equal(kernels_file_set_add_templates(&files, "nothing", table, &error), KERNELS_INTERNAL);
    kernels_error_dispose(&error);
    kernels_file_set_dispose(&files);
}

static void test_all_or_nothing(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_file_set files = {0};
    kernels_buffer list = KERNELS_BUFFER_INIT(4096);
    char *folder = folder_make();
    must(kernels_file_set_add(&files, "a.txt", KERNELS_VIEW("a"), &error), &error);
    must(kernels_file_set_add(&files, "b.txt", KERNELS_VIEW("b"), &error), &error);
    must(kernels_file_set_add(&files, "c.txt/d.txt", KERNELS_VIEW("d"), &error), &error);
    folder_write_text(folder, "b.txt", "mine");
    folder_write_text(folder, "c.txt", "in the way");
    assert_int_equal(kernels_file_set_existing(&files, folder, &list), 1);
    assert_string_equal(kernels_buffer_text(&list), "  b.txt");
    assert_int_not_equal(kernels_file_set_write(&files, folder, &error), KERNELS_OK);
    assert_false(folder_has(folder, "a.txt"));
    assert_true(folder_has(folder, "b.txt"));
    kernels_buffer_dispose(&list);
    kernels_error_dispose(&error);
    kernels_file_set_dispose(&files);
    folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_pyproject),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_placeholders),
        cmocka_unit_test(test_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
