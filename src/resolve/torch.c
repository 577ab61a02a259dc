/* SPDX-License-Identifier: Apache-2.0 */
/* What the installed torch is and which device back ends it would load, read from its files without running them. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "resolve/detect.h"

/* From here on a CMake configuration that does not name the C++ ABI means the new one. */
static const kernels_version new_abi_only = {.parts = {2, 7}, .count = 2};

#define SMALL_FILE_LIMIT ((size_t)1024 * 1024)

kernels_version kernels_version_major_minor(kernels_view text) {
    kernels_version version = {0};
    size_t at = 0;
    while (version.count < 2) {
        size_t begin = at;
        while (at < text.size && kernels_is_digit(text.data[at])) {
            at++;
        }
        if (!kernels_view_to_u64(kernels_view_slice(text, begin, at), &version.parts[version.count])) {
            break;
        }
        version.count++;
        if (at >= text.size || text.data[at] != '.') {
            break;
        }
        at++;
    }
    if (version.count == 1) {
        version.count = 2;
    }
    return version;
}

/* ---- torch/version.py ---- */

/* What stands behind "=": a plain string without escapes, or None (text ""). A comment may follow. */
static bool read_constant(kernels_view value, char *text, size_t size) {
    value = kernels_view_trim_ascii(value);
    kernels_view rest;
    kernels_view content = {"", 0};
    if (kernels_view_starts_with(value, KERNELS_VIEW("None"))) {
        rest = kernels_view_slice(value, strlen("None"), value.size);
    } else if (value.size >= 2 && (value.data[0] == '\'' || value.data[0] == '"')) {
        size_t end = kernels_view_find(kernels_view_slice(value, 1, value.size), value.data[0]);
        if (end == SIZE_MAX) {
            return false;
        }
        content = kernels_view_slice(value, 1, end + 1);
        rest = kernels_view_slice(value, end + 2, value.size);
    } else {
        return false;
    }
    rest = kernels_view_trim_ascii(rest);
    if ((rest.size > 0 && rest.data[0] != '#') || kernels_view_find(content, '\\') != SIZE_MAX ||
        content.size >= size) {
        return false;
    }
    memcpy(text, content.data, content.size);
    text[content.size] = '\0';
    return true;
}

/* "name = value" or "name: annotation = value" at the start of a line: the value, else data NULL. */
static kernels_view assigned_value(kernels_view line, const char *name) {
    kernels_view none = {NULL, 0};
    if (!kernels_view_starts_with(line, kernels_view_of(name))) {
        return none;
    }
    kernels_view rest = kernels_view_slice(line, strlen(name), line.size);
    kernels_view trimmed = kernels_view_trim_ascii(rest);
    if (trimmed.size == 0 || (trimmed.data[0] != '=' && trimmed.data[0] != ':')) {
        return none;
    }
    size_t equals = kernels_view_find(trimmed, '=');
    return equals == SIZE_MAX ? none : kernels_view_slice(trimmed, equals + 1, trimmed.size);
}

static void parse_version_file(kernels_view text, kernels_torch_facts *facts) {
    struct {
        const char *name;
        char *text;
        size_t size;
    } wanted[] = {{"__version__", facts->version, sizeof facts->version},
                  {"cuda", facts->cuda, sizeof facts->cuda},
                  {"hip", facts->hip, sizeof facts->hip},
                  {"xpu", facts->xpu, sizeof facts->xpu}};
    facts->readable = true;
    kernels_view line;
    while (kernels_view_split(&text, '\n', &line)) {
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            kernels_view value = assigned_value(line, wanted[i].name);
            if (value.data != NULL && !read_constant(value, wanted[i].text, wanted[i].size)) {
                facts->readable = false;
            }
        }
    }
    facts->readable = facts->readable && facts->version[0] != '\0';
}

/* The wheel's CMake configuration says with which C++ ABI it was built; nothing else does without running it. Since
 * torch has the new one alone, it says nothing of it. */
static kernels_cxx11_abi read_cxx11_abi(const char *torch, const char *torch_version) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(torch, "share/cmake/Torch/TorchConfig.cmake");
    KERNELS_CLEANUP_FREE char *data = NULL;
    size_t size = 0;
    if (path == NULL || kernels_file_read(path, SMALL_FILE_LIMIT, &data, &size, NULL) != KERNELS_OK) {
        return KERNELS_CXX11_ABI_NONE;
    }
    kernels_view text = {data, size};
    if (kernels_view_contains(text, KERNELS_VIEW("_GLIBCXX_USE_CXX11_ABI=1"))) {
        return KERNELS_CXX11_ABI_NEW;
    }
    if (kernels_view_contains(text, KERNELS_VIEW("_GLIBCXX_USE_CXX11_ABI"))) {
        return kernels_view_contains(text, KERNELS_VIEW("_GLIBCXX_USE_CXX11_ABI=0")) ? KERNELS_CXX11_ABI_OLD
                                                                                     : KERNELS_CXX11_ABI_NONE;
    }
    kernels_version version = kernels_version_major_minor(kernels_view_of(torch_version));
    return kernels_version_compare(&version, &new_abi_only) >= 0 ? KERNELS_CXX11_ABI_NEW : KERNELS_CXX11_ABI_NONE;
}

static kernels_status read_torch(const char *site_packages, kernels_torch_facts *facts, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *torch = kernels_path_join(site_packages, "torch");
    KERNELS_CLEANUP_FREE char *version = torch != NULL ? kernels_path_join(torch, "version.py") : NULL;
    if (version == NULL) {
        return kernels_fail_no_memory(error);
    }
    facts->present = kernels_file_is_directory(torch);
    facts->cxx11_abi = KERNELS_CXX11_ABI_NONE;
    if (!facts->present) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *data = NULL;
    size_t size = 0;
    if (kernels_file_read(version, SMALL_FILE_LIMIT, &data, &size, NULL) == KERNELS_OK) {
        parse_version_file((kernels_view){data, size}, facts);
    }
    facts->cxx11_abi = read_cxx11_abi(torch, facts->version);
    return KERNELS_OK;
}

/* ---- installed distributions ---- */

/* Version in a folder name: "torch_tpu-0.2.0.dist-info" -> "0.2.0"; data NULL for other names. */
static kernels_view folder_version(kernels_view folder, const char *distribution) {
    kernels_view none = {NULL, 0};
    size_t dash = kernels_view_find(folder, '-');
    size_t dot = kernels_view_find_last(folder, '.');
    if (dash == SIZE_MAX || dot == SIZE_MAX || dot < dash) {
        return none;
    }
    if (distribution != NULL && !kernels_view_equal_text(kernels_view_slice(folder, 0, dash), distribution)) {
        return none;
    }
    return kernels_view_slice(folder, dash + 1, dot);
}

static void copy_view(char *to, size_t size, kernels_view text) {
    if (text.data != NULL && text.size < size) {
        memcpy(to, text.data, text.size);
        to[text.size] = '\0';
    }
}

/* Names in section [torch.backends] of an entry_points.txt. */
static void read_entry_points(kernels_view text, kernels_view folder, kernels_torch_facts *facts) {
    bool inside = false;
    kernels_view line;
    while (kernels_view_split(&text, '\n', &line)) {
        line = kernels_view_trim_ascii(line);
        if (line.size == 0 || line.data[0] == '#' || line.data[0] == ';') {
            continue;
        }
        if (line.data[0] == '[') {
            inside = kernels_view_equal_text(line, "[torch.backends]");
            continue;
        }
        size_t equals = kernels_view_find(line, '=');
        if (!inside || equals == SIZE_MAX) {
            continue;
        }
        if (kernels_view_equal_text(kernels_view_trim_ascii(kernels_view_slice(line, 0, equals)), "torch_tpu")) {
            if (!facts->torch_tpu) {
                copy_view(facts->torch_tpu_version, sizeof facts->torch_tpu_version, folder_version(folder, NULL));
            }
            facts->torch_tpu = true;
        } else {
            facts->other_backend = true;
        }
    }
}

static void read_distribution(const char *site_packages, const char *folder, kernels_torch_facts *facts) {
    kernels_view name = kernels_view_of(folder);
    if (!kernels_view_ends_with(name, KERNELS_VIEW(".dist-info")) &&
        !kernels_view_ends_with(name, KERNELS_VIEW(".egg-info"))) {
        return;
    }
    if (facts->tvm_ffi[0] == '\0') {
        copy_view(facts->tvm_ffi, sizeof facts->tvm_ffi, folder_version(name, "apache_tvm_ffi"));
    }
    if (!facts->present) {
        return; /* entry points matter to torch alone */
    }
    KERNELS_CLEANUP_FREE char *path = kernels_path_join3(site_packages, folder, "entry_points.txt");
    KERNELS_CLEANUP_FREE char *data = NULL;
    size_t size = 0;
    if (path != NULL && kernels_file_read(path, SMALL_FILE_LIMIT, &data, &size, NULL) == KERNELS_OK) {
        read_entry_points((kernels_view){data, size}, name, facts);
    }
}

static kernels_status read_folder(const char *folder, kernels_torch_facts *facts, kernels_error *error) {
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(folder, KERNELS_LIST_CHILDREN, &listing, error));
    for (size_t i = 0; i < listing.count; i++) {
        const char *name = listing.entries[i].path;
        facts->libtpu = facts->libtpu || strcmp(name, "libtpu") == 0 || strcmp(name, "torch_tpu") == 0;
        read_distribution(folder, name, facts);
    }
    kernels_listing_dispose(&listing);
    return KERNELS_OK;
}

kernels_status kernels_torch_read(const kernels_package_folders *folders, kernels_torch_facts *facts,
                                  kernels_error *error) {
    *facts = (kernels_torch_facts){.cxx11_abi = KERNELS_CXX11_ABI_NONE};
    for (size_t i = 0; i < folders->count && !facts->present; i++) {
        KERNELS_TRY(read_torch(folders->paths[i], facts, error));
    }
    for (size_t i = 0; i < folders->count; i++) {
        KERNELS_TRY(read_folder(folders->paths[i], facts, error));
    }
    return KERNELS_OK;
}
