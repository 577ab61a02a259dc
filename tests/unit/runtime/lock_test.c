/* SPDX-License-Identifier: Apache-2.0 */
/* The TPU is taken: the error names the process that holds libtpu's lock file. */
#include "support/test_support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "runtime/pjrt_plugin.h"

#define LIBTPU_SAYS \
    "the PJRT plugin cannot be initialised: Internal error when accessing libtpu multi-process lockfile."

/* Locks the file in a child, which says so through a pipe and waits to be ended. */
static pid_t lock_in_child(const char *path) {
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int file = open(path, O_RDWR);
        byte = file >= 0 && fcntl(file, F_SETLK, &lock) == 0 ? 'y' : 'n';
        (void)!write(ends[1], &byte, 1);
        for (;;) {
            (void)pause();
        }
    }
    assert_true(child > 0);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

static void explain(const char *path, kernels_error *error) {
    kernels_status status = kernels_fail(error, KERNELS_PLUGIN, LIBTPU_SAYS " Run \"$ sudo rm %s\".", path);
    assert_int_equal(kernels_pjrt_explain_lock(status, error), KERNELS_PLUGIN);
}

static void test_names_the_holder(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    char *folder = NULL, expected[64];
    assert_ok(kernels_make_temporary_directory(NULL, "lock", &folder, &error), error);
    char *path = kernels_path_join(folder, "libtpu_lockfile");
    assert_ok(kernels_file_write(path, KERNELS_VIEW(""), 0, &error), error);
    pid_t child = lock_in_child(path);
    explain(path, &error);
    (void)snprintf(expected, sizeof expected, "process %ld uses the TPU", (long)child);
    assert_contains(kernels_error_message(&error), expected);
    assert_contains(kernels_error_message(&error), path);
    assert_contains(kernels_error_message(error.cause), "multi-process lockfile");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    explain(path, &error);
    assert_contains(kernels_error_message(&error), "try again");
    assert_true(kernels_file_exists(path));
    assert_ok(kernels_remove_tree(folder, &error), error);
    explain(path, &error); /* the file is gone: nobody holds it */
    assert_contains(kernels_error_message(&error), "try again");
    kernels_error_dispose(&error);
    kernels_free(path);
    kernels_free(folder);
}

static void test_other_errors_stay(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = kernels_fail(&error, KERNELS_PLUGIN, "no device below /dev/vfio");
    assert_int_equal(kernels_pjrt_explain_lock(status, &error), KERNELS_PLUGIN);
    assert_string_equal(kernels_error_message(&error), "no device below /dev/vfio");
    assert_null(error.cause);
    assert_int_equal(kernels_pjrt_explain_lock(KERNELS_PLUGIN, NULL), KERNELS_PLUGIN);
    kernels_error_dispose(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_the_holder),
        cmocka_unit_test(test_other_errors_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
