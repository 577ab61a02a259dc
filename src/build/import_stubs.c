/* SPDX-License-Identifier: Apache-2.0 */
#include "build/import_stubs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "build/elf_stub.h"
#include "kernels/abi.h"

#define TORCH_LIBRARIES_MAX ((size_t)128)
#define STUB_SIZE_LIMIT ((size_t)64 * 1024 * 1024)

/* The libraries that may be stubs. Names without a version go to the library whose names begin like them. */
static const struct {
    const char *library, *symbols;
} families[] = {
    {"libcublas.so", "cublas"},     {"libcublasLt.so", "cublasLt"},
    {"libcudnn.so", "cudnn"},       {"libcufft.so", "cufft"},
    {"libcufile.so", "cuFile"},     {"libcupti.so", "cupti"},
    {"libcurand.so", "curand"},     {"libcusolver.so", "cusolver"},
    {"libcusparse.so", "cusparse"}, {"libcusparseLt.so", "cusparseLt"},
    {"libnccl.so", "nccl"},         {"libnvJitLink.so", "nvJitLink"},
    {"libnvrtc.so", "nvrtc"},       {"libnvshmem_host.so", "nvshmem"},
};
#define FAMILY_COUNT (sizeof families / sizeof families[0])

typedef struct stub_library {
    kernels_view soname; /* empty: nobody needs it, or the real one is there */
    kernels_stub_symbol *symbols;
    size_t count, capacity;
} stub_library;

typedef struct stub_maker {
    const char *site_packages;
    char *directory;                                  /* torch/lib */
    kernels_abi_object *objects[TORCH_LIBRARIES_MAX]; /* own every view below */
    size_t object_count;
    stub_library stubs[FAMILY_COUNT];
} stub_maker;

static void maker_dispose(stub_maker *maker) {
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        kernels_free(maker->stubs[i].symbols);
    }
    for (size_t i = 0; i < maker->object_count; i++) {
        kernels_abi_object_free(maker->objects[i]);
    }
    kernels_free(maker->directory);
}

/* ---- reading torch's libraries ---- */

static kernels_status open_library(stub_maker *maker, const char *name, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(maker->directory, name);
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_is_regular(path) || strstr(name, ".so") == NULL) {
        return KERNELS_OK;
    }
    if (maker->object_count == TORCH_LIBRARIES_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: more than %zu libraries", maker->directory, TORCH_LIBRARIES_MAX);
    }
    KERNELS_TRY(kernels_abi_object_open(path, 0, &maker->objects[maker->object_count], error));
    const kernels_abi_image *image = kernels_abi_object_image(maker->objects[maker->object_count++], 0);
    if (image->format != KERNELS_ABI_ELF || strcmp(image->machine, "x86_64") != 0) {
        return kernels_fail(error, KERNELS_UNSUPPORTED, "%s is for %s; import stubs are made for x86_64 Linux", path,
                            image->machine);
    }
    return KERNELS_OK;
}

static kernels_status open_libraries(stub_maker *maker, kernels_error *error) {
    kernels_listing listing;
    KERNELS_TRY(kernels_list(maker->directory, KERNELS_LIST_CHILDREN, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        status = open_library(maker, listing.entries[i].path, error);
    }
    kernels_listing_dispose(&listing);
    return status;
}

/* ---- which are missing ---- */

/* "libcublas.so.13" belongs to "libcublas.so". */
static size_t family_of_library(kernels_view soname) {
    size_t i = 0;
    while (i < FAMILY_COUNT && !kernels_view_starts_with(soname, kernels_view_of(families[i].library))) {
        i++;
    }
    return i;
}

static size_t family_of_symbol(kernels_view name) {
    size_t best = FAMILY_COUNT, length = 0;
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        kernels_view prefix = kernels_view_of(families[i].symbols);
        if (prefix.size > length && kernels_view_starts_with(name, prefix)) {
            best = i;
            length = prefix.size;
        }
    }
    return best;
}

/* Wheels of NVIDIA put their libraries into nvidia/<something>/lib. */
static kernels_status is_installed(const stub_maker *maker, kernels_view soname, bool *is_there, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *wheels = kernels_path_join(maker->site_packages, "nvidia");
    kernels_listing listing = {0};
    if (wheels == NULL) {
        return kernels_fail_no_memory(error);
    }
    *is_there = false;
    if (!kernels_file_is_directory(wheels)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_list(wheels, KERNELS_LIST_CHILDREN, &listing, error));
    for (size_t i = 0; i < listing.count && !*is_there; i++) {
        kernels_buffer path KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
        kernels_buffer_printf(&path, "%s/%s/lib/%.*s", wheels, listing.entries[i].path, KERNELS_VIEW_ARGS(soname));
        *is_there = kernels_file_exists(kernels_buffer_text(&path));
    }
    kernels_listing_dispose(&listing);
    return KERNELS_OK;
}

static kernels_status find_missing(stub_maker *maker, kernels_error *error) {
    for (size_t i = 0; i < maker->object_count; i++) {
        const kernels_abi_image *image = kernels_abi_object_image(maker->objects[i], 0);
        for (size_t j = 0; j < image->needed.count; j++) {
            kernels_view soname = image->needed.items[j];
            size_t family = family_of_library(soname);
            bool is_there = true;
            if (family == FAMILY_COUNT || maker->stubs[family].soname.size > 0) {
                continue;
            }
            KERNELS_TRY(is_installed(maker, soname, &is_there, error));
            if (!is_there) {
                maker->stubs[family].soname = soname;
            }
        }
    }
    return KERNELS_OK;
}

/* ---- what they have to define ---- */

static kernels_status add_symbol(stub_library *stub, kernels_view name, kernels_view version, kernels_error *error) {
    if (!kernels_grow((void **)&stub->symbols, &stub->capacity, stub->count, sizeof *stub->symbols,
                      KERNELS_STUB_SYMBOLS_MAX)) {
        return kernels_fail_no_memory(error);
    }
    stub->symbols[stub->count++] = (kernels_stub_symbol){name, version};
    return KERNELS_OK;
}

/* A weak name is one that torch does without: a stub that defined it would pretend that it is there. */
static kernels_status collect_image(stub_maker *maker, const kernels_abi_image *image, kernels_error *error) {
    for (size_t i = 0; i < image->symbol_count; i++) {
        const kernels_abi_symbol *symbol = &image->symbols[i];
        const kernels_abi_version *version = &image->versions[symbol->version];
        size_t family =
            version->library.size > 0 ? family_of_library(version->library) : family_of_symbol(symbol->name);
        if (!symbol->is_weak && family < FAMILY_COUNT && maker->stubs[family].soname.size > 0) {
            KERNELS_TRY(add_symbol(&maker->stubs[family], symbol->name, version->name, error));
        }
    }
    return KERNELS_OK;
}

static int compare_symbols(const void *a, const void *b) {
    const kernels_stub_symbol *x = a, *y = b;
    int order = kernels_view_compare(x->name, y->name);
    return order != 0 ? order : kernels_view_compare(y->version, x->version); /* with a version first */
}

/* Each name once: a definition with a version serves those who ask for none, too. */
static void sort_symbols(stub_library *stub) {
    size_t kept = 0;
    if (stub->count == 0) {
        return;
    }
    qsort(stub->symbols, stub->count, sizeof *stub->symbols, compare_symbols);
    for (size_t i = 1; i < stub->count; i++) {
        if (!kernels_view_equal(stub->symbols[i].name, stub->symbols[kept].name)) {
            stub->symbols[++kept] = stub->symbols[i];
        }
    }
    stub->count = kept + 1;
}

static kernels_status collect(stub_maker *maker, kernels_error *error) {
    for (size_t i = 0; i < maker->object_count; i++) {
        KERNELS_TRY(collect_image(maker, kernels_abi_object_image(maker->objects[i], 0), error));
    }
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        sort_symbols(&maker->stubs[i]);
    }
    return KERNELS_OK;
}

/* ---- writing ---- */

static kernels_status write_stub(const stub_maker *maker, const stub_library *stub, kernels_import_stubs *written,
                                 kernels_error *error) {
    kernels_buffer content KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(STUB_SIZE_LIMIT);
    kernels_buffer path KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    KERNELS_TRY(kernels_elf_stub_write(stub->soname, stub->symbols, stub->count, &content, error));
    kernels_buffer_printf(&path, "%s/%.*s", maker->directory, KERNELS_VIEW_ARGS(stub->soname));
    KERNELS_TRY(kernels_buffer_status(&path, error));
    KERNELS_TRY(kernels_file_write(kernels_buffer_text(&path), kernels_buffer_view(&content), 0755, error));
    written->libraries++;
    written->symbols += stub->count;
    written->bytes += content.size;
    return KERNELS_OK;
}

static kernels_status make_stubs(stub_maker *maker, kernels_import_stubs *written, kernels_error *error) {
    KERNELS_TRY(open_libraries(maker, error));
    KERNELS_TRY(find_missing(maker, error));
    KERNELS_TRY(collect(maker, error));
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        if (maker->stubs[i].soname.size > 0) {
            KERNELS_TRY(write_stub(maker, &maker->stubs[i], written, error));
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_import_stubs_write(const char *site_packages, kernels_import_stubs *written,
                                          kernels_error *error) {
    stub_maker maker = {.site_packages = site_packages};
    *written = (kernels_import_stubs){0};
    maker.directory = kernels_path_join(site_packages, "torch/lib");
    if (maker.directory == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = KERNELS_OK;
    if (kernels_file_is_directory(maker.directory)) {
        status = make_stubs(&maker, written, error);
    }
    maker_dispose(&maker);
    return status;
}
