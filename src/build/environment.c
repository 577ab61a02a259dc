/* SPDX-License-Identifier: Apache-2.0 */
#include "build/environment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buffer.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "base/view.h"
#include "build/build_data.h"
#include "build/environment_lock.h"
#include "build/import_stubs.h"

#define COMPLETE_NAME ".complete"
#define BASE_NAME "kernel_builder_base.pth"
#define VENV_TIMEOUT_MS (5u * 60u * 1000u)
#define INSTALL_TIMEOUT_MS (60u * 60u * 1000u) /* 650 MB over a slow line */
#define PROBE_TIMEOUT_MS (30u * 1000u)
/* Most of pip's output that goes into a message. */
#define MESSAGE_TAIL ((size_t)2000)

/* The lock in use and where its environment is or will be. */
typedef struct environment_plan {
    const char *name;
    kernels_environment_lock lock;
    char *lock_text; /* owned copy of a lock read from a file; NULL = shipped */
    char id[KERNELS_DIGEST_HEX_SIZE];
    char *parent;   /* <store>/env */
    char *complete; /* the marker */
    kernels_environment environment;
} environment_plan;

static const kernels_environment_options default_options = {0};

static void plan_dispose(environment_plan *plan) {
    kernels_environment_lock_dispose(&plan->lock);
    kernels_free(plan->lock_text);
    kernels_free(plan->parent);
    kernels_free(plan->complete);
    kernels_environment_dispose(&plan->environment);
}

void kernels_environment_dispose(kernels_environment *environment) {
    kernels_free(environment->directory);
    kernels_free(environment->python);
    kernels_free(environment->site_packages);
    *environment = (kernels_environment){0};
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

kernels_status kernels_store_directory(const char *store, char **directory, kernels_error *error) {
    char *path = NULL;
    if (store == NULL) {
        store = variable("KERNEL_BUILDER_STORE");
    }
    if (store != NULL) {
        path = kernels_path_absolute(store);
    } else if (variable("XDG_CACHE_HOME") != NULL) {
        path = kernels_path_join(variable("XDG_CACHE_HOME"), "kernel-builder");
    } else if (variable("HOME") != NULL) {
        path = kernels_path_join3(variable("HOME"), ".cache", "kernel-builder");
    } else {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "no folder for the store: set KERNEL_BUILDER_STORE or HOME");
    }
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    *directory = path;
    return KERNELS_OK;
}

/* ---- which lock ---- */

static kernels_status shipped_lock(const char *name, kernels_view *text, kernels_error *error) {
    struct utsname system;
    if (uname(&system) != 0) {
        return kernels_fail(error, KERNELS_IO, "the system does not tell its name");
    }
    for (char *c = system.sysname; *c != '\0'; c++) {
        *c = kernels_to_lower(*c);
    }
    kernels_buffer path KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&path, "data/locks/%s.%s-%s.toml", name, system.machine, system.sysname);
    KERNELS_TRY(kernels_buffer_status(&path, error));
    *text = kernels_build_data_find(kernels_buffer_text(&path));
    if (text->data == NULL) {
        return kernels_fail(error, KERNELS_UNSUPPORTED, "there is no build environment \"%s\" for %s-%s", name,
                            system.machine, system.sysname);
    }
    return KERNELS_OK;
}

/* An environment on another base is another environment. */
static kernels_status plan_id(kernels_view text, environment_plan *plan, kernels_error *error) {
    kernels_buffer locks KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(2 * KERNELS_LOCK_SIZE_LIMIT);
    kernels_buffer_add_view(&locks, text);
    if (plan->lock.base != NULL) {
        kernels_view base = {0};
        KERNELS_TRY(shipped_lock(plan->lock.base, &base, error));
        kernels_buffer_add_view(&locks, base);
    }
    KERNELS_TRY(kernels_buffer_status(&locks, error));
    kernels_digest digest;
    KERNELS_TRY(kernels_hash_bytes(KERNELS_HASH_SHA256, locks.data, locks.size, &digest, error));
    kernels_digest_hex(&digest, plan->id);
    return KERNELS_OK;
}

static kernels_status read_lock(const kernels_environment_options *options, environment_plan *plan,
                                kernels_error *error) {
    kernels_view text = {0};
    const char *name = options->lock_path;
    if (options->lock_path != NULL) {
        size_t size;
        KERNELS_TRY(kernels_file_read(options->lock_path, KERNELS_LOCK_SIZE_LIMIT, &plan->lock_text, &size, error));
        text = (kernels_view){plan->lock_text, size};
    } else {
        KERNELS_TRY(shipped_lock(plan->name, &text, error));
        name = "shipped lock";
    }
    KERNELS_TRY(kernels_environment_lock_parse(text, name, &plan->lock, error));
    return plan_id(text, plan, error);
}

static kernels_status plan_paths(const char *store, environment_plan *plan, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *root = NULL;
    KERNELS_TRY(kernels_store_directory(store, &root, error));
    kernels_environment *environment = &plan->environment;
    kernels_buffer packages KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    plan->parent = kernels_path_join(root, "env");
    environment->directory = kernels_path_join3(root, "env", plan->id);
    if (environment->directory == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_buffer_printf(&packages, "%s/lib/python%s/site-packages", environment->directory, plan->lock.python);
    plan->complete = kernels_path_join(environment->directory, COMPLETE_NAME);
    environment->python = kernels_path_join(environment->directory, "bin/python");
    KERNELS_TRY(kernels_buffer_status(&packages, error));
    environment->site_packages = kernels_buffer_take(&packages);
    if (plan->parent == NULL || plan->complete == NULL || environment->python == NULL ||
        environment->site_packages == NULL) {
        return kernels_fail_no_memory(error);
    }
    return KERNELS_OK;
}

static kernels_status plan_new(const kernels_environment_options *options, environment_plan *plan,
                               kernels_error *error) {
    *plan = (environment_plan){.name = options->name != NULL ? options->name : "jax"};
    kernels_status status = read_lock(options, plan, error);
    if (status == KERNELS_OK) {
        status = plan_paths(options->store, plan, error);
    }
    if (status != KERNELS_OK) {
        plan_dispose(plan);
    }
    return status;
}

/* ---- making it ---- */

static void report(const kernels_environment_options *options, const char *message) {
    if (options->progress != NULL) {
        options->progress(options->payload, message);
    }
}

static bool is_accepted(const kernels_environment_options *options, const char *name) {
    for (size_t i = 0; i < options->licence_count; i++) {
        if (strcmp(options->licences[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static kernels_status check_licences(const kernels_environment_options *options, const environment_plan *plan,
                                     kernels_error *error) {
    for (size_t i = 0; i < plan->lock.count; i++) {
        const kernels_lock_wheel *wheel = &plan->lock.wheels[i];
        if (wheel->licence != NULL && !is_accepted(options, wheel->name)) {
            return kernels_fail(error, KERNELS_PERMISSION,
                                "the build environment \"%s\" contains %s %s, whose licence (%s) must be accepted: "
                                "read it on the package's page, then add --accept-licence %s",
                                plan->name, wheel->name, wheel->version, wheel->licence, wheel->name);
        }
    }
    return KERNELS_OK;
}

/* The version a Python says it has, "" when it does not answer. */
static void probe_python(const char *python, char version[16]) {
    static const char code[] = "import sys; print('%d.%d' % sys.version_info[:2])";
    const char *arguments[] = {python, "-I", "-c", code, NULL};
    kernels_process_options options = {.arguments = arguments, .timeout_ms = PROBE_TIMEOUT_MS};
    kernels_process_result result;
    version[0] = '\0';
    kernels_status status = kernels_process_run(&options, &result, NULL);
    if (status != KERNELS_OK && status != KERNELS_TIMEOUT) {
        return;
    }
    kernels_view text = kernels_view_trim_ascii(kernels_buffer_view(&result.output));
    if (status == KERNELS_OK && result.exit_code == 0 && text.size < 16) {
        memcpy(version, text.data, text.size);
        version[text.size] = '\0';
    }
    kernels_process_result_dispose(&result);
}

/* The lock's wheels are built for one Python: any other version would refuse them. */
static kernels_status find_python(const char *wanted, char **python, kernels_error *error) {
    char exact[32] = "python";
    kernels_buffer found KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT * 4);
    if (strlen(wanted) + sizeof("python") > sizeof(exact)) {
        return kernels_fail(error, KERNELS_LIMIT, "Python version \"%s\" is too long", wanted);
    }
    memcpy(exact + strlen("python"), wanted, strlen(wanted) + 1);
    const char *candidates[] = {exact, "python3", "/usr/bin/python3"};
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        char version[16];
        char *path = kernels_process_find(candidates[i]);
        if (path == NULL) {
            continue;
        }
        probe_python(path, version);
        if (strcmp(version, wanted) == 0) {
            *python = path;
            return KERNELS_OK;
        }
        kernels_buffer_printf(&found, "%s%s (%s)", found.size > 0 ? ", " : "", path,
                              version[0] != '\0' ? version : "does not run");
        kernels_free(path);
    }
    return kernels_fail(error, KERNELS_MISSING_DEPENDENCY,
                        "Python %s is needed for the build environment, found %s: install python%s with its venv "
                        "module and put it on PATH",
                        wanted, found.size > 0 ? kernels_buffer_text(&found) : "none", wanted);
}

/* One line a wheel: its version, or the file of the wheel folder, and the only hash that is right. */
static kernels_status write_requirements(const kernels_environment_options *options, const environment_plan *plan,
                                         const char *path, kernels_error *error) {
    kernels_buffer text KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    const char *folder = options->wheel_dir != NULL ? options->wheel_dir : variable("KERNEL_BUILDER_WHEEL_DIR");
    KERNELS_CLEANUP_FREE char *wheel_dir = folder != NULL ? kernels_path_absolute(folder) : NULL;
    for (size_t i = 0; i < plan->lock.count; i++) {
        const kernels_lock_wheel *wheel = &plan->lock.wheels[i];
        KERNELS_CLEANUP_FREE char *file = wheel_dir != NULL ? kernels_path_join(wheel_dir, wheel->file) : NULL;
        if (file != NULL && kernels_file_is_regular(file)) {
            kernels_buffer_printf(&text, "%s @ file://", wheel->name);
            kernels_encode_percent(&text, kernels_view_of(file), true);
        } else {
            kernels_buffer_printf(&text, "%s==%s", wheel->name, wheel->version);
        }
        kernels_buffer_printf(&text, " --hash=sha256:%s\n", wheel->sha256);
    }
    KERNELS_TRY(kernels_buffer_status(&text, error));
    return kernels_file_write(path, kernels_buffer_view(&text), 0, error);
}

static kernels_status run_step(const char *const *arguments, unsigned timeout_ms, const char *what,
                               kernels_error *error) {
    static const char *const environment[] = {"PYTHONHOME", "PYTHONPATH", "PIP_REQUIRE_VIRTUALENV",
                                              "PIP_USER",   "PIP_TARGET", NULL};
    kernels_process_options options = {.arguments = arguments, .environment = environment, .timeout_ms = timeout_ms};
    kernels_process_result result;
    kernels_status status = kernels_process_run(&options, &result, error);
    if (status != KERNELS_OK && status != KERNELS_TIMEOUT) {
        return kernels_wrap(error, status, "%s failed", what);
    }
    if (status == KERNELS_TIMEOUT) {
        kernels_fail(error, KERNELS_TIMEOUT, "%s did not end within %u s", what, timeout_ms / 1000);
    } else if (result.exit_code != 0) {
        kernels_buffer *text = result.errors.size > 0 ? &result.errors : &result.output;
        kernels_view tail = kernels_view_trim_ascii(kernels_buffer_view(text));
        tail = kernels_view_slice(tail, tail.size > MESSAGE_TAIL ? tail.size - MESSAGE_TAIL : 0, tail.size);
        status = kernels_fail(error, KERNELS_PROCESS, "%s failed: %.*s", what, KERNELS_VIEW_ARGS(tail));
    }
    kernels_process_result_dispose(&result);
    return status;
}

/* Python adds each line of a .pth file to the folders in which it looks for packages, behind its own. */
static kernels_status write_base(const environment_plan *plan, const char *base_packages, kernels_error *error) {
    if (base_packages == NULL) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(plan->environment.site_packages, BASE_NAME);
    kernels_buffer text KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&text, "%s\n", base_packages);
    KERNELS_TRY(kernels_buffer_status(&text, error));
    return path != NULL ? kernels_file_write(path, kernels_buffer_view(&text), 0, error)
                        : kernels_fail_no_memory(error);
}

static kernels_status write_stubs(const kernels_environment_options *options, const environment_plan *plan,
                                  kernels_error *error) {
    kernels_import_stubs stubs;
    kernels_buffer text KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    KERNELS_TRY(kernels_import_stubs_write(plan->environment.site_packages, &stubs, error));
    if (stubs.libraries > 0) {
        kernels_buffer_printf(&text, "import stubs for %zu libraries of NVIDIA: %zu names, %llu kB", stubs.libraries,
                              stubs.symbols, (unsigned long long)(stubs.bytes / 1000));
        report(options, kernels_buffer_text(&text));
    }
    return KERNELS_OK;
}

/* A virtual environment holds its own absolute path, so it is made where it will stay, and marked when complete. */
static kernels_status make(const kernels_environment_options *options, const environment_plan *plan,
                           const char *base_packages, kernels_error *error) {
    const char *directory = plan->environment.directory;
    KERNELS_CLEANUP_FREE char *python = NULL;
    KERNELS_CLEANUP_FREE char *requirements = kernels_path_join(directory, "requirements.txt");
    if (requirements == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(find_python(plan->lock.python, &python, error));
    KERNELS_TRY(kernels_remove_tree(directory, error));
    report(options, "making a virtual environment");
    const char *venv[] = {python, "-I", "-m", "venv", directory, NULL};
    KERNELS_TRY(run_step(venv, VENV_TIMEOUT_MS, "python -m venv", error));
    KERNELS_TRY(write_base(plan, base_packages, error));
    KERNELS_TRY(write_requirements(options, plan, requirements, error));
    report(options, "installing the wheels (only those with the hashes of the lock)");
    const char *pip[] = {plan->environment.python,
                         "-I",
                         "-m",
                         "pip",
                         "install",
                         "--quiet",
                         "--no-input",
                         "--disable-pip-version-check",
                         "--require-hashes",
                         "--only-binary=:all:",
                         "--no-deps",
                         "-r",
                         requirements,
                         NULL};
    KERNELS_TRY(run_step(pip, INSTALL_TIMEOUT_MS, "pip install", error));
    KERNELS_TRY(write_stubs(options, plan, error));
    return kernels_file_write(plan->complete, KERNELS_VIEW("complete\n"), 0, error);
}

static void report_plan(const kernels_environment_options *options, const environment_plan *plan) {
    kernels_buffer text KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(2 * KERNELS_PATH_LIMIT);
    uint64_t size = 0;
    for (size_t i = 0; i < plan->lock.count; i++) {
        size += plan->lock.wheels[i].size;
    }
    kernels_buffer_printf(
        &text, "build environment \"%s\": %zu wheels, %llu MB to download unless already there, into %s", plan->name,
        plan->lock.count, (unsigned long long)(size / 1000000), plan->environment.directory);
    report(options, kernels_buffer_text(&text));
}

static kernels_status make_once(const kernels_environment_options *options, const environment_plan *plan,
                                const char *base_packages, kernels_error *error) {
    kernels_file_lock *lock = NULL;
    kernels_buffer path KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&path, "%s.lock", plan->environment.directory);
    KERNELS_TRY(kernels_buffer_status(&path, error));
    KERNELS_TRY(kernels_make_directories(plan->parent, error));
    KERNELS_TRY(kernels_file_lock_take(kernels_buffer_text(&path), -1, &lock, error));
    kernels_status status = KERNELS_OK;
    if (!kernels_file_exists(plan->complete)) { /* else another process was faster */
        report_plan(options, plan);
        status = make(options, plan, base_packages, error);
    }
    kernels_file_lock_release(lock);
    return status;
}

/* ---- an environment and the one it stands on ---- */

typedef struct plan_pair {
    environment_plan own;
    environment_plan base; /* of nothing (complete == NULL) when own has none */
} plan_pair;

static void pair_dispose(plan_pair *pair) {
    plan_dispose(&pair->own);
    plan_dispose(&pair->base);
}

static kernels_status base_new(const kernels_environment_options *options, plan_pair *pair, kernels_error *error) {
    kernels_environment_options base_options = *options;
    base_options.name = pair->own.lock.base;
    base_options.lock_path = NULL;
    KERNELS_TRY(plan_new(&base_options, &pair->base, error));
    if (pair->base.lock.base != NULL) {
        return kernels_fail(error, KERNELS_UNSUPPORTED,
                            "the build environment \"%s\" cannot stand on \"%s\", which stands on another one itself",
                            pair->own.name, pair->base.name);
    }
    return KERNELS_OK;
}

static kernels_status pair_new(const kernels_environment_options *options, plan_pair *pair, kernels_error *error) {
    *pair = (plan_pair){0};
    KERNELS_TRY(plan_new(options, &pair->own, error));
    kernels_status status = pair->own.lock.base != NULL ? base_new(options, pair, error) : KERNELS_OK;
    if (status != KERNELS_OK) {
        pair_dispose(pair);
    }
    return status;
}

/* Nothing to make counts as complete. */
static bool is_complete(const environment_plan *plan) {
    return plan->complete == NULL || kernels_file_exists(plan->complete);
}

static kernels_status pair_make(const kernels_environment_options *options, const plan_pair *pair,
                                kernels_error *error) {
    const environment_plan *plans[] = {&pair->base, &pair->own};
    for (size_t i = 0; i < 2; i++) { /* before anything is downloaded */
        KERNELS_TRY(is_complete(plans[i]) ? KERNELS_OK : check_licences(options, plans[i], error));
    }
    for (size_t i = 0; i < 2; i++) {
        const char *base_packages = i == 1 ? pair->base.environment.site_packages : NULL;
        KERNELS_TRY(is_complete(plans[i]) ? KERNELS_OK : make_once(options, plans[i], base_packages, error));
    }
    return KERNELS_OK;
}

/* Gives the environment away and disposes the rest. */
static kernels_status pair_finish(plan_pair *pair, kernels_status status, kernels_environment *environment) {
    if (status == KERNELS_OK) {
        *environment = pair->own.environment;
        pair->own.environment = (kernels_environment){0};
    }
    pair_dispose(pair);
    return status;
}

kernels_status kernels_environment_provide(const kernels_environment_options *options, kernels_environment *environment,
                                           kernels_error *error) {
    plan_pair pair;
    options = options != NULL ? options : &default_options;
    KERNELS_TRY(pair_new(options, &pair, error));
    return pair_finish(&pair, pair_make(options, &pair, error), environment);
}

kernels_status kernels_environment_find(const kernels_environment_options *options, kernels_environment *environment,
                                        kernels_error *error) {
    plan_pair pair;
    kernels_status status = KERNELS_OK;
    options = options != NULL ? options : &default_options;
    KERNELS_TRY(pair_new(options, &pair, error));
    if (!is_complete(&pair.base) || !is_complete(&pair.own)) {
        status = kernels_fail(error, KERNELS_NOT_FOUND,
                              "the build environment \"%s\" is not in the store (%s): make it with "
                              "`kernel-builder env fetch %s`",
                              pair.own.name, pair.own.parent, pair.own.name);
    }
    return pair_finish(&pair, status, environment);
}
