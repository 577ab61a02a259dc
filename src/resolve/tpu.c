/* SPDX-License-Identifier: Apache-2.0 */
/* Is a TPU there? Decided by PCI ids and device nodes alone. The TPU_* variables prove nothing (importing torch_tpu
 * sets some on any host), and opening the device would take it from the process that wants to use it. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "resolve/detect.h"

#define VENDOR_GOOGLE "0x1ae0"
#define ACCEL_NODES 16

static const struct tpu_device {
    const char *id;
    const char *generation;
} tpu_devices[] = {
    {"0x005e", "v4"}, {"0x0062", "v5p"}, {"0x0063", "v5e"}, {"0x006f", "v6e"}, {"0x0076", "tpu7x"},
};

static bool exists(const char *root, const char *path) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer full = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_add_text(&full, root);
    kernels_buffer_add_text(&full, path);
    return full.failure == KERNELS_OK && kernels_file_exists(kernels_buffer_text(&full));
}

/* Small text file of a device folder, trimmed; "" when it is not there. */
static void read_attribute(const char *device, const char *name, char *text, size_t size) {
    text[0] = '\0';
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(device, name);
    KERNELS_CLEANUP_FREE char *data = NULL;
    size_t length = 0;
    if (path == NULL || kernels_file_read(path, (size_t)64 * 1024, &data, &length, NULL) != KERNELS_OK) {
        return;
    }
    kernels_view trimmed = kernels_view_trim_ascii((kernels_view){data, length});
    if (trimmed.size < size) {
        memcpy(text, trimmed.data, trimmed.size);
        text[trimmed.size] = '\0';
    }
}

/* The node through which a driver hands out the device: its IOMMU group below /dev/vfio. */
static bool has_vfio_node(const char *root, const char *device) {
    KERNELS_CLEANUP_FREE char *link = kernels_path_join(device, "iommu_group");
    KERNELS_CLEANUP_FREE char *group = link != NULL ? kernels_path_resolve(link) : NULL;
    if (group == NULL) {
        return false;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer node = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_add_text(&node, "/dev/vfio/");
    kernels_buffer_add_view(&node, kernels_path_name(group));
    return node.failure == KERNELS_OK && exists(root, kernels_buffer_text(&node));
}

/* Older hosts hand TPUs out as /dev/accel<N> instead. */
static bool has_accel_node(const char *root) {
    for (int i = 0; i < ACCEL_NODES; i++) {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer node = KERNELS_BUFFER_INIT(64);
        kernels_buffer_printf(&node, "/dev/accel%d", i);
        if (exists(root, kernels_buffer_text(&node))) {
            return true;
        }
    }
    return false;
}

static kernels_tpu_presence scan_device(const char *root, const char *device, char generation[16]) {
    char vendor[16];
    char id[16];
    read_attribute(device, "vendor", vendor, sizeof vendor);
    if (strcmp(vendor, VENDOR_GOOGLE) != 0) {
        return KERNELS_TPU_NONE;
    }
    read_attribute(device, "device", id, sizeof id);
    for (size_t i = 0; i < sizeof tpu_devices / sizeof tpu_devices[0]; i++) {
        if (strcmp(id, tpu_devices[i].id) == 0) {
            if (!has_vfio_node(root, device) && !has_accel_node(root)) {
                return KERNELS_TPU_NONE;
            }
            memcpy(generation, tpu_devices[i].generation, strlen(tpu_devices[i].generation) + 1);
            return KERNELS_TPU_PRESENT;
        }
    }
    /* Network and disk devices of virtual machines carry the same vendor id, but no such node. */
    return has_vfio_node(root, device) ? KERNELS_TPU_UNKNOWN : KERNELS_TPU_NONE;
}

kernels_tpu_presence kernels_tpu_scan(const char *root, char generation[16]) {
    generation[0] = '\0';
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer bus = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&bus, "%s/sys/bus/pci/devices", root);
    kernels_listing listing = {0};
    if (kernels_list(kernels_buffer_text(&bus), KERNELS_LIST_CHILDREN, &listing, NULL) != KERNELS_OK) {
        return KERNELS_TPU_NONE;
    }
    kernels_tpu_presence presence = KERNELS_TPU_NONE;
    for (size_t i = 0; i < listing.count && presence != KERNELS_TPU_PRESENT; i++) {
        KERNELS_CLEANUP_FREE char *device = kernels_path_join(kernels_buffer_text(&bus), listing.entries[i].path);
        kernels_tpu_presence found = device != NULL ? scan_device(root, device, generation) : KERNELS_TPU_NONE;
        presence = found != KERNELS_TPU_NONE ? found : presence;
    }
    kernels_listing_dispose(&listing);
    return presence;
}

static bool has_render_node(const char *root) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer folder = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&folder, "%s/dev/dri", root);
    kernels_listing listing = {0};
    if (kernels_list(kernels_buffer_text(&folder), KERNELS_LIST_CHILDREN, &listing, NULL) != KERNELS_OK) {
        return false;
    }
    bool found = false;
    for (size_t i = 0; i < listing.count; i++) {
        found = found || kernels_view_starts_with(kernels_view_of(listing.entries[i].path), KERNELS_VIEW("renderD"));
    }
    kernels_listing_dispose(&listing);
    return found;
}

bool kernels_gpu_is_usable(const char *root, bool cuda, bool hip, bool xpu) {
    return (cuda && (exists(root, "/dev/nvidiactl") || exists(root, "/dev/nvidia0") || exists(root, "/dev/dxg"))) ||
           (hip && exists(root, "/dev/kfd")) || (xpu && has_render_node(root));
}
