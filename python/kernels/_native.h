/* SPDX-License-Identifier: Apache-2.0 */
/* What the C files of the extension kernels._native share. They use the stable ABI of CPython 3.10. */
#ifndef KERNELS_PYTHON_NATIVE_H
#define KERNELS_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include "kernels/kernels.h"

/* The message of an error and those below it, a line each; NULL with an exception set. */
PyObject *kernels_python_error_text(const kernels_error *error);
/* Raises the Python exception for an error, with the attribute `status`. Disposes the error. An exception that a
 * callback raised wins. Returns NULL. */
void *kernels_python_raise(kernels_error *error);
/* The same, but always of this class. */
void *kernels_python_raise_as(PyObject *class, kernels_error *error);

/* After a callback raised: Ctrl-C stays to be seen, everything else is only shown, since the library cannot carry it.
 */
void kernels_python_callback_failed(PyObject *function);

/* Fills *system from a System of _native.pyi; false with an exception set (TypeError, ValueError). */
bool kernels_python_system_read(PyObject *dictionary, kernels_system *system);
/* A new System dictionary; NULL with an exception set. */
PyObject *kernels_python_system_write(const kernels_system *system);

/* Adds the functions of _native_system.c; false with an exception set. */
bool kernels_python_add_system(PyObject *module);
/* Adds the classes Context and Found (_native_load.c); false with an exception set. */
bool kernels_python_add_load(PyObject *module);
/* Adds the class and functions of _native_layer.c; false with an exception set. */
bool kernels_python_add_layer(PyObject *module);
/* Adds the functions behind kernels._rust (_native_data.c); false with an exception set. */
bool kernels_python_add_data(PyObject *module);

#endif
