/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine is and which variants fit it, for backends.py, variants.py and _machine.py. A system is a plain
 * dictionary in Python: see System in _native.pyi.
 */
#include <stddef.h>
#include <string.h>

#include "_native.h"

static kernels_view view_of(const char *text) { return (kernels_view){text, strlen(text)}; }

/* ---- a system as a dictionary ---- */

/* Members of kernels_system that are text of their own. */
static const struct text_member {
    const char *key;
    size_t offset, size;
} text_members[] = {
#define TEXT(member) \
    { #member, offsetof(kernels_system, member), sizeof(((kernels_system *)NULL)->member) }
    TEXT(os),
    TEXT(cpu),
    TEXT(backend_reason),
    TEXT(glibc),
    TEXT(python),
    TEXT(site_packages),
    TEXT(tpu_generation),
    TEXT(gpu_architectures),
    {"torch", offsetof(kernels_system, torch_text), sizeof(((kernels_system *)NULL)->torch_text)},
    {"tvm_ffi", offsetof(kernels_system, tvm_ffi_text), sizeof(((kernels_system *)NULL)->tvm_ffi_text)},
#undef TEXT
};
#define TEXT_MEMBERS (sizeof text_members / sizeof text_members[0])

/* A value of the dictionary, borrowed; NULL when it is missing or None. */
static PyObject *lookup(PyObject *dictionary, const char *key) {
    PyObject *value = PyDict_GetItemString(dictionary, key);
    return value == Py_None ? NULL : value;
}

/* The value as text without NUL; NULL with an exception set. */
static const char *as_text(const char *key, PyObject *value, Py_ssize_t *size) {
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "system: %s: expected a str, given %R", key, value);
        return NULL;
    }
    const char *text = PyUnicode_AsUTF8AndSize(value, size);
    if (text && strlen(text) != (size_t)*size) {
        PyErr_Format(PyExc_ValueError, "system: %s: %R has a NUL character", key, value);
        return NULL;
    }
    return text;
}

/* Copies a value, or "" for a missing one; false with an exception set. A path of the system may be no UTF-8. */
static bool copy_text(PyObject *dictionary, const char *key, char *to, size_t room) {
    PyObject *value = lookup(dictionary, key);
    PyObject *encoded = NULL;
    to[0] = '\0';
    if (!value) {
        return true;
    }
    if (!PyUnicode_FSConverter(value, &encoded)) {
        return false;
    }
    Py_ssize_t size = PyBytes_Size(encoded);
    bool fits = (size_t)size < room;
    if (fits) {
        memcpy(to, PyBytes_AsString(encoded), (size_t)size + 1);
    } else {
        PyErr_Format(PyExc_ValueError, "system: %s: expected at most %zu bytes, given %R", key, room - 1, value);
    }
    Py_DECREF(encoded);
    return fits;
}

static bool read_backend(PyObject *value, const char *key, kernels_backend *backend) {
    kernels_error error = KERNELS_ERROR_INIT;
    Py_ssize_t size = 0;
    const char *text = as_text(key, value, &size);
    if (text && kernels_backend_parse(view_of(text), backend, &error)) {
        kernels_python_raise_as(PyExc_ValueError, &error);
        return false;
    }
    return text != NULL;
}

static bool read_version(PyObject *dictionary, const char *key, kernels_version *version) {
    PyObject *value = lookup(dictionary, key);
    kernels_error error = KERNELS_ERROR_INIT;
    Py_ssize_t size = 0;
    const char *text = value ? as_text(key, value, &size) : NULL;
    if (text && kernels_version_parse(view_of(text), version, &error)) {
        kernels_python_raise_as(PyExc_ValueError, &error);
        return false;
    }
    return text || !value;
}

/* True, False or None; -1 with an exception set. */
static bool read_flag(PyObject *dictionary, const char *key, int *flag) {
    PyObject *value = lookup(dictionary, key);
    *flag = value ? PyObject_IsTrue(value) : 0;
    return *flag >= 0;
}

static bool read_backends(PyObject *dictionary, kernels_system *system) {
    PyObject *backend = lookup(dictionary, "backend");
    if (!backend) {
        PyErr_SetString(PyExc_ValueError, "system: backend is missing");
        return false;
    }
    PyObject *alternative = lookup(dictionary, "alternative");
    system->has_alternative = alternative != NULL;
    return read_backend(backend, "backend", &system->backend) &&
           read_version(dictionary, "backend_version", &system->backend_version) &&
           (!alternative || read_backend(alternative, "alternative", &system->alternative)) &&
           read_version(dictionary, "alternative_version", &system->alternative_version);
}

static bool read_flags(PyObject *dictionary, kernels_system *system) {
    int needs_torch, free_threaded, abi;
    if (!read_flag(dictionary, "needs_torch", &needs_torch) ||
        !read_flag(dictionary, "free_threaded", &free_threaded) || !read_flag(dictionary, "torch_cxx11_abi", &abi)) {
        return false;
    }
    system->needs_torch = needs_torch != 0;
    system->free_threaded = free_threaded != 0;
    system->torch_cxx11_abi = !lookup(dictionary, "torch_cxx11_abi") ? KERNELS_CXX11_ABI_NONE
                              : abi                                  ? KERNELS_CXX11_ABI_NEW
                                                                     : KERNELS_CXX11_ABI_OLD;
    return true;
}

static bool read_origins(PyObject *dictionary, kernels_system *system) {
    PyObject *origins = lookup(dictionary, "origins");
    if (!origins) {
        return true;
    }
    if (!PyDict_Check(origins)) {
        PyErr_Format(PyExc_TypeError, "system: origins: expected a dict, given %R", origins);
        return false;
    }
    for (kernels_fact fact = 0; fact < KERNELS_FACT_COUNT; fact++) {
        if (!copy_text(origins, kernels_fact_name(fact), system->origins[fact], KERNELS_ORIGIN_SIZE)) {
            return false;
        }
    }
    return true;
}

bool kernels_python_system_read(PyObject *dictionary, kernels_system *system) {
    *system = (kernels_system){0};
    if (!PyDict_Check(dictionary)) {
        PyErr_Format(PyExc_TypeError, "system: expected a dict, given %R", dictionary);
        return false;
    }
    for (size_t i = 0; i < TEXT_MEMBERS; i++) {
        const struct text_member *member = &text_members[i];
        if (!copy_text(dictionary, member->key, (char *)system + member->offset, member->size)) {
            return false;
        }
    }
    system->torch = kernels_version_major_minor(view_of(system->torch_text));
    system->tvm_ffi = kernels_version_major_minor(view_of(system->tvm_ffi_text));
    return read_backends(dictionary, system) && read_version(dictionary, "macos", &system->macos) &&
           read_flags(dictionary, system) && read_origins(dictionary, system);
}

/* Takes over the reference to value, which may be NULL with an exception set. */
static bool set_item(PyObject *dictionary, const char *key, PyObject *value) {
    bool fine = value && PyDict_SetItemString(dictionary, key, value) == 0;
    Py_XDECREF(value);
    return fine;
}

/* Paths of the system may be no UTF-8. */
static PyObject *text_or_none(const char *text) {
    return text[0] != '\0' ? PyUnicode_DecodeFSDefault(text) : Py_NewRef(Py_None);
}

static PyObject *version_or_none(const kernels_version *version) {
    char text[KERNELS_VERSION_TEXT_SIZE] = "";
    if (version->count > 0) {
        kernels_version_print(version, text);
    }
    return text_or_none(text);
}

static PyObject *write_origins(const kernels_system *system) {
    PyObject *origins = PyDict_New();
    for (kernels_fact fact = 0; origins && fact < KERNELS_FACT_COUNT; fact++) {
        if (system->origins[fact][0] != '\0' &&
            !set_item(origins, kernels_fact_name(fact), PyUnicode_DecodeFSDefault(system->origins[fact]))) {
            Py_CLEAR(origins);
        }
    }
    return origins;
}

static bool write_backends(PyObject *dictionary, const kernels_system *system) {
    const char *alternative = system->has_alternative ? kernels_backend_name(system->alternative) : "";
    return set_item(dictionary, "backend", PyUnicode_FromString(kernels_backend_name(system->backend))) &&
           set_item(dictionary, "backend_version", version_or_none(&system->backend_version)) &&
           set_item(dictionary, "needs_torch", PyBool_FromLong(system->needs_torch)) &&
           set_item(dictionary, "alternative", text_or_none(alternative)) &&
           set_item(dictionary, "alternative_version", version_or_none(&system->alternative_version));
}

static PyObject *write_abi(kernels_cxx11_abi abi) {
    return abi == KERNELS_CXX11_ABI_NONE ? Py_NewRef(Py_None) : PyBool_FromLong(abi == KERNELS_CXX11_ABI_NEW);
}

PyObject *kernels_python_system_write(const kernels_system *system) {
    PyObject *dictionary = PyDict_New();
    bool fine = dictionary && write_backends(dictionary, system) &&
                set_item(dictionary, "torch_cxx11_abi", write_abi(system->torch_cxx11_abi)) &&
                set_item(dictionary, "macos", version_or_none(&system->macos)) &&
                set_item(dictionary, "free_threaded", PyBool_FromLong(system->free_threaded)) &&
                set_item(dictionary, "origins", write_origins(system));
    for (size_t i = 0; fine && i < TEXT_MEMBERS; i++) {
        const char *text = (const char *)system + text_members[i].offset;
        fine = set_item(dictionary, text_members[i].key, text_or_none(text));
    }
    if (!fine) {
        Py_CLEAR(dictionary);
    }
    return dictionary;
}

/* ---- detection ---- */

/* Paths of a sequence, encoded; the objects in *owners keep them alive. false with an exception set. */
static bool read_folders(PyObject *sequence, PyObject **owners, const char ***paths, size_t *count) {
    Py_ssize_t size = PySequence_Size(sequence);
    *owners = size < 0 ? NULL : PyList_New(0);
    *paths = *owners ? PyMem_Calloc((size_t)size + 1, sizeof **paths) : NULL;
    if (*owners && !*paths) {
        PyErr_NoMemory();
    }
    for (*count = 0; *paths && *count < (size_t)size; (*count)++) {
        PyObject *item = PySequence_GetItem(sequence, (Py_ssize_t)*count);
        PyObject *path = NULL;
        bool fine = item && PyUnicode_FSConverter(item, &path) && PyList_Append(*owners, path) == 0;
        (*paths)[*count] = fine ? PyBytes_AsString(path) : NULL;
        Py_XDECREF(path);
        Py_XDECREF(item);
        if (!fine) {
            return false;
        }
    }
    return *paths != NULL;
}

static PyObject *system_detect(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *folders;
    const char *root = "";
    if (!PyArg_ParseTuple(arguments, "O|s:system_detect", &folders, &root)) {
        return NULL;
    }
    PyObject *owners = NULL;
    const char **paths = NULL;
    size_t count = 0;
    PyObject *result = NULL;
    if (read_folders(folders, &owners, &paths, &count)) {
        const kernels_system_options options = {.site_packages = count > 0 ? paths[0] : NULL,
                                                .sysfs_root = root,
                                                .more_packages = count > 0 ? paths + 1 : NULL,
                                                .more_package_count = count > 0 ? count - 1 : 0,
                                                .simulate = ""}; /* kernels.simulate decides */
        kernels_system system;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status;
        Py_BEGIN_ALLOW_THREADS status = kernels_system_detect(&options, &system, &error);
        Py_END_ALLOW_THREADS result = status ? kernels_python_raise(&error) : kernels_python_system_write(&system);
    }
    PyMem_Free(paths);
    Py_XDECREF(owners);
    return result;
}

static PyObject *tpu_present(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *root = "";
    char generation[16];
    if (!PyArg_ParseTuple(arguments, "|s:tpu_present", &root)) {
        return NULL;
    }
    kernels_tpu_presence presence = kernels_tpu_scan(root, generation);
    return presence == KERNELS_TPU_UNKNOWN ? Py_NewRef(Py_None) : PyBool_FromLong(presence == KERNELS_TPU_PRESENT);
}

static PyObject *gpu_usable(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *cuda, *hip, *xpu, *root = "";
    if (!PyArg_ParseTuple(arguments, "zzz|s:gpu_usable", &cuda, &hip, &xpu, &root)) {
        return NULL;
    }
    return PyBool_FromLong(kernels_gpu_is_usable(root, cuda != NULL, hip != NULL, xpu != NULL));
}

static PyObject *cuda_runtime_version(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *root = "";
    if (!PyArg_ParseTuple(arguments, "|s:cuda_runtime_version", &root)) {
        return NULL;
    }
    kernels_version version;
    bool mute;
    Py_BEGIN_ALLOW_THREADS version = kernels_cudart_version(root, &mute);
    Py_END_ALLOW_THREADS if (version.count == 0 && !mute) { Py_RETURN_NONE; }
    return Py_BuildValue("(KK)", (unsigned long long)version.parts[0], (unsigned long long)version.parts[1]);
}

/* ---- variants ---- */

/* The name of a folder; data NULL, without an exception, when it can be no variant name. */
static kernels_view name_of(PyObject *name) {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
    if (!text || strlen(text) != (size_t)size) {
        PyErr_Clear();
        return (kernels_view){NULL, 0};
    }
    return (kernels_view){text, (size_t)size};
}

static PyObject *pair_of(bool present, uint64_t major, uint64_t minor) {
    return present ? Py_BuildValue("(KK)", (unsigned long long)major, (unsigned long long)minor) : Py_NewRef(Py_None);
}

static PyObject *variant_parse(PyObject *module, PyObject *argument) {
    static const char *const kinds[] = {[KERNELS_FRAMEWORK_TORCH] = "torch",
                                        [KERNELS_FRAMEWORK_TORCH_STABLE_ABI] = "torch-stable-abi",
                                        [KERNELS_FRAMEWORK_TVM_FFI] = "tvm-ffi",
                                        [KERNELS_FRAMEWORK_TORCH_NOARCH] = "noarch"};
    (void)module;
    kernels_variant variant;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_view name = name_of(argument);
    if (!name.data) {
        return PyErr_Format(PyUnicode_Check(argument) ? PyExc_ValueError : PyExc_TypeError,
                            "expected the name of a variant, given %R", argument);
    }
    if (kernels_variant_parse(name, &variant, &error)) {
        return kernels_python_raise_as(PyExc_ValueError, &error);
    }
    char canonical[KERNELS_VARIANT_NAME_MAX + 1];
    kernels_variant_print(&variant, canonical);
    bool arch = variant.framework != KERNELS_FRAMEWORK_TORCH_NOARCH;
    return Py_BuildValue("(sNNzNsszs)", kinds[variant.framework],
                         pair_of(arch, variant.framework_major, variant.framework_minor), write_abi(variant.cxx11_abi),
                         arch ? kernels_backend_name(variant.backend) : NULL,
                         pair_of(arch && variant.backend_has_version, variant.backend_major, variant.backend_minor),
                         variant.cpu, variant.os, arch ? NULL : variant.noarch_name, canonical);
}

static PyObject *pair_of_texts(const char *name, const char *reason) {
    PyObject *first = PyUnicode_FromString(name);
    PyObject *second = reason ? PyUnicode_FromString(reason) : Py_NewRef(Py_None);
    PyObject *pair = first && second ? PyTuple_Pack(2, first, second) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return pair;
}

/* [(name, reason or None), ...] */
static PyObject *pairs_of(const kernels_decisions *decisions) {
    PyObject *list = PyList_New((Py_ssize_t)decisions->count);
    for (size_t i = 0; list && i < decisions->count; i++) {
        const kernels_decision *decision = &decisions->items[i];
        PyObject *item = pair_of_texts(decision->variant.name, decision->reason);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* ([position, ...], [reason of a rejected one, ...]): no tuples, which the collector of Python would look through. */
static PyObject *lists_of(const kernels_decisions *decisions) {
    size_t accepted = decisions->accepted_count;
    PyObject *positions = PyList_New((Py_ssize_t)decisions->count);
    PyObject *reasons = PyList_New((Py_ssize_t)(decisions->count - accepted));
    bool fine = positions && reasons;
    for (size_t i = 0; fine && i < decisions->count; i++) {
        const kernels_decision *decision = &decisions->items[i];
        PyObject *position = PyLong_FromSize_t(decision->position);
        fine = position && PyList_SetItem(positions, (Py_ssize_t)i, position) == 0;
        if (fine && i >= accepted) {
            PyObject *reason = PyUnicode_FromString(decision->reason);
            fine = reason && PyList_SetItem(reasons, (Py_ssize_t)(i - accepted), reason) == 0;
        }
    }
    PyObject *result = fine ? PyTuple_Pack(2, positions, reasons) : NULL;
    Py_XDECREF(positions);
    Py_XDECREF(reasons);
    return result;
}

/* The names of a list, borrowed from it, "" for what can be no variant name; NULL with an exception set. */
static const char **names_of(PyObject *list, size_t *count) {
    Py_ssize_t size = PyList_Size(list);
    const char **names = size < 0 ? NULL : PyMem_Calloc((size_t)size + 1, sizeof *names);
    if (size >= 0 && !names) {
        PyErr_NoMemory();
    }
    *count = (size_t)size;
    for (Py_ssize_t i = 0; names && i < size; i++) {
        const char *name = name_of(PyList_GetItem(list, i)).data;
        names[i] = name ? name : "";
    }
    return names;
}

static PyObject *resolve(PyObject *arguments, bool in_order) {
    PyObject *dictionary, *list;
    kernels_system system;
    if (!PyArg_ParseTuple(arguments, "OO!", &dictionary, &PyList_Type, &list) ||
        !kernels_python_system_read(dictionary, &system)) {
        return NULL;
    }
    size_t count = 0;
    const char **names = names_of(list, &count);
    if (!names) {
        return NULL;
    }
    kernels_decisions decisions = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = in_order ? kernels_resolve_in_order(&system, names, count, &decisions, &error)
                                     : kernels_resolve_variants(&system, names, count, NULL, NULL, &decisions, &error);
    PyObject *result = status ? kernels_python_raise(&error) : in_order ? lists_of(&decisions) : pairs_of(&decisions);
    kernels_decisions_dispose(&decisions);
    PyMem_Free(names);
    return result;
}

static PyObject *resolve_variants(PyObject *module, PyObject *arguments) {
    (void)module;
    return resolve(arguments, false);
}

static PyObject *resolve_in_order(PyObject *module, PyObject *arguments) {
    (void)module;
    return resolve(arguments, true);
}

/* ---- Python dependencies ---- */

/* [(package, module or None), ...] of one name, or None when the backend does not have it. */
static PyObject *python_dependency_find(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *name, *backend_name;
    kernels_backend backend;
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyArg_ParseTuple(arguments, "ss:python_dependency_find", &name, &backend_name)) {
        return NULL;
    }
    if (kernels_backend_parse(view_of(backend_name), &backend, &error)) {
        return kernels_python_raise_as(PyExc_ValueError, &error);
    }
    const kernels_python_dependency *found = kernels_python_dependency_general(view_of(name));
    found = found ? found : kernels_python_dependency_backend(view_of(name), backend);
    PyObject *list = found ? PyList_New((Py_ssize_t)found->package_count) : Py_NewRef(Py_None);
    for (size_t i = 0; found && list && i < found->package_count; i++) {
        PyObject *item = Py_BuildValue("(sz)", found->packages[i].package, found->packages[i].import);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* ---- the module ---- */

static PyMethodDef methods[] = {
    {"system_detect", system_detect, METH_VARARGS, "system_detect(package folders, root=\"\") -> dict"},
    {"tpu_present", tpu_present, METH_VARARGS, "tpu_present(root=\"\") -> True, False, None: unknown"},
    {"gpu_usable", gpu_usable, METH_VARARGS, "gpu_usable(cuda, hip, xpu, root=\"\") -> bool"},
    {"cuda_runtime_version", cuda_runtime_version, METH_VARARGS,
     "cuda_runtime_version(root=\"\") -> (major, minor) or None"},
    {"variant_parse", variant_parse, METH_O,
     "variant_parse(name) -> (kind, version, ABI tag, backend, its version, cpu, os, noarch name, canonical name)"},
    {"resolve_variants", resolve_variants, METH_VARARGS,
     "resolve_variants(system, names) -> [(name, reason or None), ...]"},
    {"resolve_in_order", resolve_in_order, METH_VARARGS,
     "resolve_in_order(system, names) -> (positions of the names, reasons of the rejected ones)"},
    {"python_dependency_find", python_dependency_find, METH_VARARGS,
     "python_dependency_find(name, backend) -> [(package, module or None), ...] or None"},
    {NULL, NULL, 0, NULL},
};

bool kernels_python_add_system(PyObject *module) { return PyModule_AddFunctions(module, methods) == 0; }
