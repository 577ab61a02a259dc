/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of build.toml. One row a key: name, reader, target, editions or kernel kinds. Rows stand
 * in the order in which messages list them.
 */
#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "data/build.h"

#define SINCE_4 (KERNELS_EDITION_5 | KERNELS_EDITION_4)
#define SINCE_3 (SINCE_4 | KERNELS_EDITION_3)
#define SINCE_2 (SINCE_3 | KERNELS_EDITION_2)

#define ROW(toml_key, reader, member) \
    .key = (toml_key), .read = (reader), .offset = offsetof(kernels_build, member), .second_offset = KERNELS_NO_OFFSET
#define ROW_WITH(toml_key, reader, member, second_member)                           \
    .key = (toml_key), .read = (reader), .offset = offsetof(kernels_build, member), \
    .second_offset = offsetof(kernels_build, second_member)
/* A sub-table: its reader gets the whole kernels_build. */
#define TABLE(toml_key, reader) .key = (toml_key), .read = (reader), .second_offset = KERNELS_NO_OFFSET

/* Defines a reader of a sub-table that stores into the same structure. */
#define TABLE_READER(function, rows)                                                                             \
    static kernels_status function(kernels_reader *reader, const kernels_place *place, const kernels_node *node, \
                                   void *target, void *second) {                                                 \
        (void)second;                                                                                            \
        const kernels_schema schema = KERNELS_SCHEMA(rows, false);                                               \
        return kernels_schema_read(reader, place, node, &schema, target);                                        \
    }

/* ---- [general] ---- */

static const kernels_field hub_rows[] = {
    {ROW("repo-id", kernels_read_text, hub_repo_id)},
    {ROW("branch", kernels_read_text, hub_branch)},
};
TABLE_READER(read_hub, hub_rows)

#define PYTHON_DEPENDS(backend) \
    ROW("python-depends", kernels_read_texts, per_backend[KERNELS_BACKEND_##backend].python_depends)
#define KERNEL_DEPENDS(backend)                                                                                  \
    ROW_WITH("kernel-depends", kernels_read_dependencies, per_backend[KERNELS_BACKEND_##backend].kernel_depends, \
             per_backend[KERNELS_BACKEND_##backend].kernel_depends_count),                                       \
        .mask = KERNELS_EDITION_5

static const kernels_field cuda_rows[] = {
    {ROW("minver", kernels_read_version2, per_backend[KERNELS_BACKEND_CUDA].minver)},
    {ROW("maxver", kernels_read_version2, per_backend[KERNELS_BACKEND_CUDA].maxver)},
    {PYTHON_DEPENDS(CUDA)},
    {KERNEL_DEPENDS(CUDA)},
};
TABLE_READER(read_cuda, cuda_rows)

static const kernels_field neuron_rows[] = {{PYTHON_DEPENDS(NEURON)}, {KERNEL_DEPENDS(NEURON)}};
TABLE_READER(read_neuron, neuron_rows)

static const kernels_field tpu_rows[] = {
    {PYTHON_DEPENDS(TPU)},
    {.key = "kernel-depends", .hint = "expected `kernel-depends` of a TPU kernel in [general]"},
};
TABLE_READER(read_tpu, tpu_rows)

static const kernels_field xpu_rows[] = {{PYTHON_DEPENDS(XPU)}, {KERNEL_DEPENDS(XPU)}};
TABLE_READER(read_xpu, xpu_rows)

/* Its value was checked when the edition was chosen; here it only is a known key. */
static kernels_status read_edition(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   void *target, void *second) {
    (void)reader;
    (void)place;
    (void)node;
    (void)target;
    (void)second;
    return KERNELS_OK;
}

/* Keys of editions 1 and 2 that later ones do not know are checked only: migration looks them up itself. */
static kernels_status check_boolean(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                    void *target, void *second) {
    (void)target;
    bool value = false;
    return kernels_read_boolean(reader, place, node, &value, second);
}

static kernels_status check_version(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                    void *target, void *second) {
    (void)target;
    kernels_version value = {0};
    return kernels_read_version2(reader, place, node, &value, second);
}

/* Edition 2 knows two names; the second one belongs to CUDA since edition 3. */
static kernels_status read_python_depends_2(kernels_reader *reader, const kernels_place *place,
                                            const kernels_node *node, void *target, void *second) {
    KERNELS_TRY(kernels_read_texts(reader, place, node, target, second));
    const kernels_strings *names = target;
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], "einops") != 0 && strcmp(names->items[i], "nvidia-cutlass-dsl") != 0) {
            const kernels_place here = kernels_place_element(place, node, i);
            return kernels_reader_bad_value(reader, &here, "one of einops, nvidia-cutlass-dsl",
                                            kernels_view_of(names->items[i]));
        }
    }
    return KERNELS_OK;
}

static const kernels_field general_rows[] = {
    {ROW("name", kernels_read_name, name), .required = true},
    {ROW("version", kernels_read_unsigned, version), .mask = SINCE_4, .required = true},
    {ROW("version", kernels_read_unsigned, version), .mask = KERNELS_EDITION_3},
    {ROW("edition", read_edition, edition), .mask = KERNELS_EDITION_5, .required = true},
    {ROW("license", kernels_read_text, license), .mask = SINCE_4, .required = true},
    {ROW("license", kernels_read_text, license), .mask = KERNELS_EDITION_3},
    {ROW("upstream", kernels_read_git_url, upstream), .mask = SINCE_3},
    {ROW("source", kernels_read_git_url, source), .mask = SINCE_4},
    {ROW_WITH("backends", kernels_read_backends, backends, backend_count), .mask = SINCE_3, .required = true},
    {TABLE("universal", check_boolean), .mask = KERNELS_EDITION_2},
    {TABLE("cuda-minver", check_version), .mask = KERNELS_EDITION_2},
    {TABLE("cuda-maxver", check_version), .mask = KERNELS_EDITION_2},
    {ROW("python-depends", kernels_read_texts, python_depends), .mask = SINCE_3},
    {ROW("python-depends", read_python_depends_2, python_depends), .mask = KERNELS_EDITION_2},
    {ROW_WITH("kernel-depends", kernels_read_dependencies, kernel_depends, kernel_depends_count),
     .mask = KERNELS_EDITION_5},
    {TABLE("hub", read_hub), .mask = SINCE_2},
    {TABLE("cuda", read_cuda), .mask = SINCE_3},
    {TABLE("neuron", read_neuron), .mask = SINCE_3},
    {TABLE("tpu", read_tpu), .mask = KERNELS_EDITION_5},
    {TABLE("xpu", read_xpu), .mask = SINCE_3},
};
TABLE_READER(read_general, general_rows)

/* ---- frameworks ---- */

static void set_stable_abi(kernels_build *build, kernels_version version) {
    for (size_t i = 0; i < KERNELS_BACKEND_COUNT; i++) {
        build->stable_abi[i] = version;
    }
}

static kernels_status read_stable_abi_version(kernels_reader *reader, const kernels_place *place,
                                              const kernels_node *node, void *target, void *second) {
    kernels_version version = {0};
    KERNELS_TRY(kernels_read_version2(reader, place, node, &version, second));
    set_stable_abi(target, version);
    return KERNELS_OK;
}

static kernels_status read_stable_abi_table(kernels_reader *reader, const kernels_place *place,
                                            const kernels_node *node, kernels_build *build) {
    for (size_t i = 0; i < node->count; i++) {
        const kernels_member *member = &node->as.members[i];
        const kernels_place here = {place, member->key, 0, member->key_position};
        kernels_backend backend = KERNELS_BACKEND_CPU;
        if (kernels_backend_parse(member->key, &backend, NULL) != KERNELS_OK) {
            return kernels_reader_bad_value(reader, &here, KERNELS_BACKENDS_TEXT, member->key);
        }
        KERNELS_TRY(kernels_read_version2(reader, &here, member->value, &build->stable_abi[backend], NULL));
    }
    return KERNELS_OK;
}

/* One version for all backends, or a table of backend and version. */
static kernels_status read_stable_abi(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                      void *target, void *second) {
    if (node->type == KERNELS_NODE_OBJECT) {
        return read_stable_abi_table(reader, place, node, target);
    }
    if (node->type == KERNELS_NODE_STRING) {
        return read_stable_abi_version(reader, place, node, target, second);
    }
    return kernels_reader_wrong_type(reader, place, "a version as a string, or a table of backend and version", node);
}

static const kernels_field torch_rows[] = {
    {ROW("include", kernels_read_texts, include)},
    {ROW("minver", kernels_read_version2, torch_minver), .mask = SINCE_2},
    {ROW("maxver", kernels_read_version2, torch_maxver), .mask = SINCE_2},
    {TABLE("universal", check_boolean), .mask = KERNELS_EDITION_1},
    {ROW_WITH("pyext", kernels_read_texts, pyext, has_pyext)},
    {ROW("src", kernels_read_texts, src)},
    {TABLE("stable-abi", read_stable_abi), .mask = KERNELS_EDITION_5},
    {TABLE("stable-abi", read_stable_abi_version), .mask = KERNELS_EDITION_4},
    {ROW("cxx-flags", kernels_read_texts, cxx_flags), .mask = SINCE_4},
};
TABLE_READER(read_torch_keys, torch_rows)

static const kernels_field noarch_rows[] = {
    {ROW_WITH("pyext", kernels_read_texts, pyext, has_pyext)},
    {ROW_WITH("cuda_capabilities", kernels_read_texts, cuda_capabilities, has_cuda_capabilities),
     .other_key = "cuda-capabilities"},
    {ROW_WITH("rocm_archs", kernels_read_texts, rocm_archs, has_rocm_archs), .other_key = "rocm-archs"},
};
TABLE_READER(read_noarch_keys, noarch_rows)

static const kernels_field tvm_ffi_rows[] = {
    {ROW("include", kernels_read_texts, include)},
    {ROW_WITH("pyext", kernels_read_texts, pyext, has_pyext)},
    {ROW("src", kernels_read_texts, src), .required = true},
    {ROW("cxx-flags", kernels_read_texts, cxx_flags), .mask = SINCE_4},
};
TABLE_READER(read_tvm_ffi_keys, tvm_ffi_rows)

static kernels_status read_torch(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 void *target, void *second) {
    ((kernels_build *)target)->kind = KERNELS_KIND_TORCH;
    return read_torch_keys(reader, place, node, target, second);
}

static kernels_status read_noarch(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                  void *target, void *second) {
    ((kernels_build *)target)->kind = KERNELS_KIND_TORCH_NOARCH;
    return read_noarch_keys(reader, place, node, target, second);
}

static kernels_status read_tvm_ffi(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   void *target, void *second) {
    ((kernels_build *)target)->kind = KERNELS_KIND_TVM_FFI;
    return read_tvm_ffi_keys(reader, place, node, target, second);
}

/* ---- [kernel.<name>] ---- */

static const char *const cpp_dependencies[] = {
    "torch",       "cutlass_2_10", "cutlass_3_5", "cutlass_3_6", "cutlass_3_8", "cutlass_3_9",
    "cutlass_4_0", "cutlass_4_4",  "cutlass_4_5", "sycl_tla",    "metal-cpp",
};
#define CPP_DEPENDENCIES_TEXT                                                                       \
    "one of torch, cutlass_2_10, cutlass_3_5, cutlass_3_6, cutlass_3_8, cutlass_3_9, cutlass_4_0, " \
    "cutlass_4_4, cutlass_4_5, sycl_tla, metal-cpp"

static bool is_cpp_dependency(const char *name) {
    for (size_t i = 0; i < sizeof(cpp_dependencies) / sizeof(cpp_dependencies[0]); i++) {
        if (strcmp(name, cpp_dependencies[i]) == 0) {
            return true;
        }
    }
    return false;
}

static kernels_status read_cpp_dependencies(kernels_reader *reader, const kernels_place *place,
                                            const kernels_node *node, void *target, void *second) {
    KERNELS_TRY(kernels_read_texts(reader, place, node, target, second));
    const kernels_strings *names = target;
    for (size_t i = 0; i < names->count; i++) {
        if (!is_cpp_dependency(names->items[i])) {
            const kernels_place here = kernels_place_element(place, node, i);
            return kernels_reader_bad_value(reader, &here, CPP_DEPENDENCIES_TEXT, kernels_view_of(names->items[i]));
        }
    }
    return KERNELS_OK;
}

#define KIND(backend) KERNELS_KERNEL_KIND(KERNELS_BACKEND_##backend)
#define KERNEL_ROW(toml_key, reader, member)                                               \
    .key = (toml_key), .read = (reader), .offset = offsetof(kernels_build_kernel, member), \
    .second_offset = KERNELS_NO_OFFSET
#define KERNEL_LIST(toml_key, member)                                                                \
    .key = (toml_key), .read = kernels_read_texts, .offset = offsetof(kernels_build_kernel, member), \
    .second_offset = offsetof(kernels_build_kernel, has_##member)

static const kernels_field kernel_rows[] = {
    {KERNEL_ROW("backend", kernels_read_backend, backend), .required = true},
    {KERNEL_ROW("depends", read_cpp_dependencies, depends), .required = true},
    {KERNEL_ROW("src", kernels_read_texts, src), .required = true},
    {KERNEL_LIST("include", include)},
    {KERNEL_LIST("cxx-flags", cxx_flags)},
    {KERNEL_LIST("cuda-capabilities", cuda_capabilities), .mask = KIND(CUDA)},
    {KERNEL_LIST("cuda-flags", cuda_flags), .mask = KIND(CUDA)},
    {KERNEL_ROW("cuda-minver", kernels_read_version2, cuda_minver), .mask = KIND(CUDA)},
    {KERNEL_LIST("rocm-archs", rocm_archs), .mask = KIND(ROCM)},
    {KERNEL_LIST("hip-flags", hip_flags), .mask = KIND(ROCM)},
    {KERNEL_LIST("sycl-flags", sycl_flags), .mask = KIND(XPU)},
};

#define KERNEL_KINDS (KIND(CPU) | KIND(CUDA) | KIND(METAL) | KIND(ROCM) | KIND(XPU))

/* Which keys a kernel may have depends on its backend, so that is read first. */
static kernels_status read_kernel_kind(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                       unsigned *kind) {
    const kernels_member *member = kernels_node_member(node, "backend");
    if (!member) {
        *kind = KERNEL_KINDS;
        return KERNELS_OK;
    }
    static const char expected[] = "one of cpu, cuda, metal, rocm, xpu";
    const kernels_place here = {place, member->key, 0, member->key_position};
    kernels_view text;
    kernels_backend backend = KERNELS_BACKEND_CPU;
    KERNELS_TRY(kernels_read_view(reader, &here, member->value, expected, &text));
    if (kernels_backend_parse(text, &backend, NULL) != KERNELS_OK || !(KERNELS_KERNEL_KIND(backend) & KERNEL_KINDS)) {
        return kernels_reader_bad_value(reader, &here, expected, text);
    }
    *kind = KERNELS_KERNEL_KIND(backend);
    return KERNELS_OK;
}

/* language of edition 1; "cuda-hipify" is a CUDA kernel that migration doubles for ROCm. */
static kernels_status read_language(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                    void *target, void *second) {
    (void)second;
    static const char expected[] = "one of cuda, cuda-hipify, metal";
    kernels_view text;
    KERNELS_TRY(kernels_read_view(reader, place, node, expected, &text));
    bool metal = kernels_view_equal_text(text, "metal");
    if (!metal && !kernels_view_equal_text(text, "cuda") && !kernels_view_equal_text(text, "cuda-hipify")) {
        return kernels_reader_bad_value(reader, place, expected, text);
    }
    *(kernels_backend *)target = metal ? KERNELS_BACKEND_METAL : KERNELS_BACKEND_CUDA;
    return KERNELS_OK;
}

static const kernels_field kernel_rows_1[] = {
    {KERNEL_ROW("language", read_language, backend)},
    {KERNEL_ROW("depends", read_cpp_dependencies, depends), .required = true},
    {KERNEL_ROW("src", kernels_read_texts, src), .required = true},
    {KERNEL_LIST("include", include)},
    {KERNEL_LIST("cuda-capabilities", cuda_capabilities)},
    {KERNEL_LIST("rocm-archs", rocm_archs)},
};

static kernels_status read_kernel_1(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                    kernels_build_kernel *kernel) {
    const kernels_schema schema = KERNELS_SCHEMA(kernel_rows_1, false);
    kernel->backend = KERNELS_BACKEND_CUDA;
    return kernels_schema_read(reader, place, node, &schema, kernel);
}

static kernels_status read_kernel_of_kind(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                          kernels_build_kernel *kernel) {
    const kernels_schema schema = KERNELS_SCHEMA(kernel_rows, false);
    kernels_reader of_kind = *reader;
    KERNELS_TRY(read_kernel_kind(reader, place, node, &of_kind.mask));
    return kernels_schema_read(&of_kind, place, node, &schema, kernel);
}

static kernels_status read_kernel(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                  kernels_build_kernel *kernel) {
    if (memchr(place->key.data, 0, place->key.size)) {
        return kernels_reader_bad_value(reader, place, "a name without a NUL character", place->key);
    }
    kernel->name = kernels_arena_copy_text(reader->arena, place->key);
    if (!kernel->name) {
        return kernels_reader_no_memory(reader);
    }
    return reader->mask & KERNELS_EDITION_1 ? read_kernel_1(reader, place, node, kernel)
                                            : read_kernel_of_kind(reader, place, node, kernel);
}

static kernels_status read_kernels(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   void *target, void *second) {
    (void)second;
    if (node->type != KERNELS_NODE_OBJECT) {
        return kernels_reader_wrong_type(reader, place, "a table of tables, [kernel.<name>]", node);
    }
    kernels_build_kernel *kernels = kernels_arena_array(reader->arena, node->count, sizeof(*kernels));
    if (!kernels && node->count > 0) {
        return kernels_reader_no_memory(reader);
    }
    for (size_t i = 0; i < node->count; i++) {
        const kernels_member *member = &node->as.members[i];
        const kernels_place here = {place, member->key, 0, member->key_position};
        KERNELS_TRY(read_kernel(reader, &here, member->value, &kernels[i]));
    }
    kernels_build *build = target;
    build->kernels = kernels;
    build->kernel_count = node->count;
    return KERNELS_OK;
}

/* ---- the document ---- */

static const kernels_field top_rows[] = {
    {TABLE("general", read_general), .required = true},
    {TABLE("torch", read_torch)},
    {TABLE("torch-noarch", read_noarch), .mask = SINCE_4},
    {TABLE("tvm-ffi", read_tvm_ffi), .mask = SINCE_3},
    {TABLE("kernel", read_kernels)},
};

static bool is_framework(kernels_view key, unsigned mask) {
    return kernels_view_equal_text(key, "torch") || (kernels_view_equal_text(key, "tvm-ffi") && (mask & SINCE_3)) ||
           (kernels_view_equal_text(key, "torch-noarch") && (mask & SINCE_4));
}

/* Checked before anything else at the top, so that a misspelt section is named as what is missing. */
static kernels_status check_frameworks(kernels_reader *reader, const kernels_place *place, const kernels_node *root) {
    const kernels_member *first = NULL;
    for (size_t i = 0; i < root->count; i++) {
        const kernels_member *member = &root->as.members[i];
        if (!is_framework(member->key, reader->mask)) {
            continue;
        }
        if (first) {
            const kernels_place here = {place, member->key, 0, member->key_position};
            return kernels_reader_fail(reader, &here,
                                       "second framework section: expected only one of [torch], [torch-noarch], "
                                       "[tvm-ffi], found it after [%.*s]",
                                       KERNELS_VIEW_ARGS(first->key));
        }
        first = member;
    }
    if (!first && (reader->mask & SINCE_4) && kernels_node_find(root, "general")) {
        return kernels_reader_fail(reader, place,
                                   "no framework section: expected one of [torch], [torch-noarch], "
                                   "[tvm-ffi], found none");
    }
    return KERNELS_OK;
}

kernels_status kernels_build_schema_read(kernels_reader *reader, const kernels_node *root, kernels_build *build) {
    const kernels_schema schema = KERNELS_SCHEMA(top_rows, false);
    const kernels_place place = {.position = root->begin};
    build->kind = KERNELS_KIND_TORCH_NOARCH; /* edition 3 without a framework section */
    KERNELS_TRY(check_frameworks(reader, &place, root));
    return kernels_schema_read(reader, &place, root, &schema, build);
}
