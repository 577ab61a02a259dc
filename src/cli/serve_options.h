/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of the embedded hub, one table for `kernels serve` and the program kernels-serve behind it. */
#ifndef KERNELS_SRC_CLI_SERVE_OPTIONS_H
#define KERNELS_SRC_CLI_SERVE_OPTIONS_H

#include "base/options.h"

#define KERNELS_SERVE_PAGE_SIZE_MAX 10000
#define KERNELS_SERVE_TIMEOUT_MAX 86400

extern const kernels_option kernels_serve_options[];
extern const kernels_positional kernels_serve_positionals[];
extern const char kernels_serve_summary[];
extern const char kernels_serve_description[];
extern const char kernels_serve_examples[];

#endif
