/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/part.h"
#include "base/error.h"
#include "base/view.h"

/* Imported DLLs, and names of one DLL. */
#define IMPORT_LIMIT 65536u
#define EXPORT_LIMIT 65536u
/* More than Windows loads. */
#define SECTION_LIMIT 96u

enum { DIRECTORY_EXPORT = 0, DIRECTORY_IMPORT = 1, DIRECTORY_DELAY_IMPORT = 13 };

typedef struct pe {
    kernels_abi_part *part;
    kernels_bytes bytes;
    bool is_64_bit;
    uint64_t image_base;
    uint64_t directories; /* offset */
    uint32_t directory_count;
    uint64_t sections; /* offset */
    uint16_t section_count;
    uint64_t name_count; /* imported so far: each takes a word of the file */
} pe;

/* ---- headers ---- */

static void set_machine(kernels_abi_part *part, uint16_t machine) {
    static const struct {
        uint16_t number;
        const char *name, *policy_arch;
    } rows[] = {
        {0x8664, "x86_64", "x86_64"}, {0x14c, "i686", "i686"}, {0xaa64, "aarch64", "aarch64"}, {0x1c4, "arm", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].number == machine) {
            part->image.machine = rows[i].name;
            part->image.policy_arch = rows[i].policy_arch;
            return;
        }
    }
    kernels_abi_set_unknown_machine(part, machine);
}

static kernels_status read_header(pe *file, kernels_error *error) {
    kernels_cursor cursor = kernels_cursor_at(file->bytes, 0x3c);
    uint64_t start = kernels_cursor_u32(&cursor);
    cursor = kernels_cursor_at(file->bytes, start + 4);
    uint16_t machine = kernels_cursor_u16(&cursor);
    file->section_count = kernels_cursor_u16(&cursor);
    kernels_cursor_skip(&cursor, 12);
    uint16_t optional_size = kernels_cursor_u16(&cursor), characteristics = kernels_cursor_u16(&cursor);
    uint64_t optional = start + 24;
    uint16_t magic = kernels_cursor_u16(&cursor);
    file->is_64_bit = magic == 0x20b;
    file->sections = optional + optional_size;
    if (cursor.failed || (magic != 0x20b && magic != 0x10b)) {
        return kernels_abi_damaged(file->part, error, "its optional header has the magic number %#x", magic);
    }
    cursor = kernels_cursor_at(file->bytes, optional + (file->is_64_bit ? 24 : 28));
    file->image_base = kernels_cursor_word(&cursor, file->is_64_bit);
    cursor = kernels_cursor_at(file->bytes, optional + (file->is_64_bit ? 108 : 92));
    file->directory_count = kernels_cursor_u32(&cursor);
    file->directories = cursor.at;
    kernels_bytes part;
    if (file->section_count > SECTION_LIMIT) {
        return kernels_abi_damaged(file->part, error, "it has %u sections; %u are the most that are loaded",
                                   file->section_count, SECTION_LIMIT);
    }
    if (cursor.failed || !kernels_bytes_slice(file->bytes, file->sections, file->section_count * 40u, &part)) {
        return kernels_abi_damaged(file->part, error, "its section headers are outside the file");
    }
    set_machine(file->part, machine);
    file->part->image.is_64_bit = file->is_64_bit;
    file->part->image.is_shared = (characteristics & 0x2000) != 0;
    return KERNELS_OK;
}

/* The bytes from a relative virtual address on. */
static kernels_status map(const pe *file, uint64_t address, kernels_bytes *bytes, kernels_error *error) {
    for (uint16_t i = 0; i < file->section_count; i++) {
        kernels_cursor cursor = kernels_cursor_at(file->bytes, file->sections + i * 40u + 8);
        uint32_t memory_size = kernels_cursor_u32(&cursor), start = kernels_cursor_u32(&cursor);
        uint32_t raw_size = kernels_cursor_u32(&cursor), raw = kernels_cursor_u32(&cursor);
        uint32_t size = memory_size > raw_size ? memory_size : raw_size;
        if (address >= start && address - start < size) {
            kernels_bytes section;
            uint64_t rest = raw <= file->bytes.size ? file->bytes.size - raw : 0;
            if (kernels_bytes_slice(file->bytes, raw, raw_size < rest ? raw_size : rest, &section) &&
                kernels_bytes_from(section, address - start, bytes)) {
                return KERNELS_OK;
            }
            break;
        }
    }
    return kernels_abi_damaged(file->part, error, "the address %#llx is in none of its sections",
                               (unsigned long long)address);
}

static kernels_status map_text(const pe *file, uint64_t address, kernels_view *text, kernels_error *error) {
    kernels_bytes bytes = {0};
    KERNELS_TRY(map(file, address, &bytes, error));
    if (!kernels_bytes_text(bytes, 0, text) || !kernels_view_is_utf8(*text)) {
        return kernels_abi_damaged(file->part, error, "a name at address %#llx has no end or is not UTF-8",
                                   (unsigned long long)address);
    }
    return KERNELS_OK;
}

/* Address of a directory, 0 when it is not there. */
static uint64_t directory(const pe *file, uint32_t index) {
    kernels_cursor cursor = kernels_cursor_at(file->bytes, file->directories + index * 8u);
    return index < file->directory_count ? kernels_cursor_u32(&cursor) : 0;
}

/* ---- imports ---- */

/* The names that are taken from one DLL; ordinals have none and are skipped. */
static kernels_status read_names(pe *file, uint64_t table, uint32_t library, kernels_error *error) {
    kernels_bytes entries;
    KERNELS_TRY(map(file, table, &entries, error));
    kernels_cursor cursor = kernels_cursor_at(entries, 0);
    for (uint32_t i = 0; i < IMPORT_LIMIT; i++) {
        uint64_t entry = kernels_cursor_word(&cursor, file->is_64_bit);
        if (cursor.failed) {
            return kernels_abi_damaged(file->part, error, "a list of imported names does not end inside the file");
        }
        if (entry == 0) {
            return KERNELS_OK;
        }
        if (++file->name_count > file->bytes.size / (file->is_64_bit ? 8 : 4)) {
            return kernels_abi_damaged(file->part, error, "its lists of imported names overlap");
        }
        if (entry >> (file->is_64_bit ? 63 : 31) != 0) {
            continue;
        }
        kernels_abi_symbol symbol = {.library = library};
        KERNELS_TRY(map_text(file, (entry & 0x7fffffff) + 2, &symbol.name, error)); /* behind a hint */
        KERNELS_TRY(kernels_abi_part_add_symbol(file->part, &symbol, error));
    }
    return kernels_fail(error, KERNELS_LIMIT, "%s imports more than %u names from one DLL", file->part->path,
                        IMPORT_LIMIT);
}

typedef struct import {
    uint64_t name, names;
} import;

static import read_import(kernels_cursor *cursor) {
    uint32_t lookup = kernels_cursor_u32(cursor);
    kernels_cursor_skip(cursor, 8);
    uint32_t name = kernels_cursor_u32(cursor), addresses = kernels_cursor_u32(cursor);
    return (import){name, lookup != 0 ? lookup : addresses};
}

/* Older linkers wrote absolute addresses here, with bit 0 of the attributes clear. */
static import read_delay_import(const pe *file, kernels_cursor *cursor) {
    uint32_t attributes = kernels_cursor_u32(cursor), name = kernels_cursor_u32(cursor);
    kernels_cursor_skip(cursor, 8);
    uint32_t names = kernels_cursor_u32(cursor);
    kernels_cursor_skip(cursor, 12);
    uint64_t base = name != 0 && (attributes & 1) == 0 ? file->image_base : 0;
    return (import){name - base, names - base};
}

static kernels_status read_imports(pe *file, uint32_t index, kernels_error *error) {
    uint64_t address = directory(file, index);
    kernels_bytes table;
    if (address == 0) {
        return KERNELS_OK;
    }
    KERNELS_TRY(map(file, address, &table, error));
    kernels_cursor cursor = kernels_cursor_at(table, 0);
    for (uint32_t i = 0; i < IMPORT_LIMIT; i++) {
import one = index == DIRECTORY_IMPORT ? read_import(& cursor) :read_delay_import(file, & cursor);
        kernels_view name;
        if (cursor.failed) {
            return kernels_abi_damaged(file->part, error, "its list of imported DLLs does not end inside the file");
        }
        if (one.name == 0) {
            return KERNELS_OK;
        }
        KERNELS_TRY(map_text(file, one.name, &name, error));
        KERNELS_TRY(kernels_abi_part_count_name(file->part, name, error));
        KERNELS_TRY(kernels_abi_list_add(&file->part->needed, name, error));
        KERNELS_TRY(read_names(file, one.names, (uint32_t)file->part->needed.count, error));
    }
    return kernels_fail(error, KERNELS_LIMIT, "%s imports more than %u DLLs", file->part->path, IMPORT_LIMIT);
}

/* ---- exports ---- */

static kernels_status read_exports(const pe *file, kernels_error *error) {
    uint64_t address = directory(file, DIRECTORY_EXPORT);
    kernels_bytes table, names;
    if (address == 0) {
        return KERNELS_OK;
    }
    KERNELS_TRY(map(file, address, &table, error));
    kernels_cursor cursor = kernels_cursor_at(table, 24);
    uint32_t count = kernels_cursor_u32(&cursor);
    kernels_cursor_skip(&cursor, 4);
    uint32_t list = kernels_cursor_u32(&cursor);
    if (cursor.failed || count == 0) {
        return KERNELS_OK;
    }
    if (count > EXPORT_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s exports more than %u names", file->part->path, EXPORT_LIMIT);
    }
    KERNELS_TRY(map(file, list, &names, error));
    cursor = kernels_cursor_at(names, 0);
    for (uint32_t i = 0; i < count; i++) {
        kernels_view name;
        KERNELS_TRY(map_text(file, kernels_cursor_u32(&cursor), &name, error));
        KERNELS_TRY(kernels_abi_part_count_name(file->part, name, error));
        file->part->image.defined_count++;
        if (file->part->lists_exports && kernels_abi_is_entry((const uint8_t *)name.data, name.size)) {
            KERNELS_TRY(kernels_abi_list_add(&file->part->exports, name, error));
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_abi_read_pe(kernels_abi_part *part, kernels_error *error) {
    pe file = {.part = part, .bytes = part->bytes};
    part->image.os = "windows";
    KERNELS_TRY(read_header(&file, error));
    KERNELS_TRY(read_imports(&file, DIRECTORY_IMPORT, error));
    KERNELS_TRY(read_imports(&file, DIRECTORY_DELAY_IMPORT, error));
    return read_exports(&file, error);
}
