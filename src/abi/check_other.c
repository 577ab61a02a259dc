/* SPDX-License-Identifier: Apache-2.0 */
/* What no limit is about: libraries, run paths, hardening, machine, framework flavour, C++ ABI. */
#include <string.h>

#include "abi/collector.h"
#include "abi/mangled.h"
#include "abi/tables.h"
#include "base/error.h"
#include "base/view.h"

typedef struct check {
    const kernels_abi_image *image;
    const kernels_abi_limits *limits;
    size_t policy;
    kernels_abi_collector *collector;
} check;

static kernels_status warn(const check *one, kernels_abi_kind kind, kernels_view name, const char *text,
                           kernels_error *error) {
    const kernels_abi_draft draft = {.kind = kind, .severity = KERNELS_ABI_WARNING, .name = name};
    if (name.data == NULL) {
        return kernels_abi_collect(one->collector, &draft, error, "%s", text);
    }
    return kernels_abi_collect(one->collector, &draft, error, "`%.*s` %s", KERNELS_VIEW_ARGS(name), text);
}

/* ---- needed libraries ---- */

#define TORCH 1u
#define TVM_FFI 2u
#define BACKEND(name) (1u << (8 + KERNELS_BACKEND_##name))
#define ANY_BACKEND (0xffu << 8)

typedef struct library_row {
    const char *prefix; /* the file name begins with it */
    unsigned users;     /* frameworks or backends that bring it; 0 = everybody may need it */
} library_row;

static const library_row linux_libraries[] = {
    {"ld-linux", 0},
    {"ld64.so", 0},
    {"libgomp.so.1", 0},
    {"libtorch", TORCH},
    {"libc10", TORCH},
    {"libshm.so", TORCH},
    {"libtvm_ffi.so", TVM_FFI},
    {"libcudart.so", BACKEND(CUDA)},
    {"libcuda.so.1", BACKEND(CUDA)},
    {"libcublas", BACKEND(CUDA)},
    {"libcudnn", BACKEND(CUDA)},
    {"libcufft", BACKEND(CUDA)},
    {"libcurand", BACKEND(CUDA)},
    {"libcusolver", BACKEND(CUDA)},
    {"libcusparse", BACKEND(CUDA)},
    {"libcupti", BACKEND(CUDA)},
    {"libnvrtc", BACKEND(CUDA)},
    {"libnvJitLink", BACKEND(CUDA)},
    {"libnvToolsExt", BACKEND(CUDA)},
    {"libnccl.so", BACKEND(CUDA)},
    {"libamdhip64.so", BACKEND(ROCM)},
    {"libhsa-runtime64.so", BACKEND(ROCM)},
    {"libhip", BACKEND(ROCM)},
    {"libroc", BACKEND(ROCM)},
    {"libMIOpen.so", BACKEND(ROCM)},
    {"librccl.so", BACKEND(ROCM)},
    {"libamd_comgr.so", BACKEND(ROCM)},
    {"libroctx", BACKEND(ROCM)},
    {"libsycl.so", BACKEND(XPU)},
    {"libOpenCL.so", BACKEND(XPU)},
    {"libze_loader.so", BACKEND(XPU)},
    {"libur_", BACKEND(XPU)},
    {"libmkl_", BACKEND(XPU)},
    {"libdnnl.so", BACKEND(XPU)},
    {"libsvml.so", BACKEND(XPU)},
    {"libirng.so", BACKEND(XPU)},
    {"libimf.so", BACKEND(XPU)},
    {"libintlc.so", BACKEND(XPU)},
    {"libascend", BACKEND(CANN)},
    {"libhccl.so", BACKEND(CANN)},
    {"libnrt.so", BACKEND(NEURON)},
    {"libtpu.so", BACKEND(TPU)},
};
static const library_row macos_libraries[] = {
    {"/usr/lib/", 0},
    {"/System/", 0},
    {"@rpath/libtorch", TORCH},
    {"@rpath/libc10", TORCH},
    {"@rpath/libshm", TORCH},
    {"@rpath/libtvm_ffi", TVM_FFI},
    {"@rpath/libomp.dylib", TORCH},
};
static const library_row windows_libraries[] = {
    {"api-ms-win-", 0},
    {"ext-ms-", 0},
    {"kernel32.dll", 0},
    {"kernelbase.dll", 0},
    {"ntdll.dll", 0},
    {"advapi32.dll", 0},
    {"user32.dll", 0},
    {"shell32.dll", 0},
    {"ole32.dll", 0},
    {"oleaut32.dll", 0},
    {"ws2_32.dll", 0},
    {"bcrypt", 0},
    {"crypt32.dll", 0},
    {"userenv.dll", 0},
    {"dbghelp.dll", 0},
    {"psapi.dll", 0},
    {"ucrtbase.dll", 0},
    {"msvcrt.dll", 0},
    {"vcruntime", 0},
    {"msvcp", 0},
    {"vcomp", 0},
    {"libomp", 0},
    {"python3.dll", 0},
    {"torch", TORCH},
    {"c10", TORCH},
    {"tvm_ffi.dll", TVM_FFI},
    {"cudart64_", BACKEND(CUDA)},
    {"cublas", BACKEND(CUDA)},
    {"cudnn", BACKEND(CUDA)},
    {"nvcuda.dll", BACKEND(CUDA)},
    {"nvrtc", BACKEND(CUDA)},
};

/* What the variant brings along. Nobody knows for a bare object: then everything is allowed. */
static unsigned users_of(const kernels_variant *variant) {
    if (variant == NULL || variant->framework == KERNELS_FRAMEWORK_TORCH_NOARCH) {
        return TORCH | TVM_FFI | ANY_BACKEND;
    }
    return (variant->framework == KERNELS_FRAMEWORK_TVM_FFI ? TVM_FFI : TORCH) | 1u << (8 + variant->backend);
}

static bool is_in(const library_row *rows, size_t count, kernels_view name, unsigned users, bool any_case) {
    for (size_t i = 0; i < count; i++) {
        kernels_view prefix = kernels_view_of(rows[i].prefix), head = kernels_view_slice(name, 0, prefix.size);
        bool is_same = any_case ? kernels_view_equal_ascii_case(head, prefix) : kernels_view_equal(head, prefix);
        if (is_same && (rows[i].users == 0 || (rows[i].users & users) != 0)) {
            return true;
        }
    }
    return false;
}
#define IS_IN(rows, name, users, any_case) is_in(rows, sizeof(rows) / sizeof((rows)[0]), name, users, any_case)

static bool is_whitelisted(kernels_view name, size_t policy) {
    for (size_t i = 0; i < kernels_abi_library_row_count; i++) {
        if (kernels_view_equal_text(name, kernels_abi_library_rows[i].name)) {
            return (kernels_abi_library_rows[i].policies >> policy & 1) != 0;
        }
    }
    return false;
}

static bool is_beside(const kernels_abi_limits *limits, kernels_view library) {
    size_t slash = kernels_view_find_last(library, '/');
    kernels_view name = slash == SIZE_MAX ? library : kernels_view_slice(library, slash + 1, library.size);
    for (size_t i = 0; i < limits->siblings.count; i++) {
        if (kernels_view_equal_text(name, limits->siblings.items[i])) {
            return true;
        }
    }
    return false;
}

static bool is_allowed(const check *one, kernels_view library) {
    unsigned users = users_of(one->limits->variant);
    switch (one->image->format) {
    case KERNELS_ABI_ELF:
        return is_whitelisted(library, one->policy) || IS_IN(linux_libraries, library, users, false);
    case KERNELS_ABI_MACH_O:
        return IS_IN(macos_libraries, library, users, false);
    default:
        return IS_IN(windows_libraries, library, users, true);
    }
}

static kernels_status check_needed(const check *one, kernels_error *error) {
    for (size_t i = 0; i < one->image->needed.count; i++) {
        kernels_view library = one->image->needed.items[i];
        if (kernels_view_starts_with(library, KERNELS_VIEW("libpython3"))) {
            KERNELS_TRY(warn(one, KERNELS_ABI_LIBPYTHON, library,
                             "is one Python version; extensions find Python in their process", error));
        } else if (!is_allowed(one, library) && !is_beside(one->limits, library)) {
            KERNELS_TRY(warn(one, KERNELS_ABI_NEEDED_LIBRARY, library,
                             "is needed, but neither the policy, nor the framework, nor the backend promises it",
                             error));
        }
    }
    return KERNELS_OK;
}

/* ---- run paths ---- */

/* $ORIGIN and what is at most one folder above it. */
static bool is_near(kernels_view path) {
    static const char *const origins[] = {"$ORIGIN", "${ORIGIN}", "@loader_path"};
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        kernels_view origin = kernels_view_of(origins[i]), piece;
        kernels_view rest = kernels_view_slice(path, origin.size, path.size);
        int depth = 1;
        if (!kernels_view_starts_with(path, origin) || (rest.size > 0 && rest.data[0] != '/')) {
            continue;
        }
        while (kernels_view_split(&rest, '/', &piece)) {
            depth += kernels_view_equal_text(piece, "..")                     ? -1
                     : piece.size == 0 || kernels_view_equal_text(piece, ".") ? 0
                                                                              : 1;
            if (depth < 0) {
                return false;
            }
        }
        return true;
    }
    return false;
}

static kernels_status check_run_path(const check *one, kernels_error *error) {
    for (size_t i = 0; i < one->image->run_path.count; i++) {
        kernels_view path = one->image->run_path.items[i];
        if (!is_near(path)) {
            KERNELS_TRY(warn(one, KERNELS_ABI_RUN_PATH, path,
                             "is searched for libraries: code of strangers may be loaded from there; use $ORIGIN or "
                             "no run path",
                             error));
        }
    }
    return KERNELS_OK;
}

/* ---- hardening ---- */

static kernels_status check_hardening(const check *one, kernels_error *error) {
    const kernels_abi_image *image = one->image;
    const kernels_view none = {NULL, 0};
    if (image->has_writable_code) {
        KERNELS_TRY(warn(one, KERNELS_ABI_WRITABLE_CODE, none, "a segment is both writable and executable", error));
    }
    if (image->format != KERNELS_ABI_ELF) {
        return KERNELS_OK;
    }
    if (image->has_stack_note ? image->has_executable_stack : image->is_x86) {
        KERNELS_TRY(warn(one, KERNELS_ABI_EXECUTABLE_STACK, none,
                         "it asks for an executable stack, which newer systems refuse to load (link with "
                         "-z noexecstack)",
                         error));
    }
    if (image->has_text_relocations) {
        KERNELS_TRY(warn(one, KERNELS_ABI_TEXT_RELOCATIONS, none,
                         "its code is changed when it is loaded (compile with -fPIC)", error));
    }
    if (!image->has_relro) {
        KERNELS_TRY(warn(one, KERNELS_ABI_NO_RELRO, none, "its tables stay writable after loading (link with -z relro)",
                         error));
    }
    if (image->unique_count > 0) {
        KERNELS_TRY(warn(one, KERNELS_ABI_UNIQUE_SYMBOLS, image->unique_symbol,
                         "is a symbol of the whole process (STB_GNU_UNIQUE): two versions of a kernel share it, and "
                         "neither can be unloaded (compile with -fno-gnu-unique)",
                         error));
    }
    return KERNELS_OK;
}

/* ---- undefined symbols without a version ---- */

/* Libraries that do not version their symbols, by how those begin. */
static const char *const unversioned_prefixes[] = {
    "Py",
    "_Py",
    "aoti_torch_",
    "torch_",
    "TVMFFI",
    "cuda",
    "__cuda",
    "cu",
    "nv",
    "nccl",
    "hip",
    "__hip",
    "roc",
    "hsa_",
    "rccl",
    "miopen",
    "cl",
    "ze",
    "ur",
    "sycl",
    "acl",
    "nrt_",
    "THP",
    "_ITM_",
    "__gmon_start__",
    "__cxa_finalize",
    "__tls_get_addr",
    "_Unwind",
    "omp_",
    "GOMP_",
    "__kmpc_",
};
static const char *const unversioned_scopes[] = {"c10", "at", "torch", "caffe2", "tvm", "sycl", "pybind11", "oneapi"};

static bool is_explained(const kernels_abi_symbol *symbol) {
    if (symbol->version != 0 || symbol->is_weak || symbol->is_static) {
        return true;
    }
    for (size_t i = 0; i < sizeof unversioned_prefixes / sizeof unversioned_prefixes[0]; i++) {
        if (kernels_view_starts_with(symbol->name, kernels_view_of(unversioned_prefixes[i]))) {
            return true;
        }
    }
    kernels_abi_scope scope = kernels_abi_scope_of(symbol->name);
    for (size_t i = 0; i < sizeof unversioned_scopes / sizeof unversioned_scopes[0]; i++) {
        if (kernels_abi_scope_is(&scope, unversioned_scopes[i], NULL)) {
            return true;
        }
    }
    return false;
}

/* Only where some symbols have versions: musl and hand-made libraries have none at all. */
static kernels_status check_unversioned(const check *one, kernels_error *error) {
    const kernels_abi_image *image = one->image;
    const kernels_abi_symbol *first = NULL;
    size_t count = 0;
    if (image->format != KERNELS_ABI_ELF || image->version_count < 2 || one->limits->siblings.count > 1) {
        return KERNELS_OK;
    }
    for (size_t i = 0; i < image->symbol_count; i++) {
        if (!is_explained(&image->symbols[i])) {
            first = first == NULL || kernels_view_compare(image->symbols[i].name, first->name) < 0 ? &image->symbols[i]
                                                                                                   : first;
            count++;
        }
    }
    if (first == NULL) {
        return KERNELS_OK;
    }
    const kernels_abi_draft draft = {
        .kind = KERNELS_ABI_UNVERSIONED, .severity = KERNELS_ABI_WARNING, .name = first->name};
    return kernels_abi_collect(one->collector, &draft, error,
                               "%zu undefined symbols have no version and belong to no known library (`%.*s`%s): any "
                               "library of the process may provide them",
                               count, KERNELS_VIEW_ARGS(first->name), count > 1 ? ", ..." : "");
}

/* ---- against the variant ---- */

static bool is_machine(const kernels_abi_image *image, const char *cpu) {
    bool is_arm = strcmp(image->machine, "arm64") == 0 || strcmp(image->machine, "arm64e") == 0;
    return strcmp(is_arm ? "aarch64" : image->machine, cpu) == 0;
}

static kernels_status check_machine(const check *one, const kernels_variant *variant, kernels_error *error) {
    bool fits = is_machine(one->image, variant->cpu) && strcmp(one->image->os, variant->os) == 0;
    const kernels_abi_draft draft = {.kind = KERNELS_ABI_WRONG_MACHINE,
                                     .severity = KERNELS_ABI_WARNING,
                                     .name = kernels_view_of(one->image->machine)};
    return fits ? KERNELS_OK
                : kernels_abi_collect(one->collector, &draft, error, "it is for %s on %s, the variant for %s on %s",
                                      one->image->machine, one->image->os, variant->cpu, variant->os);
}

static kernels_status check_framework(const check *one, kernels_error *error) {
    for (size_t i = 0; i < one->image->symbol_count; i++) {
        if (kernels_view_starts_with(one->image->symbols[i].name, KERNELS_VIEW("TVMFFI"))) {
            return warn(one, KERNELS_ABI_WRONG_FRAMEWORK, one->image->symbols[i].name,
                        "is tvm-ffi's, but the variant is for torch", error);
        }
    }
    return KERNELS_OK;
}

/* torch's symbols exist with one std::string only: with the other one the library does not load. */
static kernels_status check_cxx_abi(const check *one, const kernels_variant *variant, kernels_error *error) {
    bool is_new = variant->cxx11_abi == KERNELS_CXX11_ABI_NEW;
    kernels_abi_strings wrong = is_new ? KERNELS_ABI_OLD_STRING : KERNELS_ABI_NEW_STRING;
    for (size_t i = 0; i < one->image->symbol_count && one->image->format == KERNELS_ABI_ELF; i++) {
        kernels_view name = one->image->symbols[i].name;
        kernels_abi_scope scope = kernels_abi_scope_of(name);
        char readable[KERNELS_ABI_DEMANGLED_SIZE];
        if (!kernels_abi_scope_is_torch(&scope) || kernels_abi_strings_of(name) != wrong) {
            continue;
        }
        kernels_abi_demangle(name, readable);
        const kernels_abi_draft draft = {
            .kind = KERNELS_ABI_WRONG_CXX_ABI, .name = kernels_view_of(readable), .mangled = name};
        KERNELS_TRY(kernels_abi_collect(one->collector, &draft, error,
                                        "`%s` takes the std::string of the %s C++ ABI, but the variant is %s", readable,
                                        is_new ? "old" : "new", is_new ? "cxx11" : "cxx98"));
    }
    return KERNELS_OK;
}

static kernels_status check_variant(const check *one, kernels_error *error) {
    const kernels_variant *variant = one->limits->variant;
    if (variant == NULL || variant->framework == KERNELS_FRAMEWORK_TORCH_NOARCH) {
        return KERNELS_OK;
    }
    KERNELS_TRY(check_machine(one, variant, error));
    if (variant->framework != KERNELS_FRAMEWORK_TVM_FFI) {
        KERNELS_TRY(check_framework(one, error));
    }
    return variant->framework == KERNELS_FRAMEWORK_TORCH ? check_cxx_abi(one, variant, error) : KERNELS_OK;
}

kernels_status kernels_abi_image_other(const kernels_abi_part *part, size_t policy, const kernels_abi_limits *limits,
                                       kernels_abi_collector *collector, kernels_error *error) {
    const check one = {&part->image, limits, policy, collector};
    collector->check = KERNELS_ABI_CHECK_OTHER;
    if (part->image.format == KERNELS_ABI_ELF && !part->image.has_dynamic) {
        return warn(&one, KERNELS_ABI_NOT_SHARED, (kernels_view){NULL, 0},
                    "it has no dynamic table: no loader can load it", error);
    }
    KERNELS_TRY(check_needed(&one, error));
    KERNELS_TRY(check_run_path(&one, error));
    KERNELS_TRY(check_hardening(&one, error));
    KERNELS_TRY(check_unversioned(&one, error));
    return check_variant(&one, error);
}
