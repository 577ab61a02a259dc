/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendering walks over the text once; a for block jumps back to its start. Blocks that are not taken are walked
 * over all the same, without evaluating anything, so that broken syntax is found there too.
 */
#include "build/card_template.h"

#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "build/card_expression.h"

typedef enum tag_type { TAG_END, TAG_OUTPUT, TAG_BLOCK, TAG_COMMENT } tag_type;

typedef struct tag {
    tag_type type;
    size_t begin, end; /* with the brackets */
    kernels_view body; /* without brackets and trimming signs, trimmed */
    bool trim_left, trim_right;
} tag;

typedef enum branch {
    BRANCH_ACTIVE, /* this part is rendered */
    BRANCH_WAIT,   /* none taken yet: a later elif or else may be */
    BRANCH_DONE,   /* one was taken, or the block stands in a part that is not rendered */
} branch;

typedef struct block {
    bool is_for, saw_else;
    branch branch;
    uint32_t line;
    size_t body; /* for: where it starts */
    uint32_t body_line;
    bool body_trim;        /* for: blanks at the start of the body go */
    size_t first_variable; /* for: what was set inside goes at its end */
    kernels_view variable;
    kernels_strings list;
    size_t index;
} block;

typedef struct renderer {
    kernels_card_scope scope;
    kernels_view text;
    size_t at;
    uint32_t line;
    bool trim; /* blanks before the next piece of text go */
    block blocks[KERNELS_CARD_BLOCK_LIMIT];
    size_t depth;
    size_t steps;
    kernels_buffer *out;
} renderer;

static kernels_status refuse(renderer *run, const char *what, kernels_view detail) {
    return kernels_fail(run->scope.error, KERNELS_SYNTAX, "%s:%u: %s%s%.*s", run->scope.name, run->scope.line, what,
                        detail.size ? ": " : "", KERNELS_VIEW_ARGS(detail));
}

static bool is_active(const renderer *run) {
    return run->depth == 0 || run->blocks[run->depth - 1].branch == BRANCH_ACTIVE;
}

/* ---- tags ---- */

static size_t find(kernels_view text, size_t from, const char *wanted) {
    kernels_view part = kernels_view_of(wanted);
    for (size_t i = from; i + part.size <= text.size; i++) {
        if (memcmp(text.data + i, part.data, part.size) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* End of a tag: its closing bracket outside of string literals. */
static size_t find_end(kernels_view text, size_t from, const char *wanted) {
    char quote = '\0';
    for (size_t i = from; i + 1 < text.size; i++) {
        char c = text.data[i];
        if (quote) {
            i += c == '\\';
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == wanted[0] && text.data[i + 1] == wanted[1]) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* The next tag from run->at on; TAG_END with begin at the end of the text when there is none. */
static kernels_status next_tag(renderer *run, tag *found) {
    kernels_view text = run->text;
    size_t at = run->at;
    while (at < text.size && !(text.data[at] == '{' && at + 1 < text.size && strchr("{%#", text.data[at + 1]))) {
        at++;
    }
    *found = (tag){.type = TAG_END, .begin = at, .end = at};
    if (at == text.size) {
        return KERNELS_OK;
    }
    char kind = text.data[at + 1];
    found->type = kind == '{' ? TAG_OUTPUT : kind == '%' ? TAG_BLOCK : TAG_COMMENT;
    size_t end = kind == '#'   ? find(text, at + 2, "#}")
                 : kind == '%' ? find_end(text, at + 2, "%}")
                               : find_end(text, at + 2, "}}");
    if (end == SIZE_MAX) {
        return refuse(run, "a tag is not closed", KERNELS_VIEW(""));
    }
    size_t begin = at + 2;
    found->trim_left = begin < end && text.data[begin] == '-';
    found->trim_right = end > begin + (found->trim_left ? 1 : 0) && text.data[end - 1] == '-';
    found->body = kernels_view_trim_ascii(
        kernels_view_slice(text, begin + (found->trim_left ? 1 : 0), end - (found->trim_right ? 1 : 0)));
    found->end = end + 2;
    return KERNELS_OK;
}

static void count_lines(renderer *run, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        run->line += run->text.data[i] == '\n';
    }
}

/* Text up to the tag, trimmed as the tags around it want. */
static void add_text(renderer *run, const tag *next) {
    kernels_view text = kernels_view_slice(run->text, run->at, next->begin);
    while (run->trim && text.size && strchr(" \t\r\n", text.data[0])) {
        text = kernels_view_slice(text, 1, text.size);
    }
    while (next->trim_left && text.size && strchr(" \t\r\n", text.data[text.size - 1])) {
        text.size--;
    }
    if (is_active(run)) {
        kernels_buffer_add_view(run->out, text);
    }
}

/* Moves behind a tag; the line break behind a block or comment goes. */
static void step_over(renderer *run, const tag *passed) {
    count_lines(run, run->at, passed->end);
    run->at = passed->end;
    run->trim = passed->trim_right;
    if (passed->type == TAG_OUTPUT || passed->trim_right) {
        return;
    }
    size_t skip = run->at < run->text.size && run->text.data[run->at] == '\r' ? 1 : 0;
    if (run->at + skip < run->text.size && run->text.data[run->at + skip] == '\n') {
        run->at += skip + 1;
        run->line++;
    }
}

/* ---- blocks ---- */

/* NULL: too many, and the error says so. */
static block *open_block(renderer *run, bool is_for) {
    if (run->depth == KERNELS_CARD_BLOCK_LIMIT) {
        (void)refuse(run, "too many nested blocks", KERNELS_VIEW(""));
        return NULL;
    }
    bool active = is_active(run);
    block *opened = &run->blocks[run->depth++];
    *opened = (block){.is_for = is_for, .branch = active ? BRANCH_WAIT : BRANCH_DONE, .line = run->scope.line};
    return opened;
}

/* Decides a branch of an if that still waits. */
static kernels_status decide(renderer *run, block *open, kernels_view condition) {
    if (open->branch == BRANCH_ACTIVE) {
        open->branch = BRANCH_DONE;
    }
    if (open->branch == BRANCH_DONE) {
        return KERNELS_OK;
    }
    kernels_card_value value;
    KERNELS_TRY(kernels_card_evaluate(&run->scope, condition, &value));
    open->branch = kernels_card_is_true(&value) ? BRANCH_ACTIVE : BRANCH_WAIT;
    return KERNELS_OK;
}

static kernels_status set_loop_variables(renderer *run, block *loop) {
    run->scope.count = loop->first_variable;
    kernels_card_value state = {.type = KERNELS_CARD_LOOP};
    state.as.loop.index = loop->index;
    state.as.loop.count = loop->list.count;
    KERNELS_TRY(kernels_card_scope_add(&run->scope, KERNELS_VIEW("loop"), state));
    kernels_card_value item = {.type = KERNELS_CARD_TEXT, .as.text = kernels_view_of(loop->list.items[loop->index])};
    return kernels_card_scope_add(&run->scope, loop->variable, item);
}

static kernels_status start_for(renderer *run, kernels_view rest) {
    block *loop = open_block(run, true);
    if (!loop) {
        return KERNELS_SYNTAX;
    }
    loop->variable = kernels_card_word(&rest);
    kernels_view in = kernels_card_word(&rest);
    if (!loop->variable.size || !kernels_view_equal_text(in, "in")) {
        return refuse(run, "expected {% for NAME in LIST %}", KERNELS_VIEW(""));
    }
    loop->first_variable = run->scope.count;
    loop->body = run->at;
    loop->body_line = run->line;
    loop->body_trim = run->trim;
    if (loop->branch == BRANCH_DONE) {
        return KERNELS_OK;
    }
    kernels_card_value value;
    KERNELS_TRY(kernels_card_evaluate(&run->scope, rest, &value));
    if (value.type != KERNELS_CARD_LIST && value.type != KERNELS_CARD_UNDEFINED) {
        return refuse(run, "not a list", kernels_view_trim_ascii(rest));
    }
    loop->list = value.type == KERNELS_CARD_LIST ? value.as.list : (kernels_strings){0};
    if (loop->list.count) {
        loop->branch = BRANCH_ACTIVE;
        return set_loop_variables(run, loop);
    }
    return KERNELS_OK;
}

/* At the end of a loop's body: true when it goes on with the next item. */
static kernels_status next_item(renderer *run, block *loop, bool *again) {
    *again = loop->branch == BRANCH_ACTIVE && !loop->saw_else && loop->index + 1 < loop->list.count;
    if (*again) {
        loop->index++;
        run->at = loop->body;
        run->line = loop->body_line;
        run->trim = loop->body_trim;
        return set_loop_variables(run, loop);
    }
    return KERNELS_OK;
}

static kernels_status do_else(renderer *run, kernels_view condition, bool is_elif) {
    block *open = run->depth ? &run->blocks[run->depth - 1] : NULL;
    if (!open || open->saw_else || (is_elif && open->is_for)) {
        return refuse(run, is_elif ? "elif without if" : "else without if or for", KERNELS_VIEW(""));
    }
    if (is_elif) {
        return decide(run, open, condition);
    }
    bool again = false;
    if (open->is_for) {
        KERNELS_TRY(next_item(run, open, &again));
    }
    if (!again) {
        open->saw_else = true;
        open->branch = open->branch == BRANCH_WAIT ? BRANCH_ACTIVE : BRANCH_DONE;
    }
    return KERNELS_OK;
}

static kernels_status do_end(renderer *run, bool is_for) {
    block *open = run->depth ? &run->blocks[run->depth - 1] : NULL;
    if (!open || open->is_for != is_for) {
        return refuse(run, is_for ? "endfor without for" : "endif without if", KERNELS_VIEW(""));
    }
    if (!is_for) {
        run->depth--;
        return KERNELS_OK;
    }
    bool again = false;
    KERNELS_TRY(next_item(run, open, &again));
    if (!again) {
        run->scope.count = open->first_variable;
        run->depth--;
    }
    return KERNELS_OK;
}

static kernels_status do_set(renderer *run, kernels_view rest) {
    kernels_view name = kernels_card_word(&rest);
    if (!name.size || !rest.size || rest.data[0] != '=') {
        return refuse(run, "expected {% set NAME = VALUE %}", KERNELS_VIEW(""));
    }
    kernels_card_value value;
    if (!is_active(run)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_card_evaluate(&run->scope, kernels_view_slice(rest, 1, rest.size), &value));
    return kernels_card_scope_add(&run->scope, name, value);
}

/* Copies everything up to endraw. */
static kernels_status do_raw(renderer *run) {
    size_t begin = run->at;
    for (size_t at = begin; at != SIZE_MAX; at++) {
        at = find(run->text, at, "{%");
        if (at == SIZE_MAX) {
            break;
        }
        tag end;
        count_lines(run, run->at, at);
        run->at = at;
        KERNELS_TRY(next_tag(run, &end));
        if (kernels_view_equal_text(end.body, "endraw")) {
            run->at = begin;
            add_text(run, &end);
            run->at = at;
            step_over(run, &end);
            return KERNELS_OK;
        }
    }
    return refuse(run, "raw without endraw", KERNELS_VIEW(""));
}

static kernels_status do_block(renderer *run, const tag *found) {
    kernels_view rest = found->body;
    kernels_view word = kernels_card_word(&rest);
    if (kernels_view_equal_text(word, "if")) {
        block *open = open_block(run, false);
        return open ? decide(run, open, rest) : KERNELS_SYNTAX;
    }
    if (kernels_view_equal_text(word, "elif")) {
        return do_else(run, rest, true);
    }
    if (kernels_view_equal_text(word, "for")) {
        return start_for(run, rest);
    }
    if (kernels_view_equal_text(word, "set")) {
        return do_set(run, rest);
    }
    if (rest.size) {
        return refuse(run, "unknown tag", found->body);
    }
    if (kernels_view_equal_text(word, "else")) {
        return do_else(run, rest, false);
    }
    if (kernels_view_equal_text(word, "endif") || kernels_view_equal_text(word, "endfor")) {
        return do_end(run, kernels_view_equal_text(word, "endfor"));
    }
    return kernels_view_equal_text(word, "raw") ? do_raw(run) : refuse(run, "unknown tag", found->body);
}

static kernels_status do_output(renderer *run, const tag *found) {
    kernels_card_value value;
    if (!is_active(run)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_card_evaluate(&run->scope, found->body, &value));
    kernels_card_print(&value, run->out);
    return KERNELS_OK;
}

/* ---- the whole ---- */

static kernels_status render(renderer *run) {
    for (;;) {
        tag found;
        run->scope.line = run->line;
        KERNELS_TRY(next_tag(run, &found));
        add_text(run, &found);
        count_lines(run, run->at, found.begin);
        run->scope.line = run->line;
        run->at = found.begin;
        if (found.type == TAG_END) {
            break;
        }
        step_over(run, &found);
        if (++run->steps > KERNELS_CARD_STEP_LIMIT) {
            return kernels_fail(run->scope.error, KERNELS_LIMIT, "%s: the card takes more than %d steps to render",
                                run->scope.name, KERNELS_CARD_STEP_LIMIT);
        }
        if (found.type == TAG_OUTPUT) {
            KERNELS_TRY(do_output(run, &found));
        } else if (found.type == TAG_BLOCK) {
            KERNELS_TRY(do_block(run, &found));
        }
        KERNELS_TRY(kernels_buffer_status(run->out, run->scope.error));
    }
    if (run->depth) {
        run->scope.line = run->blocks[run->depth - 1].line;
        return refuse(run, run->blocks[run->depth - 1].is_for ? "for without endfor" : "if without endif",
                      KERNELS_VIEW(""));
    }
    return kernels_buffer_status(run->out, run->scope.error);
}

static kernels_view without_last_break(kernels_view text) {
    if (text.size && text.data[text.size - 1] == '\n') {
        text.size--;
        text.size -= text.size && text.data[text.size - 1] == '\r' ? 1 : 0;
    }
    return text;
}

kernels_status kernels_card_template_render(kernels_view text, const char *name, const kernels_card_variable *variables,
                                            size_t count, kernels_buffer *out, kernels_error *error) {
    kernels_arena *arena = kernels_arena_new(0);
    renderer *run = kernels_calloc(1, sizeof *run); /* too large for the stack */
    if (!arena || !run) {
        kernels_arena_free(arena);
        kernels_free(run);
        return kernels_fail_no_memory(error);
    }
    *run = (renderer){.text = without_last_break(text), .line = 1, .out = out};
    run->scope = (kernels_card_scope){.arena = arena, .name = name, .line = 1, .error = error};
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < count && !status; i++) {
        status = kernels_card_scope_add(&run->scope, variables[i].name, variables[i].value);
    }
    status = status ? status : render(run);
    kernels_free(run);
    kernels_arena_free(arena);
    return status;
}
