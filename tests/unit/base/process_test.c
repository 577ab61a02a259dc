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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_child_ends_with_us)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
