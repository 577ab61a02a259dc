/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which plugins are looked for, on made-up folders. */
#include "support/test_support.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "runtime/pjrt.h"

typedef struct fixture {
    char *root;
    char site_packages[512];
    char *path, *trace;
    kernels_error error;
} fixture;

static char *make_file(const fixture *f, const char *name) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *path = kernels_path_join(f->root, name);
    char *parent = kernels_path_parent(path);
    assert_ok(kernels_make_directories(parent, &error), error);
    assert_ok(kernels_file_write(path, KERNELS_VIEW("x"), 0, &error), error);
    kernels_free(parent);
    return path;
}

static int setup(void **state) {
    fixture *f = kernels_calloc(1, sizeof(*f));
    if (!f || kernels_make_temporary_directory(NULL, "search", &f->root, NULL)) {
        return -1;
    }
    (void)snprintf(f->site_packages, sizeof(f->site_packages), "%s/site", f->root);
    unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS");
    unsetenv("TPU_LIBRARY_PATH");
    unsetenv("LD_LIBRARY_PATH");
    *state = f;
    return 0;
}

static void forget(fixture *f) {
    kernels_free(f->path);
    kernels_free(f->trace);
    f->path = f->trace = NULL;
    kernels_error_dispose(&f->error);
}

static int teardown(void **state) {
    fixture *f = *state;
    forget(f);
    (void)kernels_remove_tree(f->root, NULL);
    kernels_free(f->root);
    kernels_free(f);
    return 0;
}

static kernels_status search(fixture *f, const char *platform, const char *plugin) {
    const kernels_pjrt_search_options options = {.plugin = plugin, .site_packages = f->site_packages};
    forget(f);
    return kernels_pjrt_plugin_search(platform, &options, &f->path, &f->trace, &f->error);
}

static void expect_found(fixture *f, const char *platform, const char *plugin, const char *path) {
    assert_ok(search(f, platform, plugin), f->error);
    assert_string_equal(f->path, path);
}

static void test_order_for_tpu(void **state) {
    fixture *f = *state;
    char *system = make_file(f, "lib/libtpu.so");
    char *site = make_file(f, "site/libtpu/libtpu.so");
    char *variable = make_file(f, "variable/libtpu.so");
    char *named = make_file(f, "named/anything.so");
    char *option = make_file(f, "option.so");
    char text[1024];
    assert_int_equal(search(f, "nosuch", NULL), KERNELS_PLUGIN_NOT_FOUND);
    (void)snprintf(text, sizeof(text), "/does/not/exist::%s/lib", f->root);
    setenv("LD_LIBRARY_PATH", text, 1);
    assert_int_equal(kernels_remove_file(site, NULL), 0);
    expect_found(f, "tpu", NULL, system);
    kernels_free(site);
    site = make_file(f, "site/libtpu/libtpu.so");
    expect_found(f, "tpu", NULL, site);
    setenv("TPU_LIBRARY_PATH", variable, 1);
    expect_found(f, "tpu", NULL, variable);
    (void)snprintf(text, sizeof(text), "cpu:/x.so, tpu:%s,tpu:/y.so", named);
    setenv("PJRT_NAMES_AND_LIBRARY_PATHS", text, 1);
    expect_found(f, "tpu", NULL, named);
    expect_found(f, "tpu", option, option);
    assert_contains(f->trace, "option: ");
    kernels_free(system);
    kernels_free(site);
    kernels_free(variable);
    kernels_free(named);
    kernels_free(option);
}

static void test_cpu_plugin_in_site_packages(void **state) {
    fixture *f = *state;
    char *other = make_file(f, "site/xla_plugins/xla_cuda12/a.so");
    char *text = make_file(f, "site/xla_plugins/xla_cpu_pjrt/__init__.py");
    char *plugin = make_file(f, "site/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
    setenv("TPU_LIBRARY_PATH", other, 1); /* says nothing about cpu */
    expect_found(f, "cpu", NULL, plugin);
    assert_contains(f->trace, "option: not given\nPJRT_NAMES_AND_LIBRARY_PATHS: not set\nsite-packages: ");
    kernels_free(other);
    kernels_free(text);
    kernels_free(plugin);
}

/* Going on would hide the user's mistake. */
static void test_a_named_file_must_exist(void **state) {
    fixture *f = *state;
    char *plugin = make_file(f, "site/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
    assert_int_equal(search(f, "cpu", "/no/such/plugin.so"), KERNELS_PLUGIN_NOT_FOUND);
    assert_contains(kernels_error_message(&f->error), "/no/such/plugin.so: no such file");
    setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "cpu:/no/such/other.so", 1);
    assert_int_equal(search(f, "cpu", NULL), KERNELS_PLUGIN_NOT_FOUND);
    assert_contains(kernels_error_message(&f->error), "/no/such/other.so: no such file");
    setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "tpu:/no/such/other.so", 1);
    expect_found(f, "cpu", NULL, plugin);
    assert_contains(f->trace, "set, without this platform");
    kernels_free(plugin);
}

static void test_trace_when_nothing_is_there(void **state) {
    fixture *f = *state;
    f->site_packages[0] = '\0';
    assert_int_equal(search(f, "nosuch", NULL), KERNELS_PLUGIN_NOT_FOUND);
    assert_null(f->path);
    assert_string_equal(f->trace, "option: not given\n"
                                  "PJRT_NAMES_AND_LIBRARY_PATHS: not set\n"
                                  "site-packages: no Python environment known (KERNELS_PYTHON, VIRTUAL_ENV)\n"
                                  "system library path: xla_nosuch_pjrt.so: not there");
    assert_contains(kernels_error_message(&f->error), f->trace);
    kernels_status status = kernels_pjrt_plugin_search("nosuch", NULL, &f->path, NULL, NULL);
    assert_int_equal(status, KERNELS_PLUGIN_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order_for_tpu, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cpu_plugin_in_site_packages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_named_file_must_exist, setup, teardown),
        cmocka_unit_test_setup_teardown(test_trace_when_nothing_is_there, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
