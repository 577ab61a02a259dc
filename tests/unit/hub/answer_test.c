/* SPDX-License-Identifier: Apache-2.0 */
/* What answers mean: loader/http_errors.json, header fields, retries, text made printable, the user agent. */
#include "support/test_support.h"

#include "base/buffer.h"
#include "base/json_writer.h"
#include "hub/answer.h"
#include "hub/headers.h"
#include "hub/printable.h"
#include "hub/retry.h"
#include "hub/user_agent.h"
#include "vector.h"

static kernels_status status_of_exception(const char *name, uint64_t http_status) {
    static const struct {
        const char *name;
        kernels_status status;
    } table[] = {
        {"RevisionNotFoundError", KERNELS_REVISION_NOT_FOUND},
        {"RemoteEntryNotFoundError", KERNELS_ENTRY_NOT_FOUND},
        {"GatedRepoError", KERNELS_GATED_REPOSITORY},
        {"DisabledRepoError", KERNELS_DISABLED_REPOSITORY},
        {"RepositoryNotFoundError", KERNELS_REPOSITORY_NOT_FOUND},
        {"BadRequestError", KERNELS_BAD_REQUEST},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(name, table[i].name) == 0) {
            return table[i].status;
        }
    }
    assert_string_equal(name, "HfHubHTTPError");
    switch (http_status) {
    case 401:
        return KERNELS_AUTHENTICATION;
    case 403:
        return KERNELS_FORBIDDEN;
    case 409:
        return KERNELS_CONFLICT;
    case 429:
        return KERNELS_RATE_LIMITED;
    default:
        return KERNELS_HTTP;
    }
}

static void write_headers(kernels_buffer *out, const kernels_node *headers) {
    for (size_t i = 0; i < headers->count; i++) {
        kernels_buffer_printf(out, "%.*s: %.*s\n", KERNELS_VIEW_ARGS(headers->as.members[i].key),
                              KERNELS_VIEW_ARGS(kernels_node_text(headers->as.members[i].value)));
    }
}

static void test_mapping(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/http_errors.json");
    const kernels_node *cases = kernels_node_find(document.root, "mapping");
    assert_true(cases->count >= 30);
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *c = cases->as.items[i];
        kernels_buffer headers = KERNELS_BUFFER_INIT(4096);
        write_headers(&headers, kernels_node_find(c, "headers"));
        uint64_t code = kernels_node_find(c, "status")->as.unsigned_value;
        const char *raises = vector_text(&document, c, "raises");
        kernels_status expected = raises ? status_of_exception(raises, code) : KERNELS_OK;
        assert_int_equal(
            kernels_answer_status((unsigned)code, kernels_buffer_view(&headers), vector_text(&document, c, "url")),
            expected);
        kernels_buffer_dispose(&headers);
    }
    kernels_document_dispose(&document);
}

static void test_server_message(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/http_errors.json");
    const kernels_node *cases = kernels_node_find(document.root, "server_message");
    assert_true(cases->count >= 10);
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *c = cases->as.items[i];
        const kernels_node *json = kernels_node_find(c, "json");
        const char *text = vector_text(&document, c, "text");
        const char *expected = vector_text(&document, c, "server_message");
        const char *id = vector_text(&document, c, "request_id");
        kernels_buffer headers = KERNELS_BUFFER_INIT(4096);
        kernels_buffer body = KERNELS_BUFFER_INIT(4096);
        kernels_buffer message = KERNELS_BUFFER_INIT(4096);
        write_headers(&headers, kernels_node_find(c, "headers"));
        if (text) {
            kernels_buffer_add_text(&body, text);
        } else {
            kernels_json_writer writer;
            kernels_json_writer_init(&writer, &body, 0, false);
            kernels_json_node(&writer, json);
        }
        kernels_answer_message(&message, kernels_buffer_view(&headers), kernels_buffer_view(&body));
        assert_string_equal(kernels_buffer_text(&message), expected ? expected : "");
        assert_true(kernels_view_equal_text(kernels_answer_request_id(kernels_buffer_view(&headers)), id ? id : ""));
        kernels_buffer_dispose(&headers);
        kernels_buffer_dispose(&body);
        kernels_buffer_dispose(&message);
    }
    kernels_document_dispose(&document);
}

static void test_failure_text(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_view headers = KERNELS_VIEW("X-Error-Message: no\x1b[31m such thing\nX-Request-Id: R1\n");
    kernels_status status = kernels_answer_fail(&error, "GET", "http://h/api/kernels/a/b/refs?signature=secret", 404,
                                                headers, KERNELS_VIEW("<html>"));
    assert_int_equal(status, KERNELS_HTTP);
    assert_int_equal(error.http_status, 404);
    assert_contains(error.message, "GET http://h/api/kernels/a/b/refs: answered 404");
    assert_contains(error.message, "no\\x1b[31m such thing");
    assert_contains(error.message, "R1");
    assert_null(strstr(error.message, "secret"));
    kernels_error_dispose(&error);
}

static void test_find_header(void **state) {
    (void)state;
    kernels_view headers = KERNELS_VIEW("ETag: \"a\"\nX-Linked-Etag:\"b\"\nempty:\nETAG: \"c\"\n");
    assert_true(kernels_view_equal_text(kernels_headers_find(headers, "etag"), "\"a\""));
    assert_true(kernels_view_equal_text(kernels_headers_find(headers, "X-Linked-Etag"), "\"b\""));
    assert_int_equal(kernels_headers_find(headers, "empty").size, 0);
    assert_null(kernels_headers_find(headers, "ETa").data);
    assert_null(kernels_headers_find((kernels_view){0}, "ETag").data);
}

static void test_link(void **state) {
    (void)state;
    static const struct {
        const char *headers, *next;
    } cases[] = {
        {"Link: <http://h/a?cursor=1>; rel=\"next\"\n", "http://h/a?cursor=1"},
        {"link: <x,y>; rel=\"prev\", <z>; rel=next\n", "z"},
        {"Link: <x>; title=\"n\"; rel=\"next\"\n", "x"},
        {"Link: <x>; rel=\"xet-auth\"\nLink: <y>; rel=\"next\"\n", "y"},
        {"Link: <x>\n", ""},
        {"Link: >x<; rel=\"next\"\n", ""},
        {"Link: <x; rel=\"next\"\n", ""},
        {"Other: <x>; rel=\"next\"\n", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kernels_view found = kernels_headers_link(kernels_view_of(cases[i].headers), "next");
        assert_true(kernels_view_equal_text(found, cases[i].next));
    }
}

static void test_status_line_and_range(void **state) {
    (void)state;
    uint64_t start = 0;
    assert_int_equal(kernels_status_line_code(KERNELS_VIEW("HTTP/1.1 404 Not Found")), 404);
    assert_int_equal(kernels_status_line_code(KERNELS_VIEW("HTTP/2 200")), 200);
    assert_int_equal(kernels_status_line_code(KERNELS_VIEW("HTTP/1.1 99")), 0);
    assert_int_equal(kernels_status_line_code(KERNELS_VIEW("Date: x")), 0);
    assert_true(kernels_content_range_start(KERNELS_VIEW("bytes 5-9/10"), &start));
    assert_int_equal(start, 5);
    assert_false(kernels_content_range_start(KERNELS_VIEW("bytes */10"), &start));
    assert_false(kernels_content_range_start((kernels_view){0}, &start));
}

static void test_retry_waits(void **state) {
    (void)state;
    static const uint64_t waits[] = {1000, 2000, 4000, 8000, 8000};
    kernels_retry retry = {0};
    uint64_t wait = 0;
    for (size_t i = 0; i < 5; i++) {
        assert_true(kernels_retry_next(&retry, 503, (kernels_view){0}, &wait));
        assert_int_equal(wait, waits[i]);
    }
    assert_false(kernels_retry_next(&retry, 503, (kernels_view){0}, &wait));
}

static void test_retry_as_asked(void **state) {
    (void)state;
    uint64_t wait = 0;
    kernels_retry retry = {0};
    assert_true(kernels_retry_next(&retry, 429, KERNELS_VIEW("Retry-After: 3\n"), &wait));
    assert_int_equal(wait, 4000);
    assert_true(kernels_retry_next(&retry, 429, KERNELS_VIEW("RateLimit: \"api\";r=0;t=5\nRetry-After: 30\n"), &wait));
    assert_int_equal(wait, 6000);
    assert_true(kernels_retry_next(&retry, 429, KERNELS_VIEW("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\n"), &wait));
    assert_int_equal(wait, 4000);
    /* beyond the budget: the server's wish ends it */
    assert_false(kernels_retry_next(&retry, 429, KERNELS_VIEW("Retry-After: 300\n"), &wait));
    assert_false(kernels_retry_next(&retry, 429, KERNELS_VIEW("Retry-After: 50\n"), &wait));
}

static void test_printable(void **state) {
    (void)state;
    char out[KERNELS_PRINTABLE_SIZE];
    kernels_printable(out, KERNELS_VIEW("a\nb\x1b\xff \xe2\x80\xae"
                                        "c \xc3\xa9"));
    assert_string_equal(out, "a\\x0ab\\x1b\\xff \\xe2\\x80\\xaec \xc3\xa9");
    char many[2000];
    memset(many, 'x', sizeof(many));
    kernels_printable(out, (kernels_view){many, sizeof(many)});
    assert_int_equal(strlen(out), KERNELS_PRINTABLE_SIZE - 1);
    assert_string_equal(out + strlen(out) - 4, "x...");
}

/* What a client of Python sends, without the entry of the Python package hf_hub. */
static void expected_agent(kernels_buffer *out, kernels_document *document, const kernels_node *c) {
    kernels_view rest = kernels_view_of(vector_text(document, c, "header"));
    kernels_view piece;
    while (kernels_view_split(&rest, ';', &piece)) {
        kernels_view entry = kernels_view_trim_ascii(piece);
        if (!kernels_view_starts_with(entry, KERNELS_VIEW("hf_hub/"))) {
            kernels_buffer_printf(out, "%s%.*s", out->size > 0 ? "; " : "", KERNELS_VIEW_ARGS(entry));
        }
    }
}

static void check_user_agent(kernels_document *document, const kernels_node *c) {
    const kernels_node *in = kernels_node_find(c, "in");
    const char *torch = vector_text(document, in, "torch");
    kernels_buffer client = KERNELS_BUFFER_INIT(4096);
    kernels_buffer expected = KERNELS_BUFFER_INIT(4096);
    kernels_buffer got = KERNELS_BUFFER_INIT(4096);
    kernels_buffer_printf(&client, "python/%s", vector_text(document, in, "python"));
    if (torch) {
        kernels_buffer_printf(&client, "; torch/%s", torch);
    }
    expected_agent(&expected, document, c);
    kernels_user_agent_build(&got, "0.17.2", kernels_buffer_text(&client), vector_text(document, c, "library_part"),
                             vector_true(in, "telemetry"), vector_text(document, in, "origin"));
    assert_string_equal(kernels_buffer_text(&got), kernels_buffer_text(&expected));
    kernels_buffer_dispose(&client);
    kernels_buffer_dispose(&expected);
    kernels_buffer_dispose(&got);
}

static void test_user_agent(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/user_agent.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    for (size_t i = 0; i < cases->count; i++) {
        check_user_agent(&document, cases->as.items[i]);
    }
    print_message("user_agent.json: %zu headers\n", cases->count);
    kernels_document_dispose(&document);
}

static void test_user_agent_drops_what_no_header_holds(void **state) {
    (void)state;
    kernels_buffer got = KERNELS_BUFFER_INIT(4096);
    kernels_user_agent_build(&got, "1", NULL, "a/1\r\nX: y; b/2; \xc3\xa9", true, "o\nx");
    assert_string_equal(kernels_buffer_text(&got), "kernels/1; b/2");
    kernels_buffer_dispose(&got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mapping),
        cmocka_unit_test(test_server_message),
        cmocka_unit_test(test_failure_text),
        cmocka_unit_test(test_find_header),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_status_line_and_range),
        cmocka_unit_test(test_retry_waits),
        cmocka_unit_test(test_retry_as_asked),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_user_agent),
        cmocka_unit_test(test_user_agent_drops_what_no_header_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
