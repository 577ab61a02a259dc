/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aot/manifest.json: which functions a kernel exports, for which shapes, in which files. Unknown keys are
 * ignored, another format is refused; every name and number in it is checked here, so that the rest of the
 * room can use them as they are.
 */
#ifndef KERNELS_SRC_RUNTIME_MANIFEST_H
#define KERNELS_SRC_RUNTIME_MANIFEST_H

#include "kernels/runtime.h"

#define KERNELS_MANIFEST_FORMAT 1
/* Most bytes of a manifest; most functions; most specialisations of one function; most generations. */
#define KERNELS_MANIFEST_SIZE_LIMIT ((size_t)1024 * 1024)
#define KERNELS_MANIFEST_FUNCTIONS_MAX ((size_t)1024)
#define KERNELS_MANIFEST_SPECIALISATIONS_MAX ((size_t)4096)
#define KERNELS_MANIFEST_GENERATIONS_MAX ((size_t)32)
/* Longest name of a function, argument, platform or generation, and longest version text. */
#define KERNELS_MANIFEST_NAME_MAX ((size_t)255)

/* name goes into messages: "<name>:<line>:<column>: ...". */
kernels_status kernels_manifest_parse(kernels_view text, const char *name, kernels_signatures *functions,
                                      kernels_error *error);
/* Reads <variant_directory>/aot/manifest.json. KERNELS_UNSUPPORTED when the variant has no aot/ folder. */
kernels_status kernels_manifest_read(const char *variant_directory, kernels_signatures *functions,
                                     kernels_error *error);
/* Reads <variant_directory>/aot/<file> of a specialisation and compares its SHA-256 with the manifest:
 * KERNELS_INTEGRITY names the file. program is heap memory (kernels_free). */
kernels_status kernels_manifest_read_program(const char *variant_directory,
                                             const kernels_specialisation *specialisation, char **program, size_t *size,
                                             kernels_error *error);

#endif
