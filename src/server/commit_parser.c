/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scanner copies each line into a bounded buffer, with the text of value.content cut out and decoded on the way,
 * and gives the rest to the JSON parser. The scanner only has to know strings, nesting and the last key; whether the
 * line is well-formed is decided by the parser.
 */
#include "server/commit_parser.h"

#include <string.h>

#include "base/buffer.h"
#include "base/document.h"
#include "base/error.h"
#include "base/view.h"

#define DECODED_SIZE 16384
#define KEY_SIZE 8 /* "content" and its NUL */
#define CONTENT_DEPTH 2

typedef enum scan_state {
    SCAN_OUTSIDE,
    SCAN_STRING,
    SCAN_ESCAPE, /* behind a backslash in a string */
    SCAN_CONTENT,
    SCAN_CONTENT_ESCAPE,
} scan_state;

struct kernels_commit_parser {
    kernels_commit_sink sink;
    kernels_buffer line;
    size_t line_number;
    scan_state state;
    unsigned depth;
    char last_string[KEY_SIZE]; /* start of the string read last, at most KEY_SIZE - 1 bytes */
    size_t last_string_size;    /* its whole size */
    bool after_content_key;     /* "content" and a colon were read */
    bool has_content;
    bool has_header;
    unsigned quad[4]; /* base64 digits of the group being read */
    unsigned quad_size;
    unsigned padding;
    size_t decoded_size;
    unsigned char decoded[DECODED_SIZE];
};

kernels_status kernels_commit_parser_new(const kernels_commit_sink *sink, kernels_commit_parser **parser,
                                         kernels_error *error) {
    kernels_commit_parser *made = kernels_calloc(1, sizeof *made);
    if (made == NULL) {
        return kernels_fail_no_memory(error);
    }
    made->sink = *sink;
    made->line = KERNELS_BUFFER_INIT(KERNELS_COMMIT_LINE_LIMIT);
    made->line_number = 1;
    *parser = made;
    return KERNELS_OK;
}

void kernels_commit_parser_free(kernels_commit_parser *parser) {
    if (parser != NULL) {
        kernels_buffer_dispose(&parser->line);
        kernels_free(parser);
    }
}

static kernels_status bad_line(const kernels_commit_parser *parser, const char *reason, kernels_error *error) {
    return kernels_fail(error, KERNELS_BAD_REQUEST, "line %zu of the commit: %s", parser->line_number, reason);
}

/* ---- contents ---- */

static kernels_status flush_content(kernels_commit_parser *parser, kernels_error *error) {
    size_t size = parser->decoded_size;
    parser->decoded_size = 0;
    return size > 0 ? parser->sink.content(parser->sink.payload, parser->decoded, size, error) : KERNELS_OK;
}

/* value + 1 of each base64 digit; 0 for everything else */
static const unsigned char base64_digits[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

static kernels_status finish_quad(kernels_commit_parser *parser, kernels_error *error) {
    unsigned value = parser->quad[0] << 18 | parser->quad[1] << 12 | parser->quad[2] << 6 | parser->quad[3];
    unsigned bytes = 3 - parser->padding;
    if (parser->decoded_size + 3 > DECODED_SIZE) {
        KERNELS_TRY(flush_content(parser, error));
    }
    for (unsigned i = 0; i < bytes; i++) {
        parser->decoded[parser->decoded_size++] = (unsigned char)(value >> (16 - 8 * i));
    }
    parser->quad_size = 0;
    return KERNELS_OK;
}

static kernels_status add_content(kernels_commit_parser *parser, char c, kernels_error *error) {
    unsigned digit = base64_digits[(unsigned char)c];
    if (c == '=' && parser->quad_size >= 2) {
        digit = 1;
        parser->padding++;
    } else if (digit == 0 || parser->padding > 0) {
        return bad_line(parser, "\"content\" is not base64", error);
    }
    parser->quad[parser->quad_size++] = digit - 1;
    return parser->quad_size == 4 ? finish_quad(parser, error) : KERNELS_OK;
}

/* The fast way through a long content: whole groups of four digits, as many as fit. Characters taken. */
static size_t add_groups(kernels_commit_parser *parser, const char *text, size_t size) {
    size_t used = 0;
    while (size - used >= 4 && parser->decoded_size + 3 <= DECODED_SIZE) {
        unsigned a = base64_digits[(unsigned char)text[used]], b = base64_digits[(unsigned char)text[used + 1]];
        unsigned c = base64_digits[(unsigned char)text[used + 2]], d = base64_digits[(unsigned char)text[used + 3]];
        if (a == 0 || b == 0 || c == 0 || d == 0) {
            break;
        }
        unsigned value = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);
        unsigned char *out = parser->decoded + parser->decoded_size;
        out[0] = (unsigned char)(value >> 16);
        out[1] = (unsigned char)(value >> 8);
        out[2] = (unsigned char)value;
        parser->decoded_size += 3;
        used += 4;
    }
    return used;
}

static kernels_status end_content(kernels_commit_parser *parser, kernels_error *error) {
    if (parser->quad_size != 0) {
        return bad_line(parser, "\"content\" is not base64: it ends too early", error);
    }
    parser->state = SCAN_OUTSIDE;
    kernels_buffer_add_text(&parser->line, "\"\"");
    return flush_content(parser, error);
}

static kernels_status begin_content(kernels_commit_parser *parser, kernels_error *error) {
    if (parser->has_content) {
        return bad_line(parser, "\"content\" stands twice", error);
    }
    parser->has_content = true;
    parser->quad_size = 0;
    parser->padding = 0;
    parser->state = SCAN_CONTENT;
    return KERNELS_OK;
}

/* ---- complete lines ---- */

static const struct {
    const char *key;
    kernels_commit_line_type type;
} line_types[] = {
    {"header", KERNELS_LINE_HEADER},
    {"file", KERNELS_LINE_FILE},
    {"lfsFile", KERNELS_LINE_LFS_FILE},
    {"deletedFile", KERNELS_LINE_DELETED_FILE},
    {"deletedFolder", KERNELS_LINE_DELETED_FOLDER},
};

static bool find_type(kernels_view key, kernels_commit_line_type *type) {
    for (size_t i = 0; i < sizeof line_types / sizeof line_types[0]; i++) {
        if (kernels_view_equal_text(key, line_types[i].key)) {
            *type = line_types[i].type;
            return true;
        }
    }
    return false;
}

static kernels_status read_header(kernels_commit_parser *parser, const kernels_node *value, kernels_commit_line *line,
                                  kernels_error *error) {
    if (parser->has_header) {
        return bad_line(parser, "a second header", error);
    }
    parser->has_header = true;
    line->summary = kernels_node_text(kernels_node_find(value, "summary"));
    line->description = kernels_node_text(kernels_node_find(value, "description"));
    line->parent = kernels_node_text(kernels_node_find(value, "parentCommit"));
    return line->summary.data != NULL ? KERNELS_OK : bad_line(parser, "the header has no \"summary\"", error);
}

static kernels_status read_operation(kernels_commit_parser *parser, const kernels_node *value,
                                     kernels_commit_line *line, kernels_error *error) {
    line->path = kernels_node_text(kernels_node_find(value, "path"));
    if (!parser->has_header) {
        return bad_line(parser, "the header must come first", error);
    }
    if (line->path.data == NULL) {
        return bad_line(parser, "\"path\" is missing", error);
    }
    if (line->type == KERNELS_LINE_FILE) {
        kernels_view encoding = kernels_node_text(kernels_node_find(value, "encoding"));
        kernels_view cut = kernels_node_text(kernels_node_find(value, "content")); /* "" once it was cut out */
        if (!parser->has_content || cut.data == NULL || cut.size != 0 || !kernels_view_equal_text(encoding, "base64")) {
            return bad_line(parser, "a file needs \"content\" and \"encoding\": \"base64\"", error);
        }
    }
    if (line->type == KERNELS_LINE_LFS_FILE) {
        const kernels_node *size = kernels_node_find(value, "size");
        line->sha256 = kernels_node_text(kernels_node_find(value, "oid"));
        if (!kernels_view_equal_text(kernels_node_text(kernels_node_find(value, "algo")), "sha256") ||
            line->sha256.data == NULL || !kernels_node_is(size, KERNELS_NODE_UNSIGNED)) {
            return bad_line(parser, "a large file needs \"algo\": \"sha256\", \"oid\" and \"size\"", error);
        }
        line->size = size->as.unsigned_value;
    }
    return KERNELS_OK;
}

static kernels_status read_line(kernels_commit_parser *parser, const kernels_node *root, kernels_error *error) {
    kernels_commit_line line = {0};
    const kernels_node *value = kernels_node_find(root, "value");
    if (!kernels_node_is(value, KERNELS_NODE_OBJECT) || kernels_node_duplicate(root) != NULL ||
        kernels_node_duplicate(value) != NULL) {
        return bad_line(parser, "expected an object with \"key\" and \"value\", each member once", error);
    }
    if (!find_type(kernels_node_text(kernels_node_find(root, "key")), &line.type)) {
        return bad_line(parser, "unknown \"key\"", error);
    }
    if (parser->has_content && line.type != KERNELS_LINE_FILE) {
        return bad_line(parser, "\"content\" in a line that is no file", error);
    }
    KERNELS_TRY(line.type == KERNELS_LINE_HEADER ? read_header(parser, value, &line, error)
                                                 : read_operation(parser, value, &line, error));
    return parser->sink.line(parser->sink.payload, &line, error);
}

static kernels_status end_line(kernels_commit_parser *parser, kernels_error *error) {
    kernels_document document = {0};
    kernels_view text = kernels_view_trim_ascii(kernels_buffer_view(&parser->line));
    if (parser->state != SCAN_OUTSIDE) {
        return bad_line(parser, "a text is not closed", error);
    }
    if (text.size > 0) {
        kernels_error cause = KERNELS_ERROR_INIT;
        if (kernels_json_parse(text, "json", &document, &cause) != KERNELS_OK) {
            kernels_status status = bad_line(parser, kernels_error_message(&cause), error);
            kernels_error_dispose(&cause);
            return status;
        }
        kernels_status status = read_line(parser, document.root, error);
        kernels_document_dispose(&document);
        KERNELS_TRY(status);
    }
    kernels_buffer_reset(&parser->line);
    parser->line_number++;
    parser->depth = 0;
    parser->last_string_size = 0;
    parser->after_content_key = false;
    parser->has_content = false;
    return KERNELS_OK;
}

/* ---- scanning ---- */

static bool last_string_is_content(const kernels_commit_parser *parser) {
    return parser->last_string_size == KEY_SIZE - 1 && memcmp(parser->last_string, "content", KEY_SIZE - 1) == 0;
}

static kernels_status scan_outside(kernels_commit_parser *parser, char c, kernels_error *error) {
    if (c == '"') {
        if (parser->after_content_key && parser->depth == CONTENT_DEPTH) {
            parser->after_content_key = false;
            return begin_content(parser, error);
        }
        parser->state = SCAN_STRING;
        parser->last_string_size = 0;
    } else if (c == '{' || c == '[') {
        parser->depth++;
    } else if ((c == '}' || c == ']') && parser->depth > 0) {
        parser->depth--;
    }
    if (c == ':') {
        parser->after_content_key = last_string_is_content(parser);
    } else if (c != ' ' && c != '\t' && c != '\r') {
        parser->after_content_key = false;
    }
    kernels_buffer_add_char(&parser->line, c);
    return KERNELS_OK;
}

static void scan_string(kernels_commit_parser *parser, char c) {
    if (parser->state == SCAN_ESCAPE) {
        parser->state = SCAN_STRING;
        parser->last_string_size = KEY_SIZE; /* an escaped key is never taken for "content" */
    } else if (c == '\\') {
        parser->state = SCAN_ESCAPE;
    } else if (c == '"') {
        parser->state = SCAN_OUTSIDE;
    } else {
        if (parser->last_string_size < KEY_SIZE) {
            parser->last_string[parser->last_string_size] = c;
        }
        parser->last_string_size++;
    }
    kernels_buffer_add_char(&parser->line, c);
}

static kernels_status scan_content(kernels_commit_parser *parser, char c, kernels_error *error) {
    if (parser->state == SCAN_CONTENT_ESCAPE) {
        parser->state = SCAN_CONTENT;
        return c == '/' ? add_content(parser, c, error) : bad_line(parser, "\"content\" is not base64", error);
    }
    if (c == '"') {
        return end_content(parser, error);
    }
    if (c == '\\') {
        parser->state = SCAN_CONTENT_ESCAPE;
        return KERNELS_OK;
    }
    return add_content(parser, c, error);
}

static kernels_status scan(kernels_commit_parser *parser, char c, kernels_error *error) {
    if (c == '\n') {
        return end_line(parser, error);
    }
    switch (parser->state) {
    case SCAN_OUTSIDE:
        return scan_outside(parser, c, error);
    case SCAN_STRING:
    case SCAN_ESCAPE:
        scan_string(parser, c);
        return KERNELS_OK;
    case SCAN_CONTENT:
    case SCAN_CONTENT_ESCAPE:
        return scan_content(parser, c, error);
    }
    return KERNELS_OK;
}

kernels_status kernels_commit_parser_feed(kernels_commit_parser *parser, const void *data, size_t size,
                                          kernels_error *error) {
    const char *bytes = data;
    for (size_t i = 0; i < size; i++) {
        if (parser->state == SCAN_CONTENT && parser->quad_size == 0 && parser->padding == 0) {
            i += add_groups(parser, bytes + i, size - i);
            if (i == size) {
                break;
            }
        }
        KERNELS_TRY(scan(parser, bytes[i], error));
        if (parser->line.failure != KERNELS_OK) {
            return kernels_fail(error, parser->line.failure, "line %zu of the commit is longer than %zu bytes",
                                parser->line_number, KERNELS_COMMIT_LINE_LIMIT);
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_commit_parser_finish(kernels_commit_parser *parser, kernels_error *error) {
    KERNELS_TRY(end_line(parser, error));
    return parser->has_header ? KERNELS_OK : kernels_fail(error, KERNELS_BAD_REQUEST, "the commit has no header line");
}
