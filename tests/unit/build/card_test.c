/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "build/card.h"
#include "build/card_template.h"
#include "folder.h"
#include "vector.h"

static void check_names(const kernels_node *wanted, kernels_strings got) {
    size_t count = kernels_node_is(wanted, KERNELS_NODE_ARRAY) ? wanted->count : 0;
    assert_int_equal(got.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(kernels_view_equal_text(kernels_node_text(wanted->as.items[i]), got.items[i]));
    }
}

static void check_case(kernels_document *document, const kernels_node *one, const char *card) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *folder = folder_make();
    const kernels_node *files = kernels_node_find(one, "files");
    folder_write_text(folder, "build.toml", vector_text(document, one, "build_toml"));
    folder_write_text(folder, "CARD.md", card);
    for (size_t i = 0; i < files->count; i++) {
        char *name = kernels_arena_copy_text(document->arena, files->as.members[i].key);
        folder_write(folder, name, kernels_node_text(files->as.members[i].value));
    }
    kernels_build build;
    kernels_card_facts facts;
    must(kernels_build_read(folder, &build, NULL, &error), &error);
    must(kernels_card_facts_read(folder, &build, &facts, &error), &error);
    check_names(kernels_node_find(one, "functions"), facts.functions);
    check_names(kernels_node_find(one, "layers"), facts.layers);
    kernels_card_facts_dispose(&facts);
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
    must(kernels_card_render(folder, &build, &out, &error), &error);
    assert_string_equal(kernels_buffer_text(&out), vector_text(document, one, "rendered"));
    kernels_buffer_dispose(&out);
    kernels_build_dispose(&build);
    folder_remove(folder);
}

static void test_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("builder/card.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    const char *card = vector_text(&document, document.root, "card_md");
    for (size_t i = 0; i < cases->count; i++) {
        check_case(&document, cases->as.items[i], card);
    }
    print_message("%zu cards\n", cases->count);
    kernels_document_dispose(&document);
}

static void test_missing(void **state) {
    (void)state;
    static const char build_toml[] = "[general]\nname = \"ab\"\nversion = 1\nedition = 5\nlicense = \"MIT\"\n"
                                     "backends = [\"cpu\"]\n[torch-noarch]\n";
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_build build;
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
    char *folder = folder_make();
    folder_write_text(folder, "build.toml", build_toml);
    folder_write_text(folder, "CARD.md", "x");
    must(kernels_build_read(folder, &build, NULL, &error), &error);
    assert_int_equal(kernels_card_render(folder, &build, &out, &error), KERNELS_NOT_FOUND);
    assert_non_null(strstr(kernels_error_message(&error), "general.hub.repo-id"));
    build.hub_repo_id = "o/ab";
    char *card = kernels_path_join(folder, "CARD.md");
    must(kernels_remove_file(card, &error), &error);
    kernels_free(card);
    assert_int_equal(kernels_card_render(folder, &build, &out, &error), KERNELS_FILE_NOT_FOUND);
    kernels_error_dispose(&error);
    kernels_buffer_dispose(&out);
    kernels_build_dispose(&build);
    folder_remove(folder);
}

/* ---- the template language ---- */

static const char *const words[] = {"a", "b", "c"};

static kernels_status render(const char *text, kernels_buffer *out, kernels_error *error) {
    const kernels_card_variable variables[] = {
        {KERNELS_VIEW("list"), {.type = KERNELS_CARD_LIST, .as.list = {words, 3}}},
        {KERNELS_VIEW("text"), {.type = KERNELS_CARD_TEXT, .as.text = KERNELS_VIEW("He\xc3\xa9")}},
        {KERNELS_VIEW("number"), {.type = KERNELS_CARD_INTEGER, .as.integer = 7}},
        {KERNELS_VIEW("yes"), {.type = KERNELS_CARD_BOOLEAN, .as.boolean = true}},
    };
    return kernels_card_template_render(kernels_view_of(text), "CARD.md", variables, 4, out, error);
}

static void test_language(void **state) {
    (void)state;
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"", ""},
        {"plain\n", "plain"},
        {"plain\n\n", "plain\n"},
        {"{{ list | join(', ') }}", "a, b, c"},
        {"{{ list|join }}|{{ list | length }}|{{ text | length }}", "abc|3|3"},
        {"{{ text | lower }} {{ text | upper }}", "he\xc3\xa9 HE\xc3\xa9"},
        {"{{ nothing | default('x') }}{{ nothing.more }}{{ list[9] }}{{ text | default('y') }}", "xHe\xc3\xa9"},
        {"{{ list }}{{ yes }}{{ number }}", "[\"a\", \"b\", \"c\"]true7"},
        {"{% for x in list %}{{ loop.index }}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}", "1a,2b,3c"},
        {"{% for x in list %}{% if loop.first %}<{% endif %}{{ loop.index0 }}{% endfor %}", "<012"},
        {"{% for x in nothing %}x{% else %}none{% endfor %}", "none"},
        {"{% for x in list %}x{% else %}none{% endfor %}", "xxx"},
        {"{% for x in list %}{% for y in list %}{{ x }}{{ y }} {% endfor %}{% endfor %}",
         "aa ab ac ba bb bc ca cb cc "},
        {"{% if number == 7 and 'a' in list and not nothing %}1{% else %}2{% endif %}", "1"},
        {"{% if number != 7 or 'z' not in list %}1{% endif %}", "1"},
        {"{% if not (yes and nothing) and (nothing or yes) %}1{% endif %}", "1"},
        {"{% if nothing %}1{% elif number == 8 %}2{% elif yes %}3{% else %}4{% endif %}", "3"},
        {"{% if nothing %}{% if yes %}1{% else %}2{% endif %}{% else %}3{% endif %}", "3"},
        {"{% set n = list[1] %}{{ n }}{% for x in list %}{% set n = x %}{% endfor %}{{ n }}", "bb"},
        {"a  {%- if yes -%}  b  {%- endif -%}  c", "abc"},
        {"a {{- ' b ' -}} c", "a b c"},
        {"{% if yes %}\nx\n{% endif %}\ny\n", "x\ny"},
        {"{% if yes %}\r\nx\r\n{% endif %}\r\ny\r\n", "x\r\ny"},
        {"{# a {{ b }} #}x", "x"},
        {"{% raw %}{{ a }}{% b %}{% endraw %}c", "{{ a }}{% b %}c"},
        {"{{ '}}' }}{{ \"%}\" }}", "}}%}"},
        {"{{ 'a\\'b\\n' }}", "a'b\n"},
        {"{{ (list | join('-')) | upper }}", "A-B-C"},
        {"{ { } }", "{ { } }"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
        must(render(cases[i].text, &out, &error), &error);
        assert_string_equal(kernels_buffer_text(&out), cases[i].wanted);
        kernels_buffer_dispose(&out);
    }
    print_message("%zu templates\n", sizeof cases / sizeof *cases);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a\nb {% include 'x' %}", "CARD.md:2: unknown tag"},
        {"{% if yes %}", "if without endif"},
        {"\n{% for x in list %}", "CARD.md:2: for without endfor"},
        {"{% endif %}", "endif without if"},
        {"{% endfor %}", "endfor without for"},
        {"{% else %}", "else without"},
        {"{% if yes %}{% else %}{% else %}{% endif %}", "else without"},
        {"{% for x in list %}{% elif yes %}{% endfor %}", "elif without"},
        {"{% for x on list %}{% endfor %}", "expected {% for"},
        {"{% for x in text %}{% endfor %}", "not a list"},
        {"{% if nothing %}{% frobnicate %}{% endif %}", "unknown tag"},
        {"{{ text | shout }}", "unknown filter"},
        {"{{ text", "a tag is not closed"},
        {"{% raw %}", "raw without endraw"},
        {"{{ }}", "a value is missing"},
        {"{{ (yes }}", "a bracket is not closed"},
        {"{{ yes) }}", "without its opening"},
        {"{{ yes yes }}", "no operator"},
        {"{{ 'a }}", "a tag is not closed"},
        {"{{ 99999999999999999999 }}", "too large"},
        {"{% set = 1 %}", "expected {% set"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
        assert_int_equal(render(cases[i].text, &out, &error), KERNELS_SYNTAX);
        if (!strstr(kernels_error_message(&error), cases[i].message)) {
            fail_msg("%s: %s", cases[i].text, kernels_error_message(&error));
        }
        kernels_error_dispose(&error);
        kernels_buffer_dispose(&out);
    }
    print_message("%zu refusals\n", sizeof cases / sizeof *cases);
}

static void repeat(kernels_buffer *text, const char *part, size_t times) {
    for (size_t i = 0; i < times; i++) {
        kernels_buffer_add_text(text, part);
    }
}

static void test_bounds(void **state) {
    (void)state;
    static const char *const parts[] = {"{% if yes %}", "{% for x in list %}", "{{ (((((((((((((((((((((((((((((((",
                                        "{% set x = 1 %}"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
        kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
        repeat(&text, parts[i], 1000);
        assert_int_not_equal(render(kernels_buffer_text(&text), &out, &error), KERNELS_OK);
        kernels_error_dispose(&error);
        kernels_buffer_dispose(&text);
        kernels_buffer_dispose(&out);
    }
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
    repeat(&text, "{% for x in list %}", 30); /* 3^30 rounds */
    repeat(&text, "{% endfor %}", 30);
    assert_int_equal(render(kernels_buffer_text(&text), &out, &error), KERNELS_LIMIT);
    kernels_error_dispose(&error);
    kernels_buffer_dispose(&text);
    kernels_buffer_dispose(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_missing), cmocka_unit_test(test_language),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
