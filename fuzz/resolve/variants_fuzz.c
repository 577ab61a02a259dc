/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing among names as a server may list them: one name a line. The decisions must not depend on their order, every
 * rejected one has its reason, and accepted ones come first. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/view.h"
#include "kernels/resolve.h"

#define NAMES_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_shape(const kernels_decisions *decisions) {
    for (size_t i = 0; i < decisions->count; i++) {
        const kernels_decision *decision = &decisions->items[i];
        if (decision->accepted != (i < decisions->accepted_count) || decision->accepted != (decision->reason == NULL)) {
            abort();
        }
    }
}

static char *resolve(const kernels_system *system, const char *const *names, size_t count) {
    kernels_decisions decisions = {0};
    if (kernels_resolve_variants(system, names, count, NULL, NULL, &decisions, NULL) != KERNELS_OK) {
        abort();
    }
    check_shape(&decisions);
    char *trace = kernels_decisions_trace(&decisions);
    kernels_decisions_dispose(&decisions);
    return trace;
}

static void check_order(const kernels_system *system, char **names, size_t count) {
    const char *reversed[NAMES_MAX];
    for (size_t i = 0; i < count; i++) {
        reversed[i] = names[count - 1 - i];
    }
    char *first = resolve(system, (const char *const *)names, count);
    char *second = resolve(system, reversed, count);
    if (first == NULL || second == NULL || strcmp(first, second) != 0) {
        abort();
    }
    kernels_string_free(first);
    kernels_string_free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const kernels_system machines[] = {
        {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_TPU},
        {.os = "linux",
         .cpu = "x86_64",
         .backend = KERNELS_BACKEND_CUDA,
         .backend_version = {{12, 8}, 2},
         .torch = {{2, 13}, 2},
         .torch_cxx11_abi = KERNELS_CXX11_ABI_NEW,
         .tvm_ffi = {{0, 1}, 2}},
        {.os = "darwin", .cpu = "aarch64", .backend = KERNELS_BACKEND_METAL, .free_threaded = true},
    };
    char *names[NAMES_MAX];
    size_t count = 0;
    kernels_view rest = {(const char *)data, size};
    kernels_view line;
    while (count < NAMES_MAX && kernels_view_split(&rest, '\n', &line)) {
        names[count++] = kernels_strndup(line.data, line.size);
    }
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        check_order(&machines[i], names, count);
    }
    for (size_t i = 0; i < count; i++) {
        kernels_free(names[i]);
    }
    return 0;
}
