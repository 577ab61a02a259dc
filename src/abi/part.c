/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/part.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

kernels_status kernels_abi_part_init(kernels_abi_part *part, const char *path, kernels_bytes bytes,
                                     kernels_error *error) {
    uint32_t none;
    *part = (kernels_abi_part){.path = path, .bytes = bytes};
    return kernels_abi_part_add_version(part, (kernels_view){"", 0}, (kernels_view){"", 0}, &none, error);
}

void kernels_abi_part_dispose(kernels_abi_part *part) {
    kernels_free(part->symbols);
    kernels_free(part->versions);
    kernels_free(part->gpu_archs);
    kernels_free(part->needed.items);
    kernels_free(part->run_path.items);
    kernels_free(part->exports.items);
    kernels_error_dispose(&part->symbols_error);
    *part = (kernels_abi_part){0};
}

static int compare_archs(const void *a, const void *b) {
    return strcmp(((const kernels_abi_gpu_arch *)a)->name, ((const kernels_abi_gpu_arch *)b)->name);
}

static kernels_abi_texts texts(const kernels_abi_list *list) { return (kernels_abi_texts){list->items, list->count}; }

void kernels_abi_part_finish(kernels_abi_part *part) {
    kernels_abi_image *image = &part->image;
    if (part->gpu_arch_count > 0) {
        qsort(part->gpu_archs, part->gpu_arch_count, sizeof part->gpu_archs[0], compare_archs);
    }
    image->symbols = part->symbols;
    image->symbol_count = part->symbol_count;
    image->versions = part->versions;
    image->version_count = part->version_count;
    image->gpu_archs = part->gpu_archs;
    image->gpu_arch_count = part->gpu_arch_count;
    image->needed = texts(&part->needed);
    image->run_path = texts(&part->run_path);
    image->exports = texts(&part->exports);
}

kernels_status(kernels_abi_damaged)(const kernels_abi_part *part, kernels_error *error, const char *format, ...) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(4096);
    va_list arguments;
    va_start(arguments, format);
    kernels_buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    return kernels_fail(error, KERNELS_SYNTAX, "%s is damaged: %s", part->path, kernels_buffer_text(&text));
}

kernels_status kernels_abi_list_add(kernels_abi_list *list, kernels_view text, kernels_error *error) {
    if (!kernels_grow((void **)&list->items, &list->capacity, list->count, sizeof list->items[0],
                      KERNELS_ABI_LIST_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    list->items[list->count++] = text;
    return KERNELS_OK;
}

kernels_status kernels_abi_part_count_name(kernels_abi_part *part, kernels_view name, kernels_error *error) {
    part->name_bytes += name.size;
    return part->name_bytes > KERNELS_ABI_NAME_SLACK + part->bytes.size * KERNELS_ABI_NAME_FACTOR
               ? kernels_abi_damaged(part, error, "its names overlap: together they are many times its size")
               : KERNELS_OK;
}

kernels_status kernels_abi_part_add_version(kernels_abi_part *part, kernels_view name, kernels_view library,
                                            uint32_t *index, kernels_error *error) {
    KERNELS_TRY(kernels_abi_part_count_name(part, name, error));
    if (!kernels_grow((void **)&part->versions, &part->version_capacity, part->version_count, sizeof part->versions[0],
                      KERNELS_ABI_LIST_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    *index = (uint32_t)part->version_count;
    part->versions[part->version_count++] = (kernels_abi_version){.name = name, .library = library};
    return KERNELS_OK;
}

kernels_status kernels_abi_part_add_symbol(kernels_abi_part *part, const kernels_abi_symbol *symbol,
                                           kernels_error *error) {
    KERNELS_TRY(kernels_abi_part_count_name(part, symbol->name, error));
    if (!kernels_view_is_utf8(symbol->name)) {
        return kernels_abi_damaged(part, error, "the name of an undefined symbol is not UTF-8");
    }
    if (!kernels_grow((void **)&part->symbols, &part->symbol_capacity, part->symbol_count, sizeof part->symbols[0],
                      KERNELS_ABI_LIST_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    part->symbols[part->symbol_count++] = *symbol;
    return KERNELS_OK;
}

kernels_status kernels_abi_part_add_gpu_arch(kernels_abi_part *part, const char *name, kernels_error *error) {
    for (size_t i = part->gpu_arch_count; i > 0; i--) {
        if (strcmp(part->gpu_archs[i - 1].name, name) == 0) {
            return KERNELS_OK;
        }
    }
    /* Known ones are tens; a file that claims more than this is not searched through again and again. */
    if (part->gpu_arch_count == 256) {
        return kernels_fail(error, KERNELS_LIMIT, "%s holds device code for more than 256 architectures", part->path);
    }
    if (!kernels_grow((void **)&part->gpu_archs, &part->gpu_arch_capacity, part->gpu_arch_count,
                      sizeof part->gpu_archs[0], 256)) {
        return kernels_fail_no_memory(error);
    }
    kernels_abi_gpu_arch *arch = &part->gpu_archs[part->gpu_arch_count++];
    (void)snprintf(arch->name, sizeof arch->name, "%s", name);
    return KERNELS_OK;
}

bool kernels_abi_is_entry(const uint8_t *name, size_t size) {
    return (size > 7 && memcmp(name, "PyInit_", 7) == 0) || (size > 10 && memcmp(name, "__tvm_ffi_", 10) == 0);
}

void kernels_abi_set_unknown_machine(kernels_abi_part *part, unsigned number) {
    (void)snprintf(part->machine, sizeof part->machine, "machine %#x", number);
    part->image.machine = part->machine;
}
