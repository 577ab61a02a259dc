/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completions from the option tables. Every script works the same way: the words so far give a key ("", "info",
 * "env fetch"), and the key gives what may follow. */
#include <string.h>

#include "base/options.h"
#include "base/view.h"

#define KEY_SIZE 128

/* One key: the whole program (command NULL, unless the program has no sub-commands), a command, a sub-command. */
typedef struct place {
    const kernels_program *program;
    const kernels_command *command;
    const kernels_command *const *below; /* commands that may follow, NULL = none */
    unsigned depth;                      /* words of the key */
    char key[KEY_SIZE];
} place;

typedef void place_visitor(kernels_buffer *out, const place *at);

static void visit_command(kernels_buffer *out, const place *parent, const kernels_command *command,
                          place_visitor *visit) {
    place at = {
        .program = parent->program, .command = command, .below = command->subcommands, .depth = parent->depth + 1};
    kernels_buffer key = KERNELS_BUFFER_INIT(KEY_SIZE);
    kernels_buffer_printf(&key, "%s%s%s", parent->key, parent->depth ? " " : "", command->name);
    memcpy(at.key, kernels_buffer_text(&key), key.size + 1);
    kernels_buffer_dispose(&key);
    visit(out, &at);
}

static void each_place(kernels_buffer *out, const kernels_program *program, place_visitor *visit) {
    place top = {.program = program, .below = program->commands};
    if (program->single) {
        top.command = program->commands[0];
        top.below = NULL;
    }
    visit(out, &top);
    for (size_t i = 0; top.below && top.below[i]; i++) {
        const kernels_command *command = top.below[i];
        place middle = {.program = program, .depth = 1};
        if (command->hidden || strlen(command->name) >= KEY_SIZE / 2) {
            continue;
        }
        visit_command(out, &top, command, visit);
        memcpy(middle.key, command->name, strlen(command->name) + 1);
        for (size_t j = 0; command->subcommands && command->subcommands[j]; j++) {
            visit_command(out, &middle, command->subcommands[j], visit);
        }
    }
}

static const kernels_option *first_option(const place *at) { return at->command ? at->command->options : NULL; }

static void add_names(kernels_buffer *out, const kernels_command *const *commands, const char *separator) {
    for (size_t i = 0; commands && commands[i]; i++) {
        if (!commands[i]->hidden) {
            kernels_buffer_printf(out, "%s%s", separator, commands[i]->name);
        }
    }
}

/* Words that the positionals can be, all of them together. */
static void add_positional_words(kernels_buffer *out, const place *at, const char *separator) {
    for (const kernels_positional *p = at->command ? at->command->positionals : NULL; p && p->name; p++) {
        for (size_t i = 0; p->choices && p->choices[i]; i++) {
            kernels_buffer_printf(out, "%s%s", separator, p->choices[i]);
        }
    }
}

/* Everything that may stand there, each behind the separator, in the quotes. */
static void add_words(kernels_buffer *out, const place *at, const char *separator, const char *quote) {
    kernels_buffer_printf(out, "%s%s--help%s", separator, quote, quote);
    if (at->program->single) {
        kernels_buffer_printf(out, "%s%s--man%s%s%s--completions%s", separator, quote, quote, separator, quote, quote);
    }
    for (const kernels_option *option = first_option(at); option && option->name; option++) {
        if (!option->hidden) {
            kernels_buffer_printf(out, "%s%s--%s%s", separator, quote, option->name, quote);
        }
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer names = KERNELS_BUFFER_INIT(65536);
    add_names(&names, at->below, " ");
    add_positional_words(&names, at, " ");
    kernels_view rest = kernels_view_trim_ascii(kernels_buffer_view(&names)), name;
    while (rest.size > 0 && kernels_view_split(&rest, ' ', &name)) {
        kernels_buffer_printf(out, "%s%s%.*s%s", separator, quote, KERNELS_VIEW_ARGS(name), quote);
    }
}

/* Text inside '...' of a shell. */
static void add_quoted(kernels_buffer *out, const char *text, const char *quote_escape) {
    for (; text && *text; text++) {
        if (*text == '\'') {
            kernels_buffer_add_text(out, quote_escape);
        } else {
            kernels_buffer_add_char(out, *text);
        }
    }
}

static void add_choices(kernels_buffer *out, const kernels_option *option) {
    for (size_t i = 0; option->choices[i]; i++) {
        kernels_buffer_printf(out, "%s%s", i ? " " : "", option->choices[i]);
    }
}

/* The program's name as part of a function name. */
static void add_identifier(kernels_buffer *out, const char *name) {
    for (; *name; name++) {
        kernels_buffer_add_char(out, *name == '-' ? '_' : *name);
    }
}

/* "env|skills": commands whose key has two words; empty when there are none. */
static void add_parents(kernels_buffer *out, const kernels_program *program, const char *separator) {
    bool first = true;
    for (size_t i = 0; !program->single && program->commands[i]; i++) {
        if (program->commands[i]->subcommands) {
            kernels_buffer_printf(out, "%s%s", first ? "" : separator, program->commands[i]->name);
            first = false;
        }
    }
}

/* ---- bash ---- */

static void bash_choices(kernels_buffer *out, const place *at) {
    for (const kernels_option *option = first_option(at); option && option->name; option++) {
        if (option->choices && !option->hidden) {
            kernels_buffer_printf(out, "    '%s:--%s') COMPREPLY=($(compgen -W '", at->key, option->name);
            add_choices(out, option);
            kernels_buffer_add_text(out, "' -- \"$word\")); return ;;\n");
        }
    }
}

static void bash_words(kernels_buffer *out, const place *at) {
    kernels_buffer_printf(out, "    '%s') COMPREPLY=($(compgen -W '", at->key);
    add_words(out, at, " ", "");
    kernels_buffer_add_text(out, "' -- \"$word\")) ;;\n");
}

static void bash_completion(kernels_buffer *out, const kernels_program *program) {
    kernels_buffer_add_char(out, '_');
    add_identifier(out, program->name);
    kernels_buffer_add_text(out,
                            "() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} key=\n");
    if (!program->single) {
        kernels_buffer_add_text(out, "  [ \"$COMP_CWORD\" -gt 1 ] && key=${COMP_WORDS[1]}\n");
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer parents = KERNELS_BUFFER_INIT(65536);
        add_parents(&parents, program, "|");
        if (parents.size) {
            kernels_buffer_printf(
                out, "  case $key in %s) [ \"$COMP_CWORD\" -gt 2 ] && key=\"$key ${COMP_WORDS[2]}\" ;; esac\n",
                kernels_buffer_text(&parents));
        }
    }
    kernels_buffer_add_text(out, "  case $key:$before in\n");
    each_place(out, program, bash_choices);
    kernels_buffer_add_text(out, "  esac\n  case $key in\n");
    each_place(out, program, bash_words);
    kernels_buffer_add_text(out, "  esac\n}\ncomplete -o default -F _");
    add_identifier(out, program->name);
    kernels_buffer_printf(out, " %s\n", program->name);
}

/* ---- zsh ---- */

static void zsh_option(kernels_buffer *out, const kernels_option *option) {
    kernels_buffer_printf(out, " \\\n        '%s--%s[", option->type == KERNELS_OPTION_LIST ? "*" : "", option->name);
    for (const char *c = option->help; c && *c; c++) {
        if (*c == '\'') {
            kernels_buffer_add_text(out, "'\\''");
        } else if (*c == '[' || *c == ']' || *c == ':') {
            kernels_buffer_printf(out, "\\%c", *c);
        } else {
            kernels_buffer_add_char(out, *c);
        }
    }
    kernels_buffer_add_char(out, ']');
    if (option->type != KERNELS_OPTION_FLAG) {
        kernels_buffer_printf(out, "%s%s:", option->type == KERNELS_OPTION_MAYBE ? "::" : ":",
                              option->value_name ? option->value_name : "value");
        if (option->choices) {
            kernels_buffer_add_char(out, '(');
            add_choices(out, option);
            kernels_buffer_add_char(out, ')');
        } else {
            kernels_buffer_add_text(out, "_files");
        }
    }
    kernels_buffer_add_char(out, '\'');
}

static void zsh_commands(kernels_buffer *out, const place *at) {
    kernels_buffer_add_text(out, "      local -a commands=(\n");
    for (size_t i = 0; at->below[i]; i++) {
        if (!at->below[i]->hidden) {
            kernels_buffer_printf(out, "        '%s:", at->below[i]->name);
            add_quoted(out, at->below[i]->summary, "'\\''");
            kernels_buffer_add_text(out, "'\n");
        }
    }
    kernels_buffer_add_text(out, "      )\n      _describe command commands ;;\n");
}

static void zsh_place(kernels_buffer *out, const place *at) {
    kernels_buffer_printf(out, "    '%s')\n", at->key);
    if (at->below) {
        zsh_commands(out, at);
        return;
    }
    if (at->depth) {
        kernels_buffer_printf(out, "      shift %u words\n      (( CURRENT -= %u ))\n", at->depth, at->depth);
    }
    kernels_buffer_add_text(out, "      _arguments '--help[Show help]'");
    for (const kernels_option *option = first_option(at); option && option->name; option++) {
        if (!option->hidden) {
            zsh_option(out, option);
        }
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer words = KERNELS_BUFFER_INIT(65536);
    add_positional_words(&words, at, " ");
    kernels_buffer_add_text(out, " \\\n        '*:argument:");
    kernels_buffer_printf(out, words.size ? "(%s)" : "%s", words.size ? kernels_buffer_text(&words) + 1 : "_files");
    kernels_buffer_add_text(out, "' ;;\n");
}

static void zsh_completion(kernels_buffer *out, const kernels_program *program) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer parents = KERNELS_BUFFER_INIT(65536);
    kernels_buffer_printf(out, "#compdef %s\n_", program->name);
    add_identifier(out, program->name);
    kernels_buffer_add_text(out, "() {\n  local key=\n");
    add_parents(&parents, program, "|");
    if (!program->single) {
        kernels_buffer_add_text(out, "  (( CURRENT > 2 )) && key=$words[2]\n");
    }
    if (parents.size) {
        kernels_buffer_printf(out, "  case $key in (%s) (( CURRENT > 3 )) && key=\"$key $words[3]\" ;; esac\n",
                              kernels_buffer_text(&parents));
    }
    kernels_buffer_add_text(out, "  case $key in\n");
    each_place(out, program, zsh_place);
    kernels_buffer_add_text(out, "  esac\n}\n_");
    add_identifier(out, program->name);
    kernels_buffer_add_text(out, " \"$@\"\n");
}

/* ---- fish ---- */

/* -n '...': when the words so far give this key. */
static void fish_condition(kernels_buffer *out, const place *at) {
    const char *space = strchr(at->key, ' ');
    if (at->program->single) {
        return;
    }
    if (at->depth == 0) {
        kernels_buffer_add_text(out, " -n __fish_use_subcommand");
    } else if (space) {
        kernels_buffer_printf(out, " -n '__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s'",
                              (int)(space - at->key), at->key, space + 1);
    } else {
        kernels_buffer_printf(out, " -n '__fish_seen_subcommand_from %s", at->key);
        if (at->below) {
            kernels_buffer_add_text(out, "; and not __fish_seen_subcommand_from");
            add_names(out, at->below, " ");
        }
        kernels_buffer_add_char(out, '\'');
    }
}

static void fish_option(kernels_buffer *out, const place *at, const kernels_option *option) {
    kernels_buffer_printf(out, "complete -c %s", at->program->name);
    fish_condition(out, at);
    kernels_buffer_printf(out, " -l %s", option->name);
    if (option->short_name) {
        kernels_buffer_printf(out, " -s %c", option->short_name);
    }
    if (option->choices) {
        kernels_buffer_add_text(out, " -x -a '");
        add_choices(out, option);
        kernels_buffer_add_char(out, '\'');
    } else if (option->type != KERNELS_OPTION_FLAG && option->type != KERNELS_OPTION_MAYBE) {
        kernels_buffer_add_text(out, " -r");
    }
    kernels_buffer_add_text(out, " -d '");
    add_quoted(out, option->help, "\\'");
    kernels_buffer_add_text(out, "'\n");
}

static void fish_place(kernels_buffer *out, const place *at) {
    for (size_t i = 0; at->below && at->below[i]; i++) {
        if (!at->below[i]->hidden) {
            kernels_buffer_printf(out, "complete -c %s", at->program->name);
            fish_condition(out, at);
            kernels_buffer_printf(out, " -f -a %s -d '", at->below[i]->name);
            add_quoted(out, at->below[i]->summary, "\\'");
            kernels_buffer_add_text(out, "'\n");
        }
    }
    for (const kernels_option *option = first_option(at); option && option->name; option++) {
        if (!option->hidden) {
            fish_option(out, at, option);
        }
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer words = KERNELS_BUFFER_INIT(65536);
    add_positional_words(&words, at, " ");
    if (words.size) {
        kernels_buffer_printf(out, "complete -c %s", at->program->name);
        fish_condition(out, at);
        kernels_buffer_printf(out, " -x -a '%s'\n", kernels_buffer_text(&words) + 1);
    }
}

static void fish_completion(kernels_buffer *out, const kernels_program *program) {
    each_place(out, program, fish_place);
}

/* ---- elvish, powershell: candidate lists ---- */

static void elvish_place(kernels_buffer *out, const place *at) {
    kernels_buffer_printf(out, "  if (eq $key '%s') { put", at->key);
    add_words(out, at, " ", "");
    kernels_buffer_add_text(out, " }\n");
}

static void elvish_completion(kernels_buffer *out, const kernels_program *program) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer parents = KERNELS_BUFFER_INIT(65536);
    kernels_buffer_printf(out, "set edit:completion:arg-completer[%s] = {|@words|\n  var key = ''\n", program->name);
    add_parents(&parents, program, " ");
    if (!program->single) {
        kernels_buffer_add_text(out, "  if (> (count $words) 2) { set key = $words[1] }\n");
    }
    if (parents.size) {
        kernels_buffer_printf(out,
                              "  if (and (has-value [%s] $key) (> (count $words) 3)) { set key = $key' '$words[2] }\n",
                              kernels_buffer_text(&parents));
    }
    each_place(out, program, elvish_place);
    kernels_buffer_add_text(out, "}\n");
}

static void powershell_place(kernels_buffer *out, const place *at) {
    kernels_buffer_printf(out, "    '%s' = @(", at->key);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer words = KERNELS_BUFFER_INIT(65536);
    add_words(&words, at, ", ", "'");
    kernels_buffer_printf(out, "%s)\n", kernels_buffer_text(&words) + strlen(", "));
}

static void powershell_completion(kernels_buffer *out, const kernels_program *program) {
    kernels_buffer_printf(out,
                          "Register-ArgumentCompleter -Native -CommandName %s -ScriptBlock {\n"
                          "  param($word, $ast, $position)\n"
                          "  $words = @($ast.CommandElements | ForEach-Object { $_.ToString() })\n"
                          "  $candidates = @{\n",
                          program->name);
    each_place(out, program, powershell_place);
    kernels_buffer_add_text(
        out,
        "  }\n  $key = ''\n"
        "  if ($words.Count -gt 1 -and $candidates.ContainsKey($words[1])) { $key = $words[1] }\n"
        "  if ($words.Count -gt 2 -and $candidates.ContainsKey(\"$($words[1]) $($words[2])\")) {\n"
        "    $key = \"$($words[1]) $($words[2])\"\n  }\n"
        "  $candidates[$key] | Where-Object { $_ -like \"$word*\" } | Sort-Object |\n"
        "    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_) }\n"
        "}\n");
}

bool kernels_options_completion(kernels_buffer *out, const kernels_program *program, const char *shell) {
    static const struct {
        const char *shell;
        void (*write)(kernels_buffer *out, const kernels_program *program);
    } writers[] = {{"bash", bash_completion},
                   {"zsh", zsh_completion},
                   {"fish", fish_completion},
                   {"elvish", elvish_completion},
                   {"powershell", powershell_completion}};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        if (strcmp(shell, writers[i].shell) == 0) {
            writers[i].write(out, program);
            return true;
        }
    }
    return false;
}
