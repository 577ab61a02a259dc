/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a kernels_build with the parsed view of the vectors. Include after cmocka. */
#ifndef KERNELS_TESTS_UNIT_DATA_BUILD_VIEW_H
#define KERNELS_TESTS_UNIT_DATA_BUILD_VIEW_H

#include "base/document.h"
#include "base/view.h"
#include "kernels/data.h"

static inline void check_text(const kernels_node *table, const char *key, const char *text) {
    const kernels_node *want = kernels_node_find(table, key);
    if (!want) {
        assert_null(text);
        return;
    }
    assert_non_null(text);
    assert_true(kernels_view_equal_text(want->as.text, text));
}

/* absent and empty are the same here; `given`, where the structure knows it, tells them apart */
static inline void check_texts(const kernels_node *table, const char *key, kernels_strings texts) {
    const kernels_node *want = kernels_node_find(table, key);
    assert_int_equal(texts.count, want ? want->count : 0);
    for (size_t i = 0; i < texts.count; i++) {
        assert_true(kernels_view_equal_text(want->as.items[i]->as.text, texts.items[i]));
    }
}

static inline void check_given(const kernels_node *table, const char *key, kernels_strings texts, bool given) {
    check_texts(table, key, texts);
    assert_int_equal(given, kernels_node_find(table, key) != NULL);
}

static inline void check_version_node(const kernels_node *want, const kernels_version *version) {
    char text[KERNELS_VERSION_TEXT_SIZE];
    if (!want) {
        assert_int_equal(version->count, 0);
        return;
    }
    kernels_version_print(version, text);
    assert_true(kernels_view_equal_text(want->as.text, text));
}

static inline void check_version(const kernels_node *table, const char *key, const kernels_version *version) {
    check_version_node(kernels_node_find(table, key), version);
}

static inline void check_dependencies(const kernels_node *table, const kernels_dependency *items, size_t count) {
    const kernels_node *want = kernels_node_find(table, "kernel-depends");
    assert_int_equal(count, want ? want->count : 0);
    for (size_t i = 0; i < count; i++) {
        const kernels_node *row = want->as.items[i];
        check_text(row, "repo-id", items[i].repo_id);
        check_text(row, "revision", items[i].revision);
        const kernels_node *version = kernels_node_find(row, "version");
        assert_int_equal(items[i].version, version ? version->as.unsigned_value : 0);
    }
}

static inline void check_backend_table(const kernels_node *general, const kernels_build *build,
                                       kernels_backend backend) {
    const kernels_node *table = kernels_node_find(general, kernels_backend_name(backend));
    const kernels_build_backend *got = &build->per_backend[backend];
    check_version(table, "minver", &got->minver);
    check_version(table, "maxver", &got->maxver);
    check_texts(table, "python-depends", got->python_depends);
    check_dependencies(table, got->kernel_depends, got->kernel_depends_count);
}

static inline void check_general(const kernels_node *general, const kernels_build *build) {
    check_text(general, "name", build->name);
    assert_int_equal(build->version, kernels_node_find(general, "version")->as.unsigned_value);
    check_text(general, "license", build->license);
    check_text(general, "upstream", build->upstream);
    check_text(general, "source", build->source);
    check_texts(general, "python-depends", build->python_depends);
    check_dependencies(general, build->kernel_depends, build->kernel_depends_count);
    check_text(kernels_node_find(general, "hub"), "repo-id", build->hub_repo_id);
    check_text(kernels_node_find(general, "hub"), "branch", build->hub_branch);
    const kernels_node *backends = kernels_node_find(general, "backends");
    assert_int_equal(build->backend_count, backends->count);
    for (size_t i = 0; i < backends->count; i++) {
        assert_true(kernels_view_equal_text(backends->as.items[i]->as.text, kernels_backend_name(build->backends[i])));
    }
    for (unsigned i = 0; i < KERNELS_BACKEND_COUNT; i++) {
        check_backend_table(general, build, (kernels_backend)i);
    }
}

static inline void check_stable_abi(const kernels_node *torch, const kernels_build *build) {
    const kernels_node *want = kernels_node_find(torch, "stable-abi");
    for (unsigned i = 0; i < KERNELS_BACKEND_COUNT; i++) {
        const kernels_node *version = kernels_node_is(want, KERNELS_NODE_OBJECT)
                                          ? kernels_node_find(want, kernels_backend_name((kernels_backend)i))
                                          : want;
        check_version_node(version, &build->stable_abi[i]);
    }
}

static inline void check_framework(const kernels_node *parsed, const kernels_build *build) {
    static const char *const sections[] = {"torch", "torch-noarch", "tvm-ffi"};
    const kernels_node *table = kernels_node_find(parsed, sections[build->kind]);
    assert_non_null(table);
    check_texts(table, "include", build->include);
    check_given(table, "pyext", build->pyext, build->has_pyext);
    check_texts(table, "src", build->src);
    check_texts(table, "cxx-flags", build->cxx_flags);
    check_version(table, "minver", &build->torch_minver);
    check_version(table, "maxver", &build->torch_maxver);
    check_stable_abi(table, build);
    check_given(table, "cuda_capabilities", build->cuda_capabilities, build->has_cuda_capabilities);
    check_given(table, "rocm_archs", build->rocm_archs, build->has_rocm_archs);
}

static inline void check_kernel(const kernels_node *kernels, const kernels_build_kernel *kernel) {
    const kernels_node *table = kernels_node_find(kernels, kernel->name);
    assert_non_null(table);
    check_text(table, "backend", kernels_backend_name(kernel->backend));
    check_texts(table, "depends", kernel->depends);
    check_texts(table, "src", kernel->src);
    check_given(table, "include", kernel->include, kernel->has_include);
    check_given(table, "cxx-flags", kernel->cxx_flags, kernel->has_cxx_flags);
    check_given(table, "cuda-capabilities", kernel->cuda_capabilities, kernel->has_cuda_capabilities);
    check_given(table, "cuda-flags", kernel->cuda_flags, kernel->has_cuda_flags);
    check_version(table, "cuda-minver", &kernel->cuda_minver);
    check_given(table, "rocm-archs", kernel->rocm_archs, kernel->has_rocm_archs);
    check_given(table, "hip-flags", kernel->hip_flags, kernel->has_hip_flags);
    check_given(table, "sycl-flags", kernel->sycl_flags, kernel->has_sycl_flags);
}

static inline void check_parsed(const kernels_node *parsed, const kernels_build *build) {
    check_general(kernels_node_find(parsed, "general"), build);
    check_framework(parsed, build);
    const kernels_node *kernels = kernels_node_find(parsed, "kernel");
    assert_int_equal(build->kernel_count, kernels->count);
    for (size_t i = 0; i < build->kernel_count; i++) {
        check_kernel(kernels, &build->kernels[i]);
    }
}

#endif
