/* SPDX-License-Identifier: Apache-2.0 */
/* Where the XLA CPU plugin of the tests is: KERNELS_TEST_CPU_PLUGIN, else that of the project's own jax environment
 * (build/store), which the whole-program tests fetch. NULL = neither; such tests are skipped, saying so. */
#ifndef KERNELS_TESTS_UNIT_RUNTIME_PLUGIN_H
#define KERNELS_TESTS_UNIT_RUNTIME_PLUGIN_H

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

#include "support/test_support.h"

/* First child of a folder whose <child>/<rest> exists; heap text. */
static inline char *plugin_below(const char *folder, const char *rest) {
    kernels_listing children;
    char *found = NULL;
    if (kernels_list(folder, KERNELS_LIST_CHILDREN, &children, NULL)) {
        return NULL;
    }
    for (size_t i = 0; i < children.count && !found; i++) {
        char *path = kernels_path_join3(folder, children.entries[i].path, rest);
        if (path && kernels_file_exists(path)) {
            found = path;
        } else {
            kernels_free(path);
        }
    }
    kernels_listing_dispose(&children);
    return found;
}

/* site-packages of the environment that holds the plugin; heap text, NULL = not fetched. */
static inline char *plugin_site_packages(void) {
    char *found = NULL;
    char *lib = plugin_below(test_data("../../build/store/env"), "lib");
    if (lib) {
        found = plugin_below(lib, "site-packages");
    }
    kernels_free(lib);
    return found;
}

static inline char *plugin_path(void) {
    const char *given = getenv("KERNELS_TEST_CPU_PLUGIN");
    if (given && *given) {
        return kernels_strdup(given);
    }
    char *site_packages = plugin_site_packages();
    char *path = site_packages ? kernels_path_join(site_packages, "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so") : NULL;
    kernels_free(site_packages);
    if (path && !kernels_file_is_regular(path)) {
        kernels_free(path);
        path = NULL;
    }
    return path;
}

#define NO_PLUGIN_TEXT                                                                            \
    "skipped: no XLA CPU plugin (set KERNELS_TEST_CPU_PLUGIN, or fetch the jax environment with " \
    "`kernel-builder env fetch jax`)\n"
/* Exit code that ctest takes for a skipped program. */
#define PLUGIN_TESTS_SKIPPED 77

/* Leaves the test when there is no plugin. */
#define PLUGIN_OR_SKIP(path)               \
    do {                                   \
        (path) = plugin_path();            \
        if (!(path)) {                     \
            print_message(NO_PLUGIN_TEXT); \
            skip();                        \
        }                                  \
    } while (0)

#endif
