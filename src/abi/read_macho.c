/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/part.h"
#include "base/error.h"
#include "base/view.h"

enum {
    COMMAND_SYMTAB = 0x2,
    COMMAND_LOAD_DYLIB = 0xc,
    COMMAND_ID_DYLIB = 0xd,
    COMMAND_SEGMENT = 0x1,
    COMMAND_SEGMENT_64 = 0x19,
    COMMAND_LOAD_WEAK_DYLIB = 0x18,
    COMMAND_RPATH = 0x1c,
    COMMAND_REEXPORT_DYLIB = 0x1f,
    COMMAND_LAZY_LOAD_DYLIB = 0x20,
    COMMAND_LOAD_UPWARD_DYLIB = 0x23,
    COMMAND_VERSION_MIN_MACOSX = 0x24,
    COMMAND_BUILD_VERSION = 0x32,
};
/* Set in a command that a loader must know. */
#define COMMAND_REQUIRED 0x80000000u
#define PLATFORM_MACOS 1u

typedef struct macho {
    kernels_abi_part *part;
    kernels_bytes bytes;
    bool has_build_version, has_symbols;
    kernels_bytes symbols, strings;
    uint32_t symbol_count;
} macho;

typedef struct command {
    uint32_t type;
    kernels_bytes bytes; /* all of it, with type and size */
} command;

/* ---- machine ---- */

static void set_machine(kernels_abi_part *part, uint32_t type, uint32_t subtype) {
    static const struct {
        uint32_t type;
        const char *name, *policy_arch;
    } rows[] = {
        {0x01000007, "x86_64", "x86_64"},
        {0x0100000c, "arm64", "aarch64"},
        {7, "i386", "i686"},
        {12, "arm", "armv7l"},
        {0x01000012, "ppc64", "ppc64"},
        {18, "ppc", NULL},
        {0x0200000c, "arm64_32", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].type == type) {
            bool is_arm64e = type == 0x0100000c && (subtype & 0xffffff) == 2;
            part->image.machine = is_arm64e ? "arm64e" : rows[i].name;
            part->image.policy_arch = rows[i].policy_arch;
            return;
        }
    }
    kernels_abi_set_unknown_machine(part, type);
}

/* ---- load commands ---- */

static kernels_status read_symtab(macho *file, const command *one, kernels_error *error) {
    kernels_cursor cursor = kernels_cursor_at(one->bytes, 8);
    uint32_t symbols = kernels_cursor_u32(&cursor), count = kernels_cursor_u32(&cursor);
    uint32_t strings = kernels_cursor_u32(&cursor), strings_size = kernels_cursor_u32(&cursor);
    uint64_t size = file->part->image.is_64_bit ? 16 : 12;
    if (cursor.failed || !kernels_bytes_slice(file->bytes, symbols, count * size, &file->symbols) ||
        !kernels_bytes_slice(file->bytes, strings, strings_size, &file->strings)) {
        return kernels_abi_damaged(file->part, error, "its symbol table is outside the file");
    }
    file->has_symbols = true;
    file->symbol_count = count;
    return KERNELS_OK;
}

static void set_minimum_os(kernels_abi_image *image, uint32_t packed, unsigned platform) {
    image->has_minimum_os = true;
    image->platform = platform;
    image->minimum_os = (kernels_version){.parts = {packed >> 16, packed >> 8 & 0xff, packed & 0xff}, .count = 3};
}

/* macOS wins over other platforms (a zippered library has two), LC_BUILD_VERSION over its predecessor. */
static kernels_status read_build_version(macho *file, const command *one, kernels_error *error) {
    kernels_abi_image *image = &file->part->image;
    bool is_build = one->type == COMMAND_BUILD_VERSION;
    kernels_cursor cursor = kernels_cursor_at(one->bytes, 8);
    unsigned platform = is_build ? kernels_cursor_u32(&cursor) : PLATFORM_MACOS;
    uint32_t packed = kernels_cursor_u32(&cursor);
    if (cursor.failed || one->bytes.size < (is_build ? 24u : 16u)) {
        return kernels_abi_damaged(file->part, error, "a load command of %zu bytes is too short", one->bytes.size);
    }
    bool is_macos = platform == PLATFORM_MACOS;
    bool is_better = !image->has_minimum_os || (is_macos && image->platform != PLATFORM_MACOS) ||
                     (is_build && is_macos && !file->has_build_version);
    if (is_better) {
        set_minimum_os(image, packed, platform);
        file->has_build_version = is_build;
    }
    return KERNELS_OK;
}

/* Dylib and run path commands hold a text at an offset. */
static kernels_status read_text(const macho *file, const command *one, kernels_view *text, kernels_error *error) {
    kernels_cursor cursor = kernels_cursor_at(one->bytes, 8);
    uint32_t offset = kernels_cursor_u32(&cursor);
    if (cursor.failed || !kernels_bytes_text(one->bytes, offset, text) || !kernels_view_is_utf8(*text)) {
        return kernels_abi_damaged(file->part, error, "the name of a library is outside its load command");
    }
    return KERNELS_OK;
}

static kernels_status read_segment(const macho *file, const command *one, kernels_error *error) {
    bool is_64_bit = one->type == COMMAND_SEGMENT_64;
    kernels_cursor cursor = kernels_cursor_at(one->bytes, is_64_bit ? 60 : 44);
    uint32_t protection = kernels_cursor_u32(&cursor); /* initial */
    if (cursor.failed || one->bytes.size < (is_64_bit ? 72u : 56u)) {
        return kernels_abi_damaged(file->part, error, "a segment command of %zu bytes is too short", one->bytes.size);
    }
    file->part->image.has_writable_code |= (protection & 6) == 6;
    return KERNELS_OK;
}

static kernels_status read_command(macho *file, const command *one, kernels_error *error) {
    kernels_view text;
    switch (one->type & ~COMMAND_REQUIRED) {
    case COMMAND_SYMTAB:
        return file->has_symbols ? KERNELS_OK : read_symtab(file, one, error);
    case COMMAND_BUILD_VERSION:
    case COMMAND_VERSION_MIN_MACOSX:
        return read_build_version(file, one, error);
    case COMMAND_SEGMENT:
    case COMMAND_SEGMENT_64:
        return read_segment(file, one, error);
    case COMMAND_LOAD_DYLIB:
    case COMMAND_LOAD_WEAK_DYLIB:
    case COMMAND_REEXPORT_DYLIB:
    case COMMAND_LAZY_LOAD_DYLIB:
    case COMMAND_LOAD_UPWARD_DYLIB:
        KERNELS_TRY(read_text(file, one, &text, error));
        return kernels_abi_list_add(&file->part->needed, text, error);
    case COMMAND_RPATH:
        KERNELS_TRY(read_text(file, one, &text, error));
        return kernels_abi_list_add(&file->part->run_path, text, error);
    case COMMAND_ID_DYLIB:
        return read_text(file, one, &file->part->image.name, error);
    default:
        return KERNELS_OK;
    }
}

static kernels_status read_commands(macho *file, kernels_bytes table, uint32_t count, kernels_error *error) {
    uint64_t at = 0;
    if (count > table.size / 8) {
        return kernels_abi_damaged(file->part, error, "its %u load commands do not fit into %zu bytes", count,
                                   table.size);
    }
    for (uint32_t i = 0; i < count; i++) {
        kernels_cursor cursor = kernels_cursor_at(table, at);
        command one = {.type = kernels_cursor_u32(&cursor)};
        uint32_t size = kernels_cursor_u32(&cursor);
        if (cursor.failed || size < 8 || size % 4 != 0 || !kernels_bytes_slice(table, at, size, &one.bytes)) {
            return kernels_abi_damaged(file->part, error, "load command %u has a size of %u bytes", i, size);
        }
        KERNELS_TRY(read_command(file, &one, error));
        at += size;
    }
    return KERNELS_OK;
}

/* ---- symbols ---- */

enum { TYPE_STAB = 0xe0, TYPE_MASK = 0x0e, TYPE_EXTERNAL = 1, REFERENCE_WEAK = 0x40 };

static kernels_status read_symbol(const macho *file, const uint8_t *from, kernels_error *error) {
    bool big = file->bytes.is_big_endian;
    uint32_t offset = kernels_load_u32(from, big);
    uint8_t type = from[4];
    uint16_t description = kernels_load_u16(from + 6, big);
    kernels_abi_symbol symbol = {.is_weak = (description & REFERENCE_WEAK) != 0, .library = description >> 8};
    if ((type & TYPE_STAB) != 0 || (type & TYPE_EXTERNAL) == 0) {
        return KERNELS_OK;
    }
    if (!kernels_bytes_text(file->strings, offset, &symbol.name)) {
        return kernels_abi_damaged(file->part, error, "the name of a symbol is outside the table of names");
    }
    if (symbol.name.size > 0 && symbol.name.data[0] == '_') {
        symbol.name = kernels_view_slice(symbol.name, 1, symbol.name.size);
    }
    if ((type & TYPE_MASK) == 0) {
        symbol.library = symbol.library <= file->part->needed.count ? symbol.library : 0;
        return kernels_abi_part_add_symbol(file->part, &symbol, error);
    }
    file->part->image.defined_count++;
    if (file->part->lists_exports && kernels_abi_is_entry((const uint8_t *)symbol.name.data, symbol.name.size) &&
        kernels_view_is_utf8(symbol.name)) {
        KERNELS_TRY(kernels_abi_part_count_name(file->part, symbol.name, error));
        return kernels_abi_list_add(&file->part->exports, symbol.name, error);
    }
    return KERNELS_OK;
}

kernels_status kernels_abi_read_macho(kernels_abi_part *part, kernels_error *error) {
    macho file = {.part = part, .bytes = part->bytes};
    uint8_t first = file.bytes.data[0], last = file.bytes.data[3]; /* FEEDFACE, FEEDFACF or turned round */
    file.bytes.is_big_endian = first == 0xfe;
    part->image.is_64_bit = (file.bytes.is_big_endian ? last : first) == 0xcf;
    part->image.is_big_endian = file.bytes.is_big_endian;
    part->image.os = "darwin";
    kernels_cursor cursor = kernels_cursor_at(file.bytes, 4);
    uint32_t cpu_type = kernels_cursor_u32(&cursor), cpu_subtype = kernels_cursor_u32(&cursor);
    uint32_t file_type = kernels_cursor_u32(&cursor), count = kernels_cursor_u32(&cursor);
    uint32_t size = kernels_cursor_u32(&cursor);
    kernels_bytes table;
    set_machine(part, cpu_type, cpu_subtype);
    part->image.is_shared = file_type == 6 || file_type == 8; /* dylib, bundle */
    if (cursor.failed || !kernels_bytes_slice(file.bytes, part->image.is_64_bit ? 32 : 28, size, &table)) {
        return kernels_abi_damaged(part, error, "its load commands are outside the file");
    }
    KERNELS_TRY(read_commands(&file, table, count, error));
    for (uint32_t i = 0; i < file.symbol_count; i++) {
        KERNELS_TRY(read_symbol(&file, file.symbols.data + (size_t)i * (part->image.is_64_bit ? 16 : 12), error));
    }
    return KERNELS_OK;
}
