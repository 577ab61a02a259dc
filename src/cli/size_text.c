/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/size_text.h"

#include <inttypes.h>
#include <stdio.h>

void kernels_size_text(char *text, uint64_t bytes) {
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        (void)snprintf(text, KERNELS_SIZE_TEXT, "%" PRIu64 " B", bytes);
        return;
    }
    double value = (double)bytes / 1000.0;
    unsigned unit = 0;
    while (value >= 999.95 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1000.0;
        unit++;
    }
    (void)snprintf(text, KERNELS_SIZE_TEXT, "%.1f %s", value, units[unit]);
}
