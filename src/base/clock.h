/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SRC_BASE_CLOCK_H
#define KERNELS_SRC_BASE_CLOCK_H

#include <stdint.h>

uint64_t kernels_clock_nanoseconds(void); /* monotonic */
void kernels_clock_sleep_ms(unsigned milliseconds);

#endif
