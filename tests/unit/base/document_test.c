/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_support.h"

#include "base/document.h"
#include "base/fault.h"
#include "base/json_writer.h"
#include "base/view.h"

static kernels_status parse_json(const char *text, kernels_document *document, kernels_error *error) {
    return kernels_json_parse(kernels_view_of(text), "input", document, error);
}

static void json_keeps_integers_exact(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_document document = {0};
    assert_ok(parse_json("{\"a\": 18446744073709551615, \"b\": -9223372036854775808, \"c\": 1.0, \"d\": 1e3,"
                         " \"e\": 18446744073709551616, \"f\": [true, null, \"\\u00e9\"]}",
                         &document, &error),
              error);
    const kernels_node *root = document.root;
    assert_int_equal(root->count, 6);
    assert_true(kernels_node_find(root, "a")->as.unsigned_value == UINT64_MAX);
    assert_true(kernels_node_find(root, "b")->as.negative == INT64_MIN);
    assert_int_equal(kernels_node_find(root, "c")->type, KERNELS_NODE_NUMBER);
    assert_true(kernels_view_equal(kernels_node_find(root, "d")->as.text, KERNELS_VIEW("1e3")));
    assert_int_equal(kernels_node_find(root, "e")->type, KERNELS_NODE_NUMBER);
    assert_true(kernels_view_equal(kernels_node_find(root, "f")->as.items[2]->as.text, KERNELS_VIEW("\xc3\xa9")));
    kernels_document_dispose(&document);
}

static void json_keeps_numbers_beyond_double(void **state) {
    (void)state;
    static const char *const bad[] = {"[1e400.5]", "[1e400 2]", "[01e400]", "[-e400]", "[\"1e400]"};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_document document = {0};
    assert_ok(parse_json("[1e400, \"2e400\\\"3e400\", -4.5E+999,\n0]", &document, &error), error);
    assert_null(error.message);
    assert_int_equal(document.root->count, 4);
    assert_int_equal(document.root->as.items[0]->type, KERNELS_NODE_NUMBER);
    assert_true(kernels_view_equal(document.root->as.items[0]->as.text, KERNELS_VIEW("1e400")));
    assert_true(kernels_view_equal(document.root->as.items[1]->as.text, KERNELS_VIEW("2e400\"3e400")));
    assert_true(kernels_view_equal(document.root->as.items[2]->as.text, KERNELS_VIEW("-4.5E+999")));
    assert_int_equal(document.root->as.items[3]->type, KERNELS_NODE_UNSIGNED);
    assert_int_equal(document.root->as.items[3]->begin.line, 2);
    kernels_document_dispose(&document);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse_json(bad[i], &document, &error), KERNELS_SYNTAX);
        kernels_error_dispose(&error);
    }
}

static void json_knows_positions_and_duplicates(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_document document = {0};
    assert_ok(parse_json("{\n  \"a\\\"\": 1,\n  \"b\": \"x\",\n  \"b\": 2\n}", &document, &error), error);
    const kernels_member *first = &document.root->as.members[0];
    assert_int_equal(first->key_position.line, 2);
    assert_int_equal(first->key_position.column, 3);
    assert_int_equal(document.root->as.members[1].value->begin.column, 8);
    assert_int_equal(document.root->begin.column, 1);
    assert_int_equal(document.root->end.line, 5);
    assert_int_equal(document.root->end.column, 2);
    const kernels_member *twice = kernels_node_duplicate(document.root);
    assert_int_equal(twice->key_position.line, 4);
    kernels_document_dispose(&document);
}

static void json_refuses_what_the_rfc_refuses(void **state) {
    (void)state;
    static const char *const bad[] = {"",         "{",     "[1,]",   "{\"a\":1,}", "01",          "nan",
                                      "'a'",      "[1] 2", "\"\t\"", "// c\n1",    "\"\\ud800\"", "\xef\xbb\xbf{}",
                                      "\"\xff\"", "1."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_document document = {0};
        if (parse_json(bad[i], &document, &error) == KERNELS_OK) {
            fail_msg("accepted `%s`", bad[i]);
        }
        assert_int_equal(error.status, KERNELS_SYNTAX);
        assert_contains(error.message, "input:");
        kernels_error_dispose(&error);
    }
}

static void deep_json_is_refused(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_document document = {0};
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    for (int i = 0; i < 1000000; i++) {
        kernels_buffer_add_char(&text, '[');
    }
    assert_int_equal(kernels_json_parse(kernels_buffer_view(&text), "input", &document, &error), KERNELS_LIMIT);
    kernels_error_dispose(&error);
    kernels_buffer_dispose(&text);
}

static void toml_keeps_order_and_positions(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_document document = {0};
    kernels_view text =
        KERNELS_VIEW("# c\n[z]\nb = 1\na = [\"\xc3\xa9\", \"y\"]\n[a]\nd = 1979-05-27\nf = 0.50\nn = -3\n");
    assert_ok(kernels_toml_parse(text, "build.toml", &document, &error), error);
    assert_true(kernels_view_equal(document.root->as.members[0].key, KERNELS_VIEW("z")));
    const kernels_node *z = kernels_node_find(document.root, "z");
    assert_true(kernels_view_equal(z->as.members[0].key, KERNELS_VIEW("b")));
    assert_int_equal(z->as.members[1].key_position.line, 4);
    const kernels_node *second = z->as.members[1].value->as.items[1];
    assert_int_equal(second->begin.column, 12); /* in bytes: the e with acute takes two */
    const kernels_node *a = kernels_node_find(document.root, "a");
    assert_int_equal(kernels_node_find(a, "d")->type, KERNELS_NODE_DATE);
    assert_true(kernels_view_equal(kernels_node_find(a, "d")->as.text, KERNELS_VIEW("1979-05-27")));
    assert_true(kernels_view_equal(kernels_node_find(a, "f")->as.text, KERNELS_VIEW("0.50")));
    assert_true(kernels_node_find(a, "n")->as.negative == -3);
    kernels_document_dispose(&document);
}

/* One line of several hundred kilobytes: every position is right, and found without scanning the line again. */
static void long_toml_lines_have_positions(void **state) {
    (void)state;
    enum { COUNT = 60000 };
    static const char *const items[] = {"\"\xc3\xa9\",", "\"\xe2\x82\xac\",", "[1],", "{a=1},", "\"xx\",", "12,"};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_document document = {0};
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_text(&text, "# \xc3\xa9\nx=[");
    for (size_t i = 0; i < COUNT; i++) {
        kernels_buffer_add_text(&text, items[i % 6]);
    }
    kernels_buffer_add_text(&text, "]\n");
    assert_ok(kernels_toml_parse(kernels_buffer_view(&text), "build.toml", &document, &error), error);
    const kernels_node *list = kernels_node_find(document.root, "x");
    assert_int_equal(list->count, COUNT);
    size_t column = 4;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(list->as.items[i]->begin.line, 2);
        assert_int_equal(list->as.items[i]->begin.column, column);
        column += strlen(items[i % 6]);
    }
    assert_int_equal(list->end.column, column + 1);
    kernels_document_dispose(&document);
    kernels_buffer_dispose(&text);
}

static void toml_errors_have_a_position(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_document document = {0};
    assert_int_equal(kernels_toml_parse(KERNELS_VIEW("a = 1\nb = \n"), "build.toml", &document, &error),
                     KERNELS_SYNTAX);
    assert_contains(error.message, "build.toml:2:");
    assert_int_equal(kernels_toml_parse(KERNELS_VIEW("a = \"\xff\""), "build.toml", &document, &error),
                     KERNELS_NOT_UTF8);
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_text(&text, "a = ");
    for (int i = 0; i < 100000; i++) {
        kernels_buffer_add_char(&text, '[');
    }
    assert_int_not_equal(kernels_toml_parse(kernels_buffer_view(&text), "build.toml", &document, &error), KERNELS_OK);
    kernels_buffer_reset(&text);
    kernels_buffer_add_text(&text, "a");
    for (int i = 0; i < 100000; i++) {
        kernels_buffer_add_text(&text, ".a");
    }
    kernels_buffer_add_text(&text, " = 1\n");
    assert_int_equal(kernels_toml_parse(kernels_buffer_view(&text), "build.toml", &document, &error), KERNELS_LIMIT);
    kernels_buffer_dispose(&text);
    kernels_error_dispose(&error);
}

static void writer_is_byte_exact(void **state) {
    (void)state;
    kernels_buffer out = KERNELS_BUFFER_INIT(10000);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &out, 2, false);
    kernels_json_begin_object(&writer);
    kernels_json_key(&writer, "a");
    kernels_json_string(&writer, KERNELS_VIEW("\"\\\b\t\n\f\r\x01\x7f/\xc3\xa9"));
    kernels_json_key(&writer, "b");
    kernels_json_begin_array(&writer);
    kernels_json_end_array(&writer);
    kernels_json_key(&writer, "c");
    kernels_json_begin_array(&writer);
    kernels_json_unsigned(&writer, UINT64_MAX);
    kernels_json_double(&writer, 0.1);
    kernels_json_double(&writer, 2);
    kernels_json_end_array(&writer);
    kernels_json_end_object(&writer);
    assert_string_equal(kernels_buffer_text(&out),
                        "{\n  \"a\": \"\\\"\\\\\\b\\t\\n\\f\\r\\u0001\x7f/\xc3\xa9\",\n  \"b\": [],\n  \"c\": [\n"
                        "    18446744073709551615,\n    0.1,\n    2.0\n  ]\n}");
    kernels_buffer_reset(&out);
    kernels_json_writer_init(&writer, &out, 0, true);
    kernels_json_string(&writer, KERNELS_VIEW("\xc3\xa9\xf0\x9f\x98\x80"));
    assert_string_equal(kernels_buffer_text(&out), "\"\\u00e9\\ud83d\\ude00\"");
    kernels_buffer_dispose(&out);
}

static void a_document_is_written_as_it_was_read(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_document document = {0};
    const char *text = "{\"a\":[1,-2,3.50,{}],\"b\":{\"c\":[]},\"d\":null,\"e\":true}";
    assert_ok(parse_json(text, &document, &error), error);
    kernels_buffer out = KERNELS_BUFFER_INIT(1000);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &out, 0, false);
    kernels_json_node(&writer, document.root);
    assert_string_equal(kernels_buffer_text(&out), text);
    kernels_buffer_dispose(&out);
    kernels_document_dispose(&document);
}

#ifdef KERNELS_FAULTS
static void out_of_memory_is_reported(void **state) {
    (void)state;
    for (unsigned long n = 1; n < 8; n++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_document document = {0};
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, n);
        kernels_status status = parse_json("{\"a\": [1, \"x\", {\"b\": 2}]}", &document, &error);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        if (status == KERNELS_OK) {
            kernels_document_dispose(&document);
        } else {
            assert_int_equal(status, KERNELS_NO_MEMORY);
        }
        kernels_error_dispose(&error);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_keeps_integers_exact),
        cmocka_unit_test(json_keeps_numbers_beyond_double),
        cmocka_unit_test(json_knows_positions_and_duplicates),
        cmocka_unit_test(json_refuses_what_the_rfc_refuses),
        cmocka_unit_test(deep_json_is_refused),
        cmocka_unit_test(toml_keeps_order_and_positions),
        cmocka_unit_test(long_toml_lines_have_positions),
        cmocka_unit_test(toml_errors_have_a_position),
        cmocka_unit_test(writer_is_byte_exact),
        cmocka_unit_test(a_document_is_written_as_it_was_read),
#ifdef KERNELS_FAULTS
        cmocka_unit_test(out_of_memory_is_reported),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
