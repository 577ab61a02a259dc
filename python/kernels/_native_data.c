/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of the Hub for Python: functions from text to plain Python objects and back. The classes that users see
 * are written in Python on top of them, in _rust.py.
 *
 *   dependency   (repo_id, version) where version is an int, or a str for a revision
 *   lock         (commit, hash); hash is None but for Nix locks
 *   git status   (commit, dirty)
 */
#include <errno.h>
#include <string.h>

#include "_native.h"

/* ---- small pieces ---- */

static PyObject *text_or_none(const char *text) { return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None); }

static PyObject *list_of_strings(kernels_strings strings) {
    PyObject *list = PyList_New((Py_ssize_t)strings.count);
    for (size_t i = 0; list && i < strings.count; i++) {
        PyObject *item = PyUnicode_FromString(strings.items[i]);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Takes over the reference to value, which may be NULL with an exception set. */
static bool set_item(PyObject *dictionary, const char *key, PyObject *value) {
    bool fine = value && PyDict_SetItemString(dictionary, key, value) == 0;
    Py_XDECREF(value);
    return fine;
}

/* Takes over the reference to item. */
static bool append(PyObject *list, PyObject *item) {
    bool fine = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return fine;
}

/* The only argument, a str. */
static bool text_argument(PyObject *argument, kernels_view *text) {
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(argument, &size);
    if (!data) {
        return false;
    }
    *text = (kernels_view){data, (size_t)size};
    return true;
}

/* What the system says about a file becomes the exact OSError, other failures are of the class. */
static void *raise_file_error(kernels_error *error, const char *path, PyObject *class) {
    if (error->system_errno == 0) {
        return kernels_python_raise_as(class, error);
    }
    errno = error->system_errno;
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, error->subject ? error->subject : path);
    kernels_error_dispose(error);
    return NULL;
}

/* ---- scalars ---- */

static PyObject *backend_parse(PyObject *module, PyObject *argument) {
    (void)module;
    kernels_view text;
    kernels_backend backend;
    kernels_error error = KERNELS_ERROR_INIT;
    if (!text_argument(argument, &text)) {
        return NULL;
    }
    if (kernels_backend_parse_any_case(text, &backend, &error)) {
        return kernels_python_raise_as(PyExc_ValueError, &error);
    }
    return PyLong_FromLong((long)backend);
}

static PyObject *version_parse(PyObject *module, PyObject *argument) {
    (void)module;
    kernels_view text;
    kernels_version version;
    kernels_error error = KERNELS_ERROR_INIT;
    if (!text_argument(argument, &text)) {
        return NULL;
    }
    if (kernels_version_parse(text, &version, &error)) {
        return kernels_python_raise_as(PyExc_ValueError, &error);
    }
    PyObject *parts = PyTuple_New((Py_ssize_t)version.count);
    for (size_t i = 0; parts && i < version.count; i++) {
        PyObject *part = PyLong_FromUnsignedLongLong(version.parts[i]);
        if (!part || PyTuple_SetItem(parts, (Py_ssize_t)i, part) != 0) {
            Py_CLEAR(parts);
        }
    }
    return parts;
}

static PyObject *name_to_python(PyObject *module, PyObject *argument) {
    (void)module;
    kernels_view text;
    if (!text_argument(argument, &text)) {
        return NULL;
    }
    if (!kernels_name_is_valid(text)) {
        return PyErr_Format(PyExc_ValueError,
                            "Invalid kernel name `%U`: expected at least two characters: a-z, then a-z, 0-9 and -, "
                            "then a-z or 0-9",
                            argument);
    }
    char *name = kernels_name_to_python(text);
    PyObject *result = name ? PyUnicode_FromString(name) : PyErr_NoMemory();
    kernels_string_free(name);
    return result;
}

static PyObject *object_id_parse(PyObject *module, PyObject *argument) {
    (void)module;
    kernels_view text;
    char *id = NULL;
    if (!text_argument(argument, &text)) {
        return NULL;
    }
    if (!kernels_object_id_is_valid(text)) {
        return PyErr_Format(PyExc_ValueError, "Invalid git object id, expected 40 or 64 hexadecimal digits: %U",
                            argument);
    }
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_object_id_parse(text, &id, &error)) {
        return kernels_python_raise(&error);
    }
    PyObject *result = PyUnicode_FromString(id);
    kernels_string_free(id);
    return result;
}

/* ---- dependencies ---- */

static PyObject *from_dependency(const kernels_dependency *dependency) {
    return dependency->revision ? Py_BuildValue("(ss)", dependency->repo_id, dependency->revision)
                                : Py_BuildValue("(sK)", dependency->repo_id, (unsigned long long)dependency->version);
}

/* The texts stay those of the Python objects. */
static bool to_dependency(PyObject *pair, kernels_dependency *dependency) {
    PyObject *version;
    *dependency = (kernels_dependency){0};
    if (!PyArg_ParseTuple(pair, "sO", &dependency->repo_id, &version)) {
        return false;
    }
    if (PyUnicode_Check(version)) {
        return PyArg_Parse(version, "s", &dependency->revision);
    }
    dependency->version = PyLong_AsUnsignedLongLong(version);
    return !PyErr_Occurred();
}

/* ---- locks and kernel paths ---- */

static PyObject *from_lock(const kernels_lock *lock, kernels_lock_kind kind) {
    return kind == KERNELS_LOCK_PATHS ? PyUnicode_FromString(lock->path)
                                      : Py_BuildValue("(sz)", lock->commit, lock->hash);
}

static PyObject *from_locks(const kernels_locks *locks) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < locks->count; i++) {
        PyObject *dependency = from_dependency(&locks->items[i].dependency);
        PyObject *lock = from_lock(&locks->items[i], locks->kind);
        if (!append(list, dependency && lock ? PyTuple_Pack(2, dependency, lock) : NULL)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(lock);
        Py_XDECREF(dependency);
    }
    return list;
}

/* locks_parse(kind, text) -> [(dependency, lock or path), ...] */
static PyObject *locks_parse(PyObject *module, PyObject *arguments) {
    (void)module;
    int kind;
    const char *data;
    Py_ssize_t size;
    kernels_locks locks = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyArg_ParseTuple(arguments, "is#:locks_parse", &kind, &data, &size)) {
        return NULL;
    }
    if (kernels_locks_parse((kernels_view){data, (size_t)size}, (kernels_lock_kind)kind, "JSON", &locks, &error)) {
        return kernels_python_raise_as(PyExc_ValueError, &error);
    }
    PyObject *list = from_locks(&locks);
    kernels_locks_dispose(&locks);
    return list;
}

static bool to_lock(PyObject *pair, kernels_lock_kind kind, kernels_lock *lock) {
    PyObject *dependency, *value;
    *lock = (kernels_lock){0};
    return PyArg_ParseTuple(pair, "OO", &dependency, &value) && to_dependency(dependency, &lock->dependency) &&
           (kind == KERNELS_LOCK_PATHS ? PyArg_Parse(value, "s", &lock->path) != 0
                                       : PyArg_ParseTuple(value, "sz", &lock->commit, &lock->hash) != 0);
}

static PyObject *print_locks(const kernels_lock *items, size_t count, kernels_lock_kind kind) {
    kernels_locks locks = {0};
    char *text = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = kernels_locks_make(kind, items, count, &locks, &error);
    if (!status) {
        status = kernels_locks_print(&locks, &text, &error);
    }
    kernels_locks_dispose(&locks);
    if (status) {
        return kernels_python_raise(&error);
    }
    PyObject *result = PyUnicode_FromString(text);
    kernels_string_free(text);
    return result;
}

/* locks_print(kind, list as of locks_parse) -> str */
static PyObject *locks_print(PyObject *module, PyObject *arguments) {
    (void)module;
    int kind;
    PyObject *list, *text = NULL;
    if (!PyArg_ParseTuple(arguments, "iO!:locks_print", &kind, &PyList_Type, &list)) {
        return NULL;
    }
    Py_ssize_t count = PyList_Size(list), filled = 0;
    kernels_lock *items = PyMem_Calloc((size_t)count + 1, sizeof(*items));
    if (!items) {
        return PyErr_NoMemory();
    }
    while (filled < count && to_lock(PyList_GetItem(list, filled), (kernels_lock_kind)kind, &items[filled])) {
        filled++;
    }
    if (filled == count) {
        text = print_locks(items, (size_t)count, (kernels_lock_kind)kind);
    }
    PyMem_Free(items);
    return text;
}

/* lock_parse(kind, text) -> lock */
static PyObject *lock_parse(PyObject *module, PyObject *arguments) {
    (void)module;
    int kind;
    const char *data;
    Py_ssize_t size;
    kernels_locks lock = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyArg_ParseTuple(arguments, "is#:lock_parse", &kind, &data, &size)) {
        return NULL;
    }
    if (kernels_lock_parse((kernels_view){data, (size_t)size}, (kernels_lock_kind)kind, "JSON", &lock, &error)) {
        return kernels_python_raise_as(PyExc_ValueError, &error);
    }
    PyObject *result = from_lock(&lock.items[0], (kernels_lock_kind)kind);
    kernels_locks_dispose(&lock);
    return result;
}

/* lock_print(kind, commit, hash) -> str */
static PyObject *lock_print(PyObject *module, PyObject *arguments) {
    (void)module;
    int kind;
    char *text = NULL;
    kernels_lock lock = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyArg_ParseTuple(arguments, "isz:lock_print", &kind, &lock.commit, &lock.hash)) {
        return NULL;
    }
    if (kernels_lock_print(&lock, (kernels_lock_kind)kind, &text, &error)) {
        return kernels_python_raise(&error);
    }
    PyObject *result = PyUnicode_FromString(text);
    kernels_string_free(text);
    return result;
}

/* ---- digests ---- */

/* (algorithm, ((path, hash), ...)) */
static PyObject *from_digest(const kernels_variant_digest *digest) {
    PyObject *files = PyTuple_New((Py_ssize_t)digest->count);
    for (size_t i = 0; files && i < digest->count; i++) {
        PyObject *pair = Py_BuildValue("(ss)", digest->files[i].path, digest->files[i].hash);
        if (!pair || PyTuple_SetItem(files, (Py_ssize_t)i, pair) != 0) {
            Py_CLEAR(files);
        }
    }
    return files ? Py_BuildValue("(iN)", (int)digest->algorithm, files) : NULL;
}

/* The texts stay those of the Python objects; digest->files is the caller's to free, also on failure. */
static bool to_digest(PyObject *algorithm_and_files, kernels_variant_digest *digest) {
    int algorithm;
    PyObject *files;
    *digest = (kernels_variant_digest){0};
    if (!PyArg_ParseTuple(algorithm_and_files, "iO!", &algorithm, &PyTuple_Type, &files)) {
        return false;
    }
    Py_ssize_t count = PyTuple_Size(files);
    kernels_file_digest *items = PyMem_Calloc((size_t)count + 1, sizeof(*items));
    *digest = (kernels_variant_digest){(kernels_digest_algorithm)algorithm, items, (size_t)count, NULL};
    if (!items) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyArg_ParseTuple(PyTuple_GetItem(files, i), "ss", &items[i].path, &items[i].hash)) {
            return false;
        }
    }
    return true;
}

static void free_files(kernels_variant_digest *digest) { PyMem_Free((void *)digest->files); }

/* digest_hash_variant(algorithm, path) -> (algorithm, files) */
static PyObject *digest_hash_variant(PyObject *module, PyObject *arguments) {
    (void)module;
    int algorithm;
    PyObject *path;
    kernels_variant_digest digest = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status;
    if (!PyArg_ParseTuple(arguments, "iO&:digest_hash_variant", &algorithm, PyUnicode_FSConverter, &path)) {
        return NULL;
    }
    const char *directory = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS status =
        kernels_digest_hash_variant((kernels_digest_algorithm)algorithm, directory, &digest, &error);
    Py_END_ALLOW_THREADS if (status) { raise_file_error(&error, directory, PyExc_RuntimeError); }
    Py_DECREF(path);
    if (status) {
        return NULL;
    }
    PyObject *result = from_digest(&digest);
    kernels_variant_digest_dispose(&digest);
    return result;
}

/* (message, [(type, path, expected, got), ...]) */
static PyObject *from_violations(const kernels_violations *violations, const kernels_error *error) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < violations->count; i++) {
        const kernels_violation *item = &violations->items[i];
        if (!append(list, Py_BuildValue("(izzz)", (int)item->type, item->path, item->expected, item->got))) {
            Py_CLEAR(list);
        }
    }
    PyObject *message = list ? kernels_python_error_text(error) : NULL;
    PyObject *result = message ? PyTuple_Pack(2, message, list) : NULL;
    Py_XDECREF(message);
    Py_XDECREF(list);
    return result;
}

/* digest_validate(expected, got), both (algorithm, files) -> None or (message, violations) */
static PyObject *digest_validate(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *expected_files, *got_files, *result = NULL;
    kernels_variant_digest expected = {0}, got = {0};
    kernels_violations violations = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyArg_ParseTuple(arguments, "OO:digest_validate", &expected_files, &got_files)) {
        return NULL;
    }
    if (to_digest(expected_files, &expected) && to_digest(got_files, &got)) {
        kernels_status status = kernels_digest_validate(&expected, &got, &violations, &error);
        result = status == KERNELS_OK          ? Py_NewRef(Py_None)
                 : status == KERNELS_INTEGRITY ? from_violations(&violations, &error)
                                               : kernels_python_raise(&error);
    }
    kernels_error_dispose(&error);
    kernels_violations_dispose(&violations);
    free_files(&expected);
    free_files(&got);
    return result;
}

/* ---- metadata ---- */

/* The address in its normal form; one that has none stays as it is written. */
static PyObject *from_git_url(const char *url) {
    char *normal = NULL;
    if (!url) {
        return Py_NewRef(Py_None);
    }
    if (kernels_git_url_normalize((kernels_view){url, strlen(url)}, &normal, NULL)) {
        return PyUnicode_FromString(url);
    }
    PyObject *text = PyUnicode_FromString(normal);
    kernels_string_free(normal);
    return text;
}

static PyObject *from_version(const kernels_version *version) {
    char text[KERNELS_VERSION_TEXT_SIZE];
    if (version->count == 0) {
        return Py_NewRef(Py_None);
    }
    kernels_version_print(version, text);
    return PyUnicode_FromString(text);
}

static PyObject *from_git_status(const kernels_git_status *status) {
    return status->commit ? Py_BuildValue("(sN)", status->commit, PyBool_FromLong(status->dirty)) : Py_NewRef(Py_None);
}

/* (builder's version, its git status, the kernel's git status) */
static PyObject *from_provenance(const kernels_provenance *provenance) {
    return provenance->builder_version
               ? Py_BuildValue("(sNN)", provenance->builder_version, from_git_status(&provenance->builder),
                               from_git_status(&provenance->kernel))
               : Py_NewRef(Py_None);
}

static PyObject *from_dependencies(const kernels_dependency *items, size_t count) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        if (!append(list, from_dependency(&items[i]))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *from_metadata(const kernels_metadata *metadata) {
    PyObject *result = PyDict_New();
    bool fine =
        result && set_item(result, "id", PyUnicode_FromString(metadata->id)) &&
        set_item(result, "name", PyUnicode_FromString(metadata->name)) &&
        set_item(result, "version", PyLong_FromUnsignedLongLong(metadata->version)) &&
        set_item(result, "kernels_minver", from_version(&metadata->minver)) &&
        set_item(result, "license", PyUnicode_FromString(metadata->license)) &&
        set_item(result, "upstream", from_git_url(metadata->upstream)) &&
        set_item(result, "source", from_git_url(metadata->source)) &&
        set_item(result, "python_depends", list_of_strings(metadata->python_depends)) &&
        set_item(result, "kernel_depends",
                 from_dependencies(metadata->kernel_depends, metadata->kernel_depends_count)) &&
        set_item(result, "backend", PyLong_FromLong((long)metadata->backend)) &&
        set_item(result, "archs", metadata->has_archs ? list_of_strings(metadata->archs) : Py_NewRef(Py_None)) &&
        set_item(result, "digest", metadata->has_digest ? from_digest(&metadata->digest) : Py_NewRef(Py_None)) &&
        set_item(result, "provenance", from_provenance(&metadata->provenance));
    if (!fine) {
        Py_CLEAR(result);
    }
    return result;
}

/* metadata_parse(bytes) -> dict */
static PyObject *metadata_parse(PyObject *module, PyObject *argument) {
    (void)module;
    char *data;
    Py_ssize_t size;
    kernels_metadata metadata = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    if (PyBytes_AsStringAndSize(argument, &data, &size) != 0) {
        return NULL;
    }
    if (kernels_metadata_parse((kernels_view){data, (size_t)size}, "metadata", &metadata, &error)) {
        return kernels_python_raise_as(PyExc_ValueError, &error);
    }
    PyObject *result = from_metadata(&metadata);
    kernels_metadata_dispose(&metadata);
    return result;
}

/* metadata_read(path) -> dict */
static PyObject *metadata_read(PyObject *module, PyObject *argument) {
    (void)module;
    PyObject *path;
    kernels_metadata metadata = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyUnicode_FSConverter(argument, &path)) {
        return NULL;
    }
    kernels_status status = kernels_metadata_read(PyBytes_AsString(path), &metadata, &error);
    if (status && error.system_errno == EISDIR) { /* it can be opened: what it holds is no metadata */
        kernels_python_raise_as(PyExc_ValueError, &error);
    } else if (status) {
        raise_file_error(&error, PyBytes_AsString(path), PyExc_ValueError);
    }
    Py_DECREF(path);
    if (status) {
        return NULL;
    }
    PyObject *result = from_metadata(&metadata);
    kernels_metadata_dispose(&metadata);
    return result;
}

/* ---- build.toml ---- */

static PyObject *from_backends(const kernels_build *build) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < build->backend_count; i++) {
        if (!append(list, PyLong_FromLong((long)build->backends[i]))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* For each of all backends the list of its kernel dependencies. */
static PyObject *from_kernel_depends(const kernels_build *build) {
    PyObject *all = PyList_New(0);
    for (kernels_backend backend = 0; all && backend < KERNELS_BACKEND_COUNT; backend++) {
        PyObject *list = PyList_New(0);
        size_t count = kernels_build_kernel_depends_count(build, backend);
        for (size_t i = 0; list && i < count; i++) {
            if (!append(list, from_dependency(kernels_build_kernel_depends_at(build, backend, i)))) {
                Py_CLEAR(list);
            }
        }
        if (!append(all, list)) {
            Py_CLEAR(all);
        }
    }
    return all;
}

/* build_read(directory) -> (backends, kernel dependencies of each backend, warning or None) */
static PyObject *build_read(PyObject *module, PyObject *argument) {
    (void)module;
    PyObject *path;
    char *warning = NULL;
    kernels_build build = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyUnicode_FSConverter(argument, &path)) {
        return NULL;
    }
    kernels_status status = kernels_build_read(PyBytes_AsString(path), &build, &warning, &error);
    Py_DECREF(path);
    if (status) {
        kernels_string_free(warning);
        return kernels_python_raise_as(PyExc_ValueError, &error);
    }
    PyObject *result =
        Py_BuildValue("(NNN)", from_backends(&build), from_kernel_depends(&build), text_or_none(warning));
    kernels_string_free(warning);
    kernels_build_dispose(&build);
    return result;
}

/* ---- the module ---- */

/* backends: ((name, attribute), ...) in the order of their numbers */
static bool add_backends(PyObject *module) {
    PyObject *all = PyTuple_New(KERNELS_BACKEND_COUNT);
    for (kernels_backend backend = 0; all && backend < KERNELS_BACKEND_COUNT; backend++) {
        PyObject *names = Py_BuildValue("(ss)", kernels_backend_name(backend), kernels_backend_attribute(backend));
        if (!names || PyTuple_SetItem(all, (Py_ssize_t)backend, names) != 0) {
            Py_CLEAR(all);
        }
    }
    bool fine = all && PyModule_AddObjectRef(module, "backends", all) == 0;
    Py_XDECREF(all);
    return fine;
}

static PyMethodDef methods[] = {
    {"backend_parse", backend_parse, METH_O, "backend_parse(text) -> number"},
    {"version_parse", version_parse, METH_O, "version_parse(text) -> parts"},
    {"name_to_python", name_to_python, METH_O, "name_to_python(kernel name) -> name of the module"},
    {"object_id_parse", object_id_parse, METH_O, "object_id_parse(text) -> lower case"},
    {"locks_parse", locks_parse, METH_VARARGS, "locks_parse(kind, text) -> [(dependency, lock or path), ...]"},
    {"locks_print", locks_print, METH_VARARGS, "locks_print(kind, [(dependency, lock or path), ...]) -> text"},
    {"lock_parse", lock_parse, METH_VARARGS, "lock_parse(kind, text) -> (commit, hash)"},
    {"lock_print", lock_print, METH_VARARGS, "lock_print(kind, commit, hash) -> text"},
    {"digest_hash_variant", digest_hash_variant, METH_VARARGS,
     "digest_hash_variant(algorithm, path) -> (algorithm, ((path, hash), ...))"},
    {"digest_validate", digest_validate, METH_VARARGS,
     "digest_validate(expected, got) -> None or (message, [(type, path, expected, got), ...])"},
    {"metadata_parse", metadata_parse, METH_O, "metadata_parse(bytes) -> dict"},
    {"metadata_read", metadata_read, METH_O, "metadata_read(path) -> dict"},
    {"build_read", build_read, METH_O, "build_read(folder) -> (backends, kernel dependencies of each, warning)"},
    {NULL, NULL, 0, NULL},
};

bool kernels_python_add_data(PyObject *module) {
    return PyModule_AddFunctions(module, methods) == 0 && add_backends(module);
}
