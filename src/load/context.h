/* SPDX-License-Identifier: Apache-2.0 */
/* What every load of one thread shares: the Hub, what this machine is, where warnings go, what was seen and loaded. */
#ifndef KERNELS_SRC_LOAD_CONTEXT_H
#define KERNELS_SRC_LOAD_CONTEXT_H

#include "hub/hub.h"
#include "kernels/load.h"
#include "load/commit_tree.h"
#include "load/failure.h"

struct kernels_context {
    kernels_hub *hub;
    kernels_system system;
    bool system_is_detected; /* rather than given */
    void (*warning)(void *payload, const char *category, const char *message);
    void (*progress)(void *payload, const char *file, uint64_t done, uint64_t total);
    bool (*cancelled)(void *payload);
    void *payload;
    kernels_commit_trees trees;
    kernels_failure failure; /* of the last call */
    /* the registry (registry.c), dependencies first */
    kernels_kernel **kernels;
    size_t kernel_count, kernel_capacity;
};

/* What a warning is about; the words are those of kernels_context_options. */
#define KERNELS_WARNING_TRUST "trust"
#define KERNELS_WARNING_VERSIONS "versions"
#define KERNELS_WARNING_DIRTY "dirty"
#define KERNELS_WARNING_STATUS "status"
#define KERNELS_WARNING_VARIANTS "variants"
#define KERNELS_WARNING_HUB "hub"

/* One warning of the format "..." to the context's callback. */
void kernels_context_warn(kernels_context *context, const char *category, const char *format, ...) KERNELS_PRINTF(3, 4);

#endif
