/* SPDX-License-Identifier: Apache-2.0 */
/* How findings come together, and the checks of one image. An image's check adds findings; kernels_abi_collected
 * sorts them and drops repeats. */
#ifndef KERNELS_SRC_ABI_COLLECTOR_H
#define KERNELS_SRC_ABI_COLLECTOR_H

#include "abi/part.h"
#include "base/arena.h"

typedef struct kernels_abi_collector {
    kernels_arena *arena;
    kernels_abi_finding *items;
    size_t count, capacity;
    const char *slice; /* of a universal file, or NULL */
    kernels_abi_check check;
} kernels_abi_collector;

kernels_status kernels_abi_collector_init(kernels_abi_collector *collector, kernels_error *error);
void kernels_abi_collector_dispose(kernels_abi_collector *collector);
/* Sorts, drops repeats, gives the findings to their new owner; the collector becomes empty. */
kernels_status kernels_abi_collected(kernels_abi_collector *collector, kernels_abi_findings *findings,
                                     kernels_error *error);

/* The texts of a finding before they are copied. */
typedef struct kernels_abi_draft {
    kernels_abi_kind kind;
    kernels_abi_severity severity;
    kernels_view name, mangled, dep, version, added, library; /* data NULL: the kind has none */
} kernels_abi_draft;

/* Adds a finding whose message is made from the format. */
kernels_status kernels_abi_collect(kernels_abi_collector *collector, const kernels_abi_draft *draft,
                                   kernels_error *error, const char *format, ...) KERNELS_PRINTF(4, 5);

/* ---- versions ---- */

/* Without trailing zeros; "0" when nothing is left. */
void kernels_abi_version_print(const kernels_version *version, char text[KERNELS_VERSION_TEXT_SIZE]);
/* Reads a symbol's version text; false: it is no version (then it is compared as text). */
bool kernels_abi_version_read(kernels_view text, kernels_version *version);

/* ---- the checks of one image ---- */

/* Index of a policy by name or alias. */
kernels_status kernels_abi_policy_find(const char *name, size_t *index, kernels_error *error);
/* Policies that allow all versions the image needs; *glibc (may be NULL) is raised to the highest of GLIBC. */
uint32_t kernels_abi_policies_of(const kernels_abi_image *image, kernels_version *glibc);

kernels_status kernels_abi_image_manylinux(const kernels_abi_part *part, size_t policy,
                                           kernels_abi_collector *collector, kernels_error *error);
kernels_status kernels_abi_image_python(const kernels_abi_part *part, const kernels_version *limit,
                                        kernels_abi_collector *collector, kernels_error *error);
kernels_status kernels_abi_image_macos(const kernels_abi_part *part, const kernels_version *limit,
                                       kernels_abi_collector *collector, kernels_error *error);
kernels_status kernels_abi_image_torch(const kernels_abi_part *part, const kernels_version *limit,
                                       kernels_abi_collector *collector, kernels_error *error);
kernels_status kernels_abi_image_tvm_ffi(const kernels_abi_part *part, const kernels_version *limit,
                                         kernels_abi_collector *collector, kernels_error *error);
/* Everything that no limit is about. policy: whose libraries are allowed. */
kernels_status kernels_abi_image_other(const kernels_abi_part *part, size_t policy, const kernels_abi_limits *limits,
                                       kernels_abi_collector *collector, kernels_error *error);

/* The lowest limit at which the check passes; count 0: nothing of that kind is used. */
void kernels_abi_python_floor(const kernels_abi_image *image, kernels_version *floor);
void kernels_abi_torch_floor(const kernels_abi_image *image, kernels_version *floor);

#endif
