/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "abi/elf.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

/* The top bit of an entry of .gnu.version only hides a symbol. */
#define VERSION_MASK 0x7fffu

/* ---- needed versions ---- */

/* From the number that symbols use to the index in part->versions; 0 = none. */
typedef struct version_map {
    uint32_t *indices; /* VERSION_MASK + 1 */
} version_map;

static kernels_status add_need(const kernels_elf *elf, const kernels_elf_tables *tables, uint64_t offset,
                               kernels_view library, version_map *map, uint64_t *next, kernels_error *error) {
    kernels_cursor cursor = kernels_cursor_at(tables->needs, offset);
    kernels_cursor_skip(&cursor, 6); /* hash, flags */
    uint16_t number = kernels_cursor_u16(&cursor);
    uint32_t name_offset = kernels_cursor_u32(&cursor);
    *next = kernels_cursor_u32(&cursor);
    kernels_view name;
    if (cursor.failed || !kernels_bytes_text(tables->strings, name_offset, &name) || !kernels_view_is_utf8(name)) {
        return kernels_abi_damaged(elf->part, error, "a needed version is outside its table, or its name is");
    }
    return kernels_abi_part_add_version(elf->part, name, library, &map->indices[number & VERSION_MASK], error);
}

/* One library with its versions. budget bounds the versions of all: each takes 16 bytes of the table. */
static kernels_status add_library(const kernels_elf *elf, const kernels_elf_tables *tables, uint64_t offset,
                                  version_map *map, uint64_t *budget, uint64_t *next, kernels_error *error) {
    kernels_cursor cursor = kernels_cursor_at(tables->needs, offset);
    kernels_cursor_skip(&cursor, 2);
    uint16_t count = kernels_cursor_u16(&cursor);
    uint32_t file = kernels_cursor_u32(&cursor);
    uint64_t at = offset + kernels_cursor_u32(&cursor);
    *next = kernels_cursor_u32(&cursor);
    kernels_view library;
    if (cursor.failed || !kernels_bytes_text(tables->strings, file, &library) || !kernels_view_is_utf8(library)) {
        return kernels_abi_damaged(elf->part, error, "a needed version's library is outside its table");
    }
    KERNELS_TRY(kernels_abi_part_count_name(elf->part, library, error));
    for (uint16_t i = 0; i < count; i++) {
        uint64_t step = 0;
        if ((*budget)-- == 0) {
            return kernels_abi_damaged(elf->part, error, "its table of needed versions has overlapping entries");
        }
        KERNELS_TRY(add_need(elf, tables, at, library, map, &step, error));
        if (step == 0) {
            break;
        }
        at += step;
    }
    return KERNELS_OK;
}

static kernels_status read_needs(const kernels_elf *elf, const kernels_elf_tables *tables, version_map *map,
                                 kernels_error *error) {
    uint64_t at = 0, budget = tables->needs.size / 16;
    for (uint32_t i = 0; i < tables->need_count; i++) {
        uint64_t step = 0;
        KERNELS_TRY(add_library(elf, tables, at, map, &budget, &step, error));
        if (step == 0) {
            break;
        }
        at += step;
    }
    return KERNELS_OK;
}

/* ---- symbols ---- */

typedef struct raw_symbol {
    uint32_t name;
    uint8_t info;
    uint16_t section;
} raw_symbol;

static raw_symbol load_symbol(const kernels_elf *elf, const uint8_t *from) {
    bool big = elf->bytes.is_big_endian;
    return (raw_symbol){kernels_load_u32(from, big), from[elf->is_64_bit ? 4 : 12],
                        kernels_load_u16(from + (elf->is_64_bit ? 6 : 14), big)};
}

enum { BIND_LOCAL = 0, BIND_WEAK = 2, BIND_UNIQUE = 10 };

static kernels_status add_defined(kernels_abi_part *part, const kernels_elf_tables *tables, raw_symbol raw,
                                  kernels_error *error) {
    unsigned bind = raw.info >> 4;
    if (tables->is_static || bind == BIND_LOCAL || raw.name >= tables->strings.size) {
        return KERNELS_OK;
    }
    part->image.defined_count++;
    kernels_view name;
    if (bind == BIND_UNIQUE && part->image.unique_count++ == 0 &&
        kernels_bytes_text(tables->strings, raw.name, &name) && kernels_view_is_utf8(name)) {
        part->image.unique_symbol = name;
    }
    if (part->lists_exports && kernels_abi_is_entry(tables->strings.data + raw.name, tables->strings.size - raw.name) &&
        kernels_bytes_text(tables->strings, raw.name, &name) && kernels_view_is_utf8(name)) {
        KERNELS_TRY(kernels_abi_part_count_name(part, name, error));
        return kernels_abi_list_add(&part->exports, name, error);
    }
    return KERNELS_OK;
}

/* GNU ld writes versions of static symbols into their names: name@VERSION, name@@VERSION. */
static kernels_status split_version(kernels_abi_part *part, kernels_abi_symbol *symbol, kernels_error *error) {
    size_t first = kernels_view_find(symbol->name, '@'), last = kernels_view_find_last(symbol->name, '@');
    if (first == SIZE_MAX) {
        return KERNELS_OK;
    }
    kernels_view version = kernels_view_slice(symbol->name, last + 1, symbol->name.size);
    symbol->name = kernels_view_slice(symbol->name, 0, first);
    if (version.size == 0) {
        return KERNELS_OK;
    }
    /* Neighbours mostly share versions, so a look at the latest few keeps the list short at no cost. */
    for (size_t i = part->version_count, looked = 0; i > 1 && looked < 64; i--, looked++) {
        if (kernels_view_equal(part->versions[i - 1].name, version)) {
            symbol->version = (uint32_t)i - 1;
            return KERNELS_OK;
        }
    }
    return kernels_abi_part_add_version(part, version, (kernels_view){"", 0}, &symbol->version, error);
}

static kernels_status add_undefined(const kernels_elf *elf, const kernels_elf_tables *tables, raw_symbol raw,
                                    uint32_t version, kernels_error *error) {
    kernels_abi_part *part = elf->part;
    kernels_abi_symbol symbol = {
        .version = version, .is_weak = raw.info >> 4 == BIND_WEAK, .is_static = tables->is_static};
    if (raw.name == 0) {
        return KERNELS_OK;
    }
    if (!kernels_bytes_text(tables->strings, raw.name, &symbol.name)) {
        return kernels_abi_damaged(part, error, "the name of an undefined symbol is outside the table of names");
    }
    if (tables->is_static && !part->symtab_only && kernels_view_is_utf8(symbol.name)) {
        KERNELS_TRY(split_version(part, &symbol, error));
    }
    part->versions[symbol.version].is_used = true;
    return kernels_abi_part_add_symbol(part, &symbol, error);
}

static kernels_status read_all(const kernels_elf *elf, const kernels_elf_tables *tables, const version_map *map,
                               kernels_error *error) {
    size_t size = kernels_elf_symbol_size(elf), count = tables->symbols.size / size;
    for (size_t i = tables->first; i < count; i++) {
        raw_symbol raw = load_symbol(elf, tables->symbols.data + i * size);
        if (raw.section != 0) {
            KERNELS_TRY(add_defined(elf->part, tables, raw, error));
            continue;
        }
        uint32_t version = 0;
        if (i < tables->versions.size / 2) {
            uint16_t number = kernels_load_u16(tables->versions.data + i * 2, elf->bytes.is_big_endian);
            version = map->indices[number & VERSION_MASK];
        }
        KERNELS_TRY(add_undefined(elf, tables, raw, version, error));
    }
    return KERNELS_OK;
}

kernels_status kernels_elf_read_symbols(const kernels_elf *elf, const kernels_elf_tables *tables,
                                        kernels_error *error) {
    KERNELS_CLEANUP_FREE uint32_t *indices = kernels_calloc(VERSION_MASK + 1, sizeof indices[0]);
    version_map map = {indices};
    if (indices == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(read_needs(elf, tables, &map, error));
    indices[0] = indices[1] = 0; /* local and global: no version */
    return read_all(elf, tables, &map, error);
}
