/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels/abi.h - what a compiled kernel demands of the machine it is loaded on: reads ELF, Mach-O and PE the way
 * a loader does (dynamic tables; section headers may be absent) and compares that with what the kernel promises:
 * manylinux policy, Python's stable ABI, macOS version, torch's stable ABI, tvm-ffi.
 *
 *     kernels_abi_object *object = NULL;
 *     kernels_abi_findings findings = {0};
 *     if (kernels_abi_object_open("k.abi3.so", 0, &object, &error) == KERNELS_OK &&
 *         kernels_abi_check_manylinux(object, "manylinux_2_28", &findings, &error) == KERNELS_OK) {
 *         for (size_t i = 0; i < findings.count; i++) { puts(findings.items[i].message); }
 *     }
 *     kernels_abi_findings_dispose(&findings);
 *     kernels_abi_object_free(object);
 *
 * An error means that the question could not be answered (no such file, damaged table); a finding is an answer.
 * Files are mapped, not read: of a library of 500 MB a few pages are touched. Objects and findings are immutable.
 *
 * Since 0.1.
 */
#ifndef KERNELS_ABI_H
#define KERNELS_ABI_H

#include "kernels/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- objects ---- */

typedef enum kernels_abi_format {
    KERNELS_ABI_COFF = 0, /* recognised only: not loadable */
    KERNELS_ABI_ELF = 1,
    KERNELS_ABI_MACH_O = 2,
    KERNELS_ABI_PE = 3,
    KERNELS_ABI_WASM = 4,  /* recognised only */
    KERNELS_ABI_XCOFF = 5, /* recognised only */
    KERNELS_ABI_UNKNOWN = 6,
} kernels_abi_format;

KERNELS_API const char *kernels_abi_format_name(kernels_abi_format format); /* "ELF", "Mach-O", ... */
/* From the first bytes of a file; a universal Mach-O is KERNELS_ABI_MACH_O. Looks at nothing but magic numbers. */
KERNELS_API kernels_abi_format kernels_abi_recognise(kernels_view bytes);

typedef enum kernels_abi_flags {
    /* ELF: only the first static symbol table, as released checkers read it; for comparison with them. */
    KERNELS_ABI_SYMTAB_ONLY = 1,
    /* List the exports too, which means a look at the name of every defined symbol. */
    KERNELS_ABI_EXPORTS = 2,
} kernels_abi_flags;

/* A library and version that an object asks the loader for ("GLIBC_2.34" of "libc.so.6"). */
typedef struct kernels_abi_version {
    kernels_view name;
    kernels_view library; /* empty: unknown */
    bool is_used;         /* by a symbol */
} kernels_abi_version;

/* A symbol that somebody else has to define. */
typedef struct kernels_abi_symbol {
    kernels_view name; /* Mach-O: without the leading underscore */
    uint32_t version;  /* index into the image's versions; 0 = none */
    uint32_t library;  /* PE, Mach-O: index into needed, plus 1; 0 = unknown */
    bool is_weak;
    bool is_static; /* from the static symbol table alone; loaders do not see it */
} kernels_abi_symbol;

/* A GPU architecture for which an object holds code: "sm_90a", "compute_80" (PTX), "gfx942". */
typedef struct kernels_abi_gpu_arch {
    char name[32];
} kernels_abi_gpu_arch;

typedef struct kernels_abi_texts {
    const kernels_view *items;
    size_t count;
} kernels_abi_texts;

/* One loadable object: a file, or a slice of a universal file. Texts lie in the mapped file. */
typedef struct kernels_abi_image {
    kernels_abi_format format;
    const char *machine;     /* "x86_64", "aarch64", "arm64", ... or "machine 0x1234" */
    const char *policy_arch; /* its name in manylinux policies, or NULL */
    const char *os;          /* "linux", "darwin", "windows": which variants it may stand in */
    bool is_64_bit, is_big_endian, is_shared;
    bool is_device_code;        /* ELF of a GPU (cubin, code object): no loader of this system looks at it */
    kernels_view name;          /* SONAME, install name; empty = none */
    kernels_abi_texts needed;   /* libraries, in the object's order */
    kernels_abi_texts run_path; /* elements of RPATH, RUNPATH, LC_RPATH */
    const kernels_abi_version *versions;
    size_t version_count; /* with the empty one at 0 */
    const kernels_abi_symbol *symbols;
    size_t symbol_count;
    kernels_abi_texts exports; /* with KERNELS_ABI_EXPORTS: PyInit_*, __tvm_ffi_*, what a kernel is entered by */
    size_t defined_count;
    const kernels_abi_gpu_arch *gpu_archs; /* ascending, each once */
    size_t gpu_arch_count;
    bool gpu_is_compressed; /* there is device code whose architectures cannot be read */
    /* ELF: what the loader is asked for */
    bool has_dynamic, has_stack_note, has_executable_stack, has_text_relocations, has_writable_code, has_relro,
        has_bind_now, is_x86;
    kernels_view unique_symbol; /* a defined STB_GNU_UNIQUE symbol */
    size_t unique_count;
    /* Mach-O */
    bool has_minimum_os;
    unsigned platform; /* 1 = macOS; 0 = none said */
    kernels_version minimum_os;
} kernels_abi_image;

typedef struct kernels_abi_object kernels_abi_object;

/* Maps the file and reads its tables; flags of kernels_abi_flags. What is no ELF, Mach-O or PE is
 * KERNELS_UNSUPPORTED_EDITION and says what it is; a damaged one is KERNELS_SYNTAX. */
KERNELS_API kernels_status kernels_abi_object_open(const char *path, unsigned flags, kernels_abi_object **object,
                                                   kernels_error *error);
/* The same for bytes in memory, which must outlive the object; name goes into messages. */
KERNELS_API kernels_status kernels_abi_object_open_memory(kernels_view bytes, const char *name, unsigned flags,
                                                          kernels_abi_object **object, kernels_error *error);
KERNELS_API void kernels_abi_object_free(kernels_abi_object *object);

KERNELS_API kernels_abi_format kernels_abi_object_format(const kernels_abi_object *object);
KERNELS_API const char *kernels_abi_object_path(const kernels_abi_object *object);
/* One, or the slices of a universal Mach-O. */
KERNELS_API size_t kernels_abi_object_image_count(const kernels_abi_object *object);
KERNELS_API const kernels_abi_image *kernels_abi_object_image(const kernels_abi_object *object, size_t index);

/* ---- findings ---- */

typedef enum kernels_abi_check {
    KERNELS_ABI_CHECK_MANYLINUX,
    KERNELS_ABI_CHECK_PYTHON,
    KERNELS_ABI_CHECK_MACOS,
    KERNELS_ABI_CHECK_TORCH,
    KERNELS_ABI_CHECK_TVM_FFI,
    KERNELS_ABI_CHECK_OTHER,
} kernels_abi_check;
KERNELS_API const char *kernels_abi_check_name(kernels_abi_check check); /* "manylinux", "python", ... */

typedef enum kernels_abi_kind {
    KERNELS_ABI_VERSION_NOT_ALLOWED, /* manylinux: name, dep, version */
    KERNELS_ABI_FORBIDDEN_SYMBOL,    /* manylinux: name, dep = library */
    KERNELS_ABI_TOO_NEW,             /* python, torch: name, added */
    KERNELS_ABI_NOT_ABI3,            /* python: name */
    KERNELS_ABI_NOT_STABLE_DLL,      /* python: name of the DLL */
    KERNELS_ABI_OTHER_PLATFORM,      /* python: name exists on another platform or in debug builds only */
    KERNELS_ABI_OS_VERSION_TOO_NEW,  /* macos: version */
    KERNELS_ABI_OS_VERSION_MISSING,  /* macos */
    KERNELS_ABI_WRONG_OS,            /* macos: built for iOS, ... */
    KERNELS_ABI_NOT_STABLE,          /* torch, tvm-ffi: name (demangled), mangled */
    KERNELS_ABI_UNKNOWN_SHIM,        /* torch: name */
    KERNELS_ABI_UNKNOWN_FUNCTION,    /* tvm-ffi: name */
    KERNELS_ABI_WRONG_FRAMEWORK,     /* tvm-ffi, other: name */
    KERNELS_ABI_WRONG_CXX_ABI,       /* other: name, mangled */
    KERNELS_ABI_NEEDED_LIBRARY,      /* other: name of the library */
    KERNELS_ABI_LIBPYTHON,           /* other: name of the library */
    KERNELS_ABI_RUN_PATH,            /* other: name = the element */
    KERNELS_ABI_EXECUTABLE_STACK,    /* other */
    KERNELS_ABI_TEXT_RELOCATIONS,    /* other */
    KERNELS_ABI_WRITABLE_CODE,       /* other */
    KERNELS_ABI_NO_RELRO,            /* other */
    KERNELS_ABI_UNIQUE_SYMBOLS,      /* other: name of one of them */
    KERNELS_ABI_UNVERSIONED,         /* other: name of one of them */
    KERNELS_ABI_NOT_SHARED,          /* other */
    KERNELS_ABI_WRONG_MACHINE,       /* other: name = machine found */
    KERNELS_ABI_FILE_NAME,           /* other: ".abi3.so" promises what the object breaks */
    KERNELS_ABI_GPU_ARCHITECTURE,    /* other: name = the architecture */
    KERNELS_ABI_NAME_CLASH,          /* other: name exported by two libraries of one variant */
    KERNELS_ABI_OUTSIDE_LINK,        /* other: a link that leaves the kernel's folder */
    KERNELS_ABI_KIND_COUNT,
} kernels_abi_kind;
KERNELS_API const char *kernels_abi_kind_name(kernels_abi_kind kind); /* "too-new", ... */

typedef enum kernels_abi_severity {
    KERNELS_ABI_ERROR,   /* breaks the promise */
    KERNELS_ABI_WARNING, /* counts with --strict */
} kernels_abi_severity;

/* Texts that a kind does not have are NULL. */
typedef struct kernels_abi_finding {
    kernels_abi_check check;
    kernels_abi_kind kind;
    kernels_abi_severity severity;
    const char *slice;   /* machine of the slice of a universal file */
    const char *name;    /* symbol, library, ... */
    const char *mangled; /* as in the file, when name is demangled */
    const char *dep, *version, *added;
    const char *library; /* that has to provide it */
    const char *message; /* one sentence: what breaks which promise, and what would satisfy it */
} kernels_abi_finding;

typedef struct kernels_abi_findings {
    const kernels_abi_finding *items; /* by check, then kind, then name */
    size_t count;
    void *owner; /* private */
} kernels_abi_findings;
KERNELS_API void kernels_abi_findings_dispose(kernels_abi_findings *findings);

/* ---- single checks; each replaces *findings ---- */

/* policy: a name or an alias ("manylinux2014"). An unknown policy, or a machine that it does not know, is an error. */
KERNELS_API kernels_status kernels_abi_check_manylinux(const kernels_abi_object *object, const char *policy,
                                                       kernels_abi_findings *findings, kernels_error *error);
KERNELS_API kernels_status kernels_abi_check_python(const kernels_abi_object *object, const kernels_version *limit,
                                                    kernels_abi_findings *findings, kernels_error *error);
KERNELS_API kernels_status kernels_abi_check_macos(const kernels_abi_object *object, const kernels_version *limit,
                                                   kernels_abi_findings *findings, kernels_error *error);
KERNELS_API kernels_status kernels_abi_check_torch(const kernels_abi_object *object, const kernels_version *limit,
                                                   kernels_abi_findings *findings, kernels_error *error);
KERNELS_API kernels_status kernels_abi_check_tvm_ffi(const kernels_abi_object *object, const kernels_version *limit,
                                                     kernels_abi_findings *findings, kernels_error *error);

/* ---- all checks ---- */

typedef struct kernels_abi_limits {
    const char *manylinux;          /* NULL = KERNELS_ABI_DEFAULT_MANYLINUX */
    kernels_version python;         /* count 0 = 3.9 */
    kernels_version macos;          /* count 0 = 26.0 in a metal variant, else 15.0 */
    kernels_version torch;          /* count 0 = that of a torch-stable-abi variant, else not checked */
    const kernels_variant *variant; /* the build variant it belongs to, or NULL */
    kernels_strings siblings;       /* names of the libraries beside it, which it may need */
} kernels_abi_limits;
#define KERNELS_ABI_DEFAULT_MANYLINUX "manylinux_2_28"

/* What an object needs at least. Count 0 or NULL: nothing of that kind. */
typedef struct kernels_abi_floors {
    kernels_version glibc, python, torch;
    const char *manylinux; /* the oldest policy that it satisfies; NULL = none, or no ELF */
} kernels_abi_floors;

/* Of one image; damaged tables are an error. */
KERNELS_API kernels_status kernels_abi_floors_of(const kernels_abi_object *object, size_t index,
                                                 kernels_abi_floors *floors, kernels_error *error);

typedef struct kernels_abi_report {
    kernels_abi_findings findings;
    kernels_abi_floors floors;
    kernels_version python, macos, torch; /* limits in force; count 0 = not checked */
    const char *manylinux;                /* likewise, as given; NULL = not checked */
    size_t error_count, warning_count;
} kernels_abi_report;

/* Those checks that fit the object: manylinux for ELF, macOS for Mach-O, ... */
KERNELS_API kernels_status kernels_abi_check_all(const kernels_abi_object *object, const kernels_abi_limits *limits,
                                                 kernels_abi_report *report, kernels_error *error);
KERNELS_API void kernels_abi_report_dispose(kernels_abi_report *report);

/* ---- the tables ---- */

/* Where a table of symbols comes from. */
typedef struct kernels_abi_source {
    const char *table;                    /* "manylinux", "python_stable_abi", ... */
    const char *package, *version, *date; /* of the public package; date of its newest file */
    const char *sha256;                   /* of the package */
} kernels_abi_source;
KERNELS_API const kernels_abi_source *kernels_abi_data_sources(size_t *count);

#ifdef __cplusplus
}
#endif

#endif
