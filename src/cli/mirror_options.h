/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of the mirror, one table for `kernels mirror` and the program kernels-mirror behind it. */
#ifndef KERNELS_SRC_CLI_MIRROR_OPTIONS_H
#define KERNELS_SRC_CLI_MIRROR_OPTIONS_H

#include "base/options.h"

extern const kernels_option kernels_mirror_options_table[];
extern const kernels_positional kernels_mirror_positionals[];
extern const char kernels_mirror_summary[];
extern const char kernels_mirror_description[];
extern const char kernels_mirror_examples[];

#endif
