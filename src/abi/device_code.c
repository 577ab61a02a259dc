/* SPDX-License-Identifier: Apache-2.0 */
/* GPU code inside a library: only headers are read, never the code. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "abi/part.h"
#include "base/error.h"
#include "base/view.h"

/* ---- CUDA: .nv_fatbin ---- */

#define NV_MAGIC 0xba55ed50u
enum { NV_PTX = 1, NV_CUBIN = 2 };
#define NV_SUFFIX_A 0x100000u
#define NV_SUFFIX_F 0x200000u

static kernels_status add_nv_arch(kernels_abi_part *part, uint16_t kind, uint32_t arch, uint64_t flags,
                                  kernels_error *error) {
    char name[32];
    const char *suffix = (flags & NV_SUFFIX_A) != 0 ? "a" : (flags & NV_SUFFIX_F) != 0 ? "f" : "";
    if (kind != NV_PTX && kind != NV_CUBIN) {
        return KERNELS_OK;
    }
    (void)snprintf(name, sizeof name, "%s_%" PRIu32 "%s", kind == NV_PTX ? "compute" : "sm", arch, suffix);
    return kernels_abi_part_add_gpu_arch(part, name, error);
}

/* The entries of one fat binary. */
static kernels_status read_nv_entries(kernels_abi_part *part, kernels_bytes entries, kernels_error *error) {
    uint64_t at = 0;
    while (at < entries.size) {
        kernels_cursor cursor = kernels_cursor_at(entries, at);
        uint16_t kind = kernels_cursor_u16(&cursor);
        kernels_cursor_skip(&cursor, 2);
        uint32_t header_size = kernels_cursor_u32(&cursor);
        uint64_t payload_size = kernels_cursor_u64(&cursor);
        kernels_cursor_skip(&cursor, 12);
        uint32_t arch = kernels_cursor_u32(&cursor);
        kernels_cursor_skip(&cursor, 8);
        uint64_t flags = kernels_cursor_u64(&cursor);
        kernels_bytes rest;
        if (cursor.failed || header_size < 48 || !kernels_bytes_from(entries, at + header_size, &rest) ||
            payload_size > rest.size) {
            return kernels_abi_damaged(part, error, "an entry of its CUDA code is cut short");
        }
        KERNELS_TRY(add_nv_arch(part, kind, arch, flags, error));
        at += header_size + payload_size;
    }
    return KERNELS_OK;
}

kernels_status kernels_abi_read_nv_fatbin(kernels_abi_part *part, kernels_bytes section, kernels_error *error) {
    uint64_t at = 0;
    while (section.size - at >= 16) {
        kernels_cursor cursor = kernels_cursor_at(section, at);
        uint32_t magic = kernels_cursor_u32(&cursor);
        kernels_cursor_skip(&cursor, 2);
        uint16_t header_size = kernels_cursor_u16(&cursor);
        uint64_t size = kernels_cursor_u64(&cursor);
        kernels_bytes rest, entries;
        if (magic == 0) { /* padding between fat binaries */
            at += 8;
            continue;
        }
        if (magic != NV_MAGIC || header_size < 16 || !kernels_bytes_from(section, at + header_size, &rest) ||
            !kernels_bytes_slice(rest, 0, size, &entries)) {
            return kernels_abi_damaged(part, error, "its CUDA code has no valid header at %#" PRIx64, at);
        }
        KERNELS_TRY(read_nv_entries(part, entries, error));
        at += header_size + size;
        at = (at + 7) & ~(uint64_t)7;
        if (at > section.size) {
            break;
        }
    }
    return KERNELS_OK;
}

/* ---- ROCm: .hip_fatbin ---- */

#define HIP_ALIGNMENT 4096u
#define HIP_ENTRY_LIMIT 1024u
static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const char compressed_magic[] = "CCOB";

/* "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+" -> gfx90a:sramecc+; the host's entry has no architecture. */
static kernels_status add_hip_arch(kernels_abi_part *part, kernels_view triple, kernels_error *error) {
    kernels_view rest = triple, piece;
    char name[32];
    while (kernels_view_split(&rest, '-', &piece)) {
        if (kernels_view_starts_with(piece, KERNELS_VIEW("gfx")) && kernels_view_is_utf8(piece)) {
            size_t end = (size_t)(triple.data + triple.size - piece.data); /* features may hold a minus: take all */
            (void)snprintf(name, sizeof name, "%.*s", (int)end, piece.data);
            return kernels_abi_part_add_gpu_arch(part, name, error);
        }
    }
    return KERNELS_OK;
}

/* The size of a bundle from its first byte on. */
static kernels_status read_bundle(kernels_abi_part *part, kernels_bytes bytes, uint64_t *size, kernels_error *error) {
    kernels_cursor cursor = kernels_cursor_at(bytes, sizeof bundle_magic - 1);
    uint64_t count = kernels_cursor_u64(&cursor);
    *size = sizeof bundle_magic - 1;
    if (count > HIP_ENTRY_LIMIT) {
        return kernels_abi_damaged(part, error, "a bundle of its ROCm code claims %" PRIu64 " entries", count);
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t offset = kernels_cursor_u64(&cursor), code_size = kernels_cursor_u64(&cursor);
        uint64_t name_size = kernels_cursor_u64(&cursor);
        kernels_bytes name, code;
        if (cursor.failed || !kernels_bytes_slice(bytes, cursor.at, name_size, &name) ||
            !kernels_bytes_slice(bytes, offset, code_size, &code)) {
            return kernels_abi_damaged(part, error, "a bundle of its ROCm code is cut short");
        }
        cursor.at += name_size;
        *size = offset + code_size > *size ? offset + code_size : *size;
        KERNELS_TRY(add_hip_arch(part, (kernels_view){(const char *)name.data, name.size}, error));
    }
    return KERNELS_OK;
}

/* Header of a compressed bundle: magic, u16 version, u16 method, and from version 2 on its size. */
static uint64_t compressed_size(kernels_bytes bytes) {
    kernels_cursor cursor = kernels_cursor_at(bytes, 4);
    uint16_t version = kernels_cursor_u16(&cursor);
    kernels_cursor_skip(&cursor, 2);
    uint64_t size = version >= 3 ? kernels_cursor_u64(&cursor) : version == 2 ? kernels_cursor_u32(&cursor) : 0;
    return cursor.failed || size == 0 ? bytes.size : size;
}

static bool starts_with(kernels_bytes bytes, const char *magic, size_t size) {
    return bytes.size >= size && memcmp(bytes.data, magic, size) == 0;
}

kernels_status kernels_abi_read_hip_fatbin(kernels_abi_part *part, kernels_bytes section, kernels_error *error) {
    uint64_t at = 0;
    kernels_bytes rest;
    while (at < section.size && kernels_bytes_from(section, at, &rest)) {
        uint64_t size = 0;
        if (starts_with(rest, compressed_magic, sizeof compressed_magic - 1)) {
            part->image.gpu_is_compressed = true;
            size = compressed_size(rest);
        } else if (starts_with(rest, bundle_magic, sizeof bundle_magic - 1)) {
            KERNELS_TRY(read_bundle(part, rest, &size, error));
        } else {
            break; /* padding */
        }
        if (size > rest.size) {
            return kernels_abi_damaged(part, error, "its ROCm code is cut short");
        }
        at = (at + size + HIP_ALIGNMENT - 1) & ~(uint64_t)(HIP_ALIGNMENT - 1);
    }
    return KERNELS_OK;
}
