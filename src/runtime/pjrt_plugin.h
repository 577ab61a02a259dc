/* SPDX-License-Identifier: Apache-2.0 */
/* What the pjrt_*.c files share: the plugin's table, its errors, waiting for its events. */
#ifndef KERNELS_SRC_RUNTIME_PJRT_PLUGIN_H
#define KERNELS_SRC_RUNTIME_PJRT_PLUGIN_H

#include "runtime/pjrt.h"
#include "runtime/pjrt_api.h"

struct kernels_pjrt_plugin {
    const kernels_pjrt_api *api; /* the plugin's own, lives as long as the process */
    char *path;
};

/* An argument struct with its first member set, the rest zero. */
#define KERNELS_PJRT_ARGUMENTS(type, ...) \
    { .struct_size = sizeof(type), __VA_ARGS__ }

/* The smallest CompileOptionsProto that works: one replica, one partition. */
extern const char kernels_pjrt_compile_options[6];

/* NULL is KERNELS_OK. Otherwise reads the plugin's message, destroys the error and fails with `status` and
 * "<doing>: <message>". */
kernels_status kernels_pjrt_check(const kernels_pjrt_api *api, kernels_pjrt_api_error *failure, kernels_status status,
                                  const char *doing, kernels_error *error);
/* The code of an error, which stays alive; 0 when the plugin does not tell. */
int kernels_pjrt_error_code(const kernels_pjrt_api *api, const kernels_pjrt_api_error *failure);
/* Waits for the event and destroys it. NULL is KERNELS_OK. */
kernels_status kernels_pjrt_wait(const kernels_pjrt_api *api, kernels_pjrt_api_event *event, const char *doing,
                                 kernels_error *error);
/* One-time set-up, to be done before a client or a topology is made. */
kernels_status kernels_pjrt_initialize(const kernels_pjrt_plugin *plugin, kernels_error *error);
/* The error of a device that could not be taken: if it is libtpu's lock file, says which process holds it. */
kernels_status kernels_pjrt_explain_lock(kernels_status status, kernels_error *error);
/* A member of the table that we need is not there. */
kernels_status kernels_pjrt_missing(const kernels_pjrt_plugin *plugin, const char *member, kernels_error *error);

/* Returns from the calling function when the plugin's table lacks the member. */
#define KERNELS_PJRT_NEED(plugin, member, error)                     \
    do {                                                             \
        if (!KERNELS_PJRT_HAS((plugin)->api, member)) {              \
            return kernels_pjrt_missing((plugin), #member, (error)); \
        }                                                            \
    } while (0)

kernels_pjrt_program kernels_pjrt_program_of(kernels_view bytes);
/* KERNELS_LIMIT, KERNELS_SYNTAX: what cannot be a program does not reach the plugin. */
kernels_status kernels_pjrt_program_check(kernels_view bytes, const char *name, kernels_error *error);

#endif
