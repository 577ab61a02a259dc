/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "abi/elf.h"
#include "base/error.h"
#include "base/view.h"

/* ---- header ---- */

enum { MACHINE_CUDA = 190, MACHINE_AMDGPU = 224 };

typedef struct machine_row {
    uint16_t number;
    bool is_64_bit, is_big_endian;
    const char *name;
    bool has_policies;
} machine_row;

static const machine_row machines[] = {
    {3, false, false, "i686", true},
    {62, true, false, "x86_64", true},
    {62, false, false, "x32", false},
    {183, true, false, "aarch64", true},
    {40, false, false, "armv7l", true},
    {21, true, true, "ppc64", true},
    {21, true, false, "ppc64le", true},
    {22, true, true, "s390x", true},
    {243, true, false, "riscv64", true},
    {243, false, false, "riscv32", false},
    {258, true, false, "loongarch64", true},
    {8, true, false, "mips64el", false},
    {8, true, true, "mips64", false},
    {8, false, false, "mipsel", false},
    {8, false, true, "mips", false},
    {183, true, true, "aarch64 (big-endian)", false},
    {40, false, true, "arm (big-endian)", false},
    {20, false, true, "ppc", false},
    {22, false, true, "s390", false},
};

/* The machines that released checkers know; they do not look at the byte order of most. */
static const char *reference_arch(const kernels_elf *elf) {
    switch (elf->machine) {
    case 3:
        return "i686";
    case 62:
        return elf->is_64_bit ? "x86_64" : NULL;
    case 183:
        return elf->is_64_bit ? "aarch64" : NULL;
    case 21:
        return elf->bytes.is_big_endian ? "ppc64" : "ppc64le";
    case 22:
        return "s390x";
    default:
        return NULL;
    }
}

static void find_machine(kernels_elf *elf) {
    kernels_abi_image *image = &elf->part->image;
    image->is_x86 = elf->machine == 3 || elf->machine == 62;
    image->is_device_code = elf->machine == MACHINE_CUDA || elf->machine == MACHINE_AMDGPU;
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        const machine_row *row = &machines[i];
        if (row->number == elf->machine && row->is_64_bit == elf->is_64_bit &&
            row->is_big_endian == elf->bytes.is_big_endian) {
            image->machine = row->name;
            image->policy_arch = row->has_policies ? row->name : NULL;
            return;
        }
    }
    kernels_abi_set_unknown_machine(elf->part, elf->machine);
}

static void set_machine(kernels_elf *elf) {
    find_machine(elf);
    if (elf->part->symtab_only) {
        elf->part->image.policy_arch = reference_arch(elf);
    }
}

typedef struct header {
    uint16_t segment_size, segment_count, section_size, section_count, section_names;
} header;

static kernels_status read_header(kernels_elf *elf, header *fields, kernels_error *error) {
    const uint8_t *ident = elf->bytes.data; /* 16 bytes are there */
    if ((ident[4] != 1 && ident[4] != 2) || (ident[5] != 1 && ident[5] != 2) || ident[6] != 1) {
        return kernels_abi_damaged(elf->part, error,
                                   "its ELF header has class %u, data %u, version %u; expected 1 or 2, 1 or 2, 1",
                                   ident[4], ident[5], ident[6]);
    }
    elf->is_64_bit = ident[4] == 2;
    elf->bytes.is_big_endian = ident[5] == 2;
    kernels_cursor cursor = kernels_cursor_at(elf->bytes, 16);
    elf->type = kernels_cursor_u16(&cursor);
    elf->machine = kernels_cursor_u16(&cursor);
    kernels_cursor_skip(&cursor, 4);
    (void)kernels_cursor_word(&cursor, elf->is_64_bit);
    elf->segment_offset = kernels_cursor_word(&cursor, elf->is_64_bit);
    elf->section_offset = kernels_cursor_word(&cursor, elf->is_64_bit);
    kernels_cursor_skip(&cursor, 6);
    fields->segment_size = kernels_cursor_u16(&cursor);
    fields->segment_count = kernels_cursor_u16(&cursor);
    fields->section_size = kernels_cursor_u16(&cursor);
    fields->section_count = kernels_cursor_u16(&cursor);
    fields->section_names = kernels_cursor_u16(&cursor);
    return cursor.failed ? kernels_abi_damaged(elf->part, error, "its ELF header is cut short") : KERNELS_OK;
}

/* ---- sections ---- */

kernels_elf_section kernels_elf_section_at(const kernels_elf *elf, uint64_t index) {
    kernels_cursor cursor = kernels_cursor_at(elf->bytes, elf->section_offset + index * (elf->is_64_bit ? 64 : 40));
    kernels_elf_section section = {0};
    section.name = kernels_cursor_u32(&cursor);
    section.type = kernels_cursor_u32(&cursor);
    section.flags = kernels_cursor_word(&cursor, elf->is_64_bit);
    section.address = kernels_cursor_word(&cursor, elf->is_64_bit);
    section.offset = kernels_cursor_word(&cursor, elf->is_64_bit);
    section.size = kernels_cursor_word(&cursor, elf->is_64_bit);
    section.link = kernels_cursor_u32(&cursor);
    section.info = kernels_cursor_u32(&cursor);
    return section;
}

kernels_status kernels_elf_section_bytes(const kernels_elf *elf, const kernels_elf_section *section,
                                         kernels_bytes *bytes, kernels_error *error) {
    if (section->type == KERNELS_ELF_NOBITS ||
        !kernels_bytes_slice(elf->bytes, section->offset, section->size, bytes)) {
        return kernels_abi_damaged(elf->part, error, "a section of type %#x is not inside the file", section->type);
    }
    return KERNELS_OK;
}

kernels_status kernels_elf_linked_bytes(const kernels_elf *elf, uint32_t index, kernels_bytes *bytes,
                                        kernels_error *error) {
    if (index == 0 || index >= elf->section_count) {
        return kernels_abi_damaged(elf->part, error, "a section points to section %u of %llu", index,
                                   (unsigned long long)elf->section_count);
    }
    kernels_elf_section section = kernels_elf_section_at(elf, index);
    return kernels_elf_section_bytes(elf, &section, bytes, error);
}

static kernels_status open_sections(kernels_elf *elf, const header *fields, kernels_error *error) {
    const uint64_t size = elf->is_64_bit ? 64 : 40;
    kernels_bytes table;
    elf->section_count = fields->section_count;
    elf->section_names = fields->section_names;
    if (elf->section_offset == 0) {
        elf->section_count = 0;
        return KERNELS_OK;
    }
    if (fields->section_size != size) {
        return kernels_abi_damaged(elf->part, error, "its section headers have %u bytes instead of %u",
                                   fields->section_size, (unsigned)size);
    }
    if (!kernels_bytes_slice(elf->bytes, elf->section_offset, size, &table)) {
        return kernels_abi_damaged(elf->part, error, "its section headers are outside the file");
    }
    kernels_elf_section first = kernels_elf_section_at(elf, 0);
    elf->section_count = elf->section_count == 0 ? first.size : elf->section_count;
    elf->section_names = elf->section_names == 0xffff ? first.link : elf->section_names;
    if (elf->section_count > elf->bytes.size / size ||
        !kernels_bytes_slice(elf->bytes, elf->section_offset, elf->section_count * size, &table)) {
        return kernels_abi_damaged(elf->part, error, "its section headers are outside the file");
    }
    if (elf->section_names >= elf->section_count) {
        return kernels_abi_damaged(elf->part, error, "the names of its sections are in section %llu of %llu",
                                   (unsigned long long)elf->section_names, (unsigned long long)elf->section_count);
    }
    return KERNELS_OK;
}

/* ---- segments ---- */

kernels_elf_segment kernels_elf_segment_at(const kernels_elf *elf, uint64_t index) {
    kernels_cursor cursor = kernels_cursor_at(elf->bytes, elf->segment_offset + index * (elf->is_64_bit ? 56 : 32));
    kernels_elf_segment segment = {0};
    segment.type = kernels_cursor_u32(&cursor);
    if (elf->is_64_bit) {
        segment.flags = kernels_cursor_u32(&cursor);
    }
    segment.offset = kernels_cursor_word(&cursor, elf->is_64_bit);
    segment.address = kernels_cursor_word(&cursor, elf->is_64_bit);
    (void)kernels_cursor_word(&cursor, elf->is_64_bit); /* physical address */
    segment.file_size = kernels_cursor_word(&cursor, elf->is_64_bit);
    (void)kernels_cursor_word(&cursor, elf->is_64_bit); /* size in memory */
    if (!elf->is_64_bit) {
        segment.flags = kernels_cursor_u32(&cursor);
    }
    return segment;
}

static kernels_status open_segments(kernels_elf *elf, const header *fields, kernels_error *error) {
    const uint64_t size = elf->is_64_bit ? 56 : 32;
    kernels_bytes table;
    elf->segment_count = fields->segment_count;
    if (elf->segment_count == 0xffff && elf->section_count > 0) {
        elf->segment_count = kernels_elf_section_at(elf, 0).info;
    }
    if (elf->segment_count == 0) {
        return KERNELS_OK;
    }
    if (fields->segment_size != size ||
        !kernels_bytes_slice(elf->bytes, elf->segment_offset, elf->segment_count * size, &table)) {
        return kernels_abi_damaged(elf->part, error,
                                   "its program headers are outside the file or have %u bytes each "
                                   "instead of %u",
                                   fields->segment_size, (unsigned)size);
    }
    return KERNELS_OK;
}

enum { SEGMENT_LOAD = 1, SEGMENT_STACK = 0x6474e551, SEGMENT_RELRO = 0x6474e552 };
enum { SEGMENT_EXECUTABLE = 1, SEGMENT_WRITABLE = 2 };

static void read_segments(const kernels_elf *elf) {
    kernels_abi_image *image = &elf->part->image;
    for (uint64_t i = 0; i < elf->segment_count; i++) {
        kernels_elf_segment segment = kernels_elf_segment_at(elf, i);
        bool executable = (segment.flags & SEGMENT_EXECUTABLE) != 0;
        if (segment.type == SEGMENT_LOAD) {
            image->has_writable_code |= executable && (segment.flags & SEGMENT_WRITABLE) != 0;
        } else if (segment.type == SEGMENT_STACK) {
            image->has_stack_note = true;
            image->has_executable_stack = executable;
        } else if (segment.type == SEGMENT_RELRO) {
            image->has_relro = true;
        }
    }
}

/* ---- symbols ---- */

/* The tables of one SHT_SYMTAB or SHT_DYNSYM section. */
static kernels_status section_tables(const kernels_elf *elf, const kernels_elf_section *section,
                                     kernels_elf_tables *tables, kernels_error *error) {
    bool is_static = section->type == KERNELS_ELF_SYMTAB;
    /* Static tables begin with local symbols, often most of them, none of which is undefined. */
    bool skips_locals = is_static && !elf->part->symtab_only && section->info > 0;
    *tables = (kernels_elf_tables){.is_static = is_static, .first = skips_locals ? section->info : 1};
    KERNELS_TRY(kernels_elf_section_bytes(elf, section, &tables->symbols, error));
    return kernels_elf_linked_bytes(elf, section->link, &tables->strings, error);
}

/* Versions of dynamic symbols that only section headers tell about. */
static kernels_status section_versions(const kernels_elf *elf, kernels_elf_tables *tables, kernels_error *error) {
    for (uint64_t i = 1; i < elf->section_count; i++) {
        kernels_elf_section section = kernels_elf_section_at(elf, i);
        if (section.type == KERNELS_ELF_VERSYM) {
            KERNELS_TRY(kernels_elf_section_bytes(elf, &section, &tables->versions, error));
        } else if (section.type == KERNELS_ELF_VERNEED) {
            KERNELS_TRY(kernels_elf_section_bytes(elf, &section, &tables->needs, error));
            tables->need_count = section.info;
        }
    }
    return KERNELS_OK;
}

/* Tables that only section headers tell about, for files without a dynamic table: loaders see none of them. */
static kernels_status read_symbol_sections(kernels_elf *elf, kernels_error *error) {
    kernels_elf_tables tables;
    for (uint64_t i = 1; i < elf->section_count; i++) {
        kernels_elf_section section = kernels_elf_section_at(elf, i);
        if (section.type == KERNELS_ELF_DYNSYM && !elf->part->symtab_only) {
            KERNELS_TRY(section_tables(elf, &section, &tables, error));
            KERNELS_TRY(section_versions(elf, &tables, error));
            elf->part->image.has_dynamic = true;
        } else if (section.type == KERNELS_ELF_SYMTAB) {
            KERNELS_TRY(section_tables(elf, &section, &tables, error));
        } else {
            continue;
        }
        KERNELS_TRY(kernels_elf_read_symbols(elf, &tables, error));
        if (elf->part->symtab_only) {
            return KERNELS_OK;
        }
    }
    return KERNELS_OK;
}

static kernels_status read_device_code(const kernels_elf *elf, kernels_error *error) {
    kernels_bytes names = {0}, content = {0};
    if (elf->section_count == 0 || elf->section_names == 0) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_elf_linked_bytes(elf, (uint32_t)elf->section_names, &names, error));
    for (uint64_t i = 1; i < elf->section_count; i++) {
        kernels_elf_section section = kernels_elf_section_at(elf, i);
        kernels_view name;
        if (section.type != 1 || !kernels_bytes_text(names, section.name, &name)) {
            continue;
        }
        bool is_nv = kernels_view_equal_text(name, ".nv_fatbin"), is_hip = kernels_view_equal_text(name, ".hip_fatbin");
        if (is_nv || is_hip) {
            KERNELS_TRY(kernels_elf_section_bytes(elf, &section, &content, error));
            KERNELS_TRY(is_nv ? kernels_abi_read_nv_fatbin(elf->part, content, error)
                              : kernels_abi_read_hip_fatbin(elf->part, content, error));
        }
    }
    return KERNELS_OK;
}

/* A shared object's static table repeats its dynamic one, in other words and far from it, so it is left alone: the
 * findings of a library do not change when it is stripped. */
static kernels_status read_symbols(kernels_elf *elf, kernels_error *error) {
    kernels_elf_tables tables = {0};
    bool found = false;
    if (elf->part->symtab_only) {
        return read_symbol_sections(elf, error);
    }
    KERNELS_TRY(kernels_elf_read_dynamic(elf, &tables, &found, error));
    KERNELS_TRY(found ? kernels_elf_read_symbols(elf, &tables, error) : read_symbol_sections(elf, error));
    return read_device_code(elf, error);
}

/* Links of symbol tables belong to the headers: a file where they are wrong is refused as a whole. */
static kernels_status check_sections(const kernels_elf *elf, kernels_error *error) {
    for (uint64_t i = 1; i < elf->section_count; i++) {
        kernels_elf_section section = kernels_elf_section_at(elf, i);
        kernels_elf_tables tables;
        if (section.type == KERNELS_ELF_SYMTAB || section.type == KERNELS_ELF_DYNSYM) {
            KERNELS_TRY(section_tables(elf, &section, &tables, error));
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_abi_read_elf(kernels_abi_part *part, kernels_error *error) {
    kernels_elf elf = {.part = part, .bytes = part->bytes};
    header fields = {0};
    KERNELS_TRY(read_header(&elf, &fields, error));
    part->image.is_64_bit = elf.is_64_bit;
    part->image.is_big_endian = elf.bytes.is_big_endian;
    part->image.is_shared = elf.type == 3;
    part->image.os = "linux";
    set_machine(&elf);
    KERNELS_TRY(open_sections(&elf, &fields, error));
    KERNELS_TRY(open_segments(&elf, &fields, error));
    KERNELS_TRY(check_sections(&elf, error));
    read_segments(&elf);
    kernels_error symbols_error = KERNELS_ERROR_INIT;
    kernels_status status = read_symbols(&elf, &symbols_error);
    if (status == KERNELS_OK || status == KERNELS_SYNTAX) {
        kernels_error_move(&part->symbols_error, &symbols_error);
        return KERNELS_OK;
    }
    kernels_error_move(error, &symbols_error);
    return status;
}
