/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA runtime of a machine without torch. Its library is looked up in the dynamic linker's cache, which is one
 * small file: no helper programs, and nothing is opened on machines without it. */
#include <dlfcn.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "resolve/detect.h"

#define CACHE_LIMIT ((size_t)64 * 1024 * 1024)

/* Layout of /etc/ld.so.cache, format "glibc-ld.so.cache1.1": a header of 48 bytes with the number of entries at
 * offset 20, then entries of 24 bytes {flags, name offset, path offset, osversion, hwcap}; offsets count from the
 * start of this header. An older format may stand before it. */
#define MAGIC "glibc-ld.so.cache1.1"
#define HEADER_SIZE ((size_t)48)
#define COUNT_OFFSET ((size_t)20)
#define ENTRY_SIZE ((size_t)24)
#define NAME_OFFSET ((size_t)4)
#define PATH_OFFSET ((size_t)8)

static uint32_t read_u32(const char *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Text at an offset, when it lies within the data and ends there. */
static const char *text_at(kernels_view cache, uint32_t offset) {
    if (offset >= cache.size || memchr(cache.data + offset, '\0', cache.size - offset) == NULL) {
        return NULL;
    }
    return cache.data + offset;
}

static kernels_view find_header(kernels_view file) {
    size_t magic_size = sizeof MAGIC - 1;
    for (size_t at = 0; file.size >= HEADER_SIZE && at <= file.size - HEADER_SIZE; at += 4) {
        if (memcmp(file.data + at, MAGIC, magic_size) == 0) {
            return kernels_view_slice(file, at, file.size);
        }
    }
    return (kernels_view){NULL, 0};
}

/* Calls cudaRuntimeGetVersion of one library; 0 when that is not possible (a library of another CPU, say). *mute
 * becomes true when it was opened. */
static int runtime_version(const char *path, bool *mute) {
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        return 0;
    }
    int version = 0;
    void *symbol = dlsym(library, "cudaRuntimeGetVersion");
    int (*get_version)(int *) = NULL;
    if (symbol != NULL) {
        memcpy(&get_version, &symbol, sizeof symbol);
        if (get_version(&version) != 0) {
            version = 0;
        }
    }
    *mute = *mute || version <= 0;
    dlclose(library);
    return version > 0 ? version : 0;
}

static int search(kernels_view cache, bool *mute) {
    uint32_t count = read_u32(cache.data + COUNT_OFFSET);
    size_t room = (cache.size - HEADER_SIZE) / ENTRY_SIZE;
    for (size_t i = 0; i < count && i < room; i++) {
        const char *entry = cache.data + HEADER_SIZE + i * ENTRY_SIZE;
        const char *name = text_at(cache, read_u32(entry + NAME_OFFSET));
        if (name == NULL || strncmp(name, "libcudart.so", strlen("libcudart.so")) != 0) {
            continue;
        }
        const char *path = text_at(cache, read_u32(entry + PATH_OFFSET));
        int version = path != NULL ? runtime_version(path, mute) : 0;
        if (version > 0) {
            return version;
        }
    }
    return 0;
}

kernels_version kernels_cudart_version(const char *root, bool *mute) {
    kernels_version none = {0};
    *mute = false;
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer path = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&path, "%s/etc/ld.so.cache", root);
    KERNELS_CLEANUP_FREE char *data = NULL;
    size_t size = 0;
    if (kernels_file_read(kernels_buffer_text(&path), CACHE_LIMIT, &data, &size, NULL) != KERNELS_OK) {
        return none;
    }
    kernels_view cache = find_header((kernels_view){data, size});
    int version = cache.data != NULL ? search(cache, mute) : 0;
    if (version == 0) {
        return none;
    }
    *mute = false;
    return (kernels_version){.parts = {(uint64_t)(version / 1000), (uint64_t)(version % 1000 / 10)}, .count = 2};
}
