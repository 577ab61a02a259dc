/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines from tables. One table a command drives parsing, --help, the man page and the shell
 * completions, so none of them can say something else than the others.
 */
#ifndef KERNELS_SRC_BASE_OPTIONS_H
#define KERNELS_SRC_BASE_OPTIONS_H

#include "base/buffer.h"

typedef enum kernels_option_type {
    KERNELS_OPTION_FLAG,    /* no value: bool */
    KERNELS_OPTION_TEXT,    /* const char * */
    KERNELS_OPTION_MAYBE,   /* const char *, NULL when given alone: takes the next word unless that is an option */
    KERNELS_OPTION_INTEGER, /* int64_t with minimum and maximum */
    KERNELS_OPTION_CHOICE,  /* const char *, one of choices */
    KERNELS_OPTION_LIST,    /* repeatable text: kernels_option_list */
    KERNELS_OPTION_GREEDY,  /* takes all following words that are no options; repeatable: kernels_option_list */
} kernels_option_type;

/* Values of LIST and GREEDY options and of the last, repeatable positional. */
typedef struct kernels_option_list {
    const char **values; /* pointers into argv; freed by kernels_options_dispose */
    size_t count;
} kernels_option_list;

typedef struct kernels_option {
    const char *name; /* long name without "--"; NULL ends the table */
    char short_name;  /* 0 = none */
    kernels_option_type type;
    const char *value_name;     /* "DIR", "N"; NULL for flags */
    const char *help;           /* one sentence, says the unit and the default */
    const char *const *choices; /* NULL-terminated, for CHOICE (also help and completion of others) */
    bool ignore_case;           /* CHOICE: ASCII case ignored, value becomes the listed spelling */
    bool exact_name;            /* takes no part in prefix matching (see kernels_program) */
    bool hidden;                /* not in help, man page, completion */
    int64_t minimum, maximum;   /* INTEGER; both 0 = whole int64_t */
} kernels_option;

typedef struct kernels_positional {
    const char *name; /* "KERNEL_DIR"; NULL ends the table */
    const char *help;
    bool required;
    bool repeatable; /* only the last */
    bool integer;
    bool may_be_empty; /* else "" is an error: as a path it would silently be the current folder */
    const char *const *choices;
} kernels_positional;

typedef struct kernels_arguments kernels_arguments;

typedef struct kernels_command {
    const char *name;
    const char *summary;                   /* one line */
    const char *description;               /* paragraphs for --help and the man page; may be NULL */
    const kernels_option *options;         /* ends with name NULL; may be NULL */
    const kernels_positional *positionals; /* likewise */
    const char *examples;                  /* lines, may be NULL */
    bool hidden;
    int (*run)(const kernels_arguments *arguments, void *payload); /* exit code */
    const struct kernels_command *const *subcommands;              /* ends with NULL: `skills add`; may be NULL */
} kernels_command;

typedef struct kernels_program {
    const char *name;
    const char *summary;
    const char *version_line;               /* what --version prints */
    const kernels_command *const *commands; /* ends with NULL, in the order of the help; a program without
                                               sub-commands has one, with `single` set */
    bool single;
    bool prefixes;           /* unambiguous prefixes of long options are accepted; the last of repeated wins
                                (style of `kernels`). false: exact names, a repeated single-valued option is an
                                error, short flags group, `help [SUB]` works (style of `kernel-builder`) */
    char version_short;      /* 'V', or 0 */
    const char *environment; /* section ENVIRONMENT of the man page, lines "NAME  text"; may be NULL */
} kernels_program;

/* Exit codes of all our programs. */
enum {
    KERNELS_EXIT_OK = 0,
    KERNELS_EXIT_FAILURE = 1,
    KERNELS_EXIT_USAGE = 2,
};

/* Parses argv and runs the command. Help and version go to stdout, usage errors to stderr (exit 2). */
int kernels_program_main(const kernels_program *program, int argc, char **argv, void *payload);

/* ---- for the run functions ---- */
bool kernels_arguments_flag(const kernels_arguments *arguments, const char *name);
bool kernels_arguments_given(const kernels_arguments *arguments, const char *name);
const char *kernels_arguments_text(const kernels_arguments *arguments, const char *name); /* NULL = not given */
int64_t kernels_arguments_integer(const kernels_arguments *arguments, const char *name, int64_t fallback);
kernels_option_list kernels_arguments_list(const kernels_arguments *arguments, const char *name);
size_t kernels_arguments_positional_count(const kernels_arguments *arguments);
const char *kernels_arguments_positional(const kernels_arguments *arguments, size_t index); /* NULL */
const kernels_command *kernels_arguments_command(const kernels_arguments *arguments);
const kernels_program *kernels_arguments_program(const kernels_arguments *arguments);
/* The original command line behind the command's name, for handing it to a helper program. */
char **kernels_arguments_raw(const kernels_arguments *arguments, int *count);

/* ---- generated text; command NULL = the program as a whole ---- */
void kernels_options_usage(kernels_buffer *out, const kernels_program *program, const kernels_command *command);
void kernels_options_help(kernels_buffer *out, const kernels_program *program, const kernels_command *command);
void kernels_options_man(kernels_buffer *out, const kernels_program *program);
/* shell: bash, zsh, fish, elvish, powershell. false: unknown shell. */
bool kernels_options_completion(kernels_buffer *out, const kernels_program *program, const char *shell);

#endif
