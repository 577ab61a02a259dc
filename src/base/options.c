/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing command lines. The texts made from the same tables: options_text.c, options_completion.c. */
#include "base/options.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/similar.h"
#include "base/view.h"

#define OPTION_VALUES_MAX 4096

typedef struct option_value {
    size_t given; /* how often */
    const char *text;
    int64_t integer;
    kernels_option_list list;
    size_t capacity;
} option_value;

struct kernels_arguments {
    const kernels_program *program;
    const kernels_command *command;
    const char *path; /* "kernels info", for messages */
    option_value *values;
    size_t option_count;
    kernels_option_list positionals;
    size_t positional_capacity;
    char **raw;
    int raw_count;
    /* parser state */
    int argc, next;
    char **argv;
    bool options_ended;
};

/* ---- usage errors ---- */

static int usage_error(const kernels_arguments *state, const char *format, ...) KERNELS_PRINTF(2, 3);

static int usage_error(const kernels_arguments *state, const char *format, ...) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    va_list arguments;
    va_start(arguments, format);
    kernels_options_usage(&text, state->program, state->command);
    kernels_buffer_printf(&text, "%s: error: ", state->program->name);
    kernels_buffer_vprintf(&text, format, arguments);
    kernels_buffer_printf(&text, "\nTry `%s --help`.\n", state->path);
    va_end(arguments);
    (void)fputs(kernels_buffer_text(&text), stderr);
    kernels_buffer_dispose(&text);
    return KERNELS_EXIT_USAGE;
}

static int unknown_option(const kernels_arguments *state, kernels_view name) {
    kernels_similar best = KERNELS_SIMILAR_INIT;
    for (const kernels_option *option = state->command->options; option && option->name; option++) {
        if (!option->hidden) {
            kernels_similar_consider(&best, name, option->name);
        }
    }
    return best.name
               ? usage_error(state, "unknown option `--%.*s`; did you mean `--%s`?", KERNELS_VIEW_ARGS(name), best.name)
               : usage_error(state, "unknown option `--%.*s`", KERNELS_VIEW_ARGS(name));
}

static int unknown_command(const kernels_arguments *state, const kernels_command *const *commands, const char *word) {
    kernels_similar best = KERNELS_SIMILAR_INIT;
    for (size_t i = 0; commands && commands[i]; i++) {
        if (!commands[i]->hidden) {
            kernels_similar_consider(&best, kernels_view_of(word), commands[i]->name);
        }
    }
    return best.name ? usage_error(state, "unknown command `%s`; did you mean `%s`?", word, best.name)
                     : usage_error(state, "unknown command `%s`", word);
}

static void add_choices(kernels_buffer *text, const char *const *choices) {
    for (size_t i = 0; choices && choices[i]; i++) {
        kernels_buffer_printf(text, "%s%s", i ? ", " : "", choices[i]);
    }
}

/* What one forgets of an option that takes all following words. */
static const char *greedy_hint(const kernels_arguments *state, const kernels_option *option) {
    return option && option->type == KERNELS_OPTION_GREEDY && state->command->positionals
               ? "; this option takes all words up to the next option: the other arguments go before it"
               : "";
}

static int choice_error(const kernels_arguments *state, const kernels_option *option, const char *what,
                        const char *value, const char *const *choices) {
    kernels_buffer names = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    add_choices(&names, choices);
    int code = usage_error(state, "invalid value `%s` for %s: expected one of %s%s", value, what,
                           kernels_buffer_text(&names), greedy_hint(state, option));
    kernels_buffer_dispose(&names);
    return code;
}

/* ---- values ---- */

/* Decimal with optional sign, blanks around and single underscores between digits (as the released tools). */
static bool parse_integer(kernels_view text, int64_t *value) {
    text = kernels_view_trim_ascii(text);
    bool negative = text.size > 0 && text.data[0] == '-';
    if (text.size > 0 && (text.data[0] == '-' || text.data[0] == '+')) {
        text = kernels_view_slice(text, 1, text.size);
    }
    char digits[32];
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++) {
        bool between = i > 0 && i + 1 < text.size && text.data[i - 1] != '_';
        if (text.data[i] == '_' && between) {
            continue;
        }
        if (count == sizeof digits) {
            return false;
        }
        digits[count++] = text.data[i];
    }
    uint64_t magnitude;
    if (!kernels_view_to_u64((kernels_view){digits, count}, &magnitude)) {
        return false;
    }
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        return false;
    }
    *value = negative ? (magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1) : (int64_t)magnitude;
    return true;
}

static bool find_choice(const char *const *choices, bool ignore_case, const char *value, const char **found) {
    for (size_t i = 0; choices[i]; i++) {
        bool same = ignore_case ? kernels_view_equal_ascii_case(kernels_view_of(choices[i]), kernels_view_of(value))
                                : strcmp(choices[i], value) == 0;
        if (same) {
            *found = choices[i];
            return true;
        }
    }
    return false;
}

static bool list_add(kernels_option_list *list, size_t *capacity, const char *value) {
    if (!kernels_grow((void **)&list->values, capacity, list->count, sizeof *list->values, OPTION_VALUES_MAX)) {
        return false;
    }
    list->values[list->count++] = value;
    return true;
}

/* 0, or the exit code of an error that was reported. */
static int set_integer(const kernels_arguments *state, const kernels_option *option, option_value *value,
                       const char *text) {
    if (!parse_integer(kernels_view_of(text), &value->integer)) {
        return usage_error(state, "invalid value `%s` for --%s: expected an integer", text, option->name);
    }
    bool bounded = option->minimum != 0 || option->maximum != 0;
    if (bounded && (value->integer < option->minimum || value->integer > option->maximum)) {
        return usage_error(state, "invalid value `%s` for --%s: expected %lld to %lld", text, option->name,
                           (long long)option->minimum, (long long)option->maximum);
    }
    return 0;
}

static int set_value(kernels_arguments *state, const kernels_option *option, const char *text) {
    option_value *value = &state->values[option - state->command->options];
    bool repeatable = option->type == KERNELS_OPTION_LIST || option->type == KERNELS_OPTION_GREEDY;
    if (value->given > 0 && !repeatable && !state->program->prefixes) {
        return usage_error(state, "option --%s was given more than once", option->name);
    }
    value->given++;
    value->text = text;
    if (option->type == KERNELS_OPTION_INTEGER) {
        return set_integer(state, option, value, text);
    }
    if (option->choices && text && !find_choice(option->choices, option->ignore_case, text, &value->text)) {
        char what[128];
        (void)snprintf(what, sizeof what, "--%s", option->name);
        return choice_error(state, option, what, text, option->choices);
    }
    if (repeatable && !list_add(&value->list, &value->capacity, value->text)) {
        return usage_error(state, "too many values for --%s", option->name);
    }
    return 0;
}

/* A word that can be a value: does not look like an option, or is a negative number. */
static bool is_value(const char *word) {
    int64_t number;
    return word[0] != '-' || word[1] == '\0' || parse_integer(kernels_view_of(word), &number);
}

static int take_values(kernels_arguments *state, const kernels_option *option, const char *attached) {
    if (option->type == KERNELS_OPTION_FLAG) {
        return attached ? usage_error(state, "option --%s takes no value, but `%s` was given", option->name, attached)
                        : set_value(state, option, NULL);
    }
    if (attached) {
        return set_value(state, option, attached);
    }
    bool has_value = state->next < state->argc && is_value(state->argv[state->next]);
    if (!has_value && option->type == KERNELS_OPTION_MAYBE) {
        return set_value(state, option, NULL);
    }
    if (!has_value) {
        return usage_error(state, "option --%s needs a value %s", option->name,
                           option->value_name ? option->value_name : "VALUE");
    }
    int code = set_value(state, option, state->argv[state->next++]);
    while (code == 0 && option->type == KERNELS_OPTION_GREEDY && state->next < state->argc &&
           is_value(state->argv[state->next])) {
        code = set_value(state, option, state->argv[state->next++]);
    }
    return code;
}

/* ---- finding options ---- */

static const kernels_option *find_exact(const kernels_command *command, kernels_view name) {
    for (const kernels_option *option = command->options; option && option->name; option++) {
        if (kernels_view_equal_text(name, option->name)) {
            return option;
        }
    }
    return NULL;
}

static int ambiguous_option(const kernels_arguments *state, kernels_view name) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer names = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    for (const kernels_option *option = state->command->options; option && option->name; option++) {
        if (!option->exact_name && kernels_view_starts_with(kernels_view_of(option->name), name)) {
            kernels_buffer_printf(&names, "%s--%s", names.size > 0 ? ", " : "", option->name);
        }
    }
    return usage_error(state, "ambiguous option `--%.*s`: %s", KERNELS_VIEW_ARGS(name), kernels_buffer_text(&names));
}

static const kernels_option *find_prefix(const kernels_command *command, kernels_view name, size_t *matches) {
    const kernels_option *found = NULL;
    *matches = 0;
    for (const kernels_option *option = command->options; option && option->name; option++) {
        if (!option->exact_name && kernels_view_starts_with(kernels_view_of(option->name), name)) {
            found = option;
            (*matches)++;
        }
    }
    if (name.size > 0 && kernels_view_starts_with(KERNELS_VIEW("help"), name)) {
        (*matches)++;
    }
    return found;
}

static int print_help(const kernels_arguments *state) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_options_help(&text, state->program, state->command);
    bool written = fputs(kernels_buffer_text(&text), stdout) >= 0 && fflush(stdout) == 0;
    kernels_buffer_dispose(&text);
    return written ? KERNELS_EXIT_OK : KERNELS_EXIT_FAILURE;
}

/* Parsed a help option: parsing ends successfully without running the command. */
#define PARSED_HELP (-1)

static int parse_long(kernels_arguments *state, const char *word) {
    kernels_view name = kernels_view_of(word + 2);
    size_t equals = kernels_view_find(name, '=');
    const char *attached = equals == SIZE_MAX ? NULL : word + 2 + equals + 1;
    name = kernels_view_slice(name, 0, equals);
    const kernels_option *option = find_exact(state->command, name);
    size_t matches = option ? 1 : 0;
    if (!option && kernels_view_equal(name, KERNELS_VIEW("help"))) {
        return PARSED_HELP;
    }
    if (!option && state->program->prefixes && name.size > 0) {
        option = find_prefix(state->command, name, &matches);
        if (matches == 1 && !option) {
            return PARSED_HELP;
        }
    }
    if (matches > 1) {
        return ambiguous_option(state, name);
    }
    return option ? take_values(state, option, attached) : unknown_option(state, name);
}

static const kernels_option *find_short(const kernels_command *command, char letter) {
    for (const kernels_option *option = command->options; option && option->name; option++) {
        if (option->short_name == letter) {
            return option;
        }
    }
    return NULL;
}

/* "-q", "-pVALUE", "-p VALUE", grouped flags. */
static int parse_short(kernels_arguments *state, const char *word) {
    for (const char *letter = word + 1; *letter; letter++) {
        const kernels_option *option = find_short(state->command, *letter);
        if (!option && *letter == 'h') {
            return PARSED_HELP;
        }
        if (!option) {
            return usage_error(state, "unknown option `-%c`", *letter);
        }
        if (option->type != KERNELS_OPTION_FLAG) {
            const char *attached = letter[1] == '=' ? letter + 2 : letter[1] ? letter + 1 : NULL;
            return take_values(state, option, attached);
        }
        int code = take_values(state, option, NULL);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

/* ---- positionals ---- */

static const kernels_positional *positional_at(const kernels_command *command, size_t index) {
    const kernels_positional *positional = command->positionals;
    for (size_t i = 0; positional && positional->name; positional++, i++) {
        if (i == index || positional->repeatable) {
            return positional;
        }
    }
    return NULL;
}

static int add_positional(kernels_arguments *state, const char *word) {
    const kernels_positional *positional = positional_at(state->command, state->positionals.count);
    int64_t number;
    const char *spelling;
    if (!positional) {
        return usage_error(state, "unexpected argument `%s`", word);
    }
    if (word[0] == '\0' && !positional->may_be_empty) {
        return usage_error(state, "argument %s is empty", positional->name);
    }
    if (positional->integer && !parse_integer(kernels_view_of(word), &number)) {
        return usage_error(state, "invalid value `%s` for %s: expected an integer", word, positional->name);
    }
    if (positional->choices && !find_choice(positional->choices, false, word, &spelling)) {
        return choice_error(state, NULL, positional->name, word, positional->choices);
    }
    return list_add(&state->positionals, &state->positional_capacity, word) ? 0
                                                                            : usage_error(state, "too many arguments");
}

static int check_required(const kernels_arguments *state) {
    size_t index = 0;
    for (const kernels_positional *p = state->command->positionals; p && p->name; p++, index++) {
        if (p->required && index >= state->positionals.count) {
            return usage_error(state, "argument %s is missing", p->name);
        }
    }
    return 0;
}

static int parse_words(kernels_arguments *state) {
    while (state->next < state->argc) {
        const char *word = state->argv[state->next++];
        int code;
        if (state->options_ended || is_value(word)) {
            code = add_positional(state, word);
        } else if (strcmp(word, "--") == 0) {
            state->options_ended = true;
            code = 0;
        } else {
            code = word[1] == '-' ? parse_long(state, word) : parse_short(state, word);
        }
        if (code != 0) {
            return code;
        }
    }
    return check_required(state);
}

/* ---- programs ---- */

static void arguments_dispose(kernels_arguments *state) {
    for (size_t i = 0; i < state->option_count; i++) {
        kernels_free(state->values[i].list.values);
    }
    kernels_free(state->values);
    kernels_free(state->positionals.values);
}

static size_t count_options(const kernels_command *command) {
    size_t count = 0;
    while (command->options && command->options[count].name) {
        count++;
    }
    return count;
}

static int run_command(kernels_arguments *state, void *payload) {
    assert(state->command);
    state->option_count = count_options(state->command);
    state->values = kernels_calloc(state->option_count + 1, sizeof *state->values);
    if (!state->values) {
        (void)fprintf(stderr, "%s: error: out of memory\n", state->program->name);
        return KERNELS_EXIT_FAILURE;
    }
    int code = parse_words(state);
    if (code == PARSED_HELP) {
        code = print_help(state);
    } else if (code == 0) {
        code = state->command->run(state, payload);
    }
    arguments_dispose(state);
    return code;
}

static const kernels_command *find_command(const kernels_command *const *commands, const char *name) {
    for (size_t i = 0; commands && commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static int print_version(const kernels_program *program) {
    return printf("%s\n", program->version_line) >= 0 && fflush(stdout) == 0 ? KERNELS_EXIT_OK : KERNELS_EXIT_FAILURE;
}

/* Missing or unknown command: the whole help for programs in the style of `kernel-builder`. */
static int missing_command(const kernels_arguments *state) {
    if (state->program->prefixes) {
        return usage_error(state, "a command is required");
    }
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_options_help(&text, state->program, state->command);
    (void)fputs(kernels_buffer_text(&text), stderr);
    kernels_buffer_dispose(&text);
    return KERNELS_EXIT_USAGE;
}

/* A program without sub-commands prints about itself by an option; -1: this is none. */
static int print_about(const kernels_arguments *state) {
    const char *word = state->argc > 1 ? state->argv[1] : "";
    const char *shell = state->argc > 2 ? state->argv[2] : "";
    bool wants_man = strcmp(word, "--man") == 0;
    if (!wants_man && strcmp(word, "--completions") != 0) {
        return -1;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    if (wants_man) {
        kernels_options_man(&text, state->program);
    } else if (!kernels_options_completion(&text, state->program, shell)) {
        return usage_error(
            state, "invalid value `%s` for --completions: expected one of bash, zsh, fish, elvish, powershell", shell);
    }
    return fputs(kernels_buffer_text(&text), stdout) >= 0 && fflush(stdout) == 0 ? KERNELS_EXIT_OK
                                                                                 : KERNELS_EXIT_FAILURE;
}

static bool is_version_option(const kernels_program *program, const char *word) {
    return strcmp(word, "--version") == 0 ||
           (program->version_short && word[0] == '-' && word[1] == program->version_short && word[2] == '\0');
}

/* Picks the (sub-)command that argv[state->next] names, moving down as long as there are sub-commands. */
static int select_command(kernels_arguments *state, const kernels_command *const *commands, kernels_buffer *path) {
    for (;;) {
        state->path = kernels_buffer_text(path);
        const char *word = state->next < state->argc ? state->argv[state->next] : NULL;
        if (!word) {
            return missing_command(state);
        }
        state->next++;
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
            return PARSED_HELP;
        }
        bool wants_help = !state->program->prefixes && strcmp(word, "help") == 0;
        if (wants_help && state->next >= state->argc) {
            return PARSED_HELP;
        }
        word = wants_help ? state->argv[state->next] : word;
        const kernels_command *found = find_command(commands, word);
        if (!found) {
            return word[0] == '-' ? usage_error(state, "unknown option `%s`", word)
                                  : unknown_command(state, commands, word);
        }
        state->command = found;
        kernels_buffer_printf(path, " %s", found->name);
        state->path = kernels_buffer_text(path);
        if (wants_help) {
            return PARSED_HELP;
        }
        if (!found->subcommands) {
            return 0;
        }
        commands = found->subcommands;
    }
}

int kernels_program_main(const kernels_program *program, int argc, char **argv, void *payload) {
    kernels_buffer path = KERNELS_BUFFER_INIT(4096);
    kernels_buffer_add_text(&path, program->name);
    kernels_arguments state = {
        .program = program, .argc = argc, .argv = argv, .next = 1, .path = kernels_buffer_text(&path)};
    int code = 0;
    if (argc > 1 && program->version_line && is_version_option(program, argv[1])) {
        kernels_buffer_dispose(&path);
        return print_version(program);
    }
    if (program->single) {
        state.command = program->commands[0];
        code = print_about(&state);
        if (code >= 0) {
            kernels_buffer_dispose(&path);
            return code;
        }
        code = 0;
    } else {
        code = select_command(&state, program->commands, &path);
    }
    if (code == PARSED_HELP) {
        code = print_help(&state);
    } else if (code == 0) {
        state.raw = argv + state.next;
        state.raw_count = argc > state.next ? argc - state.next : 0;
        code = run_command(&state, payload);
    }
    kernels_buffer_dispose(&path);
    return code;
}

/* ---- access ---- */

static const option_value *value_of(const kernels_arguments *arguments, const char *name) {
    const kernels_option *option = find_exact(arguments->command, kernels_view_of(name));
    return option ? &arguments->values[option - arguments->command->options] : NULL;
}

bool kernels_arguments_given(const kernels_arguments *arguments, const char *name) {
    const option_value *value = value_of(arguments, name);
    return value && value->given > 0;
}

bool kernels_arguments_flag(const kernels_arguments *arguments, const char *name) {
    return kernels_arguments_given(arguments, name);
}

const char *kernels_arguments_text(const kernels_arguments *arguments, const char *name) {
    const option_value *value = value_of(arguments, name);
    return value && value->given > 0 ? value->text : NULL;
}

int64_t kernels_arguments_integer(const kernels_arguments *arguments, const char *name, int64_t fallback) {
    const option_value *value = value_of(arguments, name);
    return value && value->given > 0 ? value->integer : fallback;
}

kernels_option_list kernels_arguments_list(const kernels_arguments *arguments, const char *name) {
    const option_value *value = value_of(arguments, name);
    return value ? value->list : (kernels_option_list){0};
}

size_t kernels_arguments_positional_count(const kernels_arguments *arguments) { return arguments->positionals.count; }

const char *kernels_arguments_positional(const kernels_arguments *arguments, size_t index) {
    return index < arguments->positionals.count ? arguments->positionals.values[index] : NULL;
}

const kernels_command *kernels_arguments_command(const kernels_arguments *arguments) { return arguments->command; }

const kernels_program *kernels_arguments_program(const kernels_arguments *arguments) { return arguments->program; }

char **kernels_arguments_raw(const kernels_arguments *arguments, int *count) {
    *count = arguments->raw_count;
    return arguments->raw;
}
