/* SPDX-License-Identifier: Apache-2.0 */
#include "build/elf_stub.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

/*
 * Three segments, each on pages of its own:
 *   read         headers, symbols, hash table, versions, strings, one message a symbol
 *   execute      `fail`, then one entry of ENTRY_SIZE bytes a symbol that names its message and jumps to `fail`
 *   read, write  the dynamic table, into which loaders write
 * No section headers: loaders do not look at them. File offsets and addresses are equal.
 */

#define PAGE_SIZE ((size_t)4096)
#define HEADER_SIZE ((size_t)64)
#define SEGMENT_SIZE ((size_t)56)
#define SEGMENT_COUNT 5
#define SYMBOL_SIZE ((size_t)24)
#define ENTRY_SIZE ((size_t)32)
#define MESSAGE_END ": called, but this library is an import stub: it has names and no code\n"
/* Size of a library: messages are most of it. */
#define STUB_SIZE_LIMIT ((size_t)64 * 1024 * 1024)
/* Numbers below 2 are taken: local, and global without a version. */
#define FIRST_VERSION 2u
#define VERSIONS_MAX 64u

enum {
    ET_DYN = 3,
    EM_X86_64 = 62,
    PT_LOAD = 1,
    PT_DYNAMIC = 2,
    PT_GNU_STACK = 0x6474e551,
    PF_X = 1,
    PF_W = 2,
    PF_R = 4,
    STB_GLOBAL = 1,
    SECTION_ANY = 1, /* index of a section in a symbol: any but 0 means defined */
    DT_HASH = 4,
    DT_STRTAB = 5,
    DT_SYMTAB = 6,
    DT_STRSZ = 10,
    DT_SYMENT = 11,
    DT_SONAME = 14,
    DT_VERSYM = 0x6ffffff0,
    DT_VERDEF = 0x6ffffffc,
    DT_VERDEFNUM = 0x6ffffffd,
    VER_FLG_BASE = 1,
};

/* write(2, message, size), then kill(getpid(), SIGABRT); rsi and edx are set by the entry. */
static const uint8_t fail_code[ENTRY_SIZE * 2] = {
    0xb8, 1,    0,    0,    0, /* mov eax, 1 (write) */
    0xbf, 2,    0,    0,    0, /* mov edi, 2 */
    0x0f, 0x05,                /* syscall */
    0xb8, 39,   0,    0,    0, /* mov eax, 39 (getpid) */
    0x0f, 0x05,                /* syscall */
    0x89, 0xc7,                /* mov edi, eax */
    0xbe, 6,    0,    0,    0, /* mov esi, SIGABRT */
    0xb8, 62,   0,    0,    0, /* mov eax, 62 (kill) */
    0x0f, 0x05, 0x0f, 0x0b,    /* syscall; ud2, where SIGABRT is held back */
};

/* Where the parts of the file begin. */
typedef struct stub_layout {
    size_t symbols, hash, symbol_versions, versions, strings, strings_end, code, dynamic, end;
} stub_layout;

typedef struct stub_writer {
    kernels_view soname;
    const kernels_stub_symbol *symbols;
    size_t count;
    kernels_view versions[VERSIONS_MAX]; /* each once */
    size_t version_count;
    kernels_buffer *out;
    size_t base; /* of the file in out */
    stub_layout layout;
} stub_writer;

/* ---- numbers, little-endian ---- */

static void add_number(kernels_buffer *out, uint64_t value, size_t size) {
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    kernels_buffer_add(out, bytes, size);
}

static void add_u16(kernels_buffer *out, uint64_t value) { add_number(out, value, 2); }
static void add_u32(kernels_buffer *out, uint64_t value) { add_number(out, value, 4); }
static void add_u64(kernels_buffer *out, uint64_t value) { add_number(out, value, 8); }

static void pad_to(const stub_writer *writer, size_t offset, uint8_t byte) {
    while (writer->out->failure == KERNELS_OK && writer->out->size - writer->base < offset) {
        kernels_buffer_add(writer->out, &byte, 1);
    }
}

static size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

/* The hash of the System V ABI: of symbols in DT_HASH, of versions in DT_VERDEF. */
static uint32_t name_hash(kernels_view name) {
    uint32_t hash = 0;
    for (size_t i = 0; i < name.size; i++) {
        hash = (hash << 4) + (uint8_t)name.data[i];
        uint32_t high = hash & 0xf0000000u;
        hash = (hash ^ (high >> 24)) & ~high;
    }
    return hash;
}

/* ---- texts: an empty one, soname, versions, symbols, then the messages ---- */

static size_t soname_offset(void) { return 1; }

static size_t version_offset(const stub_writer *writer, size_t index) {
    size_t offset = soname_offset() + writer->soname.size + 1;
    for (size_t i = 0; i < index; i++) {
        offset += writer->versions[i].size + 1;
    }
    return offset;
}

static size_t message_size(const stub_writer *writer, size_t index) {
    return writer->soname.size + strlen(": ") + writer->symbols[index].name.size + strlen(MESSAGE_END);
}

static size_t strings_size(const stub_writer *writer) {
    size_t size = version_offset(writer, writer->version_count);
    for (size_t i = 0; i < writer->count; i++) {
        size += writer->symbols[i].name.size + 1 + message_size(writer, i);
    }
    return size;
}

static void add_strings(const stub_writer *writer) {
    kernels_buffer *out = writer->out;
    kernels_buffer_add_char(out, '\0');
    kernels_buffer_add_view(out, writer->soname);
    kernels_buffer_add_char(out, '\0');
    for (size_t i = 0; i < writer->version_count; i++) {
        kernels_buffer_add_view(out, writer->versions[i]);
        kernels_buffer_add_char(out, '\0');
    }
    for (size_t i = 0; i < writer->count; i++) {
        kernels_buffer_add_view(out, writer->symbols[i].name);
        kernels_buffer_add_char(out, '\0');
        kernels_buffer_printf(out, "%.*s: %.*s", KERNELS_VIEW_ARGS(writer->soname),
                              KERNELS_VIEW_ARGS(writer->symbols[i].name));
        kernels_buffer_add_text(out, MESSAGE_END);
    }
}

/* ---- layout ---- */

static size_t version_index(const stub_writer *writer, kernels_view version) {
    size_t i = 0;
    while (i < writer->version_count && !kernels_view_equal(writer->versions[i], version)) {
        i++;
    }
    return i;
}

static kernels_status collect_versions(stub_writer *writer, kernels_error *error) {
    for (size_t i = 0; i < writer->count; i++) {
        kernels_view version = writer->symbols[i].version;
        if (version.size == 0 || version_index(writer, version) < writer->version_count) {
            continue;
        }
        if (writer->version_count == VERSIONS_MAX) {
            return kernels_fail(error, KERNELS_LIMIT, "%.*s: more than %u versions of symbols",
                                KERNELS_VIEW_ARGS(writer->soname), VERSIONS_MAX);
        }
        writer->versions[writer->version_count++] = version;
    }
    return KERNELS_OK;
}

static size_t dynamic_size(const stub_writer *writer) { return (writer->version_count > 0 ? 10u : 7u) * 16u; }

static void lay_out(stub_writer *writer) {
    stub_layout *layout = &writer->layout;
    size_t symbols = writer->count + 1; /* with the empty one */
    bool is_versioned = writer->version_count > 0;
    layout->symbols = HEADER_SIZE + SEGMENT_COUNT * SEGMENT_SIZE;
    layout->hash = layout->symbols + symbols * SYMBOL_SIZE;
    layout->symbol_versions = layout->hash + 4 * (2 + symbols + symbols);
    layout->versions = layout->symbol_versions + (is_versioned ? round_up(2 * symbols, 8) : 0);
    layout->strings = layout->versions + (is_versioned ? (writer->version_count + 1) * 28 : 0);
    layout->strings_end = layout->strings + strings_size(writer);
    layout->code = round_up(layout->strings_end, PAGE_SIZE);
    layout->dynamic = round_up(layout->code + sizeof fail_code + writer->count * ENTRY_SIZE, PAGE_SIZE);
    layout->end = layout->dynamic + dynamic_size(writer);
}

/* ---- parts ---- */

static void add_header(const stub_writer *writer) {
    static const uint8_t identity[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    kernels_buffer *out = writer->out;
    kernels_buffer_add(out, identity, sizeof identity);
    add_u16(out, ET_DYN);
    add_u16(out, EM_X86_64);
    add_u32(out, 1);
    add_u64(out, 0); /* entry */
    add_u64(out, HEADER_SIZE);
    add_u64(out, 0); /* sections */
    add_u32(out, 0);
    add_u16(out, HEADER_SIZE);
    add_u16(out, SEGMENT_SIZE);
    add_u16(out, SEGMENT_COUNT);
    add_u16(out, 0);
    add_u16(out, 0);
    add_u16(out, 0);
}

static void add_segment(const stub_writer *writer, uint32_t type, uint32_t flags, size_t begin, size_t end,
                        size_t alignment) {
    kernels_buffer *out = writer->out;
    add_u32(out, type);
    add_u32(out, flags);
    add_u64(out, begin);
    add_u64(out, begin);
    add_u64(out, begin);
    add_u64(out, end - begin);
    add_u64(out, end - begin);
    add_u64(out, alignment);
}

static void add_segments(const stub_writer *writer) {
    const stub_layout *layout = &writer->layout;
    size_t code_end = layout->code + sizeof fail_code + writer->count * ENTRY_SIZE;
    add_segment(writer, PT_LOAD, PF_R, 0, layout->strings_end, PAGE_SIZE);
    add_segment(writer, PT_LOAD, PF_R | PF_X, layout->code, code_end, PAGE_SIZE);
    add_segment(writer, PT_LOAD, PF_R | PF_W, layout->dynamic, layout->end, PAGE_SIZE);
    add_segment(writer, PT_DYNAMIC, PF_R | PF_W, layout->dynamic, layout->end, 8);
    add_segment(writer, PT_GNU_STACK, PF_R | PF_W, 0, 0, 16);
}

static size_t entry_address(const stub_writer *writer, size_t index) {
    return writer->layout.code + sizeof fail_code + index * ENTRY_SIZE;
}

/* Without a type: whether somebody calls or reads it is not known. */
static void add_symbols(const stub_writer *writer) {
    kernels_buffer *out = writer->out;
    size_t name = version_offset(writer, writer->version_count);
    pad_to(writer, writer->layout.symbols + SYMBOL_SIZE, 0);
    for (size_t i = 0; i < writer->count; i++) {
        add_u32(out, name);
        add_number(out, STB_GLOBAL << 4, 1);
        add_number(out, 0, 1);
        add_u16(out, SECTION_ANY);
        add_u64(out, entry_address(writer, i));
        add_u64(out, ENTRY_SIZE);
        name += writer->symbols[i].name.size + 1 + message_size(writer, i);
    }
}

/* As many buckets as symbols; the chain of a bucket goes from the last symbol to the first. */
static void add_hash_table(const stub_writer *writer, uint32_t *table) {
    size_t symbols = writer->count + 1;
    uint32_t *buckets = table, *chains = table + symbols;
    for (size_t i = 1; i < symbols; i++) {
        size_t bucket = name_hash(writer->symbols[i - 1].name) % symbols;
        chains[i] = buckets[bucket];
        buckets[bucket] = (uint32_t)i;
    }
    add_u32(writer->out, symbols);
    add_u32(writer->out, symbols);
    for (size_t i = 0; i < 2 * symbols; i++) {
        add_u32(writer->out, table[i]);
    }
}

static void add_version(const stub_writer *writer, uint32_t flags, size_t number, kernels_view name, size_t offset,
                        bool is_last) {
    kernels_buffer *out = writer->out;
    add_u16(out, 1);
    add_u16(out, flags);
    add_u16(out, number);
    add_u16(out, 1); /* names */
    add_u32(out, name_hash(name));
    add_u32(out, 20);
    add_u32(out, is_last ? 0 : 28);
    add_u32(out, offset);
    add_u32(out, 0);
}

/* The version of each symbol, then the versions; the first is that of the library itself. */
static void add_versions(const stub_writer *writer) {
    if (writer->version_count == 0) {
        return;
    }
    add_u16(writer->out, 0);
    for (size_t i = 0; i < writer->count; i++) {
        kernels_view version = writer->symbols[i].version;
        add_u16(writer->out, version.size > 0 ? FIRST_VERSION + version_index(writer, version) : 1);
    }
    pad_to(writer, writer->layout.versions, 0);
    add_version(writer, VER_FLG_BASE, 1, writer->soname, soname_offset(), false);
    for (size_t i = 0; i < writer->version_count; i++) {
        add_version(writer, 0, FIRST_VERSION + i, writer->versions[i], version_offset(writer, i),
                    i + 1 == writer->version_count);
    }
}

/* lea rsi, [rip + message]; mov edx, size; jmp fail */
static void add_code(const stub_writer *writer) {
    static const uint8_t lea[3] = {0x48, 0x8d, 0x35};
    kernels_buffer *out = writer->out;
    size_t message = writer->layout.strings + version_offset(writer, writer->version_count);
    kernels_buffer_add(out, fail_code, sizeof fail_code);
    for (size_t i = 0; i < writer->count; i++) {
        size_t address = entry_address(writer, i), size = message_size(writer, i);
        message += writer->symbols[i].name.size + 1;
        kernels_buffer_add(out, lea, sizeof lea);
        add_u32(out, message - (address + 7));
        add_number(out, 0xba, 1);
        add_u32(out, size);
        add_number(out, 0xe9, 1);
        add_u32(out, writer->layout.code - (address + 17));
        pad_to(writer, address + ENTRY_SIZE, 0xcc); /* int3 */
        message += size;
    }
}

static void add_dynamic(const stub_writer *writer) {
    const stub_layout *layout = &writer->layout;
    const uint64_t entries[][2] = {
        {DT_SONAME, soname_offset()},
        {DT_HASH, layout->hash},
        {DT_STRTAB, layout->strings},
        {DT_STRSZ, layout->strings_end - layout->strings},
        {DT_SYMTAB, layout->symbols},
        {DT_SYMENT, SYMBOL_SIZE},
        {DT_VERSYM, layout->symbol_versions},
        {DT_VERDEF, layout->versions},
        {DT_VERDEFNUM, writer->version_count + 1},
    };
    size_t count = dynamic_size(writer) / 16 - 1;
    for (size_t i = 0; i < count; i++) {
        add_u64(writer->out, entries[i][0]);
        add_u64(writer->out, entries[i][1]);
    }
    add_u64(writer->out, 0);
    add_u64(writer->out, 0);
}

static void add_file(const stub_writer *writer, uint32_t *hash_table) {
    add_header(writer);
    add_segments(writer);
    add_symbols(writer);
    add_hash_table(writer, hash_table);
    add_versions(writer);
    add_strings(writer);
    pad_to(writer, writer->layout.code, 0);
    add_code(writer);
    pad_to(writer, writer->layout.dynamic, 0);
    add_dynamic(writer);
}

kernels_status kernels_elf_stub_write(kernels_view soname, const kernels_stub_symbol *symbols, size_t count,
                                      kernels_buffer *out, kernels_error *error) {
    stub_writer writer = {.soname = soname, .symbols = symbols, .count = count, .out = out, .base = out->size};
    if (count > KERNELS_STUB_SYMBOLS_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "%.*s: %zu symbols, a stub has at most %zu",
                            KERNELS_VIEW_ARGS(soname), count, KERNELS_STUB_SYMBOLS_MAX);
    }
    KERNELS_TRY(collect_versions(&writer, error));
    lay_out(&writer);
    if (writer.layout.end > STUB_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%.*s: its stub would be larger than %zu bytes",
                            KERNELS_VIEW_ARGS(soname), STUB_SIZE_LIMIT);
    }
    KERNELS_CLEANUP_FREE uint32_t *hash_table = kernels_calloc(2 * (count + 1), sizeof *hash_table);
    if (hash_table == NULL) {
        return kernels_fail_no_memory(error);
    }
    add_file(&writer, hash_table);
    return kernels_buffer_status(out, error);
}
