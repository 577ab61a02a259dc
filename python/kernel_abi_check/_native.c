/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_abi_check._native: the functions behind the classes of __init__.py, on the stable ABI of CPython 3.10.
 *
 *     recognise(bytes) -> int                        index of the format, as in kernels_abi_format
 *     normal_version(text) -> text                   "3.9.0" -> "3.9"; ValueError says why it is none
 *     check(path, check, argument, symtab)           list of (kind, name, dep, version, added, mangled); None = has
 * none
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <string.h>

#include "kernels/abi.h"

PyMODINIT_FUNC PyInit__native(void);

static void *raise_error(kernels_error *error) {
    bool is_system = kernels_status_category(error->status) == KERNELS_CATEGORY_SYSTEM;
    PyErr_SetString(error->status == KERNELS_NO_MEMORY ? PyExc_MemoryError
                    : is_system                        ? PyExc_OSError
                                                       : PyExc_ValueError,
                    kernels_error_message(error));
    kernels_error_dispose(error);
    return NULL;
}

static PyObject *recognise(PyObject *module, PyObject *arguments) {
    const char *bytes;
    Py_ssize_t size;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#", &bytes, &size)) {
        return NULL;
    }
    return PyLong_FromLong((long)kernels_abi_recognise((kernels_view){bytes, (size_t)size}));
}

static PyObject *normal_version(PyObject *module, PyObject *arguments) {
    const char *text;
    kernels_version version;
    kernels_error error = KERNELS_ERROR_INIT;
    char normal[KERNELS_VERSION_TEXT_SIZE];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "s", &text)) {
        return NULL;
    }
    if (kernels_version_parse((kernels_view){text, strlen(text)}, &version, &error) != KERNELS_OK) {
        return raise_error(&error);
    }
    while (version.count > 0 && version.parts[version.count - 1] == 0) {
        version.count--;
    }
    kernels_version_print(&version, normal);
    return PyUnicode_FromString(normal);
}

static PyObject *finding_tuple(const kernels_abi_finding *finding) {
    return Py_BuildValue("(szzzzz)", kernels_abi_kind_name(finding->kind), finding->name, finding->dep,
                         finding->version, finding->added, finding->mangled);
}

static PyObject *findings_list(const kernels_abi_findings *findings) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < findings->count && list != NULL; i++) {
        PyObject *row = finding_tuple(&findings->items[i]);
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

static kernels_status run_check(const kernels_abi_object *object, const char *check, const char *argument,
                                kernels_abi_findings *findings, kernels_error *error) {
    kernels_version limit;
    if (strcmp(check, "manylinux") == 0) {
        return kernels_abi_check_manylinux(object, argument, findings, error);
    }
    kernels_status status = kernels_version_parse((kernels_view){argument, strlen(argument)}, &limit, error);
    if (status != KERNELS_OK) {
        return status;
    }
    return strcmp(check, "python") == 0  ? kernels_abi_check_python(object, &limit, findings, error)
           : strcmp(check, "macos") == 0 ? kernels_abi_check_macos(object, &limit, findings, error)
                                         : kernels_abi_check_torch(object, &limit, findings, error);
}

static PyObject *check(PyObject *module, PyObject *arguments) {
    const char *path, *name, *argument;
    int symtab_only;
    kernels_abi_object *object = NULL;
    kernels_abi_findings findings = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sssp", &path, &name, &argument, &symtab_only)) {
        return NULL;
    }
    kernels_status status = kernels_abi_object_open(path, symtab_only ? KERNELS_ABI_SYMTAB_ONLY : 0, &object, &error);
    if (status == KERNELS_OK) {
        status = run_check(object, name, argument, &findings, &error);
    }
    PyObject *result = status == KERNELS_OK ? findings_list(&findings) : raise_error(&error);
    kernels_abi_findings_dispose(&findings);
    kernels_abi_object_free(object);
    return result;
}

static PyMethodDef functions[] = {
    {"recognise", recognise, METH_VARARGS, NULL},
    {"normal_version", normal_version, METH_VARARGS, NULL},
    {"check", check, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "kernel_abi_check._native", NULL, 0, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
