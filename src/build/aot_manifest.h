/* SPDX-License-Identifier: Apache-2.0 */
/* Writes aot/manifest.json from what the author wants (aot.toml) and what the exporter made. The reader is
 * runtime/manifest.h. */
#ifndef KERNELS_SRC_BUILD_AOT_MANIFEST_H
#define KERNELS_SRC_BUILD_AOT_MANIFEST_H

#include "base/buffer.h"
#include "build/aot_config.h"

/* result: the exporter's result.json; its files are hashed where they lie, in directory. */
kernels_status kernels_aot_manifest_write(const kernels_aot_config *config, const kernels_node *result,
                                          const char *directory, kernels_buffer *text, kernels_error *error);

#endif
