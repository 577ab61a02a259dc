/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels._native: the loader and the runtime for Python, and the module itself. native.py gives it its public face;
 * the formats are in _native_data.c. One build serves CPython 3.10 and all later versions.
 *
 * The interpreter lock is released while the library works; its callbacks take it again. Each function has a lock of
 * its own, since a kernels_function belongs to one thread at a time.
 */
#include "_native.h"

#include <string.h>

#define CAPSULE "dltensor"
#define CAPSULE_VERSIONED "dltensor_versioned"

typedef struct module_state {
    PyTypeObject *kernel_type, *function_type, *tensor_type;
} module_state;

/* ---- errors ---- */

/* The class that Python users expect for a failure. */
static PyObject *exception_class(kernels_status status) {
    switch (status) {
    case KERNELS_NO_MEMORY:
        return PyExc_MemoryError;
    case KERNELS_INTERRUPTED:
        return PyExc_KeyboardInterrupt;
    case KERNELS_PERMISSION:
        return PyExc_PermissionError;
    case KERNELS_TIMEOUT:
        return PyExc_TimeoutError;
    case KERNELS_NETWORK: /* other failures of the Hub: kernels.errors */
        return PyExc_ConnectionError;
    case KERNELS_INTEGRITY: /* the released package's class for a file of another size */
        return PyExc_OSError;
    case KERNELS_VERSION_NOT_FOUND:
    case KERNELS_SPECIALISATION_NOT_FOUND:
    case KERNELS_MISMATCH:
    case KERNELS_UNTRUSTED:
        return PyExc_ValueError;
    case KERNELS_FUNCTION_NOT_FOUND:
        return PyExc_AttributeError;
    default:
        break;
    }
    switch (kernels_status_category(status)) {
    case KERNELS_CATEGORY_ARGUMENT:
    case KERNELS_CATEGORY_DATA:
        return PyExc_ValueError;
    case KERNELS_CATEGORY_SYSTEM:
        return PyExc_OSError;
    case KERNELS_CATEGORY_NOT_FOUND:
        return PyExc_FileNotFoundError;
    default:
        return PyExc_RuntimeError;
    }
}

/* The library does not know how its callers say that they trust somebody. */
static const char trust_remedy[] =
    "To load it nevertheless, set trust_remote_code=True, or to a list of repository ids with this one in it.";

PyObject *kernels_python_error_text(const kernels_error *error) {
    PyObject *text = PyUnicode_FromString("");
    for (const kernels_error *at = error; at && text; at = at->cause) {
        const char *message = kernels_error_message(at);
        PyObject *line = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
        PyObject *longer = line ? PyUnicode_FromFormat(at == error ? "%U%U" : "%U\nbecause %U", text, line) : NULL;
        Py_XDECREF(line);
        Py_DECREF(text);
        text = longer;
    }
    if (text && error->status == KERNELS_UNTRUSTED) {
        PyObject *longer = PyUnicode_FromFormat("%U\n%s", text, trust_remedy);
        Py_DECREF(text);
        text = longer;
    }
    return text;
}

/* Takes over the reference to exception, which may be NULL with an exception set. */
static void *raise_exception(PyObject *exception, kernels_error *error) {
    PyObject *status = exception ? PyUnicode_FromString(kernels_status_name(error->status)) : NULL;
    if (status && PyObject_SetAttrString(exception, "status", status) == 0) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    }
    Py_XDECREF(status);
    Py_XDECREF(exception);
    kernels_error_dispose(error);
    return NULL;
}

void *kernels_python_raise_as(PyObject *class, kernels_error *error) {
    PyObject *message = PyErr_Occurred() ? NULL : kernels_python_error_text(error);
    PyObject *exception = message ? PyObject_CallFunctionObjArgs(class, message, NULL) : NULL;
    Py_XDECREF(message);
    return raise_exception(exception, error);
}

/* What kernels.errors makes of a failure of the Hub: None when Python has a class for it. */
static PyObject *hub_exception(const kernels_error *error) {
    const kernels_error *answer = error; /* the failure that knows the answer may lie below others */
    while (answer->http_status == 0 && answer->cause) {
        answer = answer->cause;
    }
    const char *subject = answer->http_status != 0 ? answer->subject : error->subject;
    PyObject *module = PyImport_ImportModule("kernels.errors");
    PyObject *message = module ? kernels_python_error_text(error) : NULL;
    PyObject *made = message ? PyObject_CallMethod(module, "make", "sOiz", kernels_status_name(error->status), message,
                                                   answer->http_status, subject)
                             : NULL;
    Py_XDECREF(message);
    Py_XDECREF(module);
    return made;
}

void *kernels_python_raise(kernels_error *error) {
    if (!PyErr_Occurred() && kernels_status_category(error->status) == KERNELS_CATEGORY_HUB) {
        PyObject *made = hub_exception(error);
        if (made != Py_None) {
            return raise_exception(made, error);
        }
        Py_DECREF(made);
    }
    return kernels_python_raise_as(exception_class(error->status), error);
}

/* ---- callbacks: called while the interpreter lock is released ---- */

void kernels_python_callback_failed(PyObject *function) {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        PyErr_SetInterrupt(); /* seen by the next is_cancelled, at the latest when the call is over */
    } else {
        PyErr_WriteUnraisable(function);
    }
}

static void on_warning(void *payload, const char *message) {
    PyGILState_STATE state = PyGILState_Ensure();
    if (!PyErr_Occurred()) {
        PyObject *result = PyObject_CallFunction(payload, "s", message);
        if (!result) {
            kernels_python_callback_failed(payload);
        }
        Py_XDECREF(result);
    }
    PyGILState_Release(state);
}

static void on_load_warning(void *payload, const char *category, const char *message) {
    (void)category;
    on_warning(payload, message);
}

/* Ctrl-C: the exception stays set in this thread and is seen by kernels_python_raise. */
static bool is_cancelled(void *payload) {
    (void)payload;
    PyGILState_STATE state = PyGILState_Ensure();
    bool cancelled = PyErr_Occurred() || PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return cancelled;
}

/* ---- objects ---- */

static void *object_new(PyTypeObject *type) { return PyType_GenericAlloc(type, 0); }

static void object_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *text_or_none(const char *text) {
    if (!text) {
        Py_RETURN_NONE;
    }
    return PyUnicode_DecodeFSDefault(text);
}

static PyObject *shape_text(const kernels_shape *shape) {
    char *text = kernels_shape_print(shape);
    PyObject *result = text ? PyUnicode_FromString(text) : PyErr_NoMemory();
    kernels_string_free(text);
    return result;
}

/* Takes over the reference to item, as PyTuple_SetItem; false when item is NULL. */
static bool put(PyObject *tuple, size_t index, PyObject *item) {
    return item && PyTuple_SetItem(tuple, (Py_ssize_t)index, item) == 0;
}

/* ---- Tensor: a result ---- */

typedef struct tensor_object {
    PyObject_HEAD DLManagedTensorVersioned *tensor;
} tensor_object;

/* A capsule that nobody consumed. */
static void capsule_destroy(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, CAPSULE_VERSIONED)) {
        DLManagedTensorVersioned *tensor = PyCapsule_GetPointer(capsule, CAPSULE_VERSIONED);
        tensor->deleter(tensor);
    } else if (PyCapsule_IsValid(capsule, CAPSULE)) {
        DLManagedTensor *tensor = PyCapsule_GetPointer(capsule, CAPSULE);
        tensor->deleter(tensor);
    }
}

/* Takes over the tensor, also on failure. */
static PyObject *tensor_new(const module_state *state, DLManagedTensorVersioned *tensor) {
    tensor_object *self = object_new(state->tensor_type);
    if (!self) {
        tensor->deleter(tensor);
        return NULL;
    }
    self->tensor = tensor;
    return (PyObject *)self;
}

static void tensor_dealloc(PyObject *self) {
    DLManagedTensorVersioned *tensor = ((tensor_object *)self)->tensor;
    tensor->deleter(tensor);
    object_free(self);
}

static const DLTensor *tensor_of(PyObject *self) { return &((tensor_object *)self)->tensor->dl_tensor; }

static PyObject *tensor_shape(PyObject *self, void *closure) {
    (void)closure;
    const DLTensor *tensor = tensor_of(self);
    PyObject *shape = PyTuple_New(tensor->ndim);
    for (int32_t i = 0; shape && i < tensor->ndim; i++) {
        if (!put(shape, (size_t)i, PyLong_FromLongLong(tensor->shape[i]))) {
            Py_CLEAR(shape);
        }
    }
    return shape;
}

/* "f32": the text of a scalar's shape without its brackets. */
static PyObject *tensor_dtype(PyObject *self, void *closure) {
    (void)closure;
    kernels_shape scalar = {.dtype = tensor_of(self)->dtype};
    char *text = kernels_shape_print(&scalar);
    PyObject *dtype = text ? PyUnicode_FromStringAndSize(text, (Py_ssize_t)strlen(text) - 2) : PyErr_NoMemory();
    kernels_string_free(text);
    return dtype;
}

/* NumPy's older protocol: numpy.asarray(tensor) without a copy. */
static PyObject *tensor_array_interface(PyObject *self, void *closure) {
    const DLTensor *tensor = tensor_of(self);
    char kind = tensor->dtype.code == kDLFloat ? 'f' : tensor->dtype.code == kDLInt ? 'i' : 'u';
    if (tensor->dtype.code == kDLBfloat) {
        PyErr_SetString(PyExc_AttributeError, "bf16 is no NumPy type; use __dlpack__");
        return NULL;
    }
    PyObject *type = PyUnicode_FromFormat("<%c%d", tensor->dtype.code == kDLBool ? 'b' : kind, tensor->dtype.bits / 8);
    PyObject *shape = tensor_shape(self, closure);
    PyObject *data = PyLong_FromVoidPtr(tensor->data);
    PyObject *result = NULL;
    if (type && shape && data) {
        result = Py_BuildValue("{s:i,s:O,s:O,s:(OO)}", "version", 3, "shape", shape, "typestr", type, "data", data,
                               Py_False);
    }
    Py_XDECREF(type);
    Py_XDECREF(shape);
    Py_XDECREF(data);
    return result;
}

static PyObject *tensor_dlpack_device(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", (int)kDLCPU, 0);
}

static PyObject *export_versioned(const DLManagedTensorVersioned *tensor) {
    kernels_error error = KERNELS_ERROR_INIT;
    DLManagedTensorVersioned *shared = NULL;
    if (kernels_tensor_share(tensor, &shared, &error)) {
        return kernels_python_raise(&error);
    }
    PyObject *capsule = PyCapsule_New(shared, CAPSULE_VERSIONED, capsule_destroy);
    if (!capsule) {
        shared->deleter(shared);
    }
    return capsule;
}

static PyObject *export_unversioned(const DLManagedTensorVersioned *tensor) {
    kernels_error error = KERNELS_ERROR_INIT;
    DLManagedTensor *shared = NULL;
    if (kernels_tensor_share_unversioned(tensor, &shared, &error)) {
        return kernels_python_raise(&error);
    }
    PyObject *capsule = PyCapsule_New(shared, CAPSULE, capsule_destroy);
    if (!capsule) {
        shared->deleter(shared);
    }
    return capsule;
}

/* max_version: None or a tuple (major, minor). */
static bool wants_versioned(PyObject *max_version) {
    if (!max_version || max_version == Py_None) {
        return false;
    }
    PyObject *major = PySequence_GetItem(max_version, 0);
    long value = major ? PyLong_AsLong(major) : -1;
    Py_XDECREF(major);
    return value >= 1;
}

static PyObject *tensor_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = NULL, *max_version = NULL, *device = NULL, *copy = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO:__dlpack__", names, &stream, &max_version, &device,
                                     &copy)) {
        return NULL;
    }
    if (copy && copy != Py_None && PyObject_IsTrue(copy)) {
        PyErr_SetString(PyExc_BufferError, "copying is left to the importer");
        return NULL;
    }
    bool versioned = wants_versioned(max_version);
    const DLManagedTensorVersioned *tensor = ((tensor_object *)self)->tensor;
    return PyErr_Occurred() ? NULL : versioned ? export_versioned(tensor) : export_unversioned(tensor);
}

static PyObject *tensor_repr(PyObject *self) {
    PyObject *shape = tensor_shape(self, NULL);
    PyObject *dtype = tensor_dtype(self, NULL);
    PyObject *text = shape && dtype ? PyUnicode_FromFormat("<kernels.native.Tensor %U%R>", dtype, shape) : NULL;
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return text;
}

static PyMethodDef tensor_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "A DLPack capsule that shares the memory."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "(1, 0): host memory."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tensor_getters[] = {
    {"shape", tensor_shape, NULL, "Dimensions, a tuple.", NULL},
    {"dtype", tensor_dtype, NULL, "Element type, for example \"f32\".", NULL},
    {"__array_interface__", tensor_array_interface, NULL, "For numpy.asarray.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_doc, "A result in host memory; give it to any importer of DLPack."},
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_repr, tensor_repr},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getters},
    {0, NULL},
};

static PyType_Spec tensor_spec = {
    .name = "kernels.native.Tensor",
    .basicsize = sizeof(tensor_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = tensor_slots,
};

/* ---- arguments of a call ---- */

/* One argument, kept alive for the call: a DLPack capsule, or bytes copied through the buffer protocol. */
typedef struct call_input {
    PyObject *owner;
    const DLTensor *tensor;
    DLTensor local;
    int64_t dimensions[KERNELS_RANK_MAX];
} call_input;

static bool take_capsule(call_input *input, PyObject *capsule) {
    input->owner = capsule;
    if (PyCapsule_IsValid(capsule, CAPSULE_VERSIONED)) {
        const DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, CAPSULE_VERSIONED);
        if (managed->version.major != DLPACK_MAJOR_VERSION) {
            PyErr_Format(PyExc_BufferError, "DLPack %u.%u, expected major version %d", managed->version.major,
                         managed->version.minor, DLPACK_MAJOR_VERSION);
            return false;
        }
        input->tensor = &managed->dl_tensor;
    } else if (PyCapsule_IsValid(capsule, CAPSULE)) {
        input->tensor = &((const DLManagedTensor *)PyCapsule_GetPointer(capsule, CAPSULE))->dl_tensor;
    } else {
        PyErr_SetString(PyExc_TypeError, "__dlpack__ did not give a DLPack capsule");
        return false;
    }
    return true;
}

/* The capsule of an object's __dlpack__, by the current protocol, else by the first one, which takes no version. */
static PyObject *call_dlpack(PyObject *method) {
    PyObject *none = PyTuple_New(0);
    PyObject *keywords = Py_BuildValue("{s:(ii)}", "max_version", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    PyObject *capsule = none && keywords ? PyObject_Call(method, none, keywords) : NULL;
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_CallObject(method, NULL);
    }
    Py_XDECREF(none);
    Py_XDECREF(keywords);
    return capsule;
}

/* Type of a buffer: its struct format and the size of one element. */
static bool dtype_of_format(const char *format, long size, DLDataType *dtype) {
    static const char kinds[] = "?bhilqBHILQefd";
    static const uint8_t codes[] = {kDLBool, kDLInt,  kDLInt,  kDLInt,  kDLInt,   kDLInt,   kDLUInt,
                                    kDLUInt, kDLUInt, kDLUInt, kDLUInt, kDLFloat, kDLFloat, kDLFloat};
    if (*format == '<' || *format == '=' || *format == '@') {
        format++;
    }
    const char *kind = *format ? strchr(kinds, *format) : NULL;
    if (!kind || format[1] != '\0' || size < 1 || size > 8) {
        return false;
    }
    *dtype = (DLDataType){.code = codes[kind - kinds], .bits = (uint8_t)(size * 8), .lanes = 1};
    return true;
}

static bool read_dimensions(call_input *input, PyObject *shape) {
    Py_ssize_t rank = PyTuple_Size(shape);
    if (rank < 0 || rank > KERNELS_RANK_MAX) {
        PyErr_Format(PyExc_ValueError, "expected at most %d dimensions, given %zd", KERNELS_RANK_MAX, rank);
        return false;
    }
    for (Py_ssize_t i = 0; i < rank; i++) {
        input->dimensions[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    }
    input->local.ndim = (int32_t)rank;
    return !PyErr_Occurred();
}

static bool read_view_type(call_input *input, PyObject *view) {
    PyObject *format = PyObject_GetAttrString(view, "format");
    PyObject *size = PyObject_GetAttrString(view, "itemsize");
    PyObject *bytes = format ? PyUnicode_AsASCIIString(format) : NULL;
    bool fine = bytes && size && dtype_of_format(PyBytes_AsString(bytes), PyLong_AsLong(size), &input->local.dtype);
    if (!fine && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "buffers of format %R are not supported", format);
    }
    Py_XDECREF(format);
    Py_XDECREF(size);
    Py_XDECREF(bytes);
    return fine;
}

/* The stable ABI of 3.10 has no access to a buffer's memory, so this path costs a copy. */
static bool take_view(call_input *input, PyObject *view) {
    PyObject *shape = PyObject_GetAttrString(view, "shape");
    bool fine = shape && read_view_type(input, view) && read_dimensions(input, shape);
    Py_XDECREF(shape);
    input->owner = fine ? PyObject_CallMethod(view, "tobytes", NULL) : NULL;
    if (!input->owner) {
        return false;
    }
    input->local.data = PyBytes_AsString(input->owner);
    input->local.device = (DLDevice){kDLCPU, 0};
    input->local.shape = input->dimensions;
    input->tensor = &input->local;
    return input->local.data != NULL;
}

static bool take_buffer(call_input *input, PyObject *object) {
    PyObject *view = PyMemoryView_FromObject(object);
    if (!view) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Format(PyExc_TypeError, "expected an object with __dlpack__ or the buffer protocol, given %R",
                         (PyObject *)Py_TYPE(object));
        }
        return false;
    }
    bool fine = take_view(input, view);
    Py_DECREF(view);
    return fine;
}

static bool input_take(call_input *input, PyObject *object) {
    if (!PyObject_HasAttrString(object, "__dlpack__")) {
        return take_buffer(input, object);
    }
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *capsule = method ? call_dlpack(method) : NULL;
    Py_XDECREF(method);
    if (!capsule && PyErr_ExceptionMatches(PyExc_BufferError)) {
        PyErr_Clear(); /* NumPy before 2.1 cannot export a read-only array this way */
        return take_buffer(input, object);
    }
    return capsule && take_capsule(input, capsule);
}

/* ---- Function ---- */

typedef struct function_object {
    PyObject_HEAD kernels_function *function;
    PyThread_type_lock lock;
    PyObject *kernel; /* keeps it */
    PyObject *warn;
} function_object;

static void function_dealloc(PyObject *self) {
    function_object *function = (function_object *)self;
    kernels_function_free(function->function);
    if (function->lock) {
        PyThread_free_lock(function->lock);
    }
    Py_XDECREF(function->kernel);
    Py_XDECREF(function->warn);
    object_free(self);
}

/* How many results these inputs give. 0 also for inputs that no specialisation takes: the call itself says why. */
static size_t count_results(const kernels_function *function, const call_input *inputs, size_t count) {
    kernels_shape shapes[KERNELS_OPERANDS_MAX];
    for (size_t i = 0; i < count; i++) {
        const DLTensor *tensor = inputs[i].tensor;
        shapes[i] = (kernels_shape){.dtype = tensor->dtype, .rank = tensor->ndim};
        if (tensor->ndim < 0 || tensor->ndim > KERNELS_RANK_MAX) {
            return 0;
        }
        for (int32_t j = 0; j < tensor->ndim; j++) {
            shapes[i].dimensions[j] = tensor->shape[j];
        }
    }
    const kernels_specialisation *found = NULL;
    return kernels_function_find(function, shapes, count, &found, NULL) ? 0 : found->output_count;
}

/* The call itself, without the interpreter lock. */
static kernels_status call_unlocked(function_object *self, const call_input *inputs, size_t input_count,
                                    DLManagedTensorVersioned **results, size_t *result_count, kernels_error *error) {
    const DLTensor *tensors[KERNELS_OPERANDS_MAX];
    for (size_t i = 0; i < input_count; i++) {
        tensors[i] = inputs[i].tensor;
    }
    kernels_status status;
    Py_BEGIN_ALLOW_THREADS(void) PyThread_acquire_lock(self->lock, WAIT_LOCK);
    *result_count = count_results(self->function, inputs, input_count);
    status = kernels_function_call_allocate(self->function, tensors, input_count, results, *result_count, error);
    PyThread_release_lock(self->lock);
    Py_END_ALLOW_THREADS return status;
}

/* Takes over the tensors: one result by itself, several as a tuple. */
static PyObject *wrap_results(PyObject *self, DLManagedTensorVersioned **results, size_t count) {
    const module_state *state = PyModule_GetState(PyType_GetModule(Py_TYPE(self)));
    if (count == 1) {
        return tensor_new(state, results[0]);
    }
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; i < count; i++) {
        PyObject *tensor = tensor_new(state, results[i]);
        if (tuple && !put(tuple, i, tensor)) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

static PyObject *call_inputs(PyObject *self, const call_input *inputs, size_t count) {
    DLManagedTensorVersioned *results[KERNELS_OPERANDS_MAX];
    size_t result_count = 0;
    kernels_error error = KERNELS_ERROR_INIT;
    if (call_unlocked((function_object *)self, inputs, count, results, &result_count, &error)) {
        return kernels_python_raise(&error);
    }
    return wrap_results(self, results, result_count);
}

/* Puts "argument N: " before the message of the exception that is set. */
static void name_argument(size_t index) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_Format(type, "argument %zu: %S", index, value ? value : type);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static PyObject *function_call(PyObject *self, PyObject *arguments, PyObject *keywords) {
    Py_ssize_t count = PyTuple_Size(arguments);
    if (keywords && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "arguments are given by position");
        return NULL;
    }
    if (count > KERNELS_OPERANDS_MAX) {
        PyErr_Format(PyExc_TypeError, "at most %d arguments, given %zd", KERNELS_OPERANDS_MAX, count);
        return NULL;
    }
    call_input inputs[KERNELS_OPERANDS_MAX] = {0};
    bool fine = true;
    for (Py_ssize_t i = 0; i < count && fine; i++) {
        fine = input_take(&inputs[i], PyTuple_GetItem(arguments, i));
        if (!fine) {
            name_argument((size_t)i);
        }
    }
    PyObject *result = fine ? call_inputs(self, inputs, (size_t)count) : NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_XDECREF(inputs[i].owner);
    }
    return result;
}

static PyObject *function_platform(PyObject *self, void *closure) {
    (void)closure;
    return text_or_none(kernels_function_platform(((function_object *)self)->function));
}

static PyObject *function_plugin(PyObject *self, void *closure) {
    (void)closure;
    return text_or_none(kernels_function_plugin(((function_object *)self)->function));
}

static PyGetSetDef function_getters[] = {
    {"platform", function_platform, NULL, "\"cpu\" or \"tpu\".", NULL},
    {"plugin", function_plugin, NULL, "Path of the PJRT plugin in use.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot function_slots[] = {
    {Py_tp_doc, "A function of a kernel. Call it with arrays that have __dlpack__ or the buffer protocol."},
    {Py_tp_dealloc, function_dealloc},
    {Py_tp_call, function_call},
    {Py_tp_getset, function_getters},
    {0, NULL},
};

static PyType_Spec function_spec = {
    .name = "kernels.native.Function",
    .basicsize = sizeof(function_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = function_slots,
};

/* ---- Kernel ---- */

typedef struct kernel_object {
    PyObject_HEAD kernels_kernel *kernel;
} kernel_object;

static void kernel_dealloc(PyObject *self) {
    kernels_kernel_free(((kernel_object *)self)->kernel);
    object_free(self);
}

static PyObject *kernel_text(PyObject *self, void *closure) {
    const kernels_kernel *kernel = ((kernel_object *)self)->kernel;
    const char *which = closure;
    switch (which[0]) {
    case 'p':
        return text_or_none(kernels_kernel_path(kernel));
    case 'v':
        return text_or_none(kernels_kernel_variant(kernel));
    case 'i':
        return text_or_none(kernels_kernel_repo_id(kernel));
    default:
        return text_or_none(kernels_kernel_revision(kernel));
    }
}

static PyObject *kernel_verified(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(kernels_kernel_is_verified(((kernel_object *)self)->kernel));
}

static PyObject *shape_texts(const kernels_shape *shapes, size_t count) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        if (!put(tuple, i, shape_text(&shapes[i]))) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

/* [(platform, (input shapes), (output shapes)), ...] */
static PyObject *specialisations_of(const kernels_signature *signature) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)signature->specialisation_count);
    for (size_t i = 0; tuple && i < signature->specialisation_count; i++) {
        const kernels_specialisation *item = &signature->specialisations[i];
        PyObject *inputs = shape_texts(item->inputs, item->input_count);
        PyObject *outputs = shape_texts(item->outputs, item->output_count);
        PyObject *row = inputs && outputs ? Py_BuildValue("(sOO)", item->platform, inputs, outputs) : NULL;
        Py_XDECREF(inputs);
        Py_XDECREF(outputs);
        if (!put(tuple, i, row)) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

/* {name: specialisations} */
static PyObject *kernel_functions(PyObject *self, PyObject *unused) {
    (void)unused;
    kernels_signatures functions;
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_kernel_functions(((kernel_object *)self)->kernel, &functions, &error)) {
        return kernels_python_raise(&error);
    }
    PyObject *result = PyDict_New();
    for (size_t i = 0; result && i < functions.count; i++) {
        PyObject *rows = specialisations_of(&functions.items[i]);
        if (!rows || PyDict_SetItemString(result, functions.items[i].name, rows) != 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(rows);
    }
    kernels_signatures_dispose(&functions);
    return result;
}

/* Fills a new function object; false with an exception set. */
static bool function_open(function_object *made, const kernels_kernel *kernel, const char *name,
                          const kernels_function_options *options) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status;
    made->lock = PyThread_allocate_lock();
    if (!made->lock) {
        PyErr_NoMemory();
        return false;
    }
    Py_BEGIN_ALLOW_THREADS status = kernels_function_get(kernel, name, options, &made->function, &error);
    Py_END_ALLOW_THREADS if (status) {
        kernels_python_raise(&error);
        return false;
    }
    return true;
}

static PyObject *kernel_function(PyObject *self, PyObject *arguments) {
    const module_state *state = PyModule_GetState(PyType_GetModule(Py_TYPE(self)));
    const char *name, *plugin, *site_packages, *platform = NULL;
    int strict;
    PyObject *share, *warn;
    if (!PyArg_ParseTuple(arguments, "szzpOO|z:function", &name, &plugin, &site_packages, &strict, &share, &warn,
                          &platform)) {
        return NULL;
    }
    kernels_function_options options = {.plugin = plugin,
                                        .site_packages = site_packages,
                                        .platform = platform,
                                        .strict = strict != 0,
                                        .warning = on_warning,
                                        .payload = warn};
    if (Py_TYPE(share) == state->function_type) {
        options.share = ((function_object *)share)->function;
    }
    function_object *made = object_new(state->function_type);
    if (!made) {
        return NULL;
    }
    Py_INCREF(self);
    made->kernel = self;
    Py_INCREF(warn);
    made->warn = warn;
    if (!function_open(made, ((kernel_object *)self)->kernel, name, &options)) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

static PyMethodDef kernel_methods[] = {
    {"functions", kernel_functions, METH_NOARGS, "{name: ((platform, inputs, outputs), ...)}"},
    {"function", kernel_function, METH_VARARGS,
     "function(name, plugin, site_packages, strict, share, warn, platform=None)"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef kernel_getters[] = {
    {"path", kernel_text, NULL, "Folder of the variant.", "path"},
    {"variant", kernel_text, NULL, "Its name.", "variant"},
    {"repo_id", kernel_text, NULL, "Repository, None for a local folder.", "id"},
    {"revision", kernel_text, NULL, "Commit, None for a local folder.", "revision"},
    {"verified", kernel_verified, NULL, "Did every file match the digest?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "A loaded kernel."},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_methods, kernel_methods},
    {Py_tp_getset, kernel_getters},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "kernels._native.Kernel",
    .basicsize = sizeof(kernel_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = kernel_slots,
};

/* ---- module ---- */

typedef struct load_request {
    const char *repo_id; /* or a path */
    int is_local;
    const char *site_packages;
    kernels_load_options options;
    PyObject *warn;
} load_request;

/* None, or an integer from 0 on. */
static bool parse_version(PyObject *version, kernels_load_options *options) {
    if (version != Py_None) {
        options->version = PyLong_AsUnsignedLongLong(version);
        options->has_version = true;
    }
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Format(PyExc_ValueError, "version: expected a number from 0 to 2**64-1, given %R", version);
    }
    return !PyErr_Occurred();
}

static kernels_status load_unlocked(const load_request *request, kernels_kernel **kernel, kernels_error *error) {
    const kernels_context_options options = {.site_packages = request->site_packages,
                                             .warning = on_load_warning,
                                             .cancelled = is_cancelled,
                                             .payload = request->warn};
    kernels_context *context = NULL;
    kernels_status status;
    Py_BEGIN_ALLOW_THREADS status = kernels_context_new(&options, &context, error);
    if (!status) {
        status = request->is_local ? kernels_load_local(context, request->repo_id, &request->options, kernel, error)
                                   : kernels_load(context, request->repo_id, &request->options, kernel, error);
    }
    kernels_context_free(context);
    Py_END_ALLOW_THREADS return status;
}

static PyObject *module_load(PyObject *module, PyObject *arguments) {
    const module_state *state = PyModule_GetState(module);
    load_request request = {.is_local = 0};
    PyObject *version;
    int trust;
    if (!PyArg_ParseTuple(arguments, "spOzzpzO:load", &request.repo_id, &request.is_local, &version,
                          &request.options.revision, &request.options.backend, &trust, &request.site_packages,
                          &request.warn) ||
        !parse_version(version, &request.options)) {
        return NULL;
    }
    request.options.trust_remote_code = trust != 0;
    kernel_object *made = object_new(state->kernel_type);
    if (!made) {
        return NULL;
    }
    kernels_error error = KERNELS_ERROR_INIT;
    if (load_unlocked(&request, &made->kernel, &error)) {
        Py_DECREF(made);
        return kernels_python_raise(&error);
    }
    return (PyObject *)made;
}

static PyMethodDef module_methods[] = {
    {"load", module_load, METH_VARARGS,
     "load(repo_id or path, is_local, version, revision, backend, trust_remote_code, site_packages, warn)"},
    {NULL, NULL, 0, NULL},
};

static bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type) {
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type && PyModule_AddType(module, *type) == 0;
}

static int module_execute(PyObject *module) {
    module_state *state = PyModule_GetState(module);
    bool fine = add_type(module, &kernel_spec, &state->kernel_type) &&
                add_type(module, &function_spec, &state->function_type) &&
                add_type(module, &tensor_spec, &state->tensor_type) && kernels_python_add_data(module) &&
                kernels_python_add_layer(module) && kernels_python_add_system(module) &&
                kernels_python_add_load(module) &&
                PyModule_AddStringConstant(module, "version", kernels_compatible_version()) == 0 &&
                PyModule_AddStringConstant(module, "library_version", kernels_library_version()) == 0;
    return fine ? 0 : -1;
}

static void module_free(void *module) {
    module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->kernel_type);
    Py_CLEAR(state->function_type);
    Py_CLEAR(state->tensor_type);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_execute},
    {0, NULL},
};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kernels._native",
    .m_doc = "Loading and calling kernels, and the formats of the Hub; see kernels.native and kernels._rust.",
    .m_size = sizeof(module_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module_definition); }
