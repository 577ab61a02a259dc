/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PJRT plugins from C: find one, open it, compile portable StableHLO for the device that is there
 * (client) or for a TPU that is not (topology), run it on host tensors.
 *
 *     char *path = NULL, *trace = NULL;
 *     kernels_pjrt_plugin *plugin;
 *     kernels_pjrt_plugin_search("tpu", &options, &path, &trace, error);
 *     kernels_pjrt_plugin_open(path, &plugin, error);
 *     kernels_pjrt_compile_for_topology(plugin, "v5e:1x1", program, &stats, error);
 *     kernels_pjrt_plugin_close(plugin);
 *
 * A plugin stays mapped until the process ends: none of them supports being unloaded. Everything the
 * plugin says is copied, so no result depends on the plugin's memory. Objects may be used from any
 * thread, one thread at a time each; a client may be shared.
 */
#ifndef KERNELS_SRC_RUNTIME_PJRT_H
#define KERNELS_SRC_RUNTIME_PJRT_H

#include "kernels/base.h"
#include "kernels/runtime.h"

/* Most bytes of a program that is handed to a plugin. */
#define KERNELS_PJRT_PROGRAM_SIZE_LIMIT ((size_t)256 * 1024 * 1024)

/* ---- finding a plugin ---- */

typedef struct kernels_pjrt_search_options {
    const char *plugin;        /* path given by the user: nothing else is looked at; NULL = search */
    const char *site_packages; /* of the Python in use; NULL or "" = none */
} kernels_pjrt_search_options;

/*
 * Looks for the plugin of a platform ("tpu", "cpu", any name) in this order: the option, then
 * PJRT_NAMES_AND_LIBRARY_PATHS ("name:path,name:path"), then TPU_LIBRARY_PATH (tpu only), then
 * site-packages (libtpu/libtpu.so for tpu, xla_plugins/<folder>/ for the others), then the system's library
 * path. path receives heap text (kernels_free). trace (may be NULL) receives one line a place with what was
 * found there, on success and on failure alike; heap text. A path named by the option or a variable that is no
 * file ends the search. KERNELS_PLUGIN_NOT_FOUND carries the trace in its message.
 */
kernels_status kernels_pjrt_plugin_search(const char *platform, const kernels_pjrt_search_options *options, char **path,
                                          char **trace, kernels_error *error);

/* ---- plugin ---- */

typedef struct kernels_pjrt_plugin kernels_pjrt_plugin;

/* Maps the library and takes its function table. Creates no client and takes no device. */
kernels_status kernels_pjrt_plugin_open(const char *path, kernels_pjrt_plugin **plugin, kernels_error *error);
/* Frees our record of it; the library stays mapped. NULL allowed. */
void kernels_pjrt_plugin_close(kernels_pjrt_plugin *plugin);
const char *kernels_pjrt_plugin_path(const kernels_pjrt_plugin *plugin);
void kernels_pjrt_plugin_version(const kernels_pjrt_plugin *plugin, int *major, int *minor);
/* Value of a version attribute ("stablehlo_current_version") as "1.13.0"; false = the plugin does not tell. */
bool kernels_pjrt_plugin_attribute(const kernels_pjrt_plugin *plugin, const char *name, char text[64]);

/* ---- compiling without a device ---- */

/* What the compiler says of a program. -1 = the plugin does not tell. */
typedef struct kernels_pjrt_stats {
    int64_t code_bytes, argument_bytes, output_bytes, temporary_bytes, alias_bytes, peak_bytes;
    double flops, bytes_accessed;
    char device_kind[64]; /* "TPU v5 lite"; "" = unknown */
    size_t device_count;  /* of the topology */
} kernels_pjrt_stats;

/*
 * Compiles for a named topology ("v5e:1x1"), one replica and one partition, and throws the result away.
 * KERNELS_COMPILE: the compiler refused, its message follows; KERNELS_NOT_FOUND: unknown topology name;
 * KERNELS_PLUGIN: anything else. libtpu wants its environment prepared before it is opened, and may
 * crash: run this in a child process.
 */
kernels_status kernels_pjrt_compile_for_topology(const kernels_pjrt_plugin *plugin, const char *topology,
                                                 kernels_view program, kernels_pjrt_stats *stats, kernels_error *error);

/* ---- client ---- */

typedef struct kernels_pjrt_client kernels_pjrt_client;
typedef struct kernels_pjrt_executable kernels_pjrt_executable;

/* Takes the device. The client keeps the plugin open: it may be closed at any time. */
kernels_status kernels_pjrt_client_new(const kernels_pjrt_plugin *plugin, kernels_pjrt_client **client,
                                       kernels_error *error);
kernels_pjrt_client *kernels_pjrt_client_share(kernels_pjrt_client *client); /* one more owner */
void kernels_pjrt_client_free(kernels_pjrt_client *client);                  /* NULL allowed */
const char *kernels_pjrt_client_platform(const kernels_pjrt_client *client); /* "cpu", "tpu" */
const char *kernels_pjrt_client_plugin_path(const kernels_pjrt_client *client);

/* name goes into messages. The executable keeps the client. */
kernels_status kernels_pjrt_compile(kernels_pjrt_client *client, kernels_view program, const char *name,
                                    size_t output_count, kernels_pjrt_executable **executable, kernels_error *error);
/* The compiled program as bytes (heap), for kernels_pjrt_deserialize of the same plugin on a machine of the same kind.
 * KERNELS_UNSUPPORTED: the plugin cannot do that. */
kernels_status kernels_pjrt_serialize(const kernels_pjrt_executable *executable, char **bytes, size_t *size,
                                      kernels_error *error);
/* As kernels_pjrt_compile, from those bytes. They hold machine code: give only what is known to be whole. */
kernels_status kernels_pjrt_deserialize(kernels_pjrt_client *client, kernels_view bytes, const char *name,
                                        size_t output_count, kernels_pjrt_executable **executable,
                                        kernels_error *error);
void kernels_pjrt_executable_free(kernels_pjrt_executable *executable); /* NULL allowed */

/* One host array: compact, row-major, at least kernels_shape_bytes(shape) bytes. */
typedef struct kernels_pjrt_array {
    const kernels_shape *shape;
    void *data;
} kernels_pjrt_array;

/* Copies in, runs, copies out; returns when the outputs are complete. */
kernels_status kernels_pjrt_execute(kernels_pjrt_executable *executable, const kernels_pjrt_array *inputs,
                                    size_t input_count, const kernels_pjrt_array *outputs, size_t output_count,
                                    kernels_error *error);

#endif
