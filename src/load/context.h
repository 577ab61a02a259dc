/* SPDX-License-Identifier: Apache-2.0 */
/* What every load of one thread shares: the Hub, what this machine is, where warnings go. */
#ifndef KERNELS_SRC_LOAD_CONTEXT_H
#define KERNELS_SRC_LOAD_CONTEXT_H

#include "hub/hub.h"
#include "kernels/load.h"

struct kernels_context {
    kernels_hub *hub;
    kernels_system system;
    void (*warning)(void *payload, const char *message);
    void (*progress)(void *payload, const char *file, uint64_t done, uint64_t total);
    bool (*cancelled)(void *payload);
    void *payload;
};

/* One warning of the format "..." to the context's callback. */
void kernels_context_warn(kernels_context *context, const char *format, ...) KERNELS_PRINTF(2, 3);

#endif
