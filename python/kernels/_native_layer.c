/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels.layer decides with: the class LayerMapping over kernels_layer_mapping, and the tables of modes and
 * devices. Repositories are Python objects; they are counted under the interpreter lock, which these functions keep.
 */
#include "_native.h"

#include <string.h>

#include "kernels/mapping.h"

/* ---- repositories ---- */

static void repository_retain(void *repository) { Py_INCREF((PyObject *)repository); }
static void repository_release(void *repository) { Py_DECREF((PyObject *)repository); }

static const kernels_layer_repositories python_repositories = {repository_retain, repository_release};

/* ---- LayerMapping ---- */

typedef struct mapping_object {
    PyObject_HEAD kernels_layer_mapping *mapping;
} mapping_object;

static kernels_layer_mapping *mapping_of(PyObject *self) { return ((mapping_object *)self)->mapping; }

/* Takes over the mapping, also on failure. */
static PyObject *mapping_wrap(PyTypeObject *type, kernels_layer_mapping *mapping) {
    mapping_object *self = (mapping_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        kernels_layer_mapping_free(mapping);
        return NULL;
    }
    self->mapping = mapping;
    return (PyObject *)self;
}

static PyObject *mapping_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, ":LayerMapping", names)) {
        return NULL;
    }
    kernels_layer_mapping *mapping;
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_layer_mapping_new(&python_repositories, &mapping, &error)) {
        return kernels_python_raise(&error);
    }
    return mapping_wrap(type, mapping);
}

static void mapping_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    kernels_layer_mapping_free(mapping_of(self));
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *mapping_copy(PyObject *self, PyObject *unused) {
    (void)unused;
    kernels_layer_mapping *copy;
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_layer_mapping_copy(mapping_of(self), &copy, &error)) {
        return kernels_python_raise(&error);
    }
    return mapping_wrap(Py_TYPE(self), copy);
}

/* ---- reading entries ---- */

/* A view of a str; it lives as long as the str. */
static bool read_text(PyObject *text, kernels_view *view) {
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    *view = (kernels_view){data, data ? (size_t)size : 0};
    return data != NULL;
}

/* Larger numbers than the library has saturate. */
static bool read_number(PyObject *number, int64_t *value) {
    int overflow;
    long long read = PyLong_AsLongLongAndOverflow(number, &overflow);
    *value = overflow ? (overflow < 0 ? INT64_MIN : INT64_MAX) : read;
    return !(read == -1 && PyErr_Occurred());
}

/* Borrowed references to both; a TypeError for anything but a tuple of two. */
static bool read_pair(PyObject *pair, PyObject **first, PyObject **second) {
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "a range is (minimum, maximum), a choice (mode, repository)");
        return false;
    }
    *first = PyTuple_GetItem(pair, 0);
    *second = PyTuple_GetItem(pair, 1);
    return true;
}

static bool read_device(PyObject *device, kernels_layer_entry *entry) {
    kernels_view name;
    kernels_error error = KERNELS_ERROR_INIT;
    entry->has_device = device != Py_None;
    if (!entry->has_device) {
        return true;
    }
    if (!read_text(device, &name)) {
        return false;
    }
    return kernels_device_parse(name, &entry->device, &error) == KERNELS_OK || kernels_python_raise(&error);
}

static bool read_range(PyObject *range, kernels_layer_entry *entry) {
    PyObject *minimum, *maximum;
    entry->has_range = range != Py_None;
    return !entry->has_range || (read_pair(range, &minimum, &maximum) && read_number(minimum, &entry->minimum) &&
                                 read_number(maximum, &entry->maximum));
}

/* (layer, device or None, (minimum, maximum) or None, ((mode, repository), ...)); the choices go to *choices. */
static bool read_entry(PyObject *item, kernels_layer_entry *entry, kernels_layer_choice **choices) {
    PyObject *layer, *device, *range, *targets;
    if (!PyArg_ParseTuple(item, "UOOO!", &layer, &device, &range, &PyTuple_Type, &targets) ||
        !read_text(layer, &entry->layer) || !read_device(device, entry) || !read_range(range, entry)) {
        return false;
    }
    entry->choices = *choices;
    entry->choice_count = (size_t)PyTuple_Size(targets);
    for (size_t i = 0; i < entry->choice_count; i++) {
        kernels_layer_choice *choice = (*choices)++;
        PyObject *mode, *repository;
        int64_t number;
        if (!read_pair(PyTuple_GetItem(targets, (Py_ssize_t)i), &mode, &repository) || !read_number(mode, &number)) {
            return false;
        }
        choice->mode = number < 0 || number > KERNELS_MODE_COUNT ? KERNELS_MODE_COUNT : (unsigned)number; /* refused */
        choice->repository = repository;
    }
    return true;
}

/* Upper bound of the choices of all entries; -1 with an exception set. */
static Py_ssize_t count_choices(PyObject *items) {
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(items); i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        PyObject *targets = PyTuple_Check(item) && PyTuple_Size(item) == 4 ? PyTuple_GetItem(item, 3) : NULL;
        if (!targets || !PyTuple_Check(targets)) {
            PyErr_SetString(PyExc_TypeError, "an entry is (layer, device, range, choices)");
            return -1;
        }
        count += PyTuple_Size(targets);
    }
    return count;
}

/* Memory for all entries and, behind them, for their choices. */
static kernels_layer_entry *entries_new(PyObject *items, kernels_layer_choice **choices) {
    Py_ssize_t choice_count = count_choices(items);
    if (choice_count < 0) {
        return NULL;
    }
    size_t entries_size = (size_t)PyTuple_Size(items) * sizeof(kernels_layer_entry);
    size_t size = entries_size + (size_t)choice_count * sizeof(kernels_layer_choice);
    char *memory = PyMem_Malloc(size + 1);
    if (!memory) {
        PyErr_NoMemory();
        return NULL;
    }
    memset(memory, 0, size + 1);
    *choices = (kernels_layer_choice *)(void *)(memory + entries_size);
    return (kernels_layer_entry *)(void *)memory;
}

static PyObject *mapping_register(PyObject *self, PyObject *arguments) {
    PyObject *items;
    int clear;
    kernels_layer_choice *choices = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyArg_ParseTuple(arguments, "O!p:register", &PyTuple_Type, &items, &clear)) {
        return NULL;
    }
    kernels_layer_entry *entries = entries_new(items, &choices);
    if (!entries) {
        return NULL;
    }
    size_t count = (size_t)PyTuple_Size(items);
    bool fine = true;
    for (size_t i = 0; i < count && fine; i++) {
        fine = read_entry(PyTuple_GetItem(items, (Py_ssize_t)i), &entries[i], &choices);
    }
    if (fine && kernels_layer_mapping_register(mapping_of(self), entries, count, clear != 0, &error)) {
        kernels_python_raise(&error);
        fine = false;
    }
    PyMem_Free(entries);
    if (!fine) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- asking ---- */

static const char *result_name(kernels_layer_result result) {
    switch (result) {
    case KERNELS_LAYER_FOUND:
        return NULL;
    case KERNELS_LAYER_NO_LAYER:
        return "no_layer";
    case KERNELS_LAYER_NO_DEVICE:
        return "no_device";
    case KERNELS_LAYER_NO_PROPERTIES:
        return "no_properties";
    case KERNELS_LAYER_NO_MODE:
        return "no_mode";
    case KERNELS_LAYER_BAD_MODE:
        break;
    }
    return "bad_mode";
}

static bool read_query(PyObject *layer, PyObject *device, PyObject *capability, kernels_layer_query *query) {
    query->has_capability = capability != Py_None;
    return read_text(layer, &query->layer) && read_text(device, &query->device) &&
           (!query->has_capability || read_number(capability, &query->capability));
}

/* (None, None, mode, repository) or (result, message, 0, None) */
static PyObject *mapping_find(PyObject *self, PyObject *arguments) {
    PyObject *layer, *device, *capability;
    kernels_layer_query query = {0};
    if (!PyArg_ParseTuple(arguments, "UUOI:find", &layer, &device, &capability, &query.mode) ||
        !read_query(layer, device, capability, &query)) {
        return NULL;
    }
    kernels_layer_answer answer;
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_layer_mapping_find(mapping_of(self), &query, &answer, &error) == KERNELS_OK) {
        return Py_BuildValue("(OOIN)", Py_None, Py_None, answer.mode, (PyObject *)answer.repository);
    }
    PyObject *message = kernels_python_error_text(&error);
    kernels_error_dispose(&error);
    return message ? Py_BuildValue("(sNIO)", result_name(answer.result), message, 0u, Py_None) : NULL;
}

/* ((mode, repository), ...); `take`: the references go over to the tuple. */
static PyObject *choices_tuple(const kernels_layer_choice *choices, size_t count, bool take) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; i < count; i++) {
        PyObject *pair = Py_BuildValue("(IO)", choices[i].mode, (PyObject *)choices[i].repository);
        if (take) {
            repository_release(choices[i].repository);
        }
        if (tuple && (!pair || PyTuple_SetItem(tuple, (Py_ssize_t)i, pair) != 0)) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

/* (None, ((mode, repository), ...)) or (result, ()) */
static PyObject *mapping_choices(PyObject *self, PyObject *arguments) {
    PyObject *layer, *device, *capability;
    kernels_layer_query query = {0};
    kernels_layer_choice choices[KERNELS_MODE_COUNT];
    size_t count;
    if (!PyArg_ParseTuple(arguments, "UUO:choices", &layer, &device, &capability) ||
        !read_query(layer, device, capability, &query)) {
        return NULL;
    }
    kernels_layer_result result = kernels_layer_mapping_choices(mapping_of(self), &query, choices, &count);
    PyObject *tuple = choices_tuple(choices, count, true);
    return tuple ? Py_BuildValue("(zN)", result_name(result), tuple) : NULL;
}

static bool add_entry(void *payload, const kernels_layer_entry *entry) {
    const char *device = entry->has_device ? kernels_device_name(entry->device) : NULL;
    PyObject *range = entry->has_range ? Py_BuildValue("(LL)", (long long)entry->minimum, (long long)entry->maximum)
                                       : Py_BuildValue("");
    PyObject *choices = choices_tuple(entry->choices, entry->choice_count, false);
    PyObject *item = NULL;
    if (range && choices) {
        item = Py_BuildValue("(s#zOO)", entry->layer.data, (Py_ssize_t)entry->layer.size, device, range, choices);
    }
    bool fine = item && PyList_Append(payload, item) == 0;
    Py_XDECREF(item);
    Py_XDECREF(choices);
    Py_XDECREF(range);
    return fine;
}

static PyObject *mapping_entries(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    if (list) {
        kernels_layer_mapping_visit(mapping_of(self), add_entry, list);
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef mapping_methods[] = {
    {"copy", mapping_copy, METH_NOARGS, "An independent one; costs nothing."},
    {"register", mapping_register, METH_VARARGS, "register(entries, clear): all or none"},
    {"find", mapping_find, METH_VARARGS, "find(layer, device, capability, mode)"},
    {"choices", mapping_choices, METH_VARARGS, "choices(layer, device, capability)"},
    {"entries", mapping_entries, METH_NOARGS, "All there is, as register takes it."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot mapping_slots[] = {
    {Py_tp_doc, "Layer name, device, capability and mode to a repository."},
    {Py_tp_new, mapping_new},
    {Py_tp_dealloc, mapping_dealloc},
    {Py_tp_methods, mapping_methods},
    {0, NULL},
};

static PyType_Spec mapping_spec = {
    .name = "kernels._native.LayerMapping",
    .basicsize = sizeof(mapping_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = mapping_slots,
};

/* ---- tables ---- */

static PyObject *mode_union(PyObject *self, PyObject *arguments) {
    (void)self;
    unsigned a, b, mode;
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyArg_ParseTuple(arguments, "II:mode_union", &a, &b)) {
        return NULL;
    }
    if (kernels_mode_union(a, b, &mode, &error)) {
        return kernels_python_raise(&error);
    }
    return PyLong_FromUnsignedLong(mode);
}

static PyObject *mode_order(PyObject *self, PyObject *arguments) {
    (void)self;
    unsigned requested;
    size_t count;
    if (!PyArg_ParseTuple(arguments, "I:mode_order", &requested)) {
        return NULL;
    }
    const unsigned *modes = kernels_mode_order(requested, &count);
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        PyObject *mode = PyLong_FromUnsignedLong(modes[i]);
        if (!mode || PyTuple_SetItem(tuple, (Py_ssize_t)i, mode) != 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

static PyObject *mode_is_reachable(PyObject *self, PyObject *arguments) {
    (void)self;
    unsigned registered;
    if (!PyArg_ParseTuple(arguments, "I:mode_is_reachable", &registered)) {
        return NULL;
    }
    return PyBool_FromLong(kernels_mode_is_reachable(registered));
}

static PyObject *mode_check_request(PyObject *self, PyObject *arguments) {
    (void)self;
    unsigned requested;
    kernels_error error = KERNELS_ERROR_INIT;
    if (!PyArg_ParseTuple(arguments, "I:mode_check_request", &requested)) {
        return NULL;
    }
    if (kernels_mode_check_request(requested, &error)) {
        return kernels_python_raise(&error);
    }
    Py_RETURN_NONE;
}

static PyObject *layer_check(PyObject *self, PyObject *arguments) {
    (void)self;
    unsigned registered, requested;
    int can_torch_compile, has_backward;
    if (!PyArg_ParseTuple(arguments, "IIpp:layer_check", &registered, &requested, &can_torch_compile, &has_backward)) {
        return NULL;
    }
    switch (kernels_layer_check(registered, requested, can_torch_compile != 0, has_backward != 0)) {
    case KERNELS_LAYER_FITS:
        Py_RETURN_NONE;
    case KERNELS_LAYER_LACKS_BACKWARD:
        return PyUnicode_FromString("lacks_backward");
    case KERNELS_LAYER_LACKS_COMPILE:
        return PyUnicode_FromString("lacks_compile");
    case KERNELS_LAYER_CANNOT_SERVE_MODE:
        break;
    }
    return PyUnicode_FromString("cannot_serve_mode");
}

static PyObject *device_types(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    PyObject *tuple = PyTuple_New(KERNELS_DEVICE_COUNT);
    for (int i = 0; tuple && i < KERNELS_DEVICE_COUNT; i++) {
        PyObject *name = PyUnicode_FromString(kernels_device_name((kernels_device)i));
        if (!name || PyTuple_SetItem(tuple, i, name) != 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

static PyObject *tpu_generation_number(PyObject *self, PyObject *arguments) {
    (void)self;
    const char *generation;
    if (!PyArg_ParseTuple(arguments, "z:tpu_generation_number", &generation)) {
        return NULL;
    }
    int64_t number = kernels_tpu_generation_number(generation);
    return number ? PyLong_FromLongLong(number) : Py_BuildValue("");
}

static PyMethodDef layer_functions[] = {
    {"mode_union", mode_union, METH_VARARGS, "mode_union(a, b); ValueError"},
    {"mode_order", mode_order, METH_VARARGS, "Registered modes that serve a request, best first; () for no request."},
    {"mode_is_reachable", mode_is_reachable, METH_VARARGS, "Is there a request that this registered mode serves?"},
    {"mode_check_request", mode_check_request, METH_VARARGS, "ValueError when kernelize cannot be asked for it."},
    {"layer_check", layer_check, METH_VARARGS, "layer_check(registered, requested, can_torch_compile, has_backward)"},
    {"device_types", device_types, METH_NOARGS, "Names of all device types, sorted."},
    {"tpu_generation_number", tpu_generation_number, METH_VARARGS, "\"v5e\" -> 50; None when unknown."},
    {NULL, NULL, 0, NULL},
};

bool kernels_python_add_layer(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &mapping_spec, NULL);
    bool fine = type && PyModule_AddObjectRef(module, "LayerMapping", type) == 0;
    Py_XDECREF(type);
    return fine && PyModule_AddFunctions(module, layer_functions) == 0;
}
