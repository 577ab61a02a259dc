/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

extern char **environ;

#define DEFAULT_CAPTURE_LIMIT ((size_t)1024 * 1024)
#define EXIT_NOT_STARTED 127
#define SIGNAL_POLL_MS 100
#define LONGEST_WAIT_MS 60000

/* ---- what the child needs, made before fork: between fork and exec only async-signal-safe calls ---- */

typedef struct launch {
    char *program;      /* full path */
    char **environment; /* own array, own strings */
    int input[2], output[2], errors[2], failure[2];
} launch;

char *kernels_process_find(const char *name) {
    if (strchr(name, '/')) {
        return access(name, X_OK) == 0 && kernels_file_is_regular(name) ? kernels_strdup(name) : NULL;
    }
    const char *search = getenv("PATH");
    kernels_view rest = kernels_view_of(search ? search : "/usr/local/bin:/usr/bin:/bin"), directory;
    while (kernels_view_split(&rest, ':', &directory)) {
        KERNELS_CLEANUP_FREE char *folder =
            directory.size ? kernels_strndup(directory.data, directory.size) : kernels_strdup(".");
        char *candidate = folder ? kernels_path_join(folder, name) : NULL;
        if (candidate && access(candidate, X_OK) == 0 && kernels_file_is_regular(candidate)) {
            return candidate;
        }
        kernels_free(candidate);
    }
    return NULL;
}

char *kernels_process_own_directory(void) {
    KERNELS_CLEANUP_FREE char *executable = kernels_path_resolve("/proc/self/exe");
    return executable ? kernels_path_parent(executable) : NULL;
}

static kernels_view name_of(const char *assignment) {
    kernels_view text = kernels_view_of(assignment);
    return kernels_view_slice(text, 0, kernels_view_find(text, '='));
}

/* true when `changes` sets or unsets the variable of this assignment */
static bool is_changed(const char *const *changes, const char *assignment) {
    for (; changes && *changes; changes++) {
        if (kernels_view_equal(name_of(*changes), name_of(assignment))) {
            return true;
        }
    }
    return false;
}

static void free_strings(char **strings) {
    for (char **text = strings; text && *text; text++) {
        kernels_free(*text);
    }
    kernels_free(strings);
}

static char **make_environment(const kernels_process_options *options) {
    size_t count = 1;
    for (char **variable = environ; *variable; variable++) {
        count++;
    }
    for (const char *const *change = options->environment; change && *change; change++) {
        count++;
    }
    char **made = kernels_calloc(count, sizeof *made);
    size_t used = 0;
    bool complete = made != NULL;
    for (char **variable = environ; complete && *variable && !options->clear_environment; variable++) {
        if (!is_changed(options->environment, *variable)) {
            complete = (made[used++] = kernels_strdup(*variable)) != NULL;
        }
    }
    for (const char *const *change = options->environment; complete && change && *change; change++) {
        if (strchr(*change, '=')) {
            complete = (made[used++] = kernels_strdup(*change)) != NULL;
        }
    }
    if (!complete) {
        free_strings(made);
        return NULL;
    }
    return made;
}

static void close_pair(int pair[2]) {
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0) {
            (void)close(pair[i]);
            pair[i] = -1;
        }
    }
}

static void launch_dispose(launch *start) {
    kernels_free(start->program);
    free_strings(start->environment);
    close_pair(start->input);
    close_pair(start->output);
    close_pair(start->errors);
    close_pair(start->failure);
}

static bool make_pipe(int pair[2]) {
    if (pipe(pair) != 0) {
        return false;
    }
    return fcntl(pair[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(pair[1], F_SETFD, FD_CLOEXEC) == 0;
}

static kernels_status launch_prepare(const kernels_process_options *options, launch *start, kernels_error *error) {
    *start = (launch){.input = {-1, -1}, .output = {-1, -1}, .errors = {-1, -1}, .failure = {-1, -1}};
    start->program = kernels_process_find(options->arguments[0]);
    if (!start->program) {
        return kernels_fail(error, KERNELS_FILE_NOT_FOUND, "program `%s` was not found", options->arguments[0]);
    }
    start->environment = make_environment(options);
    if (!start->environment) {
        return kernels_fail_no_memory(error);
    }
    bool piped = make_pipe(start->input) && make_pipe(start->failure);
    if (!options->inherit_output) {
        piped = piped && make_pipe(start->output) && make_pipe(start->errors);
    }
    return piped ? KERNELS_OK : kernels_fail_errno(error, errno, "cannot start `%s`", options->arguments[0]);
}

static void child_run(const kernels_process_options *options, launch *start) {
    (void)setpgid(0, 0); /* a group of its own, so that a time-out reaches grandchildren too */
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a group of its own hears no Ctrl-C: it must not outlive us */
#endif
    bool ready = dup2(start->input[0], 0) >= 0;
    if (!options->inherit_output) {
        ready = ready && dup2(start->output[1], 1) >= 0 && dup2(start->errors[1], 2) >= 0;
    }
    if (ready && (!options->working_directory || chdir(options->working_directory) == 0)) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)signal(SIGPIPE, SIG_DFL);
        execve(start->program, (char *const *)options->arguments, start->environment);
    }
    int number = errno;
    (void)!write(start->failure[1], &number, sizeof number);
    _exit(EXIT_NOT_STARTED);
}

/* ---- the parent's side ---- */

void kernels_process_result_dispose(kernels_process_result *result) {
    if (result) {
        kernels_buffer_dispose(&result->output);
        kernels_buffer_dispose(&result->errors);
    }
}

typedef struct capture {
    kernels_buffer *text;
    uint64_t *dropped;
    size_t limit;
    kernels_buffer line; /* unfinished line for on_error_line */
} capture;

/* Keeps the end: when the text grows past the limit its front half is dropped. */
static void capture_add(capture *sink, const char *data, size_t size) {
    kernels_buffer *text = sink->text;
    if (size > sink->limit) {
        *sink->dropped += size - sink->limit;
        data += size - sink->limit;
        size = sink->limit;
    }
    if (text->size + size > sink->limit) {
        size_t drop = text->size + size - sink->limit;
        drop = drop < text->size / 2 ? text->size / 2 : drop;
        memmove(text->data, text->data + drop, text->size - drop);
        text->size -= drop;
        *sink->dropped += drop;
    }
    kernels_buffer_add(text, data, size);
}

static void capture_lines(capture *sink, const kernels_process_options *options, const char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\n' || sink->line.size + 1 >= sink->line.limit) {
            options->on_error_line(options->payload, kernels_buffer_view(&sink->line));
            kernels_buffer_reset(&sink->line);
        }
        if (data[i] != '\n') {
            kernels_buffer_add_char(&sink->line, data[i]);
        }
    }
}

/* How long to go on waiting. */
typedef struct patience {
    uint64_t deadline; /* ns; 0 = none */
    bool interruptible;
    int signal; /* that ended it, or 0 */
} patience;

typedef struct conversation {
    const kernels_process_options *options;
    struct pollfd ends[3]; /* input, output, errors; fd -1 = closed */
    size_t written;
    capture captures[2];
    patience patience;
} conversation;

static void close_end(struct pollfd *end) {
    (void)close(end->fd);
    end->fd = -1;
}

static void feed_input(conversation *talk) {
    kernels_view rest = kernels_view_slice(talk->options->input, talk->written, talk->options->input.size);
    ssize_t wrote = rest.size ? write(talk->ends[0].fd, rest.data, rest.size) : 0;
    if (wrote < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    talk->written += wrote > 0 ? (size_t)wrote : 0;
    if (wrote < 0 || talk->written == talk->options->input.size) { /* all given, or nobody reads it */
        close_end(&talk->ends[0]);
    }
}

static void take_output(conversation *talk, int which) {
    char chunk[16 * 1024];
    ssize_t got = read(talk->ends[which].fd, chunk, sizeof chunk);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        close_end(&talk->ends[which]);
        return;
    }
    capture_add(&talk->captures[which - 1], chunk, (size_t)got);
    if (which == 2 && talk->options->on_error_line) {
        capture_lines(&talk->captures[1], talk->options, chunk, (size_t)got);
    }
}

/* Which of the signals that the caller holds is pending; 0 = none. */
static int pending_signal(void) {
    sigset_t pending;
    if (sigpending(&pending) != 0) {
        return 0;
    }
    return sigismember(&pending, SIGTERM) == 1 ? SIGTERM : sigismember(&pending, SIGINT) == 1 ? SIGINT : 0;
}

static bool holds_signals(void) {
    sigset_t mask;
    return pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGINT) == 1;
}

/* Milliseconds to wait before asking again; -1 = for ever, 0 = no longer. */
static int time_left(patience *limits) {
    limits->signal = limits->interruptible ? pending_signal() : 0;
    if (limits->signal != 0) {
        return 0;
    }
    int most = limits->interruptible ? SIGNAL_POLL_MS : LONGEST_WAIT_MS;
    if (limits->deadline == 0) {
        return limits->interruptible ? most : -1;
    }
    uint64_t now = kernels_clock_nanoseconds();
    uint64_t left = now >= limits->deadline ? 0 : (limits->deadline - now) / 1000000u + 1;
    return left > (uint64_t)most ? most : (int)left;
}

/* false: the limits are reached */
static bool converse(conversation *talk) {
    while (talk->ends[0].fd >= 0 || talk->ends[1].fd >= 0 || talk->ends[2].fd >= 0) {
        int wait = time_left(&talk->patience);
        if (wait == 0) {
            return false;
        }
        if (poll(talk->ends, 3, wait) <= 0) {
            continue;
        }
        if (talk->ends[0].fd >= 0 && talk->ends[0].revents) {
            feed_input(talk);
        }
        for (int which = 1; which <= 2; which++) {
            if (talk->ends[which].fd >= 0 && talk->ends[which].revents) {
                take_output(talk, which);
            }
        }
    }
    return true;
}

/* Waits for the child itself; false: the limits are reached. */
static bool wait_for_child(pid_t child, patience *limits, int *state) {
    bool patient = limits->deadline == 0 && !limits->interruptible;
    for (unsigned pause = 1;; pause = pause < 32 ? pause * 2 : 32) {
        pid_t done = waitpid(child, state, patient ? 0 : WNOHANG);
        if (done == child) {
            return true;
        }
        if (done < 0 && errno != EINTR) {
            *state = 0;
            return true;
        }
        if (!patient && time_left(limits) == 0) {
            return false;
        }
        if (!patient) {
            kernels_clock_sleep_ms(pause);
        }
    }
}

/* An interrupted child may clear up first; then nothing of its group stays. */
static void end_child(pid_t child, const patience *limits, int *state) {
    patience grace = {.deadline = kernels_clock_nanoseconds() + KERNELS_PROCESS_GRACE_MS * UINT64_C(1000000)};
    bool gone = limits->signal != 0 && kill(-child, limits->signal) == 0 && wait_for_child(child, &grace, state);
    (void)kill(-child, SIGKILL);
    if (!gone) {
        patience endless = {0};
        (void)kill(child, SIGKILL);
        (void)wait_for_child(child, &endless, state);
    }
}

static int start_failure(launch *start) {
    int number = 0;
    (void)close(start->failure[1]);
    start->failure[1] = -1;
    ssize_t got;
    do {
        got = read(start->failure[0], &number, sizeof number);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof number ? number : 0;
}

static struct pollfd take_end(int pair[2], int index, short events) {
    struct pollfd end = {.fd = pair[index], .events = events};
    pair[index] = -1;
    if (end.fd >= 0) {
        (void)fcntl(end.fd, F_SETFL, O_NONBLOCK);
    }
    if (pair[1 - index] >= 0) {
        (void)close(pair[1 - index]);
        pair[1 - index] = -1;
    }
    return end;
}

/* Writing to a child that closed its input must give EPIPE, not a signal. */
static void block_sigpipe(sigset_t *before) {
    sigset_t pipe_signal;
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, before);
}

static void restore_sigpipe(const sigset_t *before) {
    struct timespec now = {0};
    sigset_t pipe_signal;
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    while (!sigismember(before, SIGPIPE) && sigtimedwait(&pipe_signal, NULL, &now) > 0) {
    }
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void fill_result(kernels_process_result *result, int state) {
    result->exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    result->signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
}

static kernels_status supervise(const kernels_process_options *options, launch *start, pid_t child,
                                kernels_process_result *result, kernels_error *error) {
    size_t limit = options->capture_limit ? options->capture_limit : DEFAULT_CAPTURE_LIMIT;
    result->output = KERNELS_BUFFER_INIT(limit);
    result->errors = KERNELS_BUFFER_INIT(limit);
    uint64_t allowed = options->timeout_ms * UINT64_C(1000000);
    conversation talk = {.options = options,
                         .captures = {{&result->output, &result->output_dropped, limit, KERNELS_BUFFER_INIT(0)},
                                      {&result->errors, &result->errors_dropped, limit, KERNELS_BUFFER_INIT(8192)}},
                         .patience = {.deadline = allowed ? kernels_clock_nanoseconds() + allowed : 0,
                                      .interruptible = holds_signals()}};
    talk.ends[0] = take_end(start->input, 1, POLLOUT);
    talk.ends[1] = take_end(start->output, 0, POLLIN);
    talk.ends[2] = take_end(start->errors, 0, POLLIN);
    sigset_t before;
    block_sigpipe(&before);
    int state = 0;
    bool finished = converse(&talk) && wait_for_child(child, &talk.patience, &state);
    if (!finished) {
        end_child(child, &talk.patience, &state);
        result->timed_out = talk.patience.signal == 0;
    }
    for (int i = 0; i < 3; i++) {
        if (talk.ends[i].fd >= 0) {
            close_end(&talk.ends[i]);
        }
    }
    restore_sigpipe(&before);
    if (talk.captures[1].line.size > 0 && options->on_error_line) {
        options->on_error_line(options->payload, kernels_buffer_view(&talk.captures[1].line));
    }
    kernels_buffer_dispose(&talk.captures[1].line);
    fill_result(result, state);
    if (!finished && talk.patience.signal != 0) {
        kernels_process_result_dispose(result);
        return kernels_fail(error, KERNELS_INTERRUPTED, "interrupted: `%s` was stopped", options->arguments[0]);
    }
    return finished ? KERNELS_OK
                    : kernels_fail(error, KERNELS_TIMEOUT, "`%s` was stopped after its time limit of %u ms",
                                   options->arguments[0], options->timeout_ms);
}

kernels_status kernels_process_run(const kernels_process_options *options, kernels_process_result *result,
                                   kernels_error *error) {
    launch start;
    kernels_process_result made = {0};
    kernels_status status = launch_prepare(options, &start, error);
    pid_t child = status == KERNELS_OK ? fork() : 0;
    if (status == KERNELS_OK && child < 0) {
        status = kernels_fail_errno(error, errno, "cannot start `%s`", options->arguments[0]);
    }
    if (status != KERNELS_OK) {
        launch_dispose(&start);
        return status;
    }
    if (child == 0) {
        child_run(options, &start);
    }
    int number = start_failure(&start);
    if (number != 0) {
        int state;
        patience endless = {0};
        (void)wait_for_child(child, &endless, &state);
        launch_dispose(&start);
        return kernels_fail_errno(error, number, "cannot start `%s`", options->arguments[0]);
    }
    status = supervise(options, &start, child, &made, error);
    launch_dispose(&start);
    *result = made;
    return status;
}
