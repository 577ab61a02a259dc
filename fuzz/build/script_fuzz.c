/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_script_scan and what is asked about its tokens: Python files of a kernel. */
#include "base/error.h"
#include "build/registration_check.h"
#include "build/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every question about every line, as the registration check and the card ask them. */
static void ask(const kernels_script *script) {
    for (size_t i = 0; i < script->line_count; i++) {
        size_t begin = script->lines[i].begin, end = script->lines[i].end, first = 0, first_end = 0;
        kernels_script_call call;
        kernels_buffer text = KERNELS_BUFFER_INIT((size_t)1024 * 1024);
        (void)kernels_script_constant_string(script, begin, end, &text);
        (void)kernels_script_find(script, begin, end, "=");
        if (kernels_script_parse_call(script, begin, end, &call)) {
            (void)kernels_script_first_positional(script, &call, &first, &first_end);
        }
        kernels_buffer_dispose(&text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_view text = {(const char *)data, size};
    kernels_script script;
    kernels_registrations found = {0};
    if (kernels_script_scan(text, "m.py", &script, NULL) == KERNELS_OK) {
        ask(&script);
        kernels_script_dispose(&script);
    }
    (void)kernels_registration_scan(text, "m.py", "m", &found, NULL);
    kernels_registrations_dispose(&found);
    return 0;
}
