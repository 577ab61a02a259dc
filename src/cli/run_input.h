/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of `kernels run`: a .npy file, or a shape text with a filling ("f32[256,1024]:random"). */
#ifndef KERNELS_SRC_CLI_RUN_INPUT_H
#define KERNELS_SRC_CLI_RUN_INPUT_H

#include "kernels/runtime.h"

typedef struct kernels_run_input {
    const char *text; /* as given */
    kernels_shape shape;
    char *memory;    /* heap */
    DLTensor tensor; /* over memory; its shape points into this struct, so do not copy it */
} kernels_run_input;

/* KERNELS_USAGE when the text is neither. random: from seed 0, standard normal, integers 0 to 9, booleans; the
 * same numbers on every machine for integers, up to rounding for floats. */
kernels_status kernels_run_input_read(const char *text, kernels_run_input *input, kernels_error *error);
void kernels_run_input_dispose(kernels_run_input *input);

#endif
