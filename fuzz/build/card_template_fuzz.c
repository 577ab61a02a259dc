/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_card_template_render: the template language of cards. */
#include "build/card_template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const words[] = {"a", "b", "layers"};
    const kernels_card_variable variables[] = {
        {KERNELS_VIEW("f"), {.type = KERNELS_CARD_LIST, .as.list = {words, 3}}},
        {KERNELS_VIEW("t"), {.type = KERNELS_CARD_TEXT, .as.text = KERNELS_VIEW("text")}},
        {KERNELS_VIEW("n"), {.type = KERNELS_CARD_INTEGER, .as.integer = 7}},
    };
    kernels_buffer out = KERNELS_BUFFER_INIT((size_t)64 * 1024);
    (void)kernels_card_template_render((kernels_view){(const char *)data, size}, "CARD.md", variables, 3, &out, NULL);
    kernels_buffer_dispose(&out);
    return 0;
}
