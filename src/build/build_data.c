/* SPDX-License-Identifier: Apache-2.0 */
#include "build/build_data.h"

#include <string.h>

kernels_view kernels_build_data_find(const char *path) {
    for (size_t i = 0; i < kernels_build_data_count; i++) {
        if (strcmp(kernels_build_data[i].path, path) == 0) {
            return kernels_build_data[i].text;
        }
    }
    return (kernels_view){0};
}
