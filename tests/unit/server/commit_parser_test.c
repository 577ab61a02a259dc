/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a commit in pieces of every size gives the same lines and contents. */
#include "support/test_support.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/view.h"
#include "server/commit_parser.h"

/* Every call of the sink as text: "H summary|description|parent;", "F path=content;", ... */
typedef struct record {
    kernels_buffer text, content;
    kernels_status fail_with;
} record;

static kernels_status take_content(void *payload, const void *data, size_t size, kernels_error *error) {
    record *r = payload;
    (void)error;
    kernels_buffer_add(&r->content, data, size);
    return KERNELS_OK;
}

static kernels_status take_line(void *payload, const kernels_commit_line *line, kernels_error *error) {
    static const char letters[] = {'H', 'F', 'L', 'D', 'T'};
    record *r = payload;
    if (r->fail_with != KERNELS_OK) {
        return kernels_fail(error, r->fail_with, "the sink says no");
    }
    kernels_buffer_printf(&r->text, "%c ", letters[line->type]);
    if (line->type == KERNELS_LINE_HEADER) {
        kernels_buffer_printf(&r->text, "%.*s|%.*s|%.*s;", KERNELS_VIEW_ARGS(line->summary),
                              KERNELS_VIEW_ARGS(line->description), KERNELS_VIEW_ARGS(line->parent));
    } else {
        kernels_buffer_printf(&r->text, "%.*s=%.*s%.*s;", KERNELS_VIEW_ARGS(line->path),
                              KERNELS_VIEW_ARGS(kernels_buffer_view(&r->content)), KERNELS_VIEW_ARGS(line->sha256));
    }
    kernels_buffer_reset(&r->content);
    return KERNELS_OK;
}

static kernels_status parse(kernels_view body, size_t piece, record *r, kernels_error *error) {
    const kernels_commit_sink sink = {take_content, take_line, r};
    kernels_commit_parser *parser;
    KERNELS_TRY(kernels_commit_parser_new(&sink, &parser, error));
    kernels_status status = KERNELS_OK;
    for (size_t at = 0; at < body.size && status == KERNELS_OK; at += piece) {
        kernels_view part = kernels_view_slice(body, at, at + piece);
        status = kernels_commit_parser_feed(parser, part.data, part.size, error);
    }
    if (status == KERNELS_OK) {
        status = kernels_commit_parser_finish(parser, error);
    }
    kernels_commit_parser_free(parser);
    return status;
}

static record new_record(void) {
    return (record){.text = KERNELS_BUFFER_INIT(1 << 20), .content = KERNELS_BUFFER_INIT(1 << 20)};
}

static void dispose_record(record *r) {
    kernels_buffer_dispose(&r->text);
    kernels_buffer_dispose(&r->content);
}

#define HEADER "{\"key\":\"header\",\"value\":{\"summary\":\"s\",\"description\":\"d\"}}\n"
#define FILE_LINE(content) \
    "{\"key\":\"file\",\"value\":{\"content\":\"" content "\",\"path\":\"p\",\"encoding\":\"base64\"}}\n"

static void pieces_of_every_size(void **state) {
    static const char body[] =
        "{\"value\": {\"parentCommit\": \"abc\", \"summary\": \"con\\\"tent\"}, \"key\": \"header\"}\r\n"
        "\n"
        "{ \"value\" : { \"content\" : \"aGVsbG8gd29ybGQ=\" , \"encoding\":\"base64\", \"path\":\"a\" }, "
        "\"key\":\"file\"}\n"
        "{\"key\":\"file\",\"value\":{\"path\":\"content\",\"content\":\"\",\"encoding\":\"base64\"}}\n"
        "{\"key\":\"file\",\"value\":{\"path\":\"slash\",\"content\":\"Pz8\\/\",\"encoding\":\"base64\"}}\n"
        "{\"key\":\"lfsFile\",\"value\":{\"path\":\"l\",\"algo\":\"sha256\",\"oid\":\"00\",\"size\":7}}\n"
        "{\"key\":\"deletedFile\",\"value\":{\"path\":\"x\",\"note\":[{\"deep\":\"content\"}]}}\n"
        "{\"key\":\"deletedFolder\",\"value\":{\"path\":\"y/\"}}";
    static const char expected[] = "H con\"tent||abc;F a=hello world;F content=;F slash=\?\?\?;L l=00;D x=;T y/=;";
    (void)state;
    for (size_t piece = 1; piece <= sizeof body; piece++) {
        record r = new_record();
        kernels_error error = KERNELS_ERROR_INIT;
        assert_ok(parse(kernels_view_of(body), piece, &r, &error), error);
        assert_string_equal(kernels_buffer_text(&r.text), expected);
        dispose_record(&r);
    }
}

static void long_content(void **state) {
    enum { GROUPS = 30000 };
    kernels_buffer body = KERNELS_BUFFER_INIT(1 << 20);
    kernels_error error = KERNELS_ERROR_INIT;
    record r = new_record();
    (void)state;
    kernels_buffer_add_text(&body, HEADER
                            "{\"key\":\"file\",\"value\":{\"path\":\"p\",\"encoding\":\"base64\",\"content\":\"");
    for (int i = 0; i < GROUPS; i++) {
        kernels_buffer_add_text(&body, "YWJj");
    }
    kernels_buffer_add_text(&body, "ZA==\"}}\n");
    assert_ok(parse(kernels_buffer_view(&body), 1000, &r, &error), error);
    assert_int_equal(r.text.size, strlen("H s|d|;F p=;") + 3 * GROUPS + 1);
    assert_contains(kernels_buffer_text(&r.text), "abcabcd;");
    dispose_record(&r);
    kernels_buffer_dispose(&body);
}

static void malformed(void **state) {
    static const struct {
        const char *body, *expected;
    } cases[] = {
        {"", "no header"},
        {"\n\n", "no header"},
        {FILE_LINE("AAAA"), "header must come first"},
        {HEADER HEADER, "line 2"},
        {HEADER "x", "line 2"},
        {HEADER "{\"key\":\"file\"}", "\"value\""},
        {HEADER "{\"key\":\"file\",\"value\":{\"path\":\"p\",\"encoding\":\"base64\"}}", "\"content\""},
        {HEADER "{\"key\":\"file\",\"value\":{\"content\":\"AAAA\",\"encoding\":\"base64\"}}", "\"path\""},
        {HEADER "{\"key\":\"file\",\"value\":{\"content\":\"AAAA\",\"path\":\"p\"}}", "\"encoding\""},
        {HEADER "{\"key\":\"file\",\"value\":{\"content\":7,\"path\":\"p\",\"encoding\":\"base64\"}}", "\"content\""},
        {HEADER FILE_LINE("AAA"), "base64"},
        {HEADER FILE_LINE("A==="), "base64"},
        {HEADER FILE_LINE("AA=A"), "base64"},
        {HEADER FILE_LINE("AA==AAAA"), "base64"},
        {HEADER FILE_LINE("AA AA"), "base64"},
        {HEADER FILE_LINE("AA\\u0041A"), "base64"},
        {HEADER FILE_LINE("AA\nAA"), "not closed"},
        {HEADER FILE_LINE("\xff\xff\xff\xff"), "base64"},
        {HEADER "{\"key\":\"file\",\"value\":{\"content\":\"AAAA\",\"content\":\"AAAA\"}}", "twice"},
        {HEADER "{\"key\":\"file\",\"value\":{\"c\\u006fntent\":\"AAAA\",\"path\":\"p\",\"encoding\":\"base64\"}}",
         "\"content\""},
        {HEADER "{\"key\":\"deletedFile\",\"value\":{\"path\":\"p\",\"content\":\"AAAA\"}}", "no file"},
        {HEADER "{\"key\":\"file\",\"value\":{\"path\":\"p\",\"path\":\"q\"}}", "once"},
        {HEADER "{\"key\":\"lfsFile\",\"value\":{\"path\":\"p\",\"algo\":\"sha1\",\"oid\":\"0\",\"size\":1}}",
         "sha256"},
        {HEADER "{\"key\":\"lfsFile\",\"value\":{\"path\":\"p\",\"algo\":\"sha256\",\"oid\":\"0\",\"size\":-1}}",
         "size"},
        {HEADER "{\"key\":\"other\",\"value\":{}}", "unknown"},
        {HEADER "{\"key\":\"file\",\"value\":{\"content\":\"AAAA", "not closed"},
        {"{\"key\":\"header\",\"value\":{}}", "summary"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        record r = new_record();
        kernels_error error = KERNELS_ERROR_INIT;
        assert_int_equal(parse(kernels_view_of(cases[i].body), 7, &r, &error), KERNELS_BAD_REQUEST);
        assert_contains(kernels_error_message(&error), cases[i].expected);
        kernels_error_dispose(&error);
        dispose_record(&r);
    }
}

static void long_lines_are_refused(void **state) {
    kernels_buffer body = KERNELS_BUFFER_INIT(4 << 20);
    kernels_error error = KERNELS_ERROR_INIT;
    record r = new_record();
    (void)state;
    kernels_buffer_add_text(&body, "{\"key\":\"header\",\"value\":{\"summary\":\"");
    for (size_t i = 0; i < KERNELS_COMMIT_LINE_LIMIT; i++) {
        kernels_buffer_add_char(&body, 'x');
    }
    assert_int_equal(parse(kernels_buffer_view(&body), 4096, &r, &error), KERNELS_LIMIT);
    kernels_error_dispose(&error);
    dispose_record(&r);
    kernels_buffer_dispose(&body);
}

static void failures_of_the_sink_come_through(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    record r = new_record();
    (void)state;
    r.fail_with = KERNELS_NO_SPACE;
    assert_int_equal(parse(KERNELS_VIEW(HEADER), 100, &r, &error), KERNELS_NO_SPACE);
    kernels_error_dispose(&error);
    dispose_record(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_every_size),
        cmocka_unit_test(long_content),
        cmocka_unit_test(malformed),
        cmocka_unit_test(long_lines_are_refused),
        cmocka_unit_test(failures_of_the_sink_come_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
