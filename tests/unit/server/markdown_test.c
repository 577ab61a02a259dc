/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_support.h"

#include "base/buffer.h"
#include "base/view.h"
#include "server/html.h"
#include "server/markdown.h"

typedef struct markdown_case {
    const char *text, *html;
} markdown_case;

static const markdown_case blocks[] = {
    {"", ""},
    {"a\nb\n\nc\n", "<p>a\nb</p>\n<p>c</p>\n"},
    {"# One\n###### Six ##\n####### Seven\n#no", "<h1>One</h1>\n<h6>Six ##</h6>\n<p>####### Seven\n#no</p>\n"},
    {"---\ntitle: x\n---\ntext", "<p>text</p>\n"},
    {"---\nnever ends", "<hr>\n<p>never ends</p>\n"},
    {"a\n\n* * *\n", "<p>a</p>\n<hr>\n"},
    {"```python\nx < 1\n\n# no heading\n```\nb", "<pre><code>x &lt; 1\n\n# no heading\n</code></pre>\n<p>b</p>\n"},
    {"~~~\nopen", "<pre><code>open\n</code></pre>\n"},
    {"<!-- a\nb -->\nc", "<p>c</p>\n"},
    {"<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>\n"},
    {"- a\n- b\n", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"},
    {"- a\n  - b\n- c", "<ul>\n<li>a<ul>\n<li>b</li>\n</ul>\n</li>\n<li>c</li>\n</ul>\n"},
    {"- a\n1. b", "<ul>\n<li>a</li>\n</ul>\n<ol>\n<li>b</li>\n</ol>\n"},
    {"- a\n  more\n\nb", "<ul>\n<li>a\nmore</li>\n</ul>\n<p>b</p>\n"},
    {"> a\n> b\nc", "<blockquote>\n<p>a\nb</p>\n</blockquote>\n<p>c</p>\n"},
    {"|a|b|\n|-|-|\n|1|`2`|\nend",
     "<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td><code>2</code></td></tr>\n</table>\n<p>end</p>\n"},
    {"a | b\nno table", "<p>a | b\nno table</p>\n"},
    {"a\r\nb\r\n", "<p>a\nb</p>\n"},
};

static const markdown_case inlines[] = {
    {"**a** *b* __c__ _d_", "<strong>a</strong> <em>b</em> <strong>c</strong> <em>d</em>"},
    {"2 * 3 * 4, a_b_c, **open, `open", "2 * 3 * 4, a_b_c, **open, `open"},
    {"`a*b*` ``c`d``", "<code>a*b*</code> <code>c`d</code>"},
    {"[a **b**](https://x/?a=1&b=\"2\")",
     "<a rel=\"nofollow noreferrer\" href=\"https://x/?a=1&amp;b=&quot;2&quot;\">a <strong>b</strong></a>"},
    {"[a *b](https://x) c*", "<a rel=\"nofollow noreferrer\" href=\"https://x\">a *b</a> c*"},
    {"[a](javascript:alert(1))", "<a>a</a>"},
    {"[a](JavaScript:x) [b](//x) [c](data:x)", "<a>a</a> <a>b</a> <a>c</a>"},
    {"![a](https://x.png)", "<a rel=\"nofollow noreferrer\" href=\"https://x.png\">a</a>"},
    {"<https://x> <b>", "<a rel=\"nofollow noreferrer\" href=\"https://x\">https://x</a> &lt;b&gt;"},
    {"\\*a\\* \\x", "*a* \\x"},
    {"[a] (b) ]( [", "[a] (b) ]( ["},
};

static void check_cases(const markdown_case *cases, size_t count,
                        void (*render)(kernels_buffer *out, kernels_view text)) {
    for (size_t i = 0; i < count; i++) {
        kernels_buffer out = KERNELS_BUFFER_INIT(4096);
        render(&out, kernels_view_of(cases[i].text));
        assert_string_equal(kernels_buffer_text(&out), cases[i].html);
        kernels_buffer_dispose(&out);
    }
}

static void test_blocks(void **state) {
    (void)state;
    check_cases(blocks, sizeof blocks / sizeof blocks[0], kernels_markdown_render);
}

static void test_inlines(void **state) {
    (void)state;
    check_cases(inlines, sizeof inlines / sizeof inlines[0], kernels_markdown_inline);
}

/* Texts made to be slow: many beginnings without an end. */
static void test_no_text_is_slow(void **state) {
    static const char *const pieces[] = {"*a ", "**a ", "[", "[a](", "`", "` ``", "_a *b ", "![", "<"};
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        kernels_buffer text = KERNELS_BUFFER_INIT((size_t)1024 * 1024);
        kernels_buffer out = KERNELS_BUFFER_INIT((size_t)64 * 1024 * 1024);
        while (text.size < 60000) {
            kernels_buffer_add_text(&text, pieces[i]);
        }
        kernels_markdown_render(&out, kernels_buffer_view(&text));
        assert_int_equal(out.failure, KERNELS_OK);
        kernels_buffer_dispose(&out);
        kernels_buffer_dispose(&text);
    }
}

static void test_sizes(void **state) {
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"},
                 {999, "999 B"},
                 {1000, "1.0 kB"},
                 {1550000, "1.5 MB"},
                 {UINT64_C(500000000000), "500.0 GB"},
                 {UINT64_MAX, "18446744.0 TB"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kernels_buffer out = KERNELS_BUFFER_INIT(64);
        kernels_html_size(&out, cases[i].bytes);
        assert_string_equal(kernels_buffer_text(&out), cases[i].text);
        kernels_buffer_dispose(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_inlines),
        cmocka_unit_test(test_no_text_is_slow),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
