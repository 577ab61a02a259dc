/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels/data.h - the formats of the Kernel Hub: backends, names, versions, variant names,
 * build.toml, metadata.json, digests. Pure: nothing here does I/O beyond reading the file or folder
 * it is given. Source of the rules: docs/internals/data.md.
 *
 * Since 0.1.
 */
#ifndef KERNELS_DATA_H
#define KERNELS_DATA_H

#include "kernels/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- backends ---- */

/* Device families, in the fixed order of the formats; the values are part of the ABI. */
typedef enum kernels_backend {
    KERNELS_BACKEND_CANN = 0,
    KERNELS_BACKEND_CPU = 1,
    KERNELS_BACKEND_CUDA = 2,
    KERNELS_BACKEND_METAL = 3,
    KERNELS_BACKEND_NEURON = 4,
    KERNELS_BACKEND_ROCM = 5,
    KERNELS_BACKEND_TPU = 6,
    KERNELS_BACKEND_XPU = 7,
} kernels_backend;
#define KERNELS_BACKEND_COUNT 8

KERNELS_API const char *kernels_backend_name(kernels_backend backend);      /* "cuda" */
KERNELS_API const char *kernels_backend_attribute(kernels_backend backend); /* "CUDA", "Metal", "ROCm" */
/* Name of the noarch variant it builds: "torch-tpu"; "torch-npu" for cann. */
KERNELS_API const char *kernels_backend_noarch_variant(kernels_backend backend);
/* Exact name, as data files want it. On failure KERNELS_INVALID_ARGUMENT listing the accepted names. */
KERNELS_API kernels_status kernels_backend_parse(kernels_view text, kernels_backend *backend, kernels_error *error);
/* ASCII case ignored, as command lines and Python want it. */
KERNELS_API kernels_status kernels_backend_parse_any_case(kernels_view text, kernels_backend *backend,
                                                          kernels_error *error);

/* ---- names ---- */

/* Kernel name: a-z, then a-z 0-9 -, ending in a-z 0-9; at least two characters. */
KERNELS_API bool kernels_name_is_valid(kernels_view name);
/* "soft-max" -> "soft_max"; heap text (free with kernels_string_free), NULL = no memory. */
KERNELS_API char *kernels_name_to_python(kernels_view name);
/* Hub repository id: optional owner and "/", parts of 1-96 word characters, "-", "_", "."; no "--", "..", ".git". */
KERNELS_API kernels_status kernels_repository_id_check(kernels_view id, kernels_error *error);
/* 40 or 64 hex digits, either case. */
KERNELS_API bool kernels_object_id_is_valid(kernels_view text);
/* The same id in lower case; heap text. KERNELS_INVALID_ARGUMENT when it is no object id. */
KERNELS_API kernels_status kernels_object_id_parse(kernels_view text, char **id, kernels_error *error);
/* Module name and op namespace of a kernel on a backend: "_soft_max_tpu_1f2e3d4"; heap text, NULL = no memory. */
KERNELS_API char *kernels_kernel_id(kernels_view name, kernels_backend backend, const char *unique_id);
/* 13 random characters of a-z 2-7 and a NUL: the unique id where git knows none. */
#define KERNELS_UNIQUE_ID_SIZE 14
KERNELS_API kernels_status kernels_unique_id_random(char text[KERNELS_UNIQUE_ID_SIZE], kernels_error *error);
KERNELS_API void kernels_string_free(char *text);

/* ---- git URLs ---- */

/* An absolute URL of scheme https, http, git, ssh, git+ssh, git+https or git+http, or HOST:PATH. */
KERNELS_API kernels_status kernels_git_url_check(kernels_view text, kernels_error *error);
/* Normal form ("git@h:a/b" -> "ssh://git@h/a/b"); heap text. */
KERNELS_API kernels_status kernels_git_url_normalize(kernels_view text, char **normal, kernels_error *error);

/* ---- versions ---- */

#define KERNELS_VERSION_PARTS_MAX 16
typedef struct kernels_version {
    uint64_t parts[KERNELS_VERSION_PARTS_MAX]; /* most significant first; missing parts are 0 */
    size_t count;                              /* of parts as written, trailing zeros kept; 0 = no version */
} kernels_version;
#define KERNELS_VERSION_TEXT_SIZE (KERNELS_VERSION_PARTS_MAX * 21)

/* Decimal parts joined by "."; blanks around are trimmed, one "+" before a part and leading zeros accepted. */
KERNELS_API kernels_status kernels_version_parse(kernels_view text, kernels_version *version, kernels_error *error);
KERNELS_API void kernels_version_print(const kernels_version *version, char text[KERNELS_VERSION_TEXT_SIZE]);
/* <0, 0, >0; missing parts count as 0, so 1.0 equals 1. */
KERNELS_API int kernels_version_compare(const kernels_version *a, const kernels_version *b);

/* ---- variant names ---- */

typedef enum kernels_framework {
    KERNELS_FRAMEWORK_TORCH,            /* torch213-cxx11-cu130-x86_64-linux */
    KERNELS_FRAMEWORK_TORCH_STABLE_ABI, /* torch-stable-abi211-cu130-x86_64-linux */
    KERNELS_FRAMEWORK_TVM_FFI,          /* tvm-ffi01-cpu-x86_64-linux */
    KERNELS_FRAMEWORK_TORCH_NOARCH,     /* torch-tpu */
} kernels_framework;

typedef enum kernels_cxx11_abi {
    KERNELS_CXX11_ABI_NONE = -1,
    KERNELS_CXX11_ABI_OLD = 0, /* "cxx98" */
    KERNELS_CXX11_ABI_NEW = 1, /* "cxx11" */
} kernels_cxx11_abi;

/* One component of a file path bounds every part. */
#define KERNELS_VARIANT_NAME_MAX 255
typedef struct kernels_variant {
    char name[KERNELS_VARIANT_NAME_MAX + 1]; /* the folder's own name; use it for paths */
    kernels_framework framework;
    uint64_t framework_major, framework_minor; /* not for noarch */
    kernels_cxx11_abi cxx11_abi;               /* KERNELS_FRAMEWORK_TORCH only */
    kernels_backend backend;                   /* not for noarch */
    bool backend_has_version;                  /* cuda, rocm, xpu, cann */
    uint64_t backend_major, backend_minor;
    char noarch_name[KERNELS_VARIANT_NAME_MAX + 1]; /* "tpu", "npu", "universal", ... */
    char cpu[KERNELS_VARIANT_NAME_MAX + 1];         /* "x86_64" */
    char os[KERNELS_VARIANT_NAME_MAX + 1];          /* "linux" */
} kernels_variant;

KERNELS_API kernels_status kernels_variant_parse(kernels_view name, kernels_variant *variant, kernels_error *error);
/* Canonical name from the parsed parts (differs from .name for "torch209-..."). */
KERNELS_API void kernels_variant_print(const kernels_variant *variant, char name[KERNELS_VARIANT_NAME_MAX + 1]);
/* "cu130", "cpu", "tpu": the backend part. */
KERNELS_API void kernels_variant_print_backend(const kernels_variant *variant, char text[64]);
KERNELS_API bool kernels_variant_equal(const kernels_variant *a, const kernels_variant *b); /* field by field */

/* ---- dependencies ---- */

/* Another kernel, by exactly one of version number and revision. */
typedef struct kernels_dependency {
    const char *repo_id;
    const char *revision; /* NULL: version is the one in use */
    uint64_t version;
} kernels_dependency;
/* repo id by bytes, then versions before revisions, versions by value, revisions by bytes. */
KERNELS_API int kernels_dependency_compare(const kernels_dependency *a, const kernels_dependency *b);

/* ---- digests ---- */

typedef enum kernels_digest_algorithm { KERNELS_DIGEST_SHA256 = 0, KERNELS_DIGEST_SHA512 = 1 } kernels_digest_algorithm;

typedef struct kernels_file_digest {
    const char *path; /* relative to the variant, parts joined by "/" */
    const char *hash; /* base64 with padding */
} kernels_file_digest;

/* Most files of a variant. */
#define KERNELS_VARIANT_FILES_MAX ((size_t)100000)

/* Hashes of all files of a variant, ascending by bytes of path. */
typedef struct kernels_variant_digest {
    kernels_digest_algorithm algorithm;
    const kernels_file_digest *files;
    size_t count;
    void *owner; /* private; frees everything */
} kernels_variant_digest;

typedef enum kernels_violation_type {
    KERNELS_VIOLATION_MISSING_FILE,
    KERNELS_VIOLATION_UNKNOWN_FILE,
    KERNELS_VIOLATION_HASH_MISMATCH,
    KERNELS_VIOLATION_ALGORITHM_MISMATCH,
} kernels_violation_type;

typedef struct kernels_violation {
    kernels_violation_type type;
    const char *path;           /* not for ALGORITHM_MISMATCH */
    const char *expected, *got; /* HASH_MISMATCH, ALGORITHM_MISMATCH */
} kernels_violation;

typedef struct kernels_violations {
    kernels_violation *items;
    size_t count;
    void *owner; /* private */
} kernels_violations;

/* Hashes a variant folder: every regular file (links to files followed under the link's name; links to
 * folders not entered) but metadata.json and metadata.json.sigstore at its top, __pycache__ and *.pyc. */
KERNELS_API kernels_status kernels_digest_hash_variant(kernels_digest_algorithm algorithm, const char *directory,
                                                       kernels_variant_digest *digest, kernels_error *error);
KERNELS_API void kernels_variant_digest_dispose(kernels_variant_digest *digest);
/* KERNELS_INTEGRITY when they differ: the message has a heading and one line a violation; violations
 * (may be NULL) receives them as data, to be disposed by the caller in that case. */
KERNELS_API kernels_status kernels_digest_validate(const kernels_variant_digest *expected,
                                                   const kernels_variant_digest *got, kernels_violations *violations,
                                                   kernels_error *error);
KERNELS_API void kernels_violations_dispose(kernels_violations *violations);

/* ---- metadata.json ---- */

typedef struct kernels_git_status {
    const char *commit; /* lower-case hex; NULL = unknown */
    bool dirty;
} kernels_git_status;

typedef struct kernels_provenance {
    const char *builder_version; /* NULL: the document has no provenance */
    kernels_git_status builder;
    kernels_git_status kernel;
} kernels_provenance;

typedef struct kernels_strings {
    const char *const *items;
    size_t count;
} kernels_strings;

typedef struct kernels_metadata {
    const char *name;
    const char *id; /* module name and op namespace, "_relu_tpu_tpu_1f2e3d4" */
    uint64_t version;
    kernels_version minver; /* kernels-minver; count 0 = absent */
    const char *license;
    const char *upstream, *source; /* as written; NULL = absent */
    kernels_strings python_depends;
    const kernels_dependency *kernel_depends;
    size_t kernel_depends_count;
    kernels_backend backend;
    bool has_archs;
    kernels_strings archs;
    bool has_digest;
    kernels_variant_digest digest; /* owned by the metadata: do not dispose it by itself */
    kernels_provenance provenance;
    void *owner; /* private; frees everything */
} kernels_metadata;

/* Most bytes of a metadata.json. */
#define KERNELS_METADATA_SIZE_LIMIT ((size_t)16 * 1024 * 1024)

/* name goes into messages (a path, or "metadata"). Unknown keys are ignored; the rest is strict. */
KERNELS_API kernels_status kernels_metadata_parse(kernels_view text, const char *name, kernels_metadata *metadata,
                                                  kernels_error *error);
KERNELS_API kernels_status kernels_metadata_read(const char *path, kernels_metadata *metadata, kernels_error *error);
KERNELS_API void kernels_metadata_dispose(kernels_metadata *metadata);
/* Canonical text (two blanks, no final newline); heap text, kernels_string_free. */
KERNELS_API kernels_status kernels_metadata_print(const kernels_metadata *metadata, char **text, kernels_error *error);

/* ---- build.toml ---- */

typedef enum kernels_framework_kind {
    KERNELS_KIND_TORCH,
    KERNELS_KIND_TORCH_NOARCH,
    KERNELS_KIND_TVM_FFI,
} kernels_framework_kind;

/* Dependencies that hold for one backend only. */
typedef struct kernels_build_backend {
    kernels_version minver, maxver; /* cuda only; count 0 = absent */
    kernels_strings python_depends;
    const kernels_dependency *kernel_depends;
    size_t kernel_depends_count;
} kernels_build_backend;

typedef struct kernels_build_kernel { /* [kernel.<name>] */
    const char *name;
    kernels_backend backend;
    kernels_strings depends, src, include, cxx_flags;
    kernels_strings cuda_capabilities, cuda_flags; /* cuda */
    kernels_version cuda_minver;
    kernels_strings rocm_archs, hip_flags; /* rocm */
    kernels_strings sycl_flags;            /* xpu */
    bool has_include, has_cxx_flags, has_cuda_capabilities, has_cuda_flags, has_rocm_archs, has_hip_flags,
        has_sycl_flags;
} kernels_build_kernel;

typedef struct kernels_build {
    /* [general] */
    const char *name;
    uint64_t version;
    unsigned edition; /* as written: 5, or 4 / 3 for an unmarked file */
    const char *license;
    const char *upstream, *source;   /* NULL = absent */
    const kernels_backend *backends; /* order and repeats as written */
    size_t backend_count;
    kernels_strings python_depends;
    const kernels_dependency *kernel_depends;
    size_t kernel_depends_count;
    const char *hub_repo_id, *hub_branch;                     /* NULL = absent */
    kernels_build_backend per_backend[KERNELS_BACKEND_COUNT]; /* indexed by kernels_backend */
    /* the framework section */
    kernels_framework_kind kind;
    kernels_strings include, pyext, src, cxx_flags;
    bool has_pyext; /* absent behaves as py, pyi */
    kernels_version torch_minver, torch_maxver;
    kernels_version stable_abi[KERNELS_BACKEND_COUNT]; /* count 0 = not stable for that backend */
    kernels_strings cuda_capabilities, rocm_archs;     /* torch-noarch */
    bool has_cuda_capabilities, has_rocm_archs;
    /* [kernel.*] in source order */
    const kernels_build_kernel *kernels;
    size_t kernel_count;
    void *owner; /* private */
} kernels_build;

/* Most bytes of a build.toml. */
#define KERNELS_BUILD_SIZE_LIMIT ((size_t)1024 * 1024)

/* Errors are "<file>:<line>:<column>: <dotted.key>: expected ..., found ...". warning (may be NULL)
 * receives heap text when the file is an older, unmarked edition. */
KERNELS_API kernels_status kernels_build_parse(kernels_view text, const char *name, kernels_build *build,
                                               char **warning, kernels_error *error);
/* Reads <kernel_dir>/build.toml. */
KERNELS_API kernels_status kernels_build_read(const char *kernel_dir, kernels_build *build, char **warning,
                                              kernels_error *error);
KERNELS_API void kernels_build_dispose(kernels_build *build);

/* The text of a build.toml of an older edition as edition 5. What stays keeps its bytes: comments, order,
 * layout. *edition receives the edition it had; *migrated heap text, or NULL for a file of edition 5. license is
 * written where the file has none (NULL: that is an error). */
KERNELS_API kernels_status kernels_build_migrate(kernels_view text, const char *name, const char *license,
                                                 unsigned *edition, char **migrated, kernels_error *error);

/* Kernel dependencies of a backend: the general ones, then the backend's own; repeats are kept. */
KERNELS_API size_t kernels_build_kernel_depends_count(const kernels_build *build, kernels_backend backend);
KERNELS_API const kernels_dependency *kernels_build_kernel_depends_at(const kernels_build *build,
                                                                      kernels_backend backend, size_t index);

/* ---- from build.toml to metadata.json ---- */

/* Are the Python dependencies of every backend known, also of those that the kernel is not built for? KERNELS_SCHEMA
 * names the first that is not, its table and those that are. */
KERNELS_API kernels_status kernels_build_check_python_depends(const kernels_build *build, kernels_error *error);

/* Metadata of the kernel on one backend: id from unique_id, the general and the backend's own dependencies,
 * kernels-minver, archs of a noarch kernel; provenance as given (NULL = none). No digest. A Python dependency
 * that is unknown in general or for this backend is KERNELS_SCHEMA. The texts are copied: build may go. */
KERNELS_API kernels_status kernels_build_metadata(const kernels_build *build, kernels_backend backend,
                                                  const char *unique_id, const kernels_provenance *provenance,
                                                  kernels_metadata *metadata, kernels_error *error);
/* Copies digest into the metadata, in place of the one it may have. */
KERNELS_API kernels_status kernels_metadata_set_digest(kernels_metadata *metadata, const kernels_variant_digest *digest,
                                                       kernels_error *error);
/* Sets backend.archs to the sorted, repeat-free, non-empty texts of archs; copied. */
KERNELS_API kernels_status kernels_metadata_set_archs(kernels_metadata *metadata, kernels_strings archs,
                                                      kernels_error *error);

/* ---- lock files ---- */

typedef enum kernels_lock_kind {
    KERNELS_LOCK_KERNELS, /* kernels.lock: dependency and commit */
    KERNELS_LOCK_NIX,     /* with a hash */
    KERNELS_LOCK_PATHS,   /* dependency and path */
} kernels_lock_kind;

typedef struct kernels_lock {
    kernels_dependency dependency;
    const char *commit; /* lower case; NULL for KERNELS_LOCK_PATHS */
    const char *hash;   /* KERNELS_LOCK_NIX only */
    const char *path;   /* KERNELS_LOCK_PATHS only, as written */
} kernels_lock;

typedef struct kernels_locks {
    kernels_lock_kind kind;
    const kernels_lock *items; /* ascending by dependency; older files: as written */
    size_t count;
    bool older;  /* of a release before 0.17: only repo_id of a dependency is known */
    void *owner; /* private; frees everything */
} kernels_locks;

/* Most bytes of a lock file. */
#define KERNELS_LOCK_SIZE_LIMIT ((size_t)16 * 1024 * 1024)

/* Strict: unknown and repeated keys and repeated dependencies are KERNELS_SCHEMA, the form of releases
 * before 0.17 is KERNELS_UNSUPPORTED_EDITION. name goes into messages. */
KERNELS_API kernels_status kernels_locks_parse(kernels_view text, kernels_lock_kind kind, const char *name,
                                               kernels_locks *locks, kernels_error *error);
/* Reads a kernels.lock of either form; locks->older tells. */
KERNELS_API kernels_status kernels_locks_parse_any(kernels_view text, const char *name, kernels_locks *locks,
                                                   kernels_error *error);
KERNELS_API kernels_status kernels_locks_read(const char *path, kernels_locks *locks, kernels_error *error);
/* Copies and sorts; the same dependency twice and bad commits are KERNELS_INVALID_ARGUMENT. */
KERNELS_API kernels_status kernels_locks_make(kernels_lock_kind kind, const kernels_lock *items, size_t count,
                                              kernels_locks *locks, kernels_error *error);
/* Two blanks, no final newline; heap text. Not for older ones. */
KERNELS_API kernels_status kernels_locks_print(const kernels_locks *locks, char **text, kernels_error *error);
KERNELS_API void kernels_locks_dispose(kernels_locks *locks);
/* The lock of a dependency, or NULL (always for older files). */
KERNELS_API const kernels_lock *kernels_locks_find(const kernels_locks *locks, const kernels_dependency *dependency);
/* The first lock of a repository (its lowest version), or NULL; *count receives how many there are. */
KERNELS_API const kernels_lock *kernels_locks_find_repository(const kernels_locks *locks, kernels_view repo_id,
                                                              size_t *count);

/* {"commit": ...} alone (with "hash" for KERNELS_LOCK_NIX): a kernels_locks of one item without dependency. */
KERNELS_API kernels_status kernels_lock_parse(kernels_view text, kernels_lock_kind kind, const char *name,
                                              kernels_locks *lock, kernels_error *error);
KERNELS_API kernels_status kernels_lock_print(const kernels_lock *lock, kernels_lock_kind kind, char **text,
                                              kernels_error *error);

/* The form of releases before 0.17, for those who still need it. */
typedef struct kernels_older_file {
    const char *path; /* in the repository, "build/torch-cpu/__init__.py" */
    const char *id;   /* SHA-256 of a large file, else git blob id; hex */
} kernels_older_file;

typedef struct kernels_older_variant {
    const char *name;
    const char *hash; /* "sha256-" and hex */
} kernels_older_variant;

typedef struct kernels_older_lock {
    const char *repo_id, *sha;
    const kernels_older_variant *variants;
    size_t variant_count;
    void *owner; /* private */
} kernels_older_lock;

/* Hashes the variants below build/torch* of a listing, in its order. */
KERNELS_API kernels_status kernels_older_lock_make(const char *repo_id, const char *sha,
                                                   const kernels_older_file *files, size_t count,
                                                   kernels_older_lock *lock, kernels_error *error);
KERNELS_API void kernels_older_lock_dispose(kernels_older_lock *lock);
KERNELS_API kernels_status kernels_older_locks_print(const kernels_older_lock *locks, size_t count, char **text,
                                                     kernels_error *error);

/* ---- Python dependencies (data/python_depends.json) ---- */

typedef struct kernels_python_package {
    const char *package; /* name on the package index, "apache-tvm-ffi" */
    const char *import;  /* module that must be importable, "tvm_ffi"; NULL = nothing to import */
} kernels_python_package;

typedef struct kernels_python_dependency {
    const char *name; /* as python-depends lists it, "tvm-ffi" */
    const kernels_python_package *packages;
    size_t package_count;
} kernels_python_dependency;

/* NULL when the name is unknown there. */
KERNELS_API const kernels_python_dependency *kernels_python_dependency_general(kernels_view name);
KERNELS_API const kernels_python_dependency *kernels_python_dependency_backend(kernels_view name,
                                                                               kernels_backend backend);

#ifdef __cplusplus
}
#endif

#endif
