/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "build/folder.h"
#include "build/scratch.h"

/* "<name>/src" below the folder "work" of the store, last changed so many seconds ago; heap text. */
static char *make_left_over(const char *store, const char *name, time_t age) {
    KERNELS_CLEANUP_FREE char *work = kernels_path_join(store, "work");
    char *folder = kernels_path_join(work, name);
    KERNELS_CLEANUP_FREE char *inside = kernels_path_join(folder, "src");
    const time_t then = time(NULL) - age;
    const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
    assert_int_equal(kernels_make_directories(inside, NULL), KERNELS_OK);
    assert_int_equal(utimensat(AT_FDCWD, folder, times, 0), 0);
    return folder;
}

static void what_killed_builds_left_goes(void **state) {
    (void)state;
    char *store = NULL, *path = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_equal(kernels_make_temporary_directory(NULL, "kernels-test-", &store, NULL), KERNELS_OK);
    KERNELS_CLEANUP_FREE char *old = make_left_over(store, "build-aaaaaa", KERNELS_SCRATCH_AGE_SECONDS + 60);
    KERNELS_CLEANUP_FREE char *running = make_left_over(store, "build-bbbbbb", KERNELS_SCRATCH_AGE_SECONDS - 600);
    KERNELS_CLEANUP_FREE char *other = make_left_over(store, "other", 2 * KERNELS_SCRATCH_AGE_SECONDS);
    must(kernels_scratch_new(store, &path, &error), &error);
    assert_true(kernels_file_is_directory(path));
    assert_false(kernels_file_exists(old));
    assert_true(kernels_file_is_directory(running));
    assert_true(kernels_file_is_directory(other));
    assert_int_equal(kernels_remove_tree(store, NULL), KERNELS_OK);
    kernels_free(path);
    kernels_free(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_killed_builds_left_goes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
