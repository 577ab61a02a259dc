/* SPDX-License-Identifier: Apache-2.0 */
/* Text from a server or a caller made fit for an error message or a terminal: control characters, ESC,
 * newlines and the invisible marks that reorder text are escaped, the length is bounded. Pure. */
#ifndef KERNELS_SRC_HUB_PRINTABLE_H
#define KERNELS_SRC_HUB_PRINTABLE_H

#include "kernels/base.h"

/* Most bytes shown, with the NUL. */
#define KERNELS_PRINTABLE_SIZE 501

/* Writes text into out; what does not fit ends in "...". */
void kernels_printable(char out[KERNELS_PRINTABLE_SIZE], kernels_view text);

#endif
