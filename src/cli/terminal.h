/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How our programs speak: errors and warnings on standard error, colour and progress bars only when that is a
 * terminal (never with NO_COLOR or TERM=dumb). Every command's run function gets the terminal as its payload.
 */
#ifndef KERNELS_SRC_CLI_TERMINAL_H
#define KERNELS_SRC_CLI_TERMINAL_H

#include "kernels/base.h"

typedef enum kernels_progress_style {
    KERNELS_PROGRESS_BARS,  /* bars on a terminal, nothing elsewhere */
    KERNELS_PROGRESS_FILES, /* ... elsewhere a line for each file that has arrived */
    KERNELS_PROGRESS_NONE
} kernels_progress_style;

/* Files that have a bar of their own, below that of the whole. */
#define KERNELS_TERMINAL_BARS 4
#define KERNELS_TERMINAL_BAR_NAME 41

typedef struct kernels_terminal_bar {
    char name[KERNELS_TERMINAL_BAR_NAME];
    uint64_t done, total;
} kernels_terminal_bar;

typedef struct kernels_terminal {
    const char *program; /* "kernels": stands before messages */
    bool is_terminal;    /* standard error is one */
    bool colour;         /* and may be coloured */
    int signal;          /* that cancelled the work, or 0 */
    kernels_progress_style progress;
    const char *work;   /* what the bar of the whole is called; NULL = "Downloading" */
    const char *remedy; /* what this command offers against errors of remedy_for, said after them; NULL = nothing */
    kernels_status remedy_for;
    kernels_terminal_bar bars[KERNELS_TERMINAL_BARS]; /* of files on their way */
    size_t bar_count;
    unsigned drawn_lines; /* bars that stand on the last lines */
    unsigned drawn_percent;
} kernels_terminal;

/* Exit codes beyond those of base/options.h. */
enum { KERNELS_EXIT_INTERRUPTED = 130, KERNELS_EXIT_TERMINATED = 143 };

void kernels_terminal_init(kernels_terminal *terminal, const char *program);

/* "kernels: error: <text>", then a line for each deeper cause, the system's error and the file or URL it is about. */
void kernels_terminal_error(kernels_terminal *terminal, const kernels_error *error);
/* The same, then disposes the error and gives the exit code that belongs to it. */
int kernels_terminal_fail(kernels_terminal *terminal, kernels_error *error);
/* "kernels: error: ..." for a failure that is no kernels_error; gives KERNELS_EXIT_FAILURE. */
int kernels_terminal_failure(kernels_terminal *terminal, const char *format, ...) KERNELS_PRINTF(2, 3);

/* Text as it is, on standard error. */
void kernels_terminal_note(kernels_terminal *terminal, kernels_view text);

/* Callbacks of kernels_context_options and kernels_hub_options; payload is the terminal. */
void kernels_terminal_warning(void *payload, const char *message); /* "kernels: warning: ..." */
void kernels_terminal_progress(void *payload, const char *file, uint64_t done, uint64_t total);
/* Removes the bar; any other output of this module does so by itself. */
void kernels_terminal_end_progress(kernels_terminal *terminal);

/*
 * Ctrl-C without handlers: between these two calls SIGINT and SIGTERM wait, and kernels_terminal_cancelled (a callback
 * of the same options) sees them, so that a download ends with nothing half-written. kernels_terminal_fail then gives
 * 130 or 143. Releasing drops what waits.
 */
void kernels_terminal_hold_signals(void);
void kernels_terminal_release_signals(void);
bool kernels_terminal_cancelled(void *payload);

/* Writes text to standard output and flushes; 0, or the exit code after a failure (a closed pipe ends silently). */
int kernels_terminal_print(kernels_terminal *terminal, kernels_view text);

#endif
