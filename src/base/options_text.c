/* SPDX-License-Identifier: Apache-2.0 */
/* Help and man pages from the option tables. */
#include <string.h>

#include "base/options.h"
#include "base/view.h"

#define TEXT_WIDTH 80
#define HELP_COLUMN 26

/* ---- shared pieces ---- */

/* What options.c takes of itself where there are no sub-commands. */
static const char *const about[][2] = {
    {"--completions SHELL", "Alone: print a completion script for bash, zsh, fish, elvish or powershell."},
    {"--man", "Alone: print the man page."},
};

static void add_positionals(kernels_buffer *out, const kernels_command *command) {
    for (const kernels_positional *p = command->positionals; p && p->name; p++) {
        const char *dots = p->repeatable ? "..." : "";
        kernels_buffer_printf(out, p->required ? " %s%s" : " [%s]%s", p->name, dots);
    }
}

/* The command that `command` is a sub-command of, or NULL. */
static const kernels_command *parent_of(const kernels_program *program, const kernels_command *command) {
    for (size_t i = 0; program->commands[i]; i++) {
        const kernels_command *const *below = program->commands[i]->subcommands;
        for (size_t j = 0; below && below[j]; j++) {
            if (below[j] == command) {
                return program->commands[i];
            }
        }
    }
    return NULL;
}

void kernels_options_usage(kernels_buffer *out, const kernels_program *program, const kernels_command *command) {
    kernels_buffer_printf(out, "usage: %s", program->name);
    if (!command) {
        kernels_buffer_add_text(out, " COMMAND [OPTIONS]\n");
        return;
    }
    const kernels_command *parent = parent_of(program, command);
    if (parent) {
        kernels_buffer_printf(out, " %s", parent->name);
    }
    if (!program->single) {
        kernels_buffer_printf(out, " %s", command->name);
    }
    if (command->subcommands) {
        kernels_buffer_add_text(out, " COMMAND");
    }
    if (command->options) {
        kernels_buffer_add_text(out, " [OPTIONS]");
    }
    add_positionals(out, command);
    kernels_buffer_add_char(out, '\n');
}

/* Words wrapped at TEXT_WIDTH, continuation lines indented; the first line is already at `column`. */
static void add_wrapped(kernels_buffer *out, const char *text, size_t indent, size_t column) {
    kernels_view rest = kernels_view_of(text), word;
    bool first = true;
    while (kernels_view_split(&rest, ' ', &word)) {
        if (!first && column + 1 + word.size > TEXT_WIDTH) {
            kernels_buffer_add_char(out, '\n');
            for (size_t i = 0; i < indent; i++) {
                kernels_buffer_add_char(out, ' ');
            }
            column = indent;
        } else if (!first) {
            kernels_buffer_add_char(out, ' ');
            column++;
        }
        kernels_buffer_add_view(out, word);
        column += word.size;
        first = false;
    }
    kernels_buffer_add_char(out, '\n');
}

/* Text of several paragraphs, an empty line between them. Lines that begin with a blank stay as they are. */
static void add_paragraphs(kernels_buffer *out, const char *text) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer paragraph = KERNELS_BUFFER_INIT(65536);
    kernels_view rest = kernels_view_of(text), line;
    bool more = true;
    while (more) {
        more = kernels_view_split(&rest, '\n', &line);
        bool flows = more && line.size > 0 && line.data[0] != ' ';
        if (!flows && paragraph.size > 0) {
            add_wrapped(out, kernels_buffer_text(&paragraph), 0, 0);
            kernels_buffer_reset(&paragraph);
        }
        if (flows) {
            kernels_buffer_add_text(&paragraph, paragraph.size > 0 ? " " : "");
            kernels_buffer_add_view(&paragraph, line);
        } else if (more) {
            kernels_buffer_printf(out, "%.*s\n", KERNELS_VIEW_ARGS(line));
        }
    }
}

static void add_row(kernels_buffer *out, const char *left, const char *help) {
    size_t begin = out->size;
    kernels_buffer_printf(out, "  %s", left);
    size_t column = out->size - begin;
    if (column + 2 > HELP_COLUMN) {
        kernels_buffer_add_char(out, '\n');
        column = 0;
    }
    for (; column < HELP_COLUMN; column++) {
        kernels_buffer_add_char(out, ' ');
    }
    add_wrapped(out, help ? help : "", HELP_COLUMN, HELP_COLUMN);
}

static void option_label(kernels_buffer *out, const kernels_option *option) {
    if (option->short_name) {
        kernels_buffer_printf(out, "-%c, ", option->short_name);
    }
    kernels_buffer_printf(out, "--%s", option->name);
    const char *value = option->value_name ? option->value_name : "VALUE";
    if (option->type == KERNELS_OPTION_MAYBE) {
        kernels_buffer_printf(out, " [%s]", value);
    } else if (option->type != KERNELS_OPTION_FLAG) {
        kernels_buffer_printf(out, " %s%s", value, option->type == KERNELS_OPTION_GREEDY ? "..." : "");
    }
}

static void add_help(kernels_buffer *out, const char *help, const char *const *choices) {
    kernels_buffer_add_text(out, help ? help : "");
    if (choices) {
        kernels_buffer_add_text(out, " One of:");
        for (size_t i = 0; choices[i]; i++) {
            kernels_buffer_printf(out, "%s %s", i ? "," : "", choices[i]);
        }
        kernels_buffer_add_char(out, '.');
    }
}

static void option_help(kernels_buffer *out, const kernels_option *option) {
    add_help(out, option->help, option->choices);
    if (option->type == KERNELS_OPTION_LIST) {
        kernels_buffer_add_text(out, " Can be repeated.");
    }
}

static void add_options(kernels_buffer *out, const kernels_command *command) {
    kernels_buffer_add_text(out, "\nOptions:\n");
    for (const kernels_option *option = command->options; option && option->name; option++) {
        if (option->hidden) {
            continue;
        }
        kernels_buffer label = KERNELS_BUFFER_INIT(1024), help = KERNELS_BUFFER_INIT(16384);
        option_label(&label, option);
        option_help(&help, option);
        add_row(out, kernels_buffer_text(&label), kernels_buffer_text(&help));
        kernels_buffer_dispose(&label);
        kernels_buffer_dispose(&help);
    }
    add_row(out, "-h, --help", "Show this help and exit.");
}

static void add_commands(kernels_buffer *out, const kernels_command *const *commands) {
    kernels_buffer_add_text(out, "\nCommands:\n");
    for (size_t i = 0; commands[i]; i++) {
        if (!commands[i]->hidden) {
            add_row(out, commands[i]->name, commands[i]->summary);
        }
    }
}

static void add_examples(kernels_buffer *out, const char *examples) {
    kernels_view rest = kernels_view_of(examples), line;
    kernels_buffer_add_text(out, "\nExamples:\n");
    while (kernels_view_split(&rest, '\n', &line)) {
        if (line.size > 0) {
            kernels_buffer_printf(out, "  %.*s\n", KERNELS_VIEW_ARGS(line));
        }
    }
}

static void program_help(kernels_buffer *out, const kernels_program *program) {
    kernels_options_usage(out, program, NULL);
    kernels_buffer_printf(out, "\n%s\n", program->summary);
    add_commands(out, program->commands);
    kernels_buffer_add_text(out, "\nOptions:\n");
    add_row(out, "-h, --help", "Show this help and exit.");
    if (program->version_line) {
        char label[32] = "--version";
        if (program->version_short) {
            memcpy(label, "-?, --version", 14);
            label[1] = program->version_short;
        }
        add_row(out, label, "Print the version and exit.");
    }
    kernels_buffer_printf(out, "\n`%s COMMAND --help` tells more about a command.\n", program->name);
}

void kernels_options_help(kernels_buffer *out, const kernels_program *program, const kernels_command *command) {
    if (!command) {
        program_help(out, program);
        return;
    }
    kernels_options_usage(out, program, command);
    kernels_buffer_add_char(out, '\n');
    add_paragraphs(out, command->summary);
    if (command->description) {
        kernels_buffer_add_char(out, '\n');
        add_paragraphs(out, command->description);
    }
    if (command->subcommands) {
        add_commands(out, command->subcommands);
    }
    if (command->positionals) {
        kernels_buffer_add_text(out, "\nArguments:\n");
        for (const kernels_positional *p = command->positionals; p->name; p++) {
            KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer help = KERNELS_BUFFER_INIT(16384);
            add_help(&help, p->help, p->choices);
            add_row(out, p->name, kernels_buffer_text(&help));
        }
    }
    add_options(out, command);
    for (size_t i = 0; program->single && i < sizeof about / sizeof *about; i++) {
        add_row(out, about[i][0], about[i][1]);
    }
    if (command->examples) {
        add_examples(out, command->examples);
    }
}

/* ---- man page ---- */

/* Roff text: backslashes and leading dots or quotes are special, hyphens stay hyphens. */
static void add_roff(kernels_buffer *out, const char *text) {
    bool line_start = true;
    for (const char *c = text; *c; c++) {
        if (line_start && (*c == '.' || *c == '\'')) {
            kernels_buffer_add_text(out, "\\&");
        }
        if (*c == '\\') {
            kernels_buffer_add_text(out, "\\e");
        } else if (*c == '-') {
            kernels_buffer_add_text(out, "\\-");
        } else {
            kernels_buffer_add_char(out, *c);
        }
        line_start = *c == '\n';
    }
}

static void man_entry(kernels_buffer *out, const char *label, const char *help) {
    kernels_buffer_add_text(out, ".TP\n.B ");
    add_roff(out, label);
    kernels_buffer_add_char(out, '\n');
    add_roff(out, help ? help : "");
    kernels_buffer_add_char(out, '\n');
}

static void man_options(kernels_buffer *out, const kernels_command *command) {
    for (const kernels_positional *p = command->positionals; p && p->name; p++) {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer help = KERNELS_BUFFER_INIT(16384);
        add_help(&help, p->help, p->choices);
        man_entry(out, p->name, kernels_buffer_text(&help));
    }
    for (const kernels_option *option = command->options; option && option->name; option++) {
        if (!option->hidden) {
            kernels_buffer label = KERNELS_BUFFER_INIT(1024), help = KERNELS_BUFFER_INIT(16384);
            option_label(&label, option);
            option_help(&help, option);
            man_entry(out, kernels_buffer_text(&label), kernels_buffer_text(&help));
            kernels_buffer_dispose(&label);
            kernels_buffer_dispose(&help);
        }
    }
}

static void man_command(kernels_buffer *out, const kernels_program *program, const kernels_command *command) {
    kernels_buffer usage = KERNELS_BUFFER_INIT(4096);
    kernels_options_usage(&usage, program, command);
    kernels_buffer_add_text(out, ".SS ");
    add_roff(out, kernels_buffer_text(&usage) + strlen("usage: "));
    kernels_buffer_dispose(&usage);
    add_roff(out, command->summary);
    kernels_buffer_add_char(out, '\n');
    if (command->description) {
        kernels_buffer_add_text(out, ".PP\n");
        add_roff(out, command->description);
        kernels_buffer_add_char(out, '\n');
    }
    man_options(out, command);
    for (size_t i = 0; program->single && i < sizeof about / sizeof *about; i++) {
        man_entry(out, about[i][0], about[i][1]);
    }
    if (command->examples) {
        kernels_buffer_add_text(out, ".PP\nExamples:\n.PP\n.nf\n");
        add_roff(out, command->examples);
        kernels_buffer_add_text(out, "\n.fi\n");
    }
}

static void man_environment(kernels_buffer *out, const char *environment) {
    kernels_view rest = kernels_view_of(environment), line;
    kernels_buffer_add_text(out, ".SH ENVIRONMENT\n");
    while (kernels_view_split(&rest, '\n', &line)) {
        if (line.size > 0) {
            kernels_buffer text = KERNELS_BUFFER_INIT(4096);
            kernels_buffer_add_view(&text, line);
            kernels_buffer_add_text(out, ".TP\n");
            add_roff(out, kernels_buffer_text(&text));
            kernels_buffer_add_char(out, '\n');
            kernels_buffer_dispose(&text);
        }
    }
}

void kernels_options_man(kernels_buffer *out, const kernels_program *program) {
    kernels_buffer_printf(out, ".TH %s 1\n.SH NAME\n%s \\- ", program->name, program->name);
    add_roff(out, program->summary);
    kernels_buffer_add_text(out, "\n.SH COMMANDS\n");
    for (size_t i = 0; program->commands[i]; i++) {
        if (!program->commands[i]->hidden) {
            man_command(out, program, program->commands[i]);
            const kernels_command *const *below = program->commands[i]->subcommands;
            for (size_t j = 0; below && below[j]; j++) {
                man_command(out, program, below[j]);
            }
        }
    }
    kernels_buffer_add_text(
        out, ".SH EXIT STATUS\n0: success. 1: the command failed. 2: wrong use. 130, 143: ended by SIGINT, SIGTERM.\n");
    if (program->environment) {
        man_environment(out, program->environment);
    }
}
