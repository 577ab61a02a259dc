/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of system detection. Everything is read from files: no Python is started, no torch imported, no
 * device opened. `root` is a prefix of absolute paths, "" outside tests. */
#ifndef KERNELS_SRC_RESOLVE_DETECT_H
#define KERNELS_SRC_RESOLVE_DETECT_H

#include "base/buffer.h"
#include "kernels/resolve.h"

/* ---- the Python in use (python.c) ---- */

typedef struct kernels_python {
    char site_packages[4096]; /* "" = none */
    char version[32];         /* "3.11", "" = unknown */
    bool free_threaded;       /* a build without the global lock, before 3.15 */
    const char *origin;       /* where the folder's name comes from; static text */
} kernels_python;

/* option, else KERNELS_PYTHON (an interpreter), else VIRTUAL_ENV (a folder), else none. A wrong option or
 * KERNELS_PYTHON is an error, a stale VIRTUAL_ENV is not. */
kernels_status kernels_python_find(const char *option, kernels_python *python, kernels_error *error);

/* ---- what is installed there (torch.c) ---- */

typedef struct kernels_torch_facts {
    bool present;      /* a package torch is there */
    bool readable;     /* its version file could be read without running it */
    char version[128]; /* "2.15.0+cu132" */
    char cuda[64];     /* "" = None */
    char hip[64];
    char xpu[64];
    kernels_cxx11_abi cxx11_abi;
    bool other_backend;         /* an entry point in group torch.backends that is not torch_tpu */
    bool torch_tpu;             /* entry point torch_tpu */
    char torch_tpu_version[64]; /* "" = unknown */
    bool libtpu;                /* package libtpu or torch_tpu is there */
    char tvm_ffi[64];           /* "" = absent */
} kernels_torch_facts;

/* Folders that a Python imports packages from, the first one first. */
typedef struct kernels_package_folders {
    const char *const *paths;
    size_t count;
} kernels_package_folders;

/* torch is the one of the first folder that has it; entry points count in all folders. Without folders there is
 * nothing.
 */
kernels_status kernels_torch_read(const kernels_package_folders *folders, kernels_torch_facts *facts,
                                  kernels_error *error);

/* ---- devices (gpu.c); more of them in kernels/resolve.h ---- */

/* Architectures of the GPUs that sysfs knows, each once: "gfx90a, gfx942", "9.0"; "" when there are none or unknown
 * ones only. origin receives where they come from. Opens no device. */
void kernels_gpu_scan(const char *root, char architectures[256], char origin[KERNELS_ORIGIN_SIZE]);

/* ---- put together (system.c) ---- */

typedef struct kernels_detection {
    kernels_backend backend;
    kernels_version version;
    bool needs_torch;     /* the files do not tell: torch must be imported; backend is the best guess */
    bool has_alternative; /* another backend that may be asked for by name */
    kernels_backend alternative;
    kernels_version alternative_version;
} kernels_detection;

/* The rule, given the facts. os: "linux", ... reason may be NULL. */
void kernels_backend_detect(const char *root, const char *os, const kernels_torch_facts *facts,
                            kernels_detection *detection, char tpu_generation[16], kernels_buffer *reason);

#endif
