/* SPDX-License-Identifier: Apache-2.0 */
#include "build/variant_log.h"

#define LOG_LIMIT ((size_t)64 * 1024 * 1024) /* what is over it is lost */
#define LINE_LIMIT ((size_t)64 * 1024)

void kernels_variant_log_init(kernels_variant_log *log, const char *variant) {
    *log = (kernels_variant_log){.variant = variant, .text = KERNELS_BUFFER_INIT(LOG_LIMIT)};
}

void kernels_variant_log_add(void *payload, const char *line) {
    kernels_variant_log *log = payload;
    kernels_buffer_printf(&log->text, "%s\n", line);
    if (log->stream) {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer named = KERNELS_BUFFER_INIT(LINE_LIMIT);
        kernels_buffer_printf(&named, "%s> %s", log->variant, line);
        log->stream(log->payload, kernels_buffer_text(&named));
    }
}

kernels_view kernels_variant_log_tail(const kernels_variant_log *log) {
    kernels_view text = kernels_buffer_view(&log->text);
    size_t begin = text.size, breaks = 0;
    while (begin > 0 && breaks <= KERNELS_LOG_TAIL_LINES) {
        begin--;
        breaks += text.data[begin] == '\n';
    }
    begin += breaks > KERNELS_LOG_TAIL_LINES ? 1 : 0;
    return text.size ? (kernels_view){text.data + begin, text.size - begin} : text;
}

void kernels_variant_log_dispose(kernels_variant_log *log) { kernels_buffer_dispose(&log->text); }
