/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels/resolve.h - what this machine is, and which build variant fits it and why.
 *
 * Since 0.1.
 */
#ifndef KERNELS_RESOLVE_H
#define KERNELS_RESOLVE_H

#include "kernels/base.h"
#include "kernels/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Facts that say where they come from; the backend has backend_reason. */
typedef enum kernels_fact {
    KERNELS_FACT_PLATFORM, /* os, cpu, macos */
    KERNELS_FACT_GLIBC,
    KERNELS_FACT_PYTHON, /* python, free_threaded */
    KERNELS_FACT_SITE_PACKAGES,
    KERNELS_FACT_TORCH,
    KERNELS_FACT_TORCH_CXX11_ABI,
    KERNELS_FACT_TVM_FFI,
    KERNELS_FACT_TPU_GENERATION,
    KERNELS_FACT_GPU_ARCHITECTURES,
} kernels_fact;
#define KERNELS_FACT_COUNT 9
#define KERNELS_ORIGIN_SIZE 96

/* "platform", "glibc", "torch_cxx11_abi", ...: its name in JSON and in Python. */
KERNELS_API const char *kernels_fact_name(kernels_fact fact);

/* Everything about a machine that decides on a variant. Text members are "" when unknown. */
typedef struct kernels_system {
    char os[32];                     /* "linux", "darwin", "windows" */
    char cpu[32];                    /* "x86_64", "aarch64" */
    kernels_backend backend;         /* detected */
    kernels_version backend_version; /* cuda, rocm, xpu, cann: major.minor; count 0 = none */
    kernels_version torch;           /* major.minor; count 0 = no torch */
    kernels_cxx11_abi torch_cxx11_abi;
    kernels_version tvm_ffi; /* count 0 = absent */
    kernels_version macos;   /* count 0 = not macOS */
    bool free_threaded;
    char glibc[32];
    char python[32];          /* "3.11" or, where known, "3.11.2"; "" = no interpreter known */
    char site_packages[4096]; /* "" = none */
    char tpu_generation[16];  /* "v4", "v5e", ... from PCI; "" = no TPU */
    char backend_reason[256]; /* where the backend comes from, for people */
    char torch_text[128];     /* "2.15.0+cu132", "" = no torch */
    char tvm_ffi_text[64];    /* "0.1.15", "" = absent */
    bool needs_torch;         /* files do not decide on the backend: only a process that imports torch knows;
                                 backend is the best guess */
    bool has_alternative;     /* another backend, besides cpu, that may be selected by name */
    kernels_backend alternative;
    kernels_version alternative_version;
    char gpu_architectures[256]; /* as sysfs tells them: "gfx90a, gfx942", "9.0"; "" = unknown */
    char origins[KERNELS_FACT_COUNT][KERNELS_ORIGIN_SIZE]; /* where each fact comes from, for people; "" = unknown */
} kernels_system;

/* Major and minor of a version text of Python packages ("2.15.0+cu132" is 2.15); count 0 when it starts with no
 * number. */
KERNELS_API kernels_version kernels_version_major_minor(kernels_view text);

typedef struct kernels_system_options {
    const char *site_packages;        /* NULL: KERNELS_PYTHON, else VIRTUAL_ENV, else none */
    const char *sysfs_root;           /* prefix of /sys and /dev, for tests; NULL = "" */
    const char *const *more_packages; /* further folders that this Python imports from */
    size_t more_package_count;
    const char *simulate; /* "tpu": the backend is that one, whatever is found; "" = none; NULL: KERNELS_SIMULATE */
} kernels_system_options;

/* Detects without initialising a device and without starting Python. options may be NULL. */
KERNELS_API kernels_status kernels_system_detect(const kernels_system_options *options, kernels_system *system,
                                                 kernels_error *error);
/* The backend's variant text: "cu130", "tpu". */
KERNELS_API void kernels_system_backend_text(const kernels_system *system, char text[64]);

/* ---- single facts, for a caller that has imported torch and decides by what that says ----
 * root is a prefix of /sys, /dev and /etc, "" outside tests. No device is opened. */

typedef enum kernels_tpu_presence {
    KERNELS_TPU_NONE,
    KERNELS_TPU_PRESENT,
    KERNELS_TPU_UNKNOWN, /* an accelerator of the vendor that this table does not know */
} kernels_tpu_presence;

/* The one presence test: PCI ids and device nodes. generation receives "v6e", or "". */
KERNELS_API kernels_tpu_presence kernels_tpu_scan(const char *root, char generation[16]);
/* Device nodes are there of a GPU that a torch built for these could use. */
KERNELS_API bool kernels_gpu_is_usable(const char *root, bool cuda, bool hip, bool xpu);
/* Version of the CUDA runtime that the dynamic linker's cache knows; count 0 = none. Opens the library only when the
 * cache names one. *mute: there is none but one that does not tell its version. */
KERNELS_API kernels_version kernels_cudart_version(const char *root, bool *mute);

/* ---- choosing ---- */

/* Selected backend: NULL = the detected one; else "cpu", the detected name or that of the alternative
 * (KERNELS_INVALID_ARGUMENT listing them otherwise). */
KERNELS_API kernels_status kernels_system_select_backend(const kernels_system *system, const char *name,
                                                         kernels_system *selected, kernels_error *error);

typedef struct kernels_decision {
    kernels_variant variant;
    bool accepted;
    char *reason;    /* why it was rejected; NULL when accepted */
    size_t position; /* of its name among those that were resolved, in the order in which they were taken */
} kernels_decision;

/* All candidates in order of preference, accepted before rejected. */
typedef struct kernels_decisions {
    kernels_decision *items;
    size_t count;
    size_t accepted_count;
} kernels_decisions;

/* Names that are no variant names are skipped and given to on_invalid (may be NULL). The result does not
 * depend on the order of names. */
KERNELS_API kernels_status kernels_resolve_variants(const kernels_system *system, const char *const *names,
                                                    size_t count, void (*on_invalid)(void *payload, const char *name),
                                                    void *payload, kernels_decisions *decisions, kernels_error *error);
/* The same without the sorting: equals stay in the order of names, and so does position. */
KERNELS_API kernels_status kernels_resolve_in_order(const kernels_system *system, const char *const *names,
                                                    size_t count, kernels_decisions *decisions, kernels_error *error);
KERNELS_API void kernels_decisions_dispose(kernels_decisions *decisions);
/* One line a decision; heap text (kernels_string_free), NULL = no memory. */
KERNELS_API char *kernels_decisions_trace(const kernels_decisions *decisions);

#ifdef __cplusplus
}
#endif

#endif
