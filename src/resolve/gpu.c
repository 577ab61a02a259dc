/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs this machine has, as sysfs tells it: no device is opened, no driver library loaded. What comes out is for
 * people; whether a kernel runs on a device is asked of torch at load time. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "resolve/detect.h"

#define VENDOR_NVIDIA "0x10de"
/* Display controllers; the sound part of a card has the same vendor. */
#define CLASS_DISPLAY "0x03"
#define ATTRIBUTE_LIMIT ((size_t)64 * 1024)

/* The first two digits of a device id name the chip. Chips that are missing here stay unknown. */
static const struct nvidia_chip {
    const char *prefix;
    const char *capability;
} nvidia_chips[] = {
    {"0x15", "6.0"},  {"0x1b", "6.1"},  {"0x1c", "6.1"},  {"0x1e", "7.5"},  {"0x1f", "7.5"},
    {"0x21", "7.5"},  {"0x20", "8.0"},  {"0x22", "8.6"},  {"0x24", "8.6"},  {"0x25", "8.6"},
    {"0x26", "8.9"},  {"0x27", "8.9"},  {"0x28", "8.9"},  {"0x23", "9.0"},  {"0x29", "10.0"},
    {"0x31", "10.3"}, {"0x2b", "12.0"}, {"0x2c", "12.0"}, {"0x2d", "12.0"}, {"0x2f", "12.0"},
};

/* Adds a name unless it is there. */
static void add_once(kernels_buffer *names, kernels_view name) {
    kernels_view rest = kernels_buffer_view(names);
    kernels_view known;
    while (rest.size > 0 && kernels_view_split(&rest, ',', &known)) {
        if (kernels_view_equal(kernels_view_trim_ascii(known), name)) {
            return;
        }
    }
    kernels_buffer_add_text(names, names->size > 0 ? ", " : "");
    kernels_buffer_add_view(names, name);
}

static char *read_attribute(const char *folder, const char *name, size_t *size) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(folder, name);
    char *data = NULL;
    if (path == NULL || kernels_file_read(path, ATTRIBUTE_LIMIT, &data, size, NULL) != KERNELS_OK) {
        return NULL;
    }
    return data;
}

static bool attribute_starts_with(const char *folder, const char *name, const char *start) {
    size_t size = 0;
    KERNELS_CLEANUP_FREE char *data = read_attribute(folder, name, &size);
    return data != NULL && kernels_view_starts_with((kernels_view){data, size}, kernels_view_of(start));
}

static void add_nvidia_device(const char *device, kernels_buffer *names) {
    if (!attribute_starts_with(device, "vendor", VENDOR_NVIDIA) ||
        !attribute_starts_with(device, "class", CLASS_DISPLAY)) {
        return;
    }
    for (size_t i = 0; i < sizeof nvidia_chips / sizeof nvidia_chips[0]; i++) {
        if (attribute_starts_with(device, "device", nvidia_chips[i].prefix)) {
            add_once(names, kernels_view_of(nvidia_chips[i].capability));
        }
    }
}

/* A line "gfx_target_version 90010" stands for gfx90a: major, minor and stepping of two decimal digits each. */
static void add_amd_node(const char *node, kernels_buffer *names) {
    static const char key[] = "gfx_target_version ";
    const kernels_view start = {key, sizeof key - 1};
    size_t size = 0;
    KERNELS_CLEANUP_FREE char *data = read_attribute(node, "properties", &size);
    kernels_view rest = {data != NULL ? data : "", size};
    kernels_view line;
    while (rest.size > 0 && kernels_view_split(&rest, '\n', &line)) {
        uint64_t value = 0;
        if (!kernels_view_starts_with(line, start) ||
            !kernels_view_to_u64(kernels_view_slice(line, start.size, line.size), &value) || value == 0) {
            continue;
        }
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer name = KERNELS_BUFFER_INIT(64);
        kernels_buffer_printf(&name, "gfx%" PRIu64 "%" PRIx64 "%" PRIx64, value / 10000, value / 100 % 100,
                              value % 100);
        add_once(names, kernels_buffer_view(&name));
    }
}

/* Calls `add` for each folder in root + path. */
static void scan(const char *root, const char *path, void (*add)(const char *folder, kernels_buffer *names),
                 kernels_buffer *names) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer parent = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&parent, "%s%s", root, path);
    kernels_listing listing = {0};
    if (kernels_list(kernels_buffer_text(&parent), KERNELS_LIST_CHILDREN, &listing, NULL) != KERNELS_OK) {
        return;
    }
    for (size_t i = 0; i < listing.count; i++) {
        KERNELS_CLEANUP_FREE char *folder = kernels_path_join(kernels_buffer_text(&parent), listing.entries[i].path);
        if (folder != NULL) {
            add(folder, names);
        }
    }
    kernels_listing_dispose(&listing);
}

static void copy_text(char *to, size_t size, const char *text) {
    size_t length = strlen(text);
    length = length < size ? length : size - 1;
    memcpy(to, text, length);
    to[length] = '\0';
}

void kernels_gpu_scan(const char *root, char architectures[256], char origin[KERNELS_ORIGIN_SIZE]) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer names = KERNELS_BUFFER_INIT(256);
    architectures[0] = '\0';
    origin[0] = '\0';
    scan(root, "/sys/class/kfd/kfd/topology/nodes", add_amd_node, &names);
    const char *source = "topology of the AMD driver";
    if (names.size == 0) {
        scan(root, "/sys/bus/pci/devices", add_nvidia_device, &names);
        source = "PCI id";
    }
    if (names.size > 0) {
        copy_text(architectures, 256, kernels_buffer_text(&names));
        copy_text(origin, KERNELS_ORIGIN_SIZE, source);
    }
}
