/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completions from the option tables. */
#include <string.h>

#include "base/options.h"
#include "base/view.h"

/* What is the same in all shells: walking commands and options. */
typedef void option_visitor(kernels_buffer *out, const kernels_program *program, const kernels_command *command,
                            const kernels_option *option);

static void each_option(kernels_buffer *out, const kernels_program *program, const kernels_command *command,
                        option_visitor *visit) {
    for (const kernels_option *option = command->options; option && option->name; option++) {
        if (!option->hidden) {
            visit(out, program, command, option);
        }
    }
}

static void add_command_names(kernels_buffer *out, const kernels_program *program) {
    for (size_t i = 0; program->commands[i]; i++) {
        if (!program->commands[i]->hidden) {
            kernels_buffer_printf(out, " %s", program->commands[i]->name);
        }
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

/* The program's name as part of a function name. */
static void add_identifier(kernels_buffer *out, const char *name) {
    for (; *name; name++) {
        kernels_buffer_add_char(out, *name == '-' ? '_' : *name);
    }
}

/* Words a positional can be, for all of them together. */
static void add_positional_words(kernels_buffer *out, const kernels_command *command, const char *separator) {
    for (const kernels_positional *p = command->positionals; p && p->name; p++) {
        for (size_t i = 0; p->choices && p->choices[i]; i++) {
            kernels_buffer_printf(out, "%s%s", separator, p->choices[i]);
        }
    }
}

/* ---- bash ---- */

static void bash_option(kernels_buffer *out, const kernels_program *program, const kernels_command *command,
                        const kernels_option *option) {
    (void)program;
    (void)command;
    kernels_buffer_printf(out, " --%s", option->name);
}

static void bash_choices(kernels_buffer *out, const kernels_program *program, const kernels_command *command,
                         const kernels_option *option) {
    (void)program;
    if (option->choices) {
        kernels_buffer_printf(out, "    %s:--%s) COMPREPLY=($(compgen -W \"", command->name, option->name);
        for (size_t i = 0; option->choices[i]; i++) {
            kernels_buffer_printf(out, "%s%s", i ? " " : "", option->choices[i]);
        }
        kernels_buffer_add_text(out, "\" -- \"$word\")); return ;;\n");
    }
}

static void bash_completion(kernels_buffer *out, const kernels_program *program) {
    kernels_buffer_add_char(out, '_');
    add_identifier(out, program->name);
    kernels_buffer_add_text(out, "() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                                 "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"--help");
    add_command_names(out, program);
    kernels_buffer_add_text(out, "\" -- \"$word\"))\n    return\n  fi\n  case ${COMP_WORDS[1]}:$before in\n");
    for (size_t i = 0; program->commands[i]; i++) {
        each_option(out, program, program->commands[i], bash_choices);
    }
    kernels_buffer_add_text(out, "  esac\n  case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; program->commands[i]; i++) {
        const kernels_command *command = program->commands[i];
        if (!command->hidden) {
            kernels_buffer_printf(out, "    %s) COMPREPLY=($(compgen -W \"--help", command->name);
            each_option(out, program, command, bash_option);
            add_positional_words(out, command, " ");
            kernels_buffer_add_text(out, "\" -- \"$word\")) ;;\n");
        }
    }
    kernels_buffer_add_text(out, "  esac\n}\ncomplete -o default -F _");
    add_identifier(out, program->name);
    kernels_buffer_printf(out, " %s\n", program->name);
}

/* ---- zsh ---- */

static void zsh_option(kernels_buffer *out, const kernels_program *program, const kernels_command *command,
                       const kernels_option *option) {
    (void)program;
    (void)command;
    kernels_buffer_printf(out, " \\\n        '--%s[", option->name);
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
        for (size_t i = 0; option->choices && option->choices[i]; i++) {
            kernels_buffer_printf(out, "%s%s", i ? " " : "(", option->choices[i]);
        }
        kernels_buffer_add_text(out, option->choices ? ")" : "_files");
    }
    kernels_buffer_add_char(out, '\'');
}

static void zsh_completion(kernels_buffer *out, const kernels_program *program) {
    kernels_buffer_printf(out, "#compdef %s\n_", program->name);
    add_identifier(out, program->name);
    kernels_buffer_add_text(out, "() {\n  local -a commands\n  commands=(\n");
    for (size_t i = 0; program->commands[i]; i++) {
        if (!program->commands[i]->hidden) {
            kernels_buffer_printf(out, "    '%s:", program->commands[i]->name);
            add_quoted(out, program->commands[i]->summary, "'\\''");
            kernels_buffer_add_text(out, "'\n");
        }
    }
    kernels_buffer_add_text(out,
                            "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
                            "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n");
    for (size_t i = 0; program->commands[i]; i++) {
        const kernels_command *command = program->commands[i];
        if (!command->hidden) {
            kernels_buffer_printf(out, "    %s)\n      _arguments '--help[Show help]'", command->name);
            each_option(out, program, command, zsh_option);
            kernels_buffer words = KERNELS_BUFFER_INIT(65536);
            add_positional_words(&words, command, " ");
            kernels_buffer_add_text(out, " \\\n        '*:argument:");
            kernels_buffer_printf(out, words.size ? "(%s)" : "%s", words.size ? kernels_buffer_text(&words) : "_files");
            kernels_buffer_add_text(out, "' ;;\n");
            kernels_buffer_dispose(&words);
        }
    }
    kernels_buffer_add_text(out, "  esac\n}\n_");
    add_identifier(out, program->name);
    kernels_buffer_add_text(out, " \"$@\"\n");
}

/* ---- fish ---- */

static void fish_option(kernels_buffer *out, const kernels_program *program, const kernels_command *command,
                        const kernels_option *option) {
    kernels_buffer_printf(out, "complete -c %s -n '__fish_seen_subcommand_from %s' -l %s", program->name, command->name,
                          option->name);
    if (option->short_name) {
        kernels_buffer_printf(out, " -s %c", option->short_name);
    }
    if (option->choices) {
        kernels_buffer_add_text(out, " -x -a '");
        for (size_t i = 0; option->choices[i]; i++) {
            kernels_buffer_printf(out, "%s%s", i ? " " : "", option->choices[i]);
        }
        kernels_buffer_add_char(out, '\'');
    } else if (option->type != KERNELS_OPTION_FLAG && option->type != KERNELS_OPTION_MAYBE) {
        kernels_buffer_add_text(out, " -r");
    }
    kernels_buffer_add_text(out, " -d '");
    add_quoted(out, option->help, "\\'");
    kernels_buffer_add_text(out, "'\n");
}

static void fish_completion(kernels_buffer *out, const kernels_program *program) {
    for (size_t i = 0; program->commands[i]; i++) {
        const kernels_command *command = program->commands[i];
        if (command->hidden) {
            continue;
        }
        kernels_buffer_printf(out, "complete -c %s -n __fish_use_subcommand -a %s -d '", program->name, command->name);
        add_quoted(out, command->summary, "\\'");
        kernels_buffer_add_text(out, "'\n");
        each_option(out, program, command, fish_option);
        kernels_buffer words = KERNELS_BUFFER_INIT(65536);
        add_positional_words(&words, command, " ");
        if (words.size) {
            kernels_buffer_printf(out, "complete -c %s -n '__fish_seen_subcommand_from %s' -x -a '%s'\n", program->name,
                                  command->name, kernels_buffer_text(&words) + 1);
        }
        kernels_buffer_dispose(&words);
    }
}

/* ---- elvish, powershell: candidate lists ---- */

static void elvish_option(kernels_buffer *out, const kernels_program *program, const kernels_command *command,
                          const kernels_option *option) {
    (void)program;
    (void)command;
    kernels_buffer_printf(out, " --%s", option->name);
}

static void elvish_completion(kernels_buffer *out, const kernels_program *program) {
    kernels_buffer_printf(out,
                          "set edit:completion:arg-completer[%s] = {|@words|\n  if (== (count $words) 2) {\n"
                          "    put --help",
                          program->name);
    add_command_names(out, program);
    kernels_buffer_add_text(out, "\n    return\n  }\n  var command = $words[1]\n");
    for (size_t i = 0; program->commands[i]; i++) {
        const kernels_command *command = program->commands[i];
        if (!command->hidden) {
            kernels_buffer_printf(out, "  if (eq $command %s) { put --help", command->name);
            each_option(out, program, command, elvish_option);
            add_positional_words(out, command, " ");
            kernels_buffer_add_text(out, " }\n");
        }
    }
    kernels_buffer_add_text(out, "}\n");
}

static void powershell_option(kernels_buffer *out, const kernels_program *program, const kernels_command *command,
                              const kernels_option *option) {
    (void)program;
    (void)command;
    kernels_buffer_printf(out, ", '--%s'", option->name);
}

static void powershell_completion(kernels_buffer *out, const kernels_program *program) {
    kernels_buffer_printf(out,
                          "Register-ArgumentCompleter -Native -CommandName %s -ScriptBlock {\n"
                          "  param($word, $ast, $position)\n"
                          "  $words = @($ast.CommandElements | ForEach-Object { $_.ToString() })\n"
                          "  $candidates = @{\n",
                          program->name);
    for (size_t i = 0; program->commands[i]; i++) {
        const kernels_command *command = program->commands[i];
        if (!command->hidden) {
            kernels_buffer_printf(out, "    '%s' = @('--help'", command->name);
            each_option(out, program, command, powershell_option);
            kernels_buffer_add_text(out, ")\n");
        }
    }
    kernels_buffer_add_text(
        out,
        "  }\n  $list = if ($words.Count -gt 1 -and $candidates.ContainsKey($words[1])) { $candidates[$words[1]] }"
        " else { $candidates.Keys }\n"
        "  $list | Where-Object { $_ -like \"$word*\" } | Sort-Object |\n"
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
