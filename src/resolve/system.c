/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine is. The backend rule decides without importing torch wherever its files tell enough. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "resolve/detect.h"

/* torch_tpu from this version on leaves torch.backends.tpu alone and can be judged by its files. */
static const kernels_version torch_tpu_judgeable = {.parts = {0, 2}, .count = 2};

static void set_text(char *to, size_t size, kernels_view text) {
    size_t length = text.size < size ? text.size : size - 1;
    if (length > 0) {
        memcpy(to, text.data, length);
    }
    to[length] = '\0';
}

/* ---- the backend ---- */

static void say(kernels_buffer *reason, const char *text) {
    if (reason != NULL) {
        kernels_buffer_reset(reason);
        kernels_buffer_add_text(reason, text);
    }
}

/* The build of torch decides: CUDA, ROCm, XPU, else CPU. */
static void detect_from_build(const kernels_torch_facts *facts, kernels_detection *detection, kernels_buffer *reason) {
    if (facts->cuda[0] != '\0') {
        detection->backend = KERNELS_BACKEND_CUDA;
        detection->version = kernels_version_major_minor(kernels_view_of(facts->cuda));
        say(reason, "torch is built for CUDA");
    } else if (facts->hip[0] != '\0') {
        detection->backend = KERNELS_BACKEND_ROCM;
        detection->version = kernels_version_major_minor(kernels_view_of(facts->hip));
        say(reason, "torch is built for ROCm");
    } else if (strlen(facts->xpu) >= 6) {
        /* "20250300" is 2025.3: four digits of year, then two of the release */
        char text[8] = {facts->xpu[0], facts->xpu[1], facts->xpu[2], facts->xpu[3], '.', facts->xpu[5], '\0'};
        detection->backend = KERNELS_BACKEND_XPU;
        detection->version = kernels_version_major_minor(kernels_view_of(text));
        say(reason, "torch is built for XPU");
    } else {
        detection->backend = KERNELS_BACKEND_CPU;
        say(reason, "torch is built for the CPU");
    }
}

static void detect_without_torch(const char *root, const kernels_torch_facts *facts, kernels_detection *detection,
                                 kernels_tpu_presence presence, kernels_buffer *reason) {
    bool mute = false;
    kernels_version cuda = kernels_cudart_version(root, &mute);
    if (cuda.count > 0) {
        detection->backend = KERNELS_BACKEND_CUDA;
        detection->version = cuda;
        say(reason, "no torch, but a CUDA runtime library");
    } else if (facts->libtpu && presence == KERNELS_TPU_PRESENT) {
        detection->backend = KERNELS_BACKEND_TPU;
        say(reason, "no torch, but libtpu and a TPU");
    } else {
        detection->backend = KERNELS_BACKEND_CPU;
        say(reason, mute ? "no torch, and a CUDA runtime library that does not tell its version"
                         : "no torch, no CUDA runtime library, no TPU with libtpu");
    }
}

static bool autoload_is_off(void) {
    const char *value = getenv("TORCH_DEVICE_BACKEND_AUTOLOAD");
    return value != NULL && strcmp(value, "1") != 0;
}

/* Only running torch would tell; the build of torch is the best guess. */
static void leave_open(const kernels_torch_facts *facts, kernels_detection *detection, kernels_buffer *reason,
                       const char *why) {
    detect_from_build(facts, detection, NULL);
    detection->needs_torch = true;
    say(reason, why);
}

static void choose_tpu(const kernels_torch_facts *facts, kernels_detection *detection, kernels_buffer *reason,
                       const char *why, bool alternative) {
    kernels_detection other = {0};
    detect_from_build(facts, &other, NULL);
    detection->backend = KERNELS_BACKEND_TPU;
    detection->has_alternative = alternative;
    detection->alternative = other.backend;
    detection->alternative_version = other.version;
    say(reason, why);
}

/* torch_tpu is loaded by torch itself: a TPU wins; without any device it wins unless torch can use a GPU. */
static void detect_with_torch_tpu(const char *root, const kernels_torch_facts *facts, kernels_detection *detection,
                                  kernels_tpu_presence presence, kernels_buffer *reason) {
    kernels_version version = kernels_version_major_minor(kernels_view_of(facts->torch_tpu_version));
    if (version.count == 0 || kernels_version_compare(&version, &torch_tpu_judgeable) < 0) {
        leave_open(facts, detection, reason, "torch_tpu is older than 0.2.0: only importing torch tells");
    } else if (presence == KERNELS_TPU_PRESENT) {
        choose_tpu(facts, detection, reason, "torch_tpu is installed and a TPU is there", false);
    } else if (presence == KERNELS_TPU_UNKNOWN) {
        leave_open(facts, detection, reason, "an unknown accelerator of Google is there: only importing torch tells");
    } else if (!kernels_gpu_is_usable(root, facts->cuda[0] != '\0', facts->hip[0] != '\0', facts->xpu[0] != '\0')) {
        choose_tpu(facts, detection, reason, "torch_tpu is installed and torch can use no GPU", true);
    } else {
        detect_from_build(facts, detection, reason);
        detection->has_alternative = true;
        detection->alternative = KERNELS_BACKEND_TPU;
    }
}

void kernels_backend_detect(const char *root, const char *os, const kernels_torch_facts *facts,
                            kernels_detection *detection, char tpu_generation[16], kernels_buffer *reason) {
    *detection = (kernels_detection){.backend = KERNELS_BACKEND_CPU};
    kernels_tpu_presence presence = kernels_tpu_scan(root, tpu_generation);
    if (!facts->present) {
        detect_without_torch(root, facts, detection, presence, reason);
    } else if (strcmp(os, "darwin") == 0) {
        leave_open(facts, detection, reason, "on macOS only importing torch tells");
    } else if (!facts->readable) {
        leave_open(facts, detection, reason, "the version file of torch cannot be read without running it");
    } else if (autoload_is_off()) {
        detect_from_build(facts, detection, reason);
    } else if (facts->other_backend) {
        leave_open(facts, detection, reason, "another device backend is installed: only importing torch tells");
    } else if (facts->torch_tpu) {
        detect_with_torch_tpu(root, facts, detection, presence, reason);
    } else {
        detect_from_build(facts, detection, reason);
    }
}

/* ---- operating system ---- */

static void detect_platform(kernels_system *system) {
    struct utsname name;
    if (uname(&name) != 0) {
        return;
    }
    set_text(system->os, sizeof system->os, kernels_view_of(name.sysname));
    for (char *c = system->os; *c != '\0'; c++) {
        *c = kernels_to_lower(*c);
    }
    set_text(system->origins[KERNELS_FACT_PLATFORM], KERNELS_ORIGIN_SIZE, KERNELS_VIEW("uname"));
    bool darwin = strcmp(system->os, "darwin") == 0;
    bool renamed = darwin && strcmp(name.machine, "arm64") == 0;
    set_text(system->cpu, sizeof system->cpu, kernels_view_of(renamed ? "aarch64" : name.machine));
#if defined(__APPLE__)
    char product[64] = "";
    size_t size = sizeof product - 1;
    if (sysctlbyname("kern.osproductversion", product, &size, NULL, 0) == 0) {
        kernels_version_parse(kernels_view_of(product), &system->macos, NULL);
    }
#endif
#if defined(_CS_GNU_LIBC_VERSION)
    char libc[64] = "";
    if (confstr(_CS_GNU_LIBC_VERSION, libc, sizeof libc) > 0) { /* "glibc 2.36" */
        const char *blank = strchr(libc, ' ');
        set_text(system->glibc, sizeof system->glibc, kernels_view_of(blank != NULL ? blank + 1 : ""));
        set_text(system->origins[KERNELS_FACT_GLIBC], KERNELS_ORIGIN_SIZE, KERNELS_VIEW("confstr"));
    }
#endif
}

/* ---- all facts ---- */

const char *kernels_fact_name(kernels_fact fact) {
    static const char *const names[KERNELS_FACT_COUNT] = {
        [KERNELS_FACT_PLATFORM] = "platform",
        [KERNELS_FACT_GLIBC] = "glibc",
        [KERNELS_FACT_PYTHON] = "python",
        [KERNELS_FACT_SITE_PACKAGES] = "site_packages",
        [KERNELS_FACT_TORCH] = "torch",
        [KERNELS_FACT_TORCH_CXX11_ABI] = "torch_cxx11_abi",
        [KERNELS_FACT_TVM_FFI] = "tvm_ffi",
        [KERNELS_FACT_TPU_GENERATION] = "tpu_generation",
        [KERNELS_FACT_GPU_ARCHITECTURES] = "gpu_architectures",
    };
    return names[fact];
}

static void set_origin(kernels_system *system, kernels_fact fact, const char *origin) {
    set_text(system->origins[fact], KERNELS_ORIGIN_SIZE, kernels_view_of(origin));
}

static void take_python(const kernels_python *python, kernels_system *system) {
    set_text(system->python, sizeof system->python, kernels_view_of(python->version));
    set_text(system->site_packages, sizeof system->site_packages, kernels_view_of(python->site_packages));
    system->free_threaded = python->free_threaded;
    if (python->version[0] != '\0') {
        set_origin(system, KERNELS_FACT_PYTHON, "name of its folder");
    }
    if (python->site_packages[0] != '\0') {
        set_origin(system, KERNELS_FACT_SITE_PACKAGES, python->origin);
    }
}

static void take_packages(const kernels_torch_facts *facts, kernels_system *system) {
    set_text(system->torch_text, sizeof system->torch_text, kernels_view_of(facts->version));
    system->torch = kernels_version_major_minor(kernels_view_of(facts->version));
    system->tvm_ffi = kernels_version_major_minor(kernels_view_of(facts->tvm_ffi));
    set_text(system->tvm_ffi_text, sizeof system->tvm_ffi_text, kernels_view_of(facts->tvm_ffi));
    bool linux_host = strcmp(system->os, "linux") == 0;
    system->torch_cxx11_abi = linux_host ? facts->cxx11_abi : KERNELS_CXX11_ABI_NONE;
    if (facts->version[0] != '\0') {
        set_origin(system, KERNELS_FACT_TORCH, "torch/version.py, not imported");
    }
    if (system->torch_cxx11_abi != KERNELS_CXX11_ABI_NONE) {
        set_origin(system, KERNELS_FACT_TORCH_CXX11_ABI, "torch/share/cmake/Torch/TorchConfig.cmake");
    }
    if (facts->tvm_ffi[0] != '\0') {
        set_origin(system, KERNELS_FACT_TVM_FFI, "installed metadata of apache-tvm-ffi");
    }
}

static void take_devices(const char *root, const kernels_torch_facts *facts, kernels_system *system) {
    kernels_detection detection;
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer reason = KERNELS_BUFFER_INIT(sizeof system->backend_reason);
    kernels_backend_detect(root, system->os, facts, &detection, system->tpu_generation, &reason);
    set_text(system->backend_reason, sizeof system->backend_reason, kernels_buffer_view(&reason));
    system->backend = detection.backend;
    system->backend_version = detection.version;
    system->needs_torch = detection.needs_torch;
    system->has_alternative = detection.has_alternative;
    system->alternative = detection.alternative;
    system->alternative_version = detection.alternative_version;
    if (system->tpu_generation[0] != '\0') {
        set_origin(system, KERNELS_FACT_TPU_GENERATION, "PCI id and device node");
    }
    kernels_gpu_scan(root, system->gpu_architectures, system->origins[KERNELS_FACT_GPU_ARCHITECTURES]);
}

/* The folder of the Python that was found, then those that the caller adds. */
static kernels_status read_packages(const kernels_system_options *options, const kernels_python *python,
                                    kernels_torch_facts *facts, kernels_error *error) {
    KERNELS_CLEANUP_FREE const char **paths = kernels_calloc(options->more_package_count + 1, sizeof *paths);
    if (paths == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_package_folders folders = {.paths = paths};
    if (python->site_packages[0] != '\0') {
        paths[folders.count++] = python->site_packages;
    }
    for (size_t i = 0; i < options->more_package_count; i++) {
        paths[folders.count++] = options->more_packages[i];
    }
    return kernels_torch_read(&folders, facts, error);
}

/* Python programs simulate a TPU in torch (kernels.simulate); what is downloaded for them must fit. A TPU that is there
 * stays what it is. */
static kernels_status take_simulation(const char *name, kernels_system *system, kernels_error *error) {
    const char *given = name != NULL ? name : getenv("KERNELS_SIMULATE");
    if (given == NULL || given[0] == '\0') {
        return KERNELS_OK;
    }
    if (strcmp(given, "tpu") != 0) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "KERNELS_SIMULATE: expected tpu, given '%.64s'", given);
    }
    if (system->tpu_generation[0] != '\0') {
        return KERNELS_OK;
    }
    if (system->backend != KERNELS_BACKEND_TPU) {
        system->has_alternative = system->backend != KERNELS_BACKEND_CPU;
        system->alternative = system->backend;
        system->alternative_version = system->backend_version;
    }
    system->backend = KERNELS_BACKEND_TPU;
    system->backend_version = (kernels_version){0};
    system->needs_torch = false;
    set_text(system->backend_reason, sizeof system->backend_reason, KERNELS_VIEW("simulated: KERNELS_SIMULATE=tpu"));
    return KERNELS_OK;
}

kernels_status kernels_system_detect(const kernels_system_options *options, kernels_system *system,
                                     kernels_error *error) {
    kernels_system_options defaults = {0};
    options = options != NULL ? options : &defaults;
    kernels_python python;
    kernels_torch_facts facts;
    KERNELS_TRY(kernels_python_find(options->site_packages, &python, error));
    KERNELS_TRY(read_packages(options, &python, &facts, error));
    *system = (kernels_system){.torch_cxx11_abi = KERNELS_CXX11_ABI_NONE};
    detect_platform(system);
    take_python(&python, system);
    take_packages(&facts, system);
    take_devices(options->sysfs_root != NULL ? options->sysfs_root : "", &facts, system);
    return take_simulation(options->simulate, system, error);
}

void kernels_system_backend_text(const kernels_system *system, char text[64]) {
    kernels_variant variant = {.framework = KERNELS_FRAMEWORK_TORCH,
                               .backend = system->backend,
                               .backend_has_version = system->backend_version.count > 0,
                               .backend_major = system->backend_version.parts[0],
                               .backend_minor = system->backend_version.parts[1]};
    kernels_variant_print_backend(&variant, text);
}

/* ---- choosing another backend ---- */

static void list_names(const kernels_system *system, kernels_buffer *names) {
    bool supported[KERNELS_BACKEND_COUNT] = {false};
    supported[KERNELS_BACKEND_CPU] = true;
    supported[system->backend] = true;
    if (system->has_alternative) {
        supported[system->alternative] = true;
    }
    for (int i = 0; i < KERNELS_BACKEND_COUNT; i++) { /* the enumeration is in order of names */
        if (supported[i]) {
            kernels_buffer_printf(names, "%s%s", names->size > 0 ? ", " : "", kernels_backend_name((kernels_backend)i));
        }
    }
}

kernels_status kernels_system_select_backend(const kernels_system *system, const char *name, kernels_system *selected,
                                             kernels_error *error) {
    kernels_system result = *system;
    if (name == NULL || strcmp(name, kernels_backend_name(system->backend)) == 0) {
        *selected = result;
        return KERNELS_OK;
    }
    if (system->has_alternative && strcmp(name, kernels_backend_name(system->alternative)) == 0) {
        result.backend = system->alternative;
        result.backend_version = system->alternative_version;
    } else if (strcmp(name, "cpu") == 0) {
        result.backend = KERNELS_BACKEND_CPU;
        result.backend_version = (kernels_version){0};
    } else {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer names = KERNELS_BUFFER_INIT(1024);
        list_names(system, &names);
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "Invalid backend '%s', system supported backends: %s",
                            name, kernels_buffer_text(&names));
    }
    *selected = result;
    return KERNELS_OK;
}
