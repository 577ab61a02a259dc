/* SPDX-License-Identifier: Apache-2.0 */
/* A child must not outlive the program that started it, whatever ends that program. */
#include "support/test_support.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

#define PATIENCE_MS 20000

/* Becomes a program that waits for a child, which holds the pipe open for a minute. */
static void run_child(int pipe_end) {
    const char *const arguments[] = {"sh", "-c", "echo started; exec sleep 60", NULL};
    const kernels_process_options options = {.arguments = arguments, .inherit_output = true};
    kernels_process_result result;
    (void)dup2(pipe_end, STDOUT_FILENO);
    (void)close(pipe_end);
    (void)kernels_process_run(&options, &result, NULL);
    _exit(1);
}

static void test_a_child_ends_with_us(void **state) {
    (void)state;
#ifndef __linux__
    skip();
#endif
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t program = fork();
    assert_true(program >= 0);
    if (program == 0) {
        (void)close(ends[0]);
        run_child(ends[1]);
    }
    (void)close(ends[1]);
    char text[8] = "";
    assert_true(read(ends[0], text, sizeof text) > 0); /* the child runs */
    assert_int_equal(kill(program, SIGKILL), 0);
    assert_int_equal(waitpid(program, NULL, 0), program);
    struct pollfd closed = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&closed, 1, PATIENCE_MS), 1); /* nobody holds the other end any more */
    assert_int_equal(read(ends[0], text, sizeof text), 0);
    (void)close(ends[0]);
}

/* ---- signals that the caller holds ---- */

#define DELAY_US 300000 /* until the child has set up its own handlers */

static sigset_t hold(void) {
    sigset_t held, before;
    assert_int_equal(sigemptyset(&held) + sigaddset(&held, SIGINT) + sigaddset(&held, SIGTERM), 0);
    assert_int_equal(sigprocmask(SIG_BLOCK, &held, &before), 0);
    return before;
}

/* Sends us the signal a little later. */
static pid_t send_later(int signal) {
    pid_t us = getpid(), sender = fork();
    if (sender == 0) {
        (void)usleep(DELAY_US);
        (void)kill(us, signal);
        _exit(0);
    }
    return sender;
}

static void let_go(const sigset_t *before) {
    sigset_t held;
    int dropped;
    struct timespec now = {0};
    (void)sigemptyset(&held);
    (void)sigaddset(&held, SIGINT);
    (void)sigaddset(&held, SIGTERM);
    while ((dropped = sigtimedwait(&held, NULL, &now)) > 0) {
    }
    assert_int_equal(sigprocmask(SIG_SETMASK, before, NULL), 0);
}

/* The status of a run during which we get the signal. */
static kernels_status run_with(int signal, const char *script) {
    const char *const arguments[] = {"sh", "-c", script, NULL};
    const kernels_process_options options = {.arguments = arguments};
    kernels_process_result result;
    kernels_error error = KERNELS_ERROR_INIT;
    sigset_t before = hold();
    pid_t sender = send_later(signal);
    kernels_status status = kernels_process_run(&options, &result, &error);
    assert_int_equal(waitpid(sender, NULL, 0), sender);
    let_go(&before);
    if (status == KERNELS_OK) {
        kernels_process_result_dispose(&result);
    } else {
        assert_non_null(strstr(kernels_error_message(&error), "interrupted"));
    }
    kernels_error_dispose(&error);
    return status;
}

static void test_a_held_signal_ends_the_child(void **state) {
    (void)state;
    assert_int_equal(run_with(SIGINT, "exec sleep 60"), KERNELS_INTERRUPTED);
    assert_int_equal(run_with(SIGTERM, "sleep 60 & sleep 60"), KERNELS_INTERRUPTED);
    assert_int_equal(run_with(SIGTERM, "trap '' INT TERM; sleep 60; sleep 60"), KERNELS_INTERRUPTED);
}

static void test_other_signals_do_not(void **state) {
    (void)state;
    sigset_t usr, before;
    (void)sigemptyset(&usr);
    (void)sigaddset(&usr, SIGUSR1);
    assert_int_equal(sigprocmask(SIG_BLOCK, &usr, &before), 0);
    assert_int_equal(run_with(SIGUSR1, "sleep 1"), KERNELS_OK);
    (void)signal(SIGUSR1, SIG_IGN);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_ends_with_us),
        cmocka_unit_test(test_a_held_signal_ends_the_child),
        cmocka_unit_test(test_other_signals_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
