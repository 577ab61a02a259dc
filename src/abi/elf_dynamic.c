/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a loader: program headers, PT_DYNAMIC, addresses through PT_LOAD. Section headers play no part. */
#include "abi/elf.h"
#include "base/error.h"
#include "base/view.h"

enum { SEGMENT_LOAD = 1, SEGMENT_DYNAMIC = 2 };

enum {
    TAG_NEEDED = 1,
    TAG_HASH = 4,
    TAG_STRTAB = 5,
    TAG_SYMTAB = 6,
    TAG_STRSZ = 10,
    TAG_SONAME = 14,
    TAG_RPATH = 15,
    TAG_TEXTREL = 22,
    TAG_BIND_NOW = 24,
    TAG_RUNPATH = 29,
    TAG_FLAGS = 30,
    TAG_GNU_HASH = 0x6ffffef5,
    TAG_VERSYM = 0x6ffffff0,
    TAG_FLAGS_1 = 0x6ffffffb,
    TAG_VERNEED = 0x6ffffffe,
    TAG_VERNEEDNUM = 0x6fffffff,
};
enum { FLAG_TEXTREL = 4, FLAG_BIND_NOW = 8, FLAG_1_NOW = 1 };

/* Values of the tags that stand once. */
typedef struct dynamic {
    kernels_bytes table;
    uint64_t hash, strtab, symtab, strsz, gnu_hash, versym, verneed, verneednum;
} dynamic;

static bool find_segment(const kernels_elf *elf, uint32_t type, kernels_elf_segment *segment) {
    for (uint64_t i = 0; i < elf->segment_count; i++) {
        *segment = kernels_elf_segment_at(elf, i);
        if (segment->type == type) {
            return true;
        }
    }
    return false;
}

/* The bytes from a virtual address to the end of its segment. */
static kernels_status map(const kernels_elf *elf, uint64_t address, const char *what, kernels_bytes *bytes,
                          kernels_error *error) {
    for (uint64_t i = 0; i < elf->segment_count; i++) {
        kernels_elf_segment segment = kernels_elf_segment_at(elf, i);
        uint64_t inside = address - segment.address;
        if (segment.type != SEGMENT_LOAD || address < segment.address || inside >= segment.file_size) {
            continue;
        }
        kernels_bytes whole;
        if (kernels_bytes_slice(elf->bytes, segment.offset, segment.file_size, &whole) &&
            kernels_bytes_from(whole, inside, bytes)) {
            return KERNELS_OK;
        }
        break;
    }
    return kernels_abi_damaged(elf->part, error, "its %s at address %#llx is outside the file", what,
                               (unsigned long long)address);
}

static void read_flags(kernels_abi_image *image, uint64_t tag, uint64_t value) {
    image->has_text_relocations |= tag == TAG_TEXTREL || (tag == TAG_FLAGS && (value & FLAG_TEXTREL) != 0);
    image->has_bind_now |= tag == TAG_BIND_NOW || (tag == TAG_FLAGS && (value & FLAG_BIND_NOW) != 0) ||
                           (tag == TAG_FLAGS_1 && (value & FLAG_1_NOW) != 0);
}

/* The next entry; false at the end of the table. */
static bool next_entry(const kernels_elf *elf, kernels_cursor *cursor, uint64_t *tag, uint64_t *value) {
    *tag = kernels_cursor_word(cursor, elf->is_64_bit);
    *value = kernels_cursor_word(cursor, elf->is_64_bit);
    return !cursor->failed && *tag != 0;
}

static void read_tags(const kernels_elf *elf, dynamic *values) {
    kernels_cursor cursor = kernels_cursor_at(values->table, 0);
    uint64_t tag, value;
    while (next_entry(elf, &cursor, &tag, &value)) {
        uint64_t *slot = tag == TAG_HASH         ? &values->hash
                         : tag == TAG_STRTAB     ? &values->strtab
                         : tag == TAG_SYMTAB     ? &values->symtab
                         : tag == TAG_STRSZ      ? &values->strsz
                         : tag == TAG_GNU_HASH   ? &values->gnu_hash
                         : tag == TAG_VERSYM     ? &values->versym
                         : tag == TAG_VERNEED    ? &values->verneed
                         : tag == TAG_VERNEEDNUM ? &values->verneednum
                                                 : NULL;
        if (slot != NULL) {
            *slot = value;
        }
        read_flags(&elf->part->image, tag, value);
    }
}

/* ---- libraries and run paths ---- */

static kernels_status add_run_path(kernels_abi_part *part, kernels_view path, kernels_error *error) {
    kernels_view element;
    while (kernels_view_split(&path, ':', &element)) {
        KERNELS_TRY(kernels_abi_list_add(&part->run_path, element, error));
    }
    return KERNELS_OK;
}

static kernels_status read_texts(const kernels_elf *elf, const dynamic *values, kernels_bytes strings,
                                 kernels_error *error) {
    kernels_cursor cursor = kernels_cursor_at(values->table, 0);
    kernels_abi_part *part = elf->part;
    uint64_t tag, value;
    while (next_entry(elf, &cursor, &tag, &value)) {
        kernels_view text;
        if (tag != TAG_NEEDED && tag != TAG_SONAME && tag != TAG_RPATH && tag != TAG_RUNPATH) {
            continue;
        }
        if (!kernels_bytes_text(strings, value, &text) || !kernels_view_is_utf8(text)) {
            return kernels_abi_damaged(part, error, "the name of a library is outside its table or not UTF-8");
        }
        KERNELS_TRY(kernels_abi_part_count_name(part, text, error));
        if (tag == TAG_NEEDED) {
            KERNELS_TRY(kernels_abi_list_add(&part->needed, text, error));
        } else if (tag == TAG_SONAME) {
            part->image.name = text;
        } else {
            KERNELS_TRY(add_run_path(part, text, error));
        }
    }
    return KERNELS_OK;
}

/* ---- how many symbols ---- */

/* DT_GNU_HASH tells it by its highest chain. */
static bool count_by_gnu_hash(kernels_bytes table, bool is_64_bit, uint64_t *count) {
    kernels_cursor cursor = kernels_cursor_at(table, 0);
    uint32_t bucket_count = kernels_cursor_u32(&cursor), first = kernels_cursor_u32(&cursor);
    uint32_t bloom_count = kernels_cursor_u32(&cursor);
    kernels_cursor_skip(&cursor, 4 + (uint64_t)bloom_count * (is_64_bit ? 8 : 4));
    kernels_bytes buckets;
    if (cursor.failed || !kernels_bytes_slice(table, cursor.at, (uint64_t)bucket_count * 4, &buckets)) {
        return false;
    }
    uint32_t highest = 0;
    for (uint64_t i = 0; i < bucket_count; i++) {
        uint32_t bucket = kernels_load_u32(buckets.data + i * 4, table.is_big_endian);
        highest = bucket > highest ? bucket : highest;
    }
    if (highest < first) {
        *count = first;
        return true;
    }
    cursor = kernels_cursor_at(table, cursor.at + ((uint64_t)bucket_count + highest - first) * 4);
    uint64_t last = highest;
    while ((kernels_cursor_u32(&cursor) & 1) == 0) {
        if (cursor.failed) {
            return false;
        }
        last++;
    }
    *count = last + 1;
    return true;
}

/* The larger of what both hash tables say, should they differ: loaders use one, attackers the other. */
static kernels_status count_symbols(const kernels_elf *elf, const dynamic *values, uint64_t *count,
                                    kernels_error *error) {
    kernels_bytes table;
    *count = 0;
    if (values->hash != 0) {
        KERNELS_TRY(map(elf, values->hash, "hash table", &table, error));
        kernels_cursor cursor = kernels_cursor_at(table, 4);
        *count = kernels_cursor_u32(&cursor);
    }
    if (values->gnu_hash != 0) {
        uint64_t other = 0;
        KERNELS_TRY(map(elf, values->gnu_hash, "GNU hash table", &table, error));
        if (!count_by_gnu_hash(table, elf->is_64_bit, &other)) {
            return kernels_abi_damaged(elf->part, error, "its GNU hash table does not end inside the file");
        }
        *count = other > *count ? other : *count;
    }
    return KERNELS_OK;
}

/* Without a hash table only a section header knows. */
static kernels_status count_by_section(const kernels_elf *elf, const dynamic *values, uint64_t *count,
                                       kernels_error *error) {
    for (uint64_t i = 1; i < elf->section_count; i++) {
        kernels_elf_section section = kernels_elf_section_at(elf, i);
        if (section.type == KERNELS_ELF_DYNSYM && section.address == values->symtab) {
            *count = section.size / kernels_elf_symbol_size(elf);
            return KERNELS_OK;
        }
    }
    return kernels_abi_damaged(elf->part, error,
                               "it has dynamic symbols, but nothing that tells how many: neither a "
                               "hash table nor a section header");
}

/* ---- tables ---- */

static kernels_status find_tables(const kernels_elf *elf, const dynamic *values, kernels_elf_tables *tables,
                                  kernels_error *error) {
    uint64_t count;
    kernels_bytes bytes;
    tables->first = 1;
    KERNELS_TRY(map(elf, values->symtab, "symbol table", &bytes, error));
    KERNELS_TRY(count_symbols(elf, values, &count, error));
    if (count == 0 && values->hash == 0 && values->gnu_hash == 0) {
        KERNELS_TRY(count_by_section(elf, values, &count, error));
    }
    if (count > bytes.size / kernels_elf_symbol_size(elf) ||
        !kernels_bytes_slice(bytes, 0, count * kernels_elf_symbol_size(elf), &tables->symbols)) {
        return kernels_abi_damaged(elf->part, error, "its %llu dynamic symbols do not fit into the file",
                                   (unsigned long long)count);
    }
    if (values->versym != 0) {
        KERNELS_TRY(map(elf, values->versym, "table of symbol versions", &bytes, error));
        if (!kernels_bytes_slice(bytes, 0, count * 2, &tables->versions)) {
            return kernels_abi_damaged(elf->part, error, "its table of symbol versions ends outside the file");
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_elf_read_dynamic(kernels_elf *elf, kernels_elf_tables *tables, bool *found,
                                        kernels_error *error) {
    dynamic values = {0};
    kernels_elf_segment segment;
    *found = false;
    if (!find_segment(elf, SEGMENT_DYNAMIC, &segment)) {
        return KERNELS_OK;
    }
    if (!kernels_bytes_slice(elf->bytes, segment.offset, segment.file_size, &values.table)) {
        return kernels_abi_damaged(elf->part, error, "its dynamic table is outside the file");
    }
    elf->part->image.has_dynamic = true;
    read_tags(elf, &values);
    if (values.strtab == 0) {
        return KERNELS_OK;
    }
    KERNELS_TRY(map(elf, values.strtab, "table of names", &tables->strings, error));
    if (!kernels_bytes_slice(tables->strings, 0, values.strsz, &tables->strings)) {
        return kernels_abi_damaged(elf->part, error, "its table of names ends outside the file");
    }
    KERNELS_TRY(read_texts(elf, &values, tables->strings, error));
    if (values.verneed != 0) {
        KERNELS_TRY(map(elf, values.verneed, "table of needed versions", &tables->needs, error));
        tables->need_count = values.verneednum > UINT32_MAX ? UINT32_MAX : (uint32_t)values.verneednum;
    }
    *found = values.symtab != 0;
    return *found ? find_tables(elf, &values, tables, error) : KERNELS_OK;
}
