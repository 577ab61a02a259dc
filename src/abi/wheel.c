/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries inside a wheel (a zip archive), without unpacking it. zlib is opened when a wheel is. */
#include <dlfcn.h>
#include <string.h>
#include <zlib.h>

#include "abi/bytes.h"
#include "abi/variant.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/mapping.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

#define MEMBER_SIZE_LIMIT ((uint64_t)4 * 1024 * 1024 * 1024)
#define TOTAL_SIZE_LIMIT ((uint64_t)16 * 1024 * 1024 * 1024)
/* Above this size a member that shrinks more than 200 times is no library but a bomb. */
#define RATIO_FREE_SIZE ((uint64_t)64 * 1024 * 1024)
#define RATIO_LIMIT 200u
/* Enough to recognise a library. */
#define PEEK_SIZE 1024u

enum { END_SIZE = 22, METHOD_STORED = 0, METHOD_DEFLATED = 8, FLAG_ENCRYPTED = 1 };

typedef struct zlib_functions {
    void *library;
    int (*init)(z_streamp stream, int window_bits, const char *version, int stream_size);
    int (*inflate)(z_streamp stream, int flush);
    int (*end)(z_streamp stream);
    uLong (*crc)(uLong crc, const Bytef *bytes, uInt size);
} zlib_functions;

typedef struct member {
    kernels_view name;
    uint16_t flags, method;
    uint32_t crc;
    uint64_t packed_size, size, offset; /* of the local header */
} member;

typedef struct wheel {
    const char *path;
    kernels_bytes bytes;
    zlib_functions zlib;
    kernels_abi_scan *scan;
    uint64_t total;        /* unpacked so far */
    uint64_t packed_total; /* of all members so far */
} wheel;

static kernels_status damaged(const wheel *file, kernels_error *error, const char *what) {
    return kernels_fail(error, KERNELS_SYNTAX, "%s is no wheel that can be read: %s", file->path, what);
}

/* ---- zlib ---- */

static kernels_status open_zlib(zlib_functions *zlib, kernels_error *error) {
    zlib->library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (zlib->library == NULL) {
        return kernels_fail(error, KERNELS_MISSING_DEPENDENCY, "wheels need zlib, which cannot be opened: %s",
                            dlerror());
    }
    *(void **)&zlib->init = dlsym(zlib->library, "inflateInit2_");
    *(void **)&zlib->inflate = dlsym(zlib->library, "inflate");
    *(void **)&zlib->end = dlsym(zlib->library, "inflateEnd");
    *(void **)&zlib->crc = dlsym(zlib->library, "crc32");
    bool is_complete = zlib->init != NULL && zlib->inflate != NULL && zlib->end != NULL && zlib->crc != NULL;
    return is_complete ? KERNELS_OK : kernels_fail(error, KERNELS_MISSING_DEPENDENCY, "zlib lacks a function");
}

/* Unpacks as much as fits; *done says how much that was. Counts are below 4 GiB: one call has room for all. */
static bool unpack(const wheel *file, kernels_bytes packed, uint8_t *to, size_t size, size_t *done) {
    z_stream stream = {0};
    stream.next_in = (Bytef *)(uintptr_t)packed.data;
    stream.avail_in = (uInt)packed.size;
    stream.next_out = to;
    stream.avail_out = (uInt)size;
    if (file->zlib.init(&stream, -MAX_WBITS, ZLIB_VERSION, (int)sizeof stream) != Z_OK) {
        return false;
    }
    int status = file->zlib.inflate(&stream, Z_FINISH);
    *done = stream.total_out;
    (void)file->zlib.end(&stream);
    return status == Z_STREAM_END || ((status == Z_BUF_ERROR || status == Z_OK) && *done == size);
}

/* ---- the central directory ---- */

static bool find_end(kernels_bytes bytes, uint64_t *at) {
    uint64_t lowest = bytes.size > 65535 + END_SIZE ? bytes.size - 65535 - END_SIZE : 0;
    for (uint64_t i = bytes.size >= END_SIZE ? bytes.size - END_SIZE + 1 : 0; i > lowest; i--) {
        if (memcmp(bytes.data + i - 1, "PK\5\6", 4) == 0) {
            *at = i - 1;
            return true;
        }
    }
    return false;
}

static bool read_member(kernels_cursor *cursor, member *one) {
    bool is_header = kernels_cursor_u32(cursor) == 0x02014b50;
    kernels_cursor_skip(cursor, 4);
    one->flags = kernels_cursor_u16(cursor);
    one->method = kernels_cursor_u16(cursor);
    kernels_cursor_skip(cursor, 4);
    one->crc = kernels_cursor_u32(cursor);
    one->packed_size = kernels_cursor_u32(cursor);
    one->size = kernels_cursor_u32(cursor);
    uint16_t name_size = kernels_cursor_u16(cursor), extra_size = kernels_cursor_u16(cursor);
    uint16_t comment_size = kernels_cursor_u16(cursor);
    kernels_cursor_skip(cursor, 8);
    one->offset = kernels_cursor_u32(cursor);
    kernels_bytes name = {0};
    is_header = is_header && kernels_bytes_slice(cursor->bytes, cursor->at, name_size, &name);
    one->name = (kernels_view){(const char *)name.data, name.size};
    kernels_cursor_skip(cursor, (uint64_t)name_size + extra_size + comment_size);
    return is_header && !cursor->failed;
}

/* The member's bytes as they lie in the file; the local header must say what the central one says. */
static const char *find_packed(const wheel *file, const member *one, kernels_bytes *packed) {
    kernels_cursor cursor = kernels_cursor_at(file->bytes, one->offset);
    uint32_t magic = kernels_cursor_u32(&cursor);
    kernels_cursor_skip(&cursor, 4);
    uint16_t method = kernels_cursor_u16(&cursor);
    kernels_cursor_skip(&cursor, 16);
    uint16_t name_size = kernels_cursor_u16(&cursor), extra_size = kernels_cursor_u16(&cursor);
    kernels_bytes name;
    if (cursor.failed || magic != 0x04034b50 || method != one->method || name_size != one->name.size ||
        !kernels_bytes_slice(file->bytes, cursor.at, name_size, &name) ||
        memcmp(name.data, one->name.data, name_size) != 0 ||
        !kernels_bytes_slice(file->bytes, cursor.at + name_size + extra_size, one->packed_size, packed)) {
        return "its two headers do not agree";
    }
    return NULL;
}

/* Why a member is not unpacked, or NULL. */
static const char *refusal(const member *one) {
    if ((one->flags & FLAG_ENCRYPTED) != 0) {
        return "it is encrypted";
    }
    if (one->method != METHOD_STORED && one->method != METHOD_DEFLATED) {
        return "it is packed in a way that wheels do not use";
    }
    if (one->size >= MEMBER_SIZE_LIMIT - 1 || one->packed_size >= MEMBER_SIZE_LIMIT - 1) {
        return "it is larger than 4 GiB";
    }
    if (one->method == METHOD_STORED && one->size != one->packed_size) {
        return "its sizes do not agree";
    }
    return one->size > RATIO_FREE_SIZE && one->size / RATIO_LIMIT > one->packed_size ? "it unpacks to too much" : NULL;
}

/* ---- members ---- */

static kernels_status add_failed(const wheel *file, const char *name, const char *why, kernels_error *error) {
    kernels_abi_scanned item = {.format = KERNELS_ABI_UNKNOWN, .error = KERNELS_ERROR_INIT};
    (void)kernels_fail(&item.error, KERNELS_SYNTAX, "%s cannot be read: %s", name, why);
    return kernels_abi_scan_add(file->scan, name, &item, error);
}

static kernels_status scan_deflated(wheel *file, const member *one, kernels_bytes packed, const char *name,
                                    kernels_error *error) {
    KERNELS_CLEANUP_FREE uint8_t *content = kernels_malloc(one->size == 0 ? 1 : (size_t)one->size);
    size_t done = 0;
    if (content == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (!unpack(file, packed, content, (size_t)one->size, &done) || done != one->size ||
        file->zlib.crc(0, content, (uInt)done) != one->crc) {
        return add_failed(file, name, "its content is damaged", error);
    }
    return kernels_abi_scan_memory(file->scan, (kernels_view){(const char *)content, done}, name, error);
}

static bool is_library(const wheel *file, const member *one, kernels_bytes packed) {
    uint8_t start[PEEK_SIZE];
    size_t done = 0;
    if (kernels_abi_is_library_name(one->name)) {
        return true;
    }
    if (one->method == METHOD_STORED) {
        return kernels_abi_is_library_content((kernels_view){(const char *)packed.data, packed.size});
    }
    return unpack(file, packed, start, one->size < PEEK_SIZE ? (size_t)one->size : PEEK_SIZE, &done) &&
           kernels_abi_is_library_content((kernels_view){(const char *)start, done});
}

static kernels_status scan_member(wheel *file, const member *one, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer name = KERNELS_BUFFER_INIT(2 * KERNELS_PATH_LIMIT);
    bool is_named = kernels_path_unsafe_reason(one->name) == NULL;
    kernels_buffer_printf(&name, is_named ? "%s!%.*s" : "%s!(unsafe name)", file->path, KERNELS_VIEW_ARGS(one->name));
    KERNELS_TRY(kernels_buffer_status(&name, error));
    const char *shown = kernels_buffer_text(&name), *why = refusal(one);
    kernels_bytes packed = {0};
    why = why == NULL ? find_packed(file, one, &packed) : why;
    why = why == NULL ? (is_named ? NULL : "its name would be unsafe as a path") : why;
    if (why != NULL) {
        return kernels_view_ends_with(one->name, KERNELS_VIEW("/")) ? KERNELS_OK : add_failed(file, shown, why, error);
    }
    if (!is_library(file, one, packed)) {
        return KERNELS_OK;
    }
    file->total += one->size;
    if (file->total > TOTAL_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s holds more than 16 GiB of libraries", file->path);
    }
    return one->method == METHOD_STORED
               ? kernels_abi_scan_memory(file->scan, (kernels_view){(const char *)packed.data, packed.size}, shown,
                                         error)
               : scan_deflated(file, one, packed, shown, error);
}

static kernels_status scan_members(wheel *file, kernels_error *error) {
    uint64_t end;
    if (!find_end(file->bytes, &end)) {
        return damaged(file, error, "it has no zip directory");
    }
    kernels_cursor cursor = kernels_cursor_at(file->bytes, end + 4);
    uint32_t disks = kernels_cursor_u32(&cursor);
    kernels_cursor_skip(&cursor, 2);
    uint16_t count = kernels_cursor_u16(&cursor);
    kernels_cursor_skip(&cursor, 4);
    uint32_t start = kernels_cursor_u32(&cursor);
    if (cursor.failed || disks != 0 || count == 0xffff || start == 0xffffffff) {
        return damaged(file, error, "it has several parts or more than 65,534 members");
    }
    cursor = kernels_cursor_at(file->bytes, start);
    for (uint16_t i = 0; i < count; i++) {
        member one;
        if (!read_member(&cursor, &one)) {
            return damaged(file, error, "its zip directory is cut short");
        }
        file->packed_total += one.packed_size;
        if (file->packed_total > file->bytes.size) {
            return damaged(file, error, "its members overlap");
        }
        KERNELS_TRY(scan_member(file, &one, error));
    }
    return KERNELS_OK;
}

kernels_status kernels_abi_scan_wheel_bytes(kernels_abi_scan *scan, kernels_view bytes, const char *path,
                                            kernels_error *error) {
    wheel file = {.path = path, .bytes = {(const uint8_t *)bytes.data, bytes.size, false}, .scan = scan};
    KERNELS_TRY(open_zlib(&file.zlib, error));
    kernels_status status = scan_members(&file, error);
    (void)dlclose(file.zlib.library);
    return status;
}

kernels_status kernels_abi_scan_wheel(kernels_abi_scan *scan, const char *path, kernels_error *error) {
    kernels_mapping mapping;
    KERNELS_TRY(kernels_mapping_open(path, &mapping, error));
    kernels_status status =
        kernels_abi_scan_wheel_bytes(scan, (kernels_view){(const char *)mapping.data, mapping.size}, path, error);
    kernels_mapping_close(&mapping);
    return status;
}
