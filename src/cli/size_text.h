/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SRC_CLI_SIZE_TEXT_H
#define KERNELS_SRC_CLI_SIZE_TEXT_H

#include <stdint.h>

#define KERNELS_SIZE_TEXT 32

/* "812 B", "4.1 kB", "1.3 GB" (powers of 1000) into an array of KERNELS_SIZE_TEXT. */
void kernels_size_text(char *text, uint64_t bytes);

#endif
