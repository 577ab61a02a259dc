/* SPDX-License-Identifier: Apache-2.0 */
/* System detection on machines made of files: all static hosts of release17/tpu_detect.json, the static part of
 * loader/backend_detect.json, and the folders of Python environments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "resolve/detect.h"
#include "resolve/user_agent.h"
#include "vector.h"

/* ---- a machine below a temporary folder ---- */

typedef struct machine {
    char *root;
    char *site_packages;
} machine;

static void write_file(const char *root, const char *path, const char *content) {
    char *full = kernels_path_join(root, path);
    char *parent = kernels_path_parent(full);
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_make_directories(parent, &error) != KERNELS_OK ||
        kernels_file_write(full, kernels_view_of(content), 0, &error) != KERNELS_OK) {
        fail_msg("%s", kernels_error_message(&error));
    }
    kernels_free(full);
    kernels_free(parent);
}

static machine machine_new(void) {
    machine made = {0};
    assert_int_equal(kernels_make_temporary_directory(NULL, "kernels-system-", &made.root, NULL), KERNELS_OK);
    made.site_packages = kernels_path_join(made.root, "venv/lib/python3.11/site-packages");
    assert_int_equal(kernels_make_directories(made.site_packages, NULL), KERNELS_OK);
    return made;
}

static void machine_free(machine *made) {
    assert_int_equal(kernels_remove_tree(made->root, NULL), KERNELS_OK);
    kernels_free(made->root);
    kernels_free(made->site_packages);
}

static void add_pci_device(const machine *made, const char *slot, const char *vendor, const char *device,
                           const char *group) {
    char path[256];
    (void)snprintf(path, sizeof path, "sys/bus/pci/devices/%s/vendor", slot);
    write_file(made->root, path, vendor);
    (void)snprintf(path, sizeof path, "sys/bus/pci/devices/%s/device", slot);
    write_file(made->root, path, device);
    if (group != NULL) {
        (void)snprintf(path, sizeof path, "sys/kernel/iommu_groups/%s/type", group);
        write_file(made->root, path, "DMA\n");
        char target[256];
        (void)snprintf(target, sizeof target, "../../../../kernel/iommu_groups/%s", group);
        (void)snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/iommu_group", made->root, slot);
        assert_int_equal(kernels_make_link(target, path, NULL), KERNELS_OK);
    }
}

static void add_entry_point(const machine *made, const char *name, const char *version) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s-%s.dist-info/entry_points.txt", name, version != NULL ? version : "0");
    char text[512];
    (void)snprintf(text, sizeof text, "[console_scripts]\nx = y:z\n\n[torch.backends]\n%s = %s:_autoload\n", name,
                   name);
    write_file(made->site_packages, path, text);
}

/* ---- release17/tpu_detect.json ---- */

static void build_host(kernels_document *document, const kernels_node *input, const machine *made) {
    write_file(made->site_packages, "torch/version.py", vector_text(document, input, "version_py"));
    const kernels_node *points = kernels_node_find(input, "entry_points");
    for (size_t i = 0; points != NULL && i < points->count; i++) {
        const char *name = kernels_arena_copy_text(document->arena, points->as.items[i]->as.text);
        bool is_tpu = strcmp(name, "torch_tpu") == 0;
        add_entry_point(made, name, is_tpu ? vector_text(document, input, "torch_tpu_version") : "1.0");
    }
    const kernels_node *pci = kernels_node_find(input, "pci");
    for (size_t i = 0; pci != NULL && i < pci->count; i++) {
        const kernels_node *device = pci->as.items[i];
        char slot[32];
        (void)snprintf(slot, sizeof slot, "0000:00:%02zu.0", i + 4);
        add_pci_device(made, slot, vector_text(document, device, "vendor"), vector_text(document, device, "device"),
                       vector_text(document, device, "iommu_group"));
    }
    const kernels_node *vfio = kernels_node_find(input, "vfio");
    for (size_t i = 0; vfio != NULL && i < vfio->count; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "dev/vfio/%.*s", KERNELS_VIEW_ARGS(vfio->as.items[i]->as.text));
        write_file(made->root, path, "");
    }
    const kernels_node *nodes = kernels_node_find(input, "nodes");
    for (size_t i = 0; nodes != NULL && i < nodes->count; i++) {
        const char *node = kernels_arena_copy_text(document->arena, nodes->as.items[i]->as.text);
        write_file(made->root, node + 1, "");
    }
}

static void check_host(kernels_document *document, const kernels_node *vector) {
    const kernels_node *input = kernels_node_find(vector, "input");
    const char *name = vector_text(document, vector, "name");
    const char *expect = vector_text(document, vector, "expect");
    const char *os = vector_text(document, input, "os");
    const char *autoload = vector_text(document, kernels_node_find(input, "env"), "TORCH_DEVICE_BACKEND_AUTOLOAD");
    machine made = machine_new();
    build_host(document, input, &made);
    if (autoload != NULL) {
        assert_int_equal(setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", autoload, 1), 0);
    }
    kernels_torch_facts facts;
    kernels_detection detection;
    char generation[16];
    const char *folder = made.site_packages;
    const kernels_package_folders folders = {.paths = &folder, .count = 1};
    assert_int_equal(kernels_torch_read(&folders, &facts, NULL), KERNELS_OK);
    kernels_backend_detect(made.root, os != NULL ? os : "linux", &facts, &detection, generation, NULL);
    assert_int_equal(unsetenv("TORCH_DEVICE_BACKEND_AUTOLOAD"), 0);
    kernels_system system = {.backend = detection.backend, .backend_version = detection.version};
    char text[64];
    kernels_system_backend_text(&system, text);
    bool open = strcmp(expect, "import torch") == 0;
    if (detection.needs_torch != open || (!open && strcmp(text, expect) != 0)) {
        fail_msg("%s: expected %s, got %s%s", name, expect, detection.needs_torch ? "import torch, perhaps " : "",
                 text);
    }
    machine_free(&made);
}

static void test_static_hosts(void **state) {
    (void)state;
    kernels_document document = vector_read("release17/tpu_detect.json");
    const kernels_node *hosts = kernels_node_find(document.root, "static");
    for (size_t i = 0; i < hosts->count; i++) {
        check_host(&document, hosts->as.items[i]);
    }
    print_message("tpu_detect.json: %zu static hosts\n", hosts->count);
    assert_int_equal(hosts->count, 17);
    kernels_document_dispose(&document);
}

/* ---- loader/backend_detect.json: what a version file tells, and selection ---- */

/* Environments that files alone describe: torch absent, or known by cuda, hip and xpu. */
static bool is_static(const kernels_node *environment) {
    const kernels_node *torch = kernels_node_find(environment, "torch");
    if (!kernels_node_is(torch, KERNELS_NODE_OBJECT)) {
        return kernels_node_is(kernels_node_find(environment, "cudart"), KERNELS_NODE_NULL);
    }
    for (size_t i = 0; i < torch->count; i++) {
        if (!kernels_view_starts_with(torch->as.members[i].key, KERNELS_VIEW("version."))) {
            return false;
        }
    }
    return true;
}

static kernels_torch_facts read_facts(kernels_document *document, const kernels_node *environment) {
    kernels_torch_facts facts = {.cxx11_abi = KERNELS_CXX11_ABI_NONE};
    const kernels_node *torch = kernels_node_find(environment, "torch");
    if (kernels_node_is(torch, KERNELS_NODE_OBJECT)) {
        facts.present = true;
        facts.readable = true;
        const char *cuda = vector_text(document, torch, "version.cuda");
        const char *hip = vector_text(document, torch, "version.hip");
        const char *xpu = vector_text(document, torch, "version.xpu");
        (void)snprintf(facts.cuda, sizeof facts.cuda, "%s", cuda != NULL ? cuda : "");
        (void)snprintf(facts.hip, sizeof facts.hip, "%s", hip != NULL ? hip : "");
        (void)snprintf(facts.xpu, sizeof facts.xpu, "%s", xpu != NULL ? xpu : "");
    }
    return facts;
}

static void check_selection(kernels_document *document, const kernels_node *vector, const kernels_system *system) {
    const kernels_node *environment = kernels_node_find(vector, "environment");
    const char *select = vector_text(document, environment, "select");
    if (select == NULL) {
        return;
    }
    const char *message = vector_text(document, vector, "select_message");
    const char *wanted = vector_text(document, vector, "selected");
    kernels_system selected = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = kernels_system_select_backend(system, select, &selected, &error);
    if (message != NULL) {
        assert_int_equal(status, KERNELS_INVALID_ARGUMENT);
        assert_string_equal(kernels_error_message(&error), message);
    } else {
        char text[64];
        assert_int_equal(status, KERNELS_OK);
        kernels_system_backend_text(&selected, text);
        assert_string_equal(text, wanted);
    }
    kernels_error_dispose(&error);
}

static void test_version_file_backends(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/backend_detect.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    machine made = machine_new();
    size_t run = 0;
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *vector = cases->as.items[i];
        const kernels_node *environment = kernels_node_find(vector, "environment");
        if (!is_static(environment)) {
            continue;
        }
        kernels_torch_facts facts = read_facts(&document, environment);
        kernels_detection detection;
        char generation[16];
        char text[64];
        kernels_backend_detect(made.root, "linux", &facts, &detection, generation, NULL);
        kernels_system system = {.backend = detection.backend, .backend_version = detection.version};
        kernels_system_backend_text(&system, text);
        assert_string_equal(text, vector_text(&document, kernels_node_find(vector, "detected"), "variant_str"));
        check_selection(&document, vector, &system);
        run++;
    }
    print_message("backend_detect.json: %zu cases, %zu told by files alone\n", cases->count, run);
    assert_int_equal(cases->count, 43);
    assert_int_equal(run, 19);
    machine_free(&made);
    kernels_document_dispose(&document);
}

/* ---- a whole detection ---- */

static kernels_system detect(const machine *made) {
    kernels_system system = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    const kernels_system_options options = {.site_packages = made->site_packages, .sysfs_root = made->root};
    if (kernels_system_detect(&options, &system, &error) != KERNELS_OK) {
        fail_msg("%s", kernels_error_message(&error));
    }
    return system;
}

static const char version_file[] = "__version__ = '2.15.0+cu132'\ncuda: Optional[str] = '13.2'  # a comment\n"
                                   "hip: Optional[str] = None\nxpu: Optional[str] = None\n";

static void test_environment_with_torch(void **state) {
    (void)state;
    machine made = machine_new();
    write_file(made.site_packages, "torch/version.py", version_file);
    write_file(made.site_packages, "torch/share/cmake/Torch/TorchConfig.cmake",
               "set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=1\")\n");
    write_file(made.site_packages, "apache_tvm_ffi-0.1.15.dist-info/METADATA", "Name: apache-tvm-ffi\n");
    kernels_system system = detect(&made);
    assert_int_equal(system.backend, KERNELS_BACKEND_CUDA);
    assert_int_equal(system.backend_version.parts[0], 13);
    assert_int_equal(system.backend_version.parts[1], 2);
    assert_int_equal(system.torch.parts[1], 15);
    assert_int_equal(system.torch_cxx11_abi, KERNELS_CXX11_ABI_NEW);
    assert_int_equal(system.tvm_ffi.count, 2);
    assert_int_equal(system.tvm_ffi.parts[1], 1);
    assert_string_equal(system.python, "3.11");
    assert_string_equal(system.torch_text, "2.15.0+cu132");
    assert_string_equal(system.tpu_generation, "");
    assert_true(strlen(system.backend_reason) > 0);
    kernels_buffer agent = KERNELS_BUFFER_INIT(4096);
    kernels_system_user_agent(&system, &agent);
    assert_non_null(strstr(kernels_buffer_text(&agent), "kernels/0.17.2; python/3.11; backend/cu132; platform/"));
    assert_non_null(strstr(kernels_buffer_text(&agent), "; file_type/kernel; torch/2.15.0+cu132; tvm-ffi/0.1.15"));
    kernels_buffer_dispose(&agent);
    machine_free(&made);
}

static void test_abi_of_torch(void **state) {
    (void)state;
    static const struct {
        const char *version, *configuration;
        kernels_cxx11_abi abi;
    } cases[] = {
        {"2.6.0", "-D_GLIBCXX_USE_CXX11_ABI=0", KERNELS_CXX11_ABI_OLD},
        {"2.6.0", "-D_GLIBCXX_USE_CXX11_ABI=1", KERNELS_CXX11_ABI_NEW},
        {"2.6.0", "nothing", KERNELS_CXX11_ABI_NONE},
        {"2.15.0+cu132", "nothing", KERNELS_CXX11_ABI_NEW},
        {"2.15.0", "-D_GLIBCXX_USE_CXX11_ABI=${else}", KERNELS_CXX11_ABI_NONE},
    };
    machine made = machine_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "__version__ = '%s'\n", cases[i].version);
        write_file(made.site_packages, "torch/version.py", text);
        write_file(made.site_packages, "torch/share/cmake/Torch/TorchConfig.cmake", cases[i].configuration);
        assert_int_equal(detect(&made).torch_cxx11_abi, cases[i].abi);
    }
    machine_free(&made);
}

static void test_tpu_without_torch_needs_libtpu(void **state) {
    (void)state;
    machine made = machine_new();
    add_pci_device(&made, "0000:00:05.0", "0x1ae0\n", "0x0063\n", "8");
    write_file(made.root, "dev/vfio/8", "");
    kernels_system system = detect(&made);
    assert_int_equal(system.backend, KERNELS_BACKEND_CPU);
    assert_string_equal(system.tpu_generation, "v5e");
    write_file(made.site_packages, "libtpu/libtpu.so", "");
    system = detect(&made);
    assert_int_equal(system.backend, KERNELS_BACKEND_TPU);
    machine_free(&made);
}

static void test_older_hosts_offer_accel_nodes(void **state) {
    (void)state;
    machine made = machine_new();
    char generation[16];
    add_pci_device(&made, "0000:00:05.0", "0x1ae0\n", "0x005e\n", NULL);
    assert_int_equal(kernels_tpu_scan(made.root, generation), KERNELS_TPU_NONE);
    write_file(made.root, "dev/accel2", "");
    assert_int_equal(kernels_tpu_scan(made.root, generation), KERNELS_TPU_PRESENT);
    assert_string_equal(generation, "v4");
    machine_free(&made);
}

static void test_alternative_of_an_idle_torch_tpu(void **state) {
    (void)state;
    machine made = machine_new();
    kernels_system selected;
    write_file(made.site_packages, "torch/version.py", version_file);
    add_entry_point(&made, "torch_tpu", "0.2.0");
    kernels_system system = detect(&made);
    assert_int_equal(system.backend, KERNELS_BACKEND_TPU);
    assert_int_equal(kernels_system_select_backend(&system, "cuda", &selected, NULL), KERNELS_OK);
    assert_int_equal(selected.backend_version.parts[0], 13);
    write_file(made.root, "dev/nvidiactl", "");
    system = detect(&made);
    assert_int_equal(system.backend, KERNELS_BACKEND_CUDA);
    assert_int_equal(kernels_system_select_backend(&system, "tpu", &selected, NULL), KERNELS_OK);
    assert_int_equal(selected.backend, KERNELS_BACKEND_TPU);
    assert_int_equal(kernels_system_select_backend(&system, "rocm", &selected, NULL), KERNELS_INVALID_ARGUMENT);
    machine_free(&made);
}

static void test_simulated_tpu(void **state) {
    (void)state;
    machine made = machine_new();
    write_file(made.site_packages, "torch/version.py", version_file);
    kernels_system system = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_system_options options = {.site_packages = made.site_packages, .sysfs_root = made.root, .simulate = "tpu"};
    assert_int_equal(kernels_system_detect(&options, &system, &error), KERNELS_OK);
    assert_int_equal(system.backend, KERNELS_BACKEND_TPU);
    assert_int_equal(system.backend_version.count, 0);
    assert_string_equal(system.backend_reason, "simulated: KERNELS_SIMULATE=tpu");
    assert_true(system.has_alternative);
    assert_int_equal(system.alternative, KERNELS_BACKEND_CUDA);
    assert_string_equal(system.tpu_generation, ""); /* nothing may take the device */
    setenv("KERNELS_SIMULATE", "gpu", 1);
    options.simulate = NULL;
    assert_int_equal(kernels_system_detect(&options, &system, &error), KERNELS_INVALID_ARGUMENT);
    assert_non_null(strstr(kernels_error_message(&error), "KERNELS_SIMULATE: expected tpu, given 'gpu'"));
    kernels_error_dispose(&error);
    options.simulate = "";
    assert_int_equal(kernels_system_detect(&options, &system, &error), KERNELS_OK);
    assert_int_equal(system.backend, KERNELS_BACKEND_CUDA);
    setenv("KERNELS_SIMULATE", "", 1);
    options.simulate = NULL;
    assert_int_equal(kernels_system_detect(&options, &system, &error), KERNELS_OK);
    assert_int_equal(system.backend, KERNELS_BACKEND_CUDA);
    unsetenv("KERNELS_SIMULATE");
    add_pci_device(&made, "0000:00:05.0", "0x1ae0\n", "0x005e\n", NULL);
    write_file(made.root, "dev/accel2", "");
    add_entry_point(&made, "torch_tpu", "0.2.0");
    options.simulate = "tpu";
    assert_int_equal(kernels_system_detect(&options, &system, &error), KERNELS_OK);
    assert_int_equal(system.backend, KERNELS_BACKEND_TPU);
    assert_string_equal(system.tpu_generation, "v4");
    assert_null(strstr(system.backend_reason, "simulated"));
    machine_free(&made);
}

static void test_where_python_is(void **state) {
    (void)state;
    machine made = machine_new();
    kernels_python python;
    char *venv = kernels_path_join(made.root, "venv");
    char *interpreter = kernels_path_join(made.root, "venv/bin/python3");
    char *missing = kernels_path_join(made.root, "missing");
    assert_int_equal(unsetenv("KERNELS_PYTHON"), 0);
    assert_int_equal(unsetenv("VIRTUAL_ENV"), 0);
    assert_int_equal(kernels_python_find(NULL, &python, NULL), KERNELS_OK);
    assert_string_equal(python.site_packages, "");
    assert_int_equal(setenv("VIRTUAL_ENV", venv, 1), 0);
    assert_int_equal(kernels_python_find(NULL, &python, NULL), KERNELS_OK);
    assert_string_equal(python.site_packages, made.site_packages);
    assert_string_equal(python.version, "3.11");
    assert_false(python.free_threaded);
    assert_int_equal(setenv("KERNELS_PYTHON", interpreter, 1), 0);
    assert_int_equal(kernels_python_find(NULL, &python, NULL), KERNELS_INVALID_ARGUMENT);
    write_file(made.root, "venv/bin/python3", "");
    write_file(made.root, "venv/pyvenv.cfg", "home = /usr/bin\n");
    write_file(made.root, "venv/lib/python3.13t/site-packages/x.py", "");
    assert_int_equal(kernels_python_find(NULL, &python, NULL), KERNELS_OK);
    assert_non_null(strstr(python.site_packages, "/venv/lib/python3.13t/site-packages"));
    assert_string_equal(python.version, "3.13");
    assert_true(python.free_threaded);
    assert_int_equal(kernels_python_find(missing, &python, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(unsetenv("KERNELS_PYTHON"), 0);
    assert_int_equal(unsetenv("VIRTUAL_ENV"), 0);
    kernels_free(venv);
    kernels_free(interpreter);
    kernels_free(missing);
    machine_free(&made);
}

/* Damaged caches of the dynamic linker name nothing. */
static void test_linker_cache_damage(void **state) {
    (void)state;
    machine made = machine_new();
    bool mute = true;
    assert_int_equal(kernels_cudart_version(made.root, &mute).count, 0);
    write_file(made.root, "etc/ld.so.cache", "glibc-ld.so.cache1.1");
    assert_int_equal(kernels_cudart_version(made.root, &mute).count, 0);
    char cache[48 + 24 + 16];
    memset(cache, 0xff, sizeof cache);
    memcpy(cache, "glibc-ld.so.cache1.1", 20);
    char *path = kernels_path_join(made.root, "etc/ld.so.cache");
    assert_int_equal(kernels_file_write(path, (kernels_view){cache, sizeof cache}, 0, NULL), KERNELS_OK);
    assert_int_equal(kernels_cudart_version(made.root, &mute).count, 0);
    assert_false(mute);
    kernels_free(path);
    machine_free(&made);
}

/* A machine that says of every fact where it comes from. */
static void test_origins(void **state) {
    (void)state;
    machine made = machine_new();
    kernels_system system = detect(&made);
    assert_string_equal(system.origins[KERNELS_FACT_PLATFORM], "uname");
    assert_string_equal(system.origins[KERNELS_FACT_PYTHON], "name of its folder");
    assert_string_equal(system.origins[KERNELS_FACT_SITE_PACKAGES], "given by the caller");
    assert_string_equal(system.origins[KERNELS_FACT_TORCH], "");
    assert_string_equal(system.origins[KERNELS_FACT_TPU_GENERATION], "");
    write_file(made.site_packages, "torch/version.py", version_file);
    write_file(made.site_packages, "torch/share/cmake/Torch/TorchConfig.cmake", "-D_GLIBCXX_USE_CXX11_ABI=1");
    write_file(made.site_packages, "apache_tvm_ffi-0.1.15.dist-info/METADATA", "");
    add_pci_device(&made, "0000:00:05.0", "0x1ae0\n", "0x0063\n", "8");
    write_file(made.root, "dev/vfio/8", "");
    system = detect(&made);
    assert_string_equal(system.origins[KERNELS_FACT_TORCH], "torch/version.py, not imported");
    assert_string_equal(system.origins[KERNELS_FACT_TORCH_CXX11_ABI], "torch/share/cmake/Torch/TorchConfig.cmake");
    assert_string_equal(system.origins[KERNELS_FACT_TVM_FFI], "installed metadata of apache-tvm-ffi");
    assert_string_equal(system.origins[KERNELS_FACT_TPU_GENERATION], "PCI id and device node");
    for (kernels_fact fact = 0; fact < KERNELS_FACT_COUNT; fact++) {
        assert_non_null(kernels_fact_name(fact));
    }
    machine_free(&made);
}

static void test_gpu_architectures(void **state) {
    (void)state;
    machine made = machine_new();
    add_pci_device(&made, "0000:00:05.0", "0x10de\n", "0x2335\n", NULL);
    write_file(made.root, "sys/bus/pci/devices/0000:00:05.0/class", "0x030200\n");
    add_pci_device(&made, "0000:00:06.0", "0x10de\n", "0x2330\n", NULL);
    write_file(made.root, "sys/bus/pci/devices/0000:00:06.0/class", "0x030200\n");
    add_pci_device(&made, "0000:00:07.0", "0x10de\n", "0x228b\n", NULL); /* the sound part of a card */
    write_file(made.root, "sys/bus/pci/devices/0000:00:07.0/class", "0x040300\n");
    kernels_system system = detect(&made);
    assert_string_equal(system.gpu_architectures, "9.0");
    assert_string_equal(system.origins[KERNELS_FACT_GPU_ARCHITECTURES], "PCI id");
    write_file(made.root, "sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 8\ngfx_target_version 0\n");
    write_file(made.root, "sys/class/kfd/kfd/topology/nodes/1/properties", "gfx_target_version 90010\n");
    write_file(made.root, "sys/class/kfd/kfd/topology/nodes/2/properties", "gfx_target_version 110000\n");
    system = detect(&made);
    assert_string_equal(system.gpu_architectures, "gfx90a, gfx1100");
    machine_free(&made);
}

/* torch in one folder, the package that extends it in another. */
static void test_several_package_folders(void **state) {
    (void)state;
    machine made = machine_new();
    char *second = kernels_path_join(made.root, "dist-packages");
    machine other = {.root = made.root, .site_packages = second};
    const char *more[] = {second};
    write_file(made.site_packages, "torch/version.py", version_file);
    write_file(second, "torch/version.py", "__version__ = '1.0'\ncuda = None\n");
    add_entry_point(&other, "torch_tpu", "0.2.0");
    kernels_system system = {0};
    const kernels_system_options options = {
        .site_packages = made.site_packages, .sysfs_root = made.root, .more_packages = more, .more_package_count = 1};
    assert_int_equal(kernels_system_detect(&options, &system, NULL), KERNELS_OK);
    assert_string_equal(system.torch_text, "2.15.0+cu132");
    assert_int_equal(system.backend, KERNELS_BACKEND_TPU);
    kernels_free(second);
    machine_free(&made);
}

/* ---- loader/user_agent.json: the part that the system makes ---- */

static void copy_optional(char *to, size_t size, const char *text) {
    (void)snprintf(to, size, "%s", text != NULL ? text : "");
}

static kernels_system describe(kernels_document *document, const kernels_node *in) {
    static const kernels_version cuda = {.parts = {13, 0}, .count = 2};
    kernels_system system = {.backend = KERNELS_BACKEND_CPU};
    const char *backend = vector_text(document, in, "backend");
    const char *os = vector_text(document, in, "system");
    const char *cpu = vector_text(document, in, "machine");
    cpu = strcmp(cpu, "arm64") == 0 ? "aarch64" : strcmp(cpu, "AMD64") == 0 ? "x86_64" : cpu;
    (void)snprintf(system.os, sizeof system.os, "%c%s", kernels_to_lower(os[0]), os + 1);
    copy_optional(system.cpu, sizeof system.cpu, cpu);
    copy_optional(system.python, sizeof system.python, vector_text(document, in, "python"));
    copy_optional(system.torch_text, sizeof system.torch_text, vector_text(document, in, "torch"));
    copy_optional(system.tvm_ffi_text, sizeof system.tvm_ffi_text, vector_text(document, in, "tvm_ffi"));
    copy_optional(system.glibc, sizeof system.glibc, vector_text(document, in, "glibc"));
    if (strcmp(backend, "cu130") == 0) {
        system.backend = KERNELS_BACKEND_CUDA;
        system.backend_version = cuda;
    } else {
        assert_int_equal(kernels_backend_parse(kernels_view_of(backend), &system.backend, NULL), KERNELS_OK);
    }
    return system;
}

static void test_user_agent(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/user_agent.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    size_t run = 0;
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *in = kernels_node_find(cases->as.items[i], "in");
        if (!kernels_node_is(kernels_node_find(in, "user_agent"), KERNELS_NODE_NULL) || !vector_true(in, "telemetry")) {
            continue; /* entries of the caller, and what is sent without telemetry, are tested with the header */
        }
        kernels_system system = describe(&document, in);
        kernels_buffer agent = KERNELS_BUFFER_INIT(4096);
        kernels_system_user_agent(&system, &agent);
        assert_string_equal(kernels_buffer_text(&agent), vector_text(&document, cases->as.items[i], "library_part"));
        kernels_buffer_reset(&agent);
        kernels_system_client(&system, &agent);
        assert_string_equal(kernels_buffer_text(&agent), "python/3.12.4");
        kernels_buffer_dispose(&agent);
        run++;
    }
    print_message("user_agent.json: %zu library parts\n", run);
    assert_int_equal(run, 7);
    kernels_document_dispose(&document);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_static_hosts),
        cmocka_unit_test(test_version_file_backends),
        cmocka_unit_test(test_environment_with_torch),
        cmocka_unit_test(test_abi_of_torch),
        cmocka_unit_test(test_tpu_without_torch_needs_libtpu),
        cmocka_unit_test(test_older_hosts_offer_accel_nodes),
        cmocka_unit_test(test_alternative_of_an_idle_torch_tpu),
        cmocka_unit_test(test_simulated_tpu),
        cmocka_unit_test(test_where_python_is),
        cmocka_unit_test(test_linker_cache_damage),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_gpu_architectures),
        cmocka_unit_test(test_several_package_folders),
        cmocka_unit_test(test_user_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
