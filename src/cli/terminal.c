/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"

#define MESSAGE_LIMIT ((size_t)16 * 1024 * 1024)
#define CAUSE_LIMIT 16

void kernels_terminal_init(kernels_terminal *terminal, const char *program) {
    const char *no_color = getenv("NO_COLOR");
    const char *type = getenv("TERM");
    bool is_terminal = isatty(STDERR_FILENO) == 1;
    bool plain = (no_color != NULL && no_color[0] != '\0') || type == NULL || strcmp(type, "dumb") == 0;
    *terminal = (kernels_terminal){.program = program, .is_terminal = is_terminal, .colour = is_terminal && !plain};
}

/* ---- messages ---- */

enum { RED = 31, YELLOW = 33 };

/* Returns where the message begins. */
static size_t add_heading(const kernels_terminal *terminal, kernels_buffer *text, const char *kind, int colour) {
    if (terminal->colour) {
        kernels_buffer_printf(text, "%s: \033[1;%dm%s:\033[0m ", terminal->program, colour, kind);
    } else {
        kernels_buffer_printf(text, "%s: %s: ", terminal->program, kind);
    }
    return text->size;
}

/* Names and licences come from strangers: on a terminal they must not move the cursor or worse. From is where the text
 * of others begins. */
static void disarm(char *text, size_t from, size_t size) {
    for (size_t i = from; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
            text[i] = '?';
        } else if (c == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] < 0xa0) {
            text[i] = '?'; /* U+0080 to U+009F, two bytes in UTF-8 */
            text[++i] = '?';
        }
    }
}

static void write_out(kernels_terminal *terminal, kernels_buffer *text, size_t heading) {
    kernels_terminal_end_progress(terminal);
    if (terminal->is_terminal && text->failure == KERNELS_OK) {
        disarm(text->data, heading, text->size);
    }
    (void)fputs(kernels_buffer_text(text), stderr);
    (void)fflush(stderr);
    kernels_buffer_dispose(text);
}

/* The file or URL, unless a message names it already. */
static void add_subject(kernels_buffer *text, const kernels_error *error) {
    if (error->subject != NULL && strstr(kernels_buffer_text(text), error->subject) == NULL) {
        kernels_buffer_printf(text, "  concerns: %s\n", error->subject);
    }
}

void kernels_terminal_error(kernels_terminal *terminal, const kernels_error *error) {
    kernels_buffer text = KERNELS_BUFFER_INIT(MESSAGE_LIMIT);
    size_t heading = add_heading(terminal, &text, "error", RED);
    kernels_buffer_printf(&text, "%s\n", kernels_error_message(error));
    unsigned depth = 0;
    for (const kernels_error *cause = error->cause; cause != NULL && depth < CAUSE_LIMIT;
         cause = cause->cause, depth++) {
        kernels_buffer_printf(&text, "  caused by: %s\n", kernels_error_message(cause));
    }
    add_subject(&text, error);
    if (terminal->remedy != NULL && error->status == terminal->remedy_for) {
        kernels_buffer_printf(&text, "  %s\n", terminal->remedy);
    }
    write_out(terminal, &text, heading);
}

static int exit_code(kernels_terminal *terminal, kernels_status status) {
    if (status == KERNELS_INTERRUPTED) {
        (void)kernels_terminal_cancelled(terminal); /* asks which signal it was, if nobody has yet */
        return terminal->signal == SIGTERM ? KERNELS_EXIT_TERMINATED : KERNELS_EXIT_INTERRUPTED;
    }
    return status == KERNELS_USAGE ? KERNELS_EXIT_USAGE : KERNELS_EXIT_FAILURE;
}

int kernels_terminal_fail(kernels_terminal *terminal, kernels_error *error) {
    kernels_terminal_error(terminal, error);
    int code = exit_code(terminal, error->status);
    kernels_error_dispose(error);
    return code;
}

int kernels_terminal_failure(kernels_terminal *terminal, const char *format, ...) {
    kernels_buffer text = KERNELS_BUFFER_INIT(MESSAGE_LIMIT);
    va_list arguments;
    size_t heading = add_heading(terminal, &text, "error", RED);
    va_start(arguments, format);
    kernels_buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    kernels_buffer_add_char(&text, '\n');
    write_out(terminal, &text, heading);
    return KERNELS_EXIT_FAILURE;
}

void kernels_terminal_note(kernels_terminal *terminal, kernels_view text) {
    kernels_buffer copy = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_view(&copy, text);
    write_out(terminal, &copy, 0);
}

void kernels_terminal_warning(void *payload, const char *message) {
    kernels_terminal *terminal = payload;
    kernels_buffer text = KERNELS_BUFFER_INIT(MESSAGE_LIMIT);
    size_t heading = add_heading(terminal, &text, "warning", YELLOW);
    kernels_buffer_printf(&text, "%s\n", message);
    write_out(terminal, &text, heading);
}

/* ---- signals ---- */

static sigset_t held_signals(void) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    return set;
}

/* The one that waits, or 0. */
static int waiting_signal(void) {
    sigset_t pending;
    if (sigpending(&pending) != 0) {
        return 0;
    }
    return sigismember(&pending, SIGTERM) == 1 ? SIGTERM : sigismember(&pending, SIGINT) == 1 ? SIGINT : 0;
}

void kernels_terminal_hold_signals(void) {
    const sigset_t set = held_signals();
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

void kernels_terminal_release_signals(void) {
    const sigset_t set = held_signals();
    int dropped;
    while (waiting_signal() != 0 && sigwait(&set, &dropped) == 0) {
    }
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

bool kernels_terminal_cancelled(void *payload) {
    kernels_terminal *terminal = payload;
    if (terminal->signal == 0) {
        terminal->signal = waiting_signal();
    }
    return terminal->signal != 0;
}

/* ---- results ---- */

static bool write_all(kernels_view text) {
    return (text.size == 0 || fwrite(text.data, 1, text.size, stdout) == text.size) && fflush(stdout) == 0;
}

static bool write_disarmed(kernels_view text) {
    char *copy = kernels_strndup(text.data, text.size);
    if (copy == NULL) {
        return false;
    }
    disarm(copy, 0, text.size);
    bool written = write_all((kernels_view){copy, text.size});
    kernels_free(copy);
    return written;
}

int kernels_terminal_print(kernels_terminal *terminal, kernels_view text) {
    kernels_terminal_end_progress(terminal);
    if (text.size > 0 && isatty(STDOUT_FILENO) == 1 ? write_disarmed(text) : write_all(text)) {
        return KERNELS_EXIT_OK;
    }
    return errno == EPIPE ? KERNELS_EXIT_FAILURE
                          : kernels_terminal_failure(terminal, "cannot write to standard output: %s", strerror(errno));
}
