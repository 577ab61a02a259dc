/* SPDX-License-Identifier: Apache-2.0 */
#include "build/init.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "build/file_set.h"
#include "build/git.h"

#define TEXT_LIMIT ((size_t)64 * 1024)
#define PYTHON_INDENT "    "

/* What differs between the backends that have templates. */
static const struct noarch {
    kernels_backend backend;
    const char *folder;     /* of its templates */
    const char *module;     /* of the package, that defines the op */
    const char *device;     /* torch's name */
    const char *dependency; /* of example.py */
} noarch[] = {
    {KERNELS_BACKEND_TPU, "init/tpu", "op", "tpu", "torch_tpu\", \"jax"},
    {KERNELS_BACKEND_NEURON, "init/neuron", "nki_op", "neuron", "nki"},
    {KERNELS_BACKEND_CANN, "init/cann", "torch_op", "npu", "torch_npu"},
};

typedef struct names {
    char *display, *general, *python, *class_name, *repo_id;
} names;

/* ---- names ---- */

bool kernels_init_split_name(kernels_view text, char **owner, char **repository) {
    size_t slash = kernels_view_find(text, '/');
    if (slash == SIZE_MAX || slash == 0 || slash + 1 == text.size || kernels_view_find_last(text, '/') != slash) {
        return false;
    }
    *owner = kernels_strndup(text.data, slash);
    *repository = kernels_strndup(text.data + slash + 1, text.size - slash - 1);
    return true;
}

static char *mapped(const char *text, char from, char to, bool lower) {
    char *copy = kernels_strdup(text);
    for (char *c = copy; c && *c; c++) {
        *c = *c == from ? to : lower ? kernels_to_lower(*c) : *c;
    }
    return copy;
}

/* "vec_scale" -> "VecScale" */
static char *camel_case(const char *text) {
    char *copy = kernels_strdup(text);
    size_t size = 0;
    bool first = true;
    for (const char *c = text; copy && *c; c++) {
        if (*c == '-' || *c == '_') {
            first = true;
            continue;
        }
        char lower = kernels_to_lower(*c);
        copy[size++] = first && kernels_is_lower(lower) ? (char)(lower - 32) : lower;
        first = false;
    }
    if (copy) {
        copy[size] = '\0';
    }
    return copy;
}

static void dispose_names(names *name) {
    kernels_free(name->display);
    kernels_free(name->general);
    kernels_free(name->python);
    kernels_free(name->class_name);
    kernels_free(name->repo_id);
}

/* Of all versions of Python that packages are made for; those with capitals cannot be a package's name anyway. */
static bool is_keyword(const char *name) {
    static const char *const keywords[] = {
        "and",  "as",       "assert",  "async", "await", "break",  "class", "continue", "def",  "del",  "elif",
        "else", "except",   "finally", "for",   "from",  "global", "if",    "import",   "in",   "is",   "lambda",
        "not",  "nonlocal", "or",      "pass",  "raise", "return", "try",   "while",    "with", "yield"};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strcmp(name, keywords[i]) == 0) {
            return true;
        }
    }
    return false;
}

static kernels_status derive_names(const kernels_init_options *options, names *name, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer repo_id = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    name->display = mapped(options->repository, '_', '-', false);
    name->general = name->display ? mapped(name->display, '_', '-', true) : NULL;
    name->python = mapped(options->repository, '-', '_', true);
    name->class_name = camel_case(options->repository);
    kernels_buffer_printf(&repo_id, "%s/%s", options->owner, name->display ? name->display : "");
    KERNELS_TRY(kernels_buffer_status(&repo_id, error));
    name->repo_id = kernels_buffer_take(&repo_id);
    if (!name->general || !name->python || !name->class_name || !name->repo_id) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_name_is_valid(kernels_view_of(name->general))) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "\"%s\" cannot be the name of a kernel: it starts with a letter, goes on with letters, "
                            "digits and dashes, ends in a letter or digit, and has at least two characters",
                            options->repository);
    }
    if (is_keyword(name->python)) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "\"%s\" cannot be the name of a kernel: it is a keyword of Python, so that its package "
                            "could not be imported",
                            options->repository);
    }
    return kernels_repository_id_check(kernels_view_of(name->repo_id), error);
}

/* ---- texts that depend on the backends ---- */

static const struct noarch *find_noarch(kernels_backend backend) {
    for (size_t i = 0; i < sizeof noarch / sizeof *noarch; i++) {
        if (noarch[i].backend == backend) {
            return &noarch[i];
        }
    }
    return NULL;
}

static kernels_status check_backends(const kernels_init_options *options, kernels_error *error) {
    size_t compiled = 0;
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer list = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    for (size_t i = 0; i < options->backend_count; i++) {
        if (!find_noarch(options->backends[i])) {
            kernels_buffer_printf(&list, "%s%s", compiled++ ? ", " : "", kernels_backend_name(options->backends[i]));
        }
    }
    if (compiled && compiled < options->backend_count) {
        return kernels_fail(error, KERNELS_UNSUPPORTED,
                            "%s and backends of Python kernels do not go into one project: make two projects",
                            kernels_buffer_text(&list));
    }
    if (compiled) {
        return kernels_fail(error, KERNELS_UNSUPPORTED,
                            "projects for %s need a compiler, which this kernel-builder does not drive yet; available "
                            "now: tpu, neuron, cann",
                            kernels_buffer_text(&list));
    }
    return KERNELS_OK;
}

/* The lines of __init__.py that bring in the op of the backend at hand. */
static void add_import(const kernels_init_options *options, const names *name, kernels_buffer *out) {
    if (options->backend_count == 1) {
        kernels_buffer_printf(out, "from .%s import %s", find_noarch(options->backends[0])->module, name->python);
        return;
    }
    kernels_buffer_add_text(out, "from ._ops import get_backend\n\n");
    for (size_t i = 0; i < options->backend_count; i++) {
        kernels_buffer_printf(out, "%s get_backend() == \"%s\":\n" PYTHON_INDENT "from .%s import %s\n",
                              i ? "elif" : "if", kernels_backend_name(options->backends[i]),
                              find_noarch(options->backends[i])->module, name->python);
    }
    kernels_buffer_printf(out, "else:\n" PYTHON_INDENT "raise ImportError(\"%s has no code for \" + get_backend())\n",
                          name->python);
}

static void add_backend_texts(const kernels_init_options *options, kernels_buffer *list, kernels_buffer *sections,
                              kernels_buffer *devices, kernels_buffer *dependencies) {
    for (size_t i = 0; i < options->backend_count; i++) {
        const struct noarch *one = find_noarch(options->backends[i]);
        kernels_buffer_printf(list, "%s\"%s\"", i ? ", " : "", kernels_backend_name(one->backend));
        kernels_buffer_printf(devices, "%s\"%s\"", i ? ", " : "", one->device);
        kernels_buffer_printf(dependencies, ", \"%s\"", one->dependency);
        if (one->backend == KERNELS_BACKEND_NEURON) {
            kernels_buffer_add_text(sections, "\n[general.neuron]\npython-depends = [\"nki\"]\n");
        }
    }
}

/* A licence is written into a TOML string and a card: what cannot stand there is refused. */
static kernels_status check_license(const char *license, kernels_error *error) {
    for (const char *c = license; *c; c++) {
        if (!kernels_is_alnum(*c) && !strchr("-.+_ ()", *c)) {
            return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                                "\"%s\" is no licence id: letters, digits, \"-\", \".\" and \"+\" make one", license);
        }
    }
    return KERNELS_OK;
}

/* ---- files ---- */

static kernels_status render_templates(const kernels_init_options *options, const kernels_placeholder *placeholders,
                                       kernels_file_set *files, kernels_error *error) {
    KERNELS_TRY(kernels_file_set_add_templates(files, "init/common", placeholders, error));
    for (size_t i = 0; i < options->backend_count; i++) {
        const char *folder = find_noarch(options->backends[i])->folder;
        KERNELS_TRY(kernels_file_set_add_templates(files, folder, placeholders, error));
    }
    kernels_file_set_sort(files);
    return KERNELS_OK;
}

static kernels_status render(const kernels_init_options *options, const names *name, kernels_file_set *files,
                             kernels_error *error) {
    const char *license = options->license ? options->license : "Apache-2.0";
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer list = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer sections = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer devices = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer dependencies = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer import = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    KERNELS_TRY(check_license(license, error));
    add_backend_texts(options, &list, &sections, &devices, &dependencies);
    add_import(options, name, &import);
    const kernels_buffer *all[] = {&list, &sections, &devices, &dependencies, &import};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        KERNELS_TRY(kernels_buffer_status(all[i], error));
    }
    const kernels_placeholder placeholders[] = {
        {"dot", "."},
        {"kernel_name", name->general},
        {"python_name", name->python},
        {"class_name", name->class_name},
        {"repo_id", name->repo_id},
        {"license", license},
        {"backend_list", kernels_buffer_text(&list)},
        {"backend_sections", kernels_buffer_text(&sections)},
        {"device_list", kernels_buffer_text(&devices)},
        {"example_dependencies", kernels_buffer_text(&dependencies)},
        {"import_op", kernels_buffer_text(&import)},
        {NULL, NULL},
    };
    return render_templates(options, placeholders, files, error);
}

static kernels_status write_project(const kernels_init_options *options, const char *directory,
                                    const kernels_file_set *files, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer list = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    if (!options->overwrite && kernels_file_set_existing(files, directory, &list)) {
        return kernels_fail(error, KERNELS_ALREADY_EXISTS,
                            "these files are there already in %s, nothing was written (--overwrite replaces them):\n%s",
                            directory, kernels_buffer_text(&list));
    }
    bool is_new = !kernels_file_exists(directory);
    kernels_status status = kernels_file_set_write(files, directory, error);
    status = status ? status : kernels_git_init(directory, error);
    if (status && is_new) {
        (void)kernels_remove_tree(directory, NULL);
    }
    return status;
}

/* "." and ".." become the names that they stand for. */
static char *project_directory(const char *path) {
    kernels_view last = kernels_path_name(path);
    bool is_dots = kernels_view_equal_text(last, ".") || kernels_view_equal_text(last, "..");
    return is_dots ? kernels_path_resolve(path) : kernels_path_absolute(path);
}

kernels_status kernels_init_project(const kernels_init_options *options, kernels_init_result *result,
                                    kernels_error *error) {
    names name = {0};
    kernels_file_set files = {0};
    char *directory = NULL;
    kernels_status status = check_backends(options, error);
    status = status ? status : derive_names(options, &name, error);
    status = status ? status : render(options, &name, &files, error);
    if (!status) {
        directory = project_directory(options->directory ? options->directory : name.display);
        status = directory ? write_project(options, directory, &files, error) : kernels_fail_no_memory(error);
    }
    if (!status) {
        *result = (kernels_init_result){name.repo_id, directory};
        name.repo_id = NULL;
        directory = NULL;
    }
    kernels_free(directory);
    kernels_file_set_dispose(&files);
    dispose_names(&name);
    return status;
}

void kernels_init_result_dispose(kernels_init_result *result) {
    kernels_free(result->repo_id);
    kernels_free(result->directory);
    *result = (kernels_init_result){0};
}
