/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "build/registration_check.h"
#include "build/script.h"
#include "folder.h"
#include "vector.h"

/* "LINE KIND NAME" of the violations of one source. */
static kernels_status scan(kernels_view source, const char *python_name, kernels_buffer *out, kernels_error *error) {
    kernels_registrations found = {0};
    kernels_status status = kernels_registration_scan(source, "m.py", python_name, &found, error);
    for (size_t i = 0; i < found.count; i++) {
        kernels_buffer_printf(out, "%d:%u %s %s\n", (int)found.items[i].type, found.items[i].line, found.items[i].kind,
                              found.items[i].name);
    }
    kernels_registrations_dispose(&found);
    return status;
}

/* Decorators only: what the vectors know. */
static void keep_decorators(kernels_buffer *text) {
    kernels_buffer kept = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_view rest = kernels_buffer_view(text), line;
    while (rest.size && kernels_view_split(&rest, '\n', &line)) {
        if (kernels_view_starts_with(line, KERNELS_VIEW("0:"))) {
            kernels_buffer_printf(&kept, "%.*s\n", KERNELS_VIEW_ARGS(kernels_view_slice(line, 2, line.size)));
        }
    }
    kernels_buffer_dispose(text);
    *text = kept;
}

static void test_builder_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("builder/op_registration_check.json");
    for (size_t i = 0; i < document.root->count; i++) {
        const kernels_node *one = document.root->as.items[i];
        const kernels_node *violations = kernels_node_find(one, "violations");
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_buffer got = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        kernels_buffer wanted = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        must(scan(kernels_node_text(kernels_node_find(one, "source")), "relu_tpu", &got, &error), &error);
        keep_decorators(&got);
        for (size_t j = 0; j < violations->count; j++) {
            const kernels_node *violation = violations->as.items[j];
            kernels_buffer_printf(&wanted, "%d %s %s\n", (int)kernels_node_find(violation, "line")->as.unsigned_value,
                                  vector_text(&document, violation, "kind"), vector_text(&document, violation, "name"));
        }
        assert_string_equal(kernels_buffer_text(&got), kernels_buffer_text(&wanted));
        kernels_buffer_dispose(&got);
        kernels_buffer_dispose(&wanted);
    }
    print_message("%zu sources\n", document.root->count);
    kernels_document_dispose(&document);
}

static void test_buildset_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("buildsets/torch-ops-check.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    static const char prefix[] = "source/torch-ext/m/__init__.py:";
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *one = cases->as.items[i];
        const kernels_node *violations = kernels_node_find(one, "violations");
        bool passes = kernels_node_find(one, "exit")->as.unsigned_value == 0;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_buffer got = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        kernels_buffer wanted = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        kernels_status status = scan(kernels_node_text(kernels_node_find(one, "source")), "m", &got, &error);
        keep_decorators(&got);
        for (size_t j = 0; j < violations->count; j++) {
            kernels_view text = kernels_node_text(violations->as.items[j]);
            kernels_buffer_printf(&wanted, "%.*s\n",
                                  KERNELS_VIEW_ARGS(kernels_view_slice(text, sizeof prefix - 1, text.size)));
        }
        assert_string_equal(kernels_buffer_text(&got), kernels_buffer_text(&wanted));
        assert_true(passes == (status == KERNELS_OK && violations->count == 0));
        kernels_error_dispose(&error);
        kernels_buffer_dispose(&got);
        kernels_buffer_dispose(&wanted);
    }
    print_message("%zu sources\n", cases->count);
    kernels_document_dispose(&document);
}

/* Types: 1 = own literal, 2 = other literal. */
static void test_jax_op(void **state) {
    (void)state;
    static const struct {
        const char *source, *wanted;
    } cases[] = {
        {"relu = jax_op('mine::relu', f)\n", "2:1 op mine::relu\n"},
        {"relu = jax_op('relu_tpu::relu', f)\n", "1:1 op relu_tpu::relu\n"},
        {"relu = jax_op(\n    'relu_' 'tpu::relu', f)\n", "1:1 op relu_tpu::relu\n"},
        {"@pallas.jax_op(\"mine::relu\")\ndef f(x): return x\n", "2:1 op mine::relu\n"},
        {"try:\n    relu = jax_op('mine::relu', f)\nexcept E:\n    pass\n", "2:2 op mine::relu\n"},
        {"relu = jax_op(add_op_namespace_prefix('relu'), f)\n", ""},
        {"relu = jax_op(f'mine::relu', f)\n", ""},
        {"relu = jax_op(NAME, f)\n", ""},
        {"def g():\n    return jax_op('mine::relu', f)\n", ""},
        {"class A:\n    def g(self):\n        if x:\n            jax_op('mine::relu', f)\n", ""},
        {"def jax_op(name='mine::relu'):\n    pass\n", ""},
        {"'''jax_op('mine::relu')'''\n# jax_op('mine::relu')\n", ""},
        {"def g():\n    pass\nx = jax_op('mine::relu', f)\n", "2:3 op mine::relu\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_buffer got = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        must(scan(kernels_view_of(cases[i].source), "relu_tpu", &got, &error), &error);
        assert_string_equal(kernels_buffer_text(&got), cases[i].wanted);
        kernels_buffer_dispose(&got);
    }
    print_message("%zu sources\n", sizeof cases / sizeof *cases);
}

static void test_folder(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    char *folder = folder_make();
    kernels_buffer warnings = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    folder_write_text(folder, "torch-ext/relu_tpu/__init__.py", "relu = jax_op('relu_tpu::relu', f)\n");
    must(kernels_registration_check(folder, "relu_tpu", true, &warnings, &error), &error);
    assert_non_null(strstr(kernels_buffer_text(&warnings), "torch-ext/relu_tpu/__init__.py:1"));
    folder_write_text(folder, "torch-ext/relu_tpu/op.py", "relu = jax_op('other::relu', f)\n");
    must(kernels_registration_check(folder, "relu_tpu", false, &warnings, &error), &error);
    assert_int_equal(kernels_registration_check(folder, "relu_tpu", true, NULL, &error), KERNELS_CHECK_FAILED);
    assert_non_null(strstr(kernels_error_message(&error), "torch-ext/relu_tpu/op.py:1 op other::relu"));
    folder_write_text(folder, "tests/test_a.py", "\nx = (\n");
    assert_int_equal(kernels_registration_check(folder, "relu_tpu", true, NULL, &error), KERNELS_SYNTAX);
    assert_non_null(strstr(kernels_error_message(&error), "tests/test_a.py:2: not valid Python"));
    kernels_error_dispose(&error);
    kernels_buffer_dispose(&warnings);
    folder_remove(folder);
}

/* ---- the reader of Python ---- */

static void test_lines(void **state) {
    (void)state;
    static const char text[] = "\xef\xbb\xbf# comment\n\nx = [1,\n  2]\\\n  + y  # tail\nif a:\n\tz = '''\n  q\n'''\n"
                               "\n\n  # deep\ndef f(): pass\n\f\nclass A:\r\n    b = r'\\x'\r\n";
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_script source;
    must(kernels_script_scan(kernels_view_of(text), "m.py", &source, &error), &error);
    static const struct {
        const char *first;
        uint32_t line;
        bool top_level, in_scope;
    } wanted[] = {{"x", 3, true, false},    {"if", 6, true, false},     {"z", 7, false, false},
                  {"def", 13, true, false}, {"class", 15, true, false}, {"b", 16, false, true}};
    assert_int_equal(source.line_count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < source.line_count; i++) {
        const kernels_script_line *line = &source.lines[i];
        assert_true(kernels_script_is(&source, line->begin, wanted[i].first));
        assert_int_equal(source.tokens[line->begin].line, wanted[i].line);
        assert_int_equal(line->top_level, wanted[i].top_level);
        assert_int_equal(line->in_scope, wanted[i].in_scope);
    }
    kernels_script_dispose(&source);
}

static void test_not_python(void **state) {
    (void)state;
    static const char *const texts[] = {"(", ")", "(]", "'a", "'''a", "x = $", "'\\", "a\n\n[", "x = 'a\n'", "?"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kernels_script source;
        assert_int_equal(kernels_script_scan(kernels_view_of(texts[i]), "m.py", &source, NULL), KERNELS_SYNTAX);
    }
    kernels_script source;
    assert_int_equal(kernels_script_scan((kernels_view){"a\0b", 3}, "m.py", &source, NULL), KERNELS_SYNTAX);
    kernels_buffer deep = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < 2 * KERNELS_SCRIPT_BRACKET_LIMIT; i++) {
        kernels_buffer_add_char(&deep, '(');
    }
    assert_int_equal(kernels_script_scan(kernels_buffer_view(&deep), "m.py", &source, NULL), KERNELS_SYNTAX);
    kernels_buffer_dispose(&deep);
}

static void test_strings(void **state) {
    (void)state;
    static const struct {
        const char *text, *value; /* NULL: no constant */
    } cases[] = {
        {"'a' \"b\"", "ab"},
        {"('a')", "a"},
        {"r'\\n'", "\\n"},
        {"'\\n\\x41\\u00e9\\101'", "\nA\xc3\xa9"
                                   "A"},
        {"'''a\nb'''", "a\nb"},
        {"u'a'", "a"},
        {"b'a'", NULL},
        {"f'a'", NULL},
        {"'a' + 'b'", NULL},
        {"a", NULL},
        {"'\\q'", "\\q"},
        {"''", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_script source;
        kernels_buffer value = KERNELS_BUFFER_INIT(1024);
        must(kernels_script_scan(kernels_view_of(cases[i].text), "m.py", &source, &error), &error);
        bool constant = kernels_script_constant_string(&source, 0, source.token_count, &value);
        assert_int_equal(constant, cases[i].value != NULL);
        if (constant) {
            assert_string_equal(kernels_buffer_text(&value), cases[i].value);
        }
        kernels_buffer_dispose(&value);
        kernels_script_dispose(&source);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builder_vectors), cmocka_unit_test(test_buildset_vectors),
        cmocka_unit_test(test_jax_op),          cmocka_unit_test(test_folder),
        cmocka_unit_test(test_lines),           cmocka_unit_test(test_not_python),
        cmocka_unit_test(test_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
