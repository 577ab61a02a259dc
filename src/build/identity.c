/* SPDX-License-Identifier: Apache-2.0 */
#include "build/identity.h"

#include <stdio.h>

#define SHORT_DIGITS 7

void kernels_build_id_from_git(const kernels_git_state *state, kernels_build_id_form form, bool dirty,
                               char id[KERNELS_BUILD_ID_SIZE]) {
    const char *object = form == KERNELS_BUILD_ID_TREE ? state->tree : state->commit;
    snprintf(id, KERNELS_BUILD_ID_SIZE, "%.*s%s", SHORT_DIGITS, object, dirty ? "_dirty" : "");
}

void kernels_build_id_from_digest(const char *hex, char id[KERNELS_BUILD_ID_SIZE]) {
    snprintf(id, KERNELS_BUILD_ID_SIZE, "%.*s", SHORT_DIGITS, hex);
}
