/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/user_agent.h"

#include "base/view.h"

static bool has_entry(kernels_view header, kernels_view entry) {
    kernels_view rest = header;
    kernels_view piece;
    while (rest.size > 0 && kernels_view_split(&rest, ';', &piece)) {
        if (kernels_view_equal(kernels_view_trim_ascii(piece), entry)) {
            return true;
        }
    }
    return false;
}

static bool is_printable_ascii(kernels_view text) {
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < 0x20 || text.data[i] > 0x7e) {
            return false;
        }
    }
    return true;
}

/* An entry that cannot stand in a header is left out: a name must never break a request. */
static void add_entries(kernels_buffer *out, kernels_view text) {
    kernels_view rest = text;
    kernels_view piece;
    while (rest.size > 0 && kernels_view_split(&rest, ';', &piece)) {
        kernels_view entry = kernels_view_trim_ascii(piece);
        if (entry.size == 0 || !is_printable_ascii(entry) || has_entry(kernels_buffer_view(out), entry)) {
            continue;
        }
        if (out->size > 0) {
            kernels_buffer_add_text(out, "; ");
        }
        kernels_buffer_add_view(out, entry);
    }
}

void kernels_user_agent_build(kernels_buffer *out, const char *version, const char *client, const char *library_part,
                              bool telemetry, const char *origin) {
    kernels_buffer_printf(out, "kernels/%s", version);
    add_entries(out, kernels_view_of(client));
    if (telemetry) {
        add_entries(out, kernels_view_of(library_part));
    }
    if (origin) {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer entry = KERNELS_BUFFER_INIT(1024);
        kernels_buffer_printf(&entry, "origin/%s", origin);
        add_entries(out, kernels_buffer_view(&entry));
    }
}
