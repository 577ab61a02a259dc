/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: maps the file, says what it is, hands the bytes to the reader of its format. */
#include <string.h>

#include "abi/part.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

/* Slices of a universal file. */
#define SLICE_LIMIT 32u
#define MAGIC_SIZE 16

/* ---- recognition ---- */

static bool has_prefix(kernels_bytes bytes, const void *prefix, size_t size) {
    return bytes.size >= size && memcmp(bytes.data, prefix, size) == 0;
}
#define HAS_PREFIX(bytes, literal) has_prefix(bytes, "" literal, sizeof(literal) - 1)

static bool is_universal(kernels_bytes bytes) {
    return HAS_PREFIX(bytes, "\xca\xfe\xba\xbe") || HAS_PREFIX(bytes, "\xca\xfe\xba\xbf");
}

static bool is_thin_macho(kernels_bytes bytes) {
    return HAS_PREFIX(bytes, "\xfe\xed\xfa\xce") || HAS_PREFIX(bytes, "\xfe\xed\xfa\xcf") ||
           HAS_PREFIX(bytes, "\xce\xfa\xed\xfe") || HAS_PREFIX(bytes, "\xcf\xfa\xed\xfe");
}

static bool is_pe(kernels_bytes bytes) {
    kernels_cursor cursor = kernels_cursor_at(bytes, 0x3c);
    uint32_t offset = kernels_cursor_u32(&cursor);
    kernels_bytes rest;
    return HAS_PREFIX(bytes, "MZ") && !cursor.failed && kernels_bytes_from(bytes, offset, &rest) &&
           HAS_PREFIX(rest, "PE\0\0");
}

/* Its first two bytes are a machine number. */
static bool is_coff(kernels_bytes bytes) {
    static const char machines[][3] = {"\x4c\x01", "\x64\x86", "\x64\xaa", "\xc4\x01", "\x41\xa6"};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        if (bytes.size >= 20 && has_prefix(bytes, machines[i], 2)) {
            return true;
        }
    }
    return false;
}

static kernels_abi_format recognise(kernels_bytes bytes) {
    if (bytes.size < MAGIC_SIZE) {
        return KERNELS_ABI_UNKNOWN;
    }
    if (HAS_PREFIX(bytes, "\x7f"
                          "ELF") &&
        (bytes.data[4] == 1 || bytes.data[4] == 2)) {
        return KERNELS_ABI_ELF;
    }
    if (is_thin_macho(bytes) || is_universal(bytes)) {
        return KERNELS_ABI_MACH_O;
    }
    return is_pe(bytes)                        ? KERNELS_ABI_PE
           : HAS_PREFIX(bytes, "\0asm")        ? KERNELS_ABI_WASM
           : HAS_PREFIX(bytes, "\x01\xdf\x00") ? KERNELS_ABI_XCOFF
           : HAS_PREFIX(bytes, "\x01\xf7\x00") ? KERNELS_ABI_XCOFF
           : is_coff(bytes)                    ? KERNELS_ABI_COFF
                                               : KERNELS_ABI_UNKNOWN;
}

kernels_abi_format kernels_abi_recognise(kernels_view bytes) {
    return recognise((kernels_bytes){(const uint8_t *)bytes.data, bytes.size, false});
}

const char *kernels_abi_format_name(kernels_abi_format format) {
    static const char *const names[] = {"COFF", "ELF", "Mach-O", "PE", "WebAssembly", "XCOFF"};
    return (size_t)format < sizeof names / sizeof names[0] ? names[format] : "unknown";
}

static bool is_text(kernels_bytes bytes) {
    for (size_t i = 0; i < bytes.size && i < 64; i++) {
        uint8_t c = bytes.data[i];
        if (c < 0x20 && c != '\n' && c != '\t' && c != '\r') {
            return false;
        }
    }
    return true;
}

static const char *describe(kernels_bytes bytes, kernels_abi_format format) {
    return bytes.size == 0 ? "it is empty"
           : HAS_PREFIX(bytes, "version https://git-lfs.github.com/spec/")
               ? "it is a Git LFS pointer: the library itself was not downloaded"
           : HAS_PREFIX(bytes, "!<arch>\n") || HAS_PREFIX(bytes, "!<thin>\n")
               ? "it is an archive (static library), which is not loaded"
           : format == KERNELS_ABI_COFF                               ? "it is a COFF object file, which is not loaded"
           : format == KERNELS_ABI_WASM || HAS_PREFIX(bytes, "\0asm") ? "it is a WebAssembly module"
           : format == KERNELS_ABI_XCOFF                              ? "it is an XCOFF file"
           : is_text(bytes)                                           ? "it is a text (a linker script?)"
           : bytes.size < MAGIC_SIZE                                  ? "it is too short to be a library"
                                                                      : "its first bytes are those of no known format";
}

/* ---- parts ---- */

static kernels_status read_part(kernels_abi_object *object, kernels_bytes bytes, unsigned flags, kernels_error *error) {
    kernels_abi_part *part = &object->parts[object->part_count];
    KERNELS_TRY(kernels_abi_part_init(part, object->path, bytes, error));
    object->part_count++;
    part->symtab_only = (flags & KERNELS_ABI_SYMTAB_ONLY) != 0;
    part->lists_exports = (flags & KERNELS_ABI_EXPORTS) != 0;
    part->image.format = object->format;
    kernels_status status = object->format == KERNELS_ABI_ELF  ? kernels_abi_read_elf(part, error)
                            : object->format == KERNELS_ABI_PE ? kernels_abi_read_pe(part, error)
                                                               : kernels_abi_read_macho(part, error);
    kernels_abi_part_finish(part);
    return status;
}

/* One row of the table of a universal file; is_64_bit: of the rows, not of the code. */
static bool read_slice(kernels_bytes file, bool is_64_bit, uint32_t index, kernels_bytes *slice) {
    kernels_cursor cursor = kernels_cursor_at(file, 8 + (uint64_t)index * (is_64_bit ? 32 : 20) + 8);
    uint64_t offset = kernels_cursor_word(&cursor, is_64_bit), size = kernels_cursor_word(&cursor, is_64_bit);
    return !cursor.failed && kernels_bytes_slice(file, offset, size, slice);
}

static kernels_status read_universal(kernels_abi_object *object, kernels_bytes file, unsigned flags,
                                     kernels_error *error) {
    bool is_64_bit = file.data[3] == 0xbf;
    file.is_big_endian = true;
    kernels_cursor cursor = kernels_cursor_at(file, 4);
    uint32_t count = kernels_cursor_u32(&cursor);
    if (count == 0 || count > SLICE_LIMIT) {
        return kernels_fail(error, KERNELS_SYNTAX, "%s is damaged: a universal file with %u slices; expected 1 to %u",
                            object->path, count, SLICE_LIMIT);
    }
    object->parts = kernels_calloc(count, sizeof object->parts[0]);
    if (object->parts == NULL) {
        return kernels_fail_no_memory(error);
    }
    const uint8_t *end_of_table = file.data + 8 + (size_t)count * (is_64_bit ? 32 : 20);
    for (uint32_t i = 0; i < count; i++) {
        kernels_bytes slice;
        if (!read_slice(file, is_64_bit, i, &slice) || slice.size < MAGIC_SIZE || slice.data < end_of_table ||
            !is_thin_macho(slice)) {
            return kernels_fail(error, KERNELS_SYNTAX, "%s is damaged: slice %u is no Mach-O inside the file",
                                object->path, i);
        }
        KERNELS_TRY(read_part(object, slice, flags, error));
    }
    return KERNELS_OK;
}

static kernels_status read_object(kernels_abi_object *object, kernels_bytes bytes, unsigned flags,
                                  kernels_error *error) {
    object->format = recognise(bytes);
    bool is_read =
        object->format == KERNELS_ABI_ELF || object->format == KERNELS_ABI_MACH_O || object->format == KERNELS_ABI_PE;
    if (!is_read) {
        return kernels_fail(error, KERNELS_UNSUPPORTED_EDITION,
                            "%s is no library that could be checked: %s; ELF, Mach-O and PE are read", object->path,
                            describe(bytes, object->format));
    }
    if (is_universal(bytes)) {
        return read_universal(object, bytes, flags, error);
    }
    object->parts = kernels_calloc(1, sizeof object->parts[0]);
    return object->parts == NULL ? kernels_fail_no_memory(error) : read_part(object, bytes, flags, error);
}

/* ---- files ---- */

static kernels_status new_object(const char *path, kernels_abi_object **object, kernels_error *error) {
    *object = kernels_calloc(1, sizeof **object);
    if (*object == NULL || ((*object)->path = kernels_strdup(path)) == NULL) {
        kernels_free(*object);
        return kernels_fail_no_memory(error);
    }
    return KERNELS_OK;
}

kernels_status kernels_abi_object_open(const char *path, unsigned flags, kernels_abi_object **object,
                                       kernels_error *error) {
    kernels_abi_object *made = NULL;
    KERNELS_TRY(new_object(path, &made, error));
    kernels_status status = kernels_mapping_open(path, &made->mapping, error);
    if (status == KERNELS_OK) {
        kernels_bytes bytes = {made->mapping.data, made->mapping.size, false};
        status = read_object(made, bytes, flags, error);
    }
    if (status != KERNELS_OK) {
        kernels_abi_object_free(made);
        return status;
    }
    *object = made;
    return KERNELS_OK;
}

kernels_status kernels_abi_object_open_memory(kernels_view bytes, const char *name, unsigned flags,
                                              kernels_abi_object **object, kernels_error *error) {
    kernels_abi_object *made = NULL;
    KERNELS_TRY(new_object(name, &made, error));
    const uint8_t *data = (const uint8_t *)(bytes.size == 0 ? "" : bytes.data);
    kernels_status status = read_object(made, (kernels_bytes){data, bytes.size, false}, flags, error);
    if (status != KERNELS_OK) {
        kernels_abi_object_free(made);
        return status;
    }
    *object = made;
    return KERNELS_OK;
}

void kernels_abi_object_free(kernels_abi_object *object) {
    if (object == NULL) {
        return;
    }
    for (size_t i = 0; i < object->part_count; i++) {
        kernels_abi_part_dispose(&object->parts[i]);
    }
    kernels_mapping_close(&object->mapping);
    kernels_free(object->parts);
    kernels_free(object->path);
    kernels_free(object);
}

kernels_abi_format kernels_abi_object_format(const kernels_abi_object *object) { return object->format; }
const char *kernels_abi_object_path(const kernels_abi_object *object) { return object->path; }
size_t kernels_abi_object_image_count(const kernels_abi_object *object) { return object->part_count; }

const kernels_abi_image *kernels_abi_object_image(const kernels_abi_object *object, size_t index) {
    return index < object->part_count ? &object->parts[index].image : NULL;
}
