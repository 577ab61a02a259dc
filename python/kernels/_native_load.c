/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a load for Python: class Context (a Hub, a cache, a machine) and class Found (one kernel that was
 * found). Which kernels are looked for, in what order, and what is imported is decided in Python.
 *
 * The interpreter lock is released while the library works; its callbacks take it again. A context belongs to one
 * thread at a time, so each has a lock of its own.
 */
#include <string.h>
#include <unistd.h>

#include "_native.h"

/* How long a thread waits for a busy context before it looks for signals, microseconds. */
#define WAIT_STEP 50000

typedef struct context_object {
    PyObject_HEAD kernels_context *context;
    PyThread_type_lock lock;
    unsigned long owner; /* thread that holds the lock, 0 = none */
    pid_t process;       /* whose connections these are */
    PyObject *warn, *progress;
    PyTypeObject *found_type;
} context_object;

typedef struct found_object {
    PyObject_HEAD kernels_found *found;
} found_object;

/* ---- small pieces ---- */

static PyObject *text_or_none(const char *text) { return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None); }

static PyObject *path_or_none(const char *path) { return path ? PyUnicode_DecodeFSDefault(path) : Py_NewRef(Py_None); }

/* Takes over the reference to item. */
static bool append(PyObject *list, PyObject *item) {
    bool fine = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return fine;
}

static void object_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* [(name as given, reason or None), ...] */
static PyObject *decision_list(const kernels_decisions *decisions) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < decisions->count; i++) {
        const kernels_decision *item = &decisions->items[i];
        if (!append(list, Py_BuildValue("(sz)", item->variant.name, item->accepted ? NULL : item->reason))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* ---- callbacks: called while the interpreter lock is released ---- */

static void call_back(PyObject *function, PyObject *arguments) {
    PyObject *result = arguments ? PyObject_CallObject(function, arguments) : NULL;
    if (!result) {
        kernels_python_callback_failed(function);
    }
    Py_XDECREF(result);
    Py_XDECREF(arguments);
}

static void on_warning(void *payload, const char *category, const char *message) {
    context_object *self = payload;
    PyGILState_STATE state = PyGILState_Ensure();
    if (self->warn && !PyErr_Occurred()) {
        PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
        call_back(self->warn, text ? Py_BuildValue("(sN)", category, text) : NULL);
    }
    PyGILState_Release(state);
}

static void on_progress(void *payload, const char *file, uint64_t done, uint64_t total) {
    context_object *self = payload;
    PyGILState_STATE state = PyGILState_Ensure();
    if (!PyErr_Occurred()) {
        call_back(self->progress, Py_BuildValue("(zKK)", file, (unsigned long long)done, (unsigned long long)total));
    }
    PyGILState_Release(state);
}

/* Ctrl-C: the exception stays set in this thread and is seen by kernels_python_raise. */
static bool is_cancelled(void *payload) {
    (void)payload;
    PyGILState_STATE state = PyGILState_Ensure();
    bool cancelled = PyErr_Occurred() || PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return cancelled;
}

/* ---- one thread at a time ---- */

/* False with an exception set. */
static bool enter(context_object *self) {
    unsigned long me = PyThread_get_thread_ident();
    if (self->process != getpid()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a Context belongs to the process that made it: make another one after fork()");
        return false;
    }
    if (self->owner == me) {
        PyErr_SetString(PyExc_RuntimeError, "a callback of a Context must not use that Context");
        return false;
    }
    PyLockStatus status = PyThread_acquire_lock_timed(self->lock, 0, 0);
    while (status != PY_LOCK_ACQUIRED) {
        if (PyErr_CheckSignals() != 0) {
            return false;
        }
        Py_BEGIN_ALLOW_THREADS status = PyThread_acquire_lock_timed(self->lock, WAIT_STEP, 0);
        Py_END_ALLOW_THREADS
    }
    self->owner = me;
    return true;
}

static void leave(context_object *self) {
    self->owner = 0;
    PyThread_release_lock(self->lock);
}

static PyObject *leave_with(context_object *self, PyObject *result) {
    leave(self);
    return result;
}

/* What did not fit goes with the exception: `decisions`, `versions` and `fitting`, (version, variant) or None. */
static void add_failure(const kernels_no_variant *failure) {
    PyObject *class, *exception, *traceback;
    PyErr_Fetch(&class, &exception, &traceback);
    PyErr_NormalizeException(&class, &exception, &traceback);
    PyObject *decisions = decision_list(failure->decisions);
    PyObject *versions = PyList_New(0);
    for (size_t i = 0; versions && i < failure->version_count; i++) {
        if (!append(versions, PyLong_FromUnsignedLongLong(failure->versions[i]))) {
            Py_CLEAR(versions);
        }
    }
    PyObject *fitting =
        failure->has_fitting_version
            ? Py_BuildValue("(Ks)", (unsigned long long)failure->fitting_version, failure->fitting_variant)
            : Py_NewRef(Py_None);
    bool fine = exception && decisions && versions && fitting &&
                PyObject_SetAttrString(exception, "decisions", decisions) == 0 &&
                PyObject_SetAttrString(exception, "versions", versions) == 0 &&
                PyObject_SetAttrString(exception, "fitting", fitting) == 0;
    Py_XDECREF(decisions);
    Py_XDECREF(versions);
    Py_XDECREF(fitting);
    if (!fine) {
        PyErr_Clear(); /* the failure itself counts more */
    }
    PyErr_Restore(class, exception, traceback);
}

/* Ends a method that failed, still with the lock. Returns NULL. */
static void *leave_failed(context_object *self, kernels_error *error) {
    const kernels_no_variant *failure =
        error->status == KERNELS_NO_VARIANT ? kernels_context_no_variant(self->context) : NULL;
    kernels_python_raise(error);
    if (failure) {
        add_failure(failure);
    }
    leave(self);
    return NULL;
}

/* ---- options from keyword arguments ---- */

typedef struct load_arguments {
    kernels_load_options options;
    PyObject *trusted;  /* keeps the texts alive */
    const char **items; /* of options.trusted */
} load_arguments;

/* For "O&": the text of a repository id, of the exception of the Hub's own client when it is none. */
static int read_repository(PyObject *value, void *target) {
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "a repository id must be a str, not %R", (PyObject *)Py_TYPE(value));
        return 0;
    }
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(value, &length);
    kernels_error error = KERNELS_ERROR_INIT;
    if (text && kernels_repository_id_check((kernels_view){text, (size_t)length}, &error) != KERNELS_OK) {
        PyObject *module = PyImport_ImportModule("kernels.errors");
        PyObject *class = module ? PyObject_GetAttrString(module, "HFValidationError") : NULL;
        kernels_python_raise_as(class ? class : PyExc_ValueError, &error);
        Py_XDECREF(class);
        Py_XDECREF(module);
        return 0;
    }
    *(const char **)target = text;
    return text ? 1 : 0;
}

/* None, or an integer from 0 on. */
static bool read_version(PyObject *version, kernels_load_options *options) {
    if (version && version != Py_None) {
        options->version = PyLong_AsUnsignedLongLong(version);
        options->has_version = true;
    }
    return !PyErr_Occurred();
}

/* Only True itself trusts everybody, and only a list or tuple is a list: other values that count as true do not. */
static bool read_trust(PyObject *trust, load_arguments *arguments) {
    arguments->options.trust_remote_code = trust == Py_True;
    if (!trust || (!PyList_Check(trust) && !PyTuple_Check(trust))) {
        return true;
    }
    arguments->trusted = PySequence_Tuple(trust);
    Py_ssize_t count = arguments->trusted ? PyTuple_Size(arguments->trusted) : -1;
    arguments->items = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *arguments->items);
    if (!arguments->items) {
        return PyErr_Occurred() ? false : (PyErr_NoMemory(), false);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        arguments->items[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(arguments->trusted, i), NULL);
        if (!arguments->items[i]) {
            return false;
        }
    }
    arguments->options.trusted = arguments->items;
    arguments->options.trusted_count = (size_t)count;
    return true;
}

static void load_arguments_dispose(load_arguments *arguments) {
    PyMem_Free(arguments->items);
    Py_XDECREF(arguments->trusted);
}

/* ---- Found ---- */

/* Takes over found. */
static PyObject *found_new(PyTypeObject *type, kernels_found *found) {
    found_object *self = (found_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        kernels_found_free(found);
        return NULL;
    }
    self->found = found;
    return (PyObject *)self;
}

static void found_dealloc(PyObject *self) {
    kernels_found_free(((found_object *)self)->found);
    object_free(self);
}

static const kernels_found *found_of(PyObject *self) { return ((found_object *)self)->found; }

static PyObject *found_repo_id(PyObject *self, void *unused) {
    (void)unused;
    return text_or_none(kernels_found_repo_id(found_of(self)));
}

static PyObject *found_commit(PyObject *self, void *unused) {
    (void)unused;
    return text_or_none(kernels_found_commit(found_of(self)));
}

static PyObject *found_ref(PyObject *self, void *unused) {
    (void)unused;
    return text_or_none(kernels_found_ref(found_of(self)));
}

static PyObject *found_variant(PyObject *self, void *unused) {
    (void)unused;
    return path_or_none(kernels_found_variant(found_of(self)));
}

static PyObject *found_path(PyObject *self, void *unused) {
    (void)unused;
    return path_or_none(kernels_found_path(found_of(self)));
}

static PyObject *found_metadata(PyObject *self, void *unused) {
    (void)unused;
    kernels_view text = kernels_found_metadata_text(found_of(self));
    return PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.size);
}

static PyObject *found_decisions(PyObject *self, void *unused) {
    (void)unused;
    return decision_list(kernels_found_decisions(found_of(self)));
}

static PyGetSetDef found_getters[] = {
    {"repo_id", found_repo_id, NULL, "Repository, None for a folder.", NULL},
    {"commit", found_commit, NULL, "Its commit, None for a folder.", NULL},
    {"ref", found_ref, NULL, "To give to install: \"v1\", \"main\", None.", NULL},
    {"variant", found_variant, NULL, "Name of the variant folder.", NULL},
    {"path", found_path, NULL, "The variant folder, None while it is not fetched.", NULL},
    {"metadata", found_metadata, NULL, "Bytes of metadata.json.", NULL},
    {"decisions", found_decisions, NULL, "[(variant, reason or None), ...], the chosen one first.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot found_slots[] = {
    {Py_tp_doc, "One kernel that was found."},
    {Py_tp_dealloc, found_dealloc},
    {Py_tp_getset, found_getters},
    {0, NULL},
};

static PyType_Spec found_spec = {
    .name = "kernels._native.Found",
    .basicsize = sizeof(found_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = found_slots,
};

/* ---- Context: life ---- */

static int context_clear(PyObject *object) {
    context_object *self = (context_object *)object;
    Py_CLEAR(self->warn);
    Py_CLEAR(self->progress);
    Py_CLEAR(self->found_type);
    return 0;
}

static int context_traverse(PyObject *object, visitproc visit, void *arg) {
    context_object *self = (context_object *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->warn);
    Py_VISIT(self->progress);
    Py_VISIT(self->found_type);
    return 0;
}

static void context_dealloc(PyObject *object) {
    context_object *self = (context_object *)object;
    PyObject_GC_UnTrack(object);
    if (self->process == getpid()) { /* else its connections are still in use, by the parent */
        kernels_context_free(self->context);
    }
    if (self->lock) {
        PyThread_free_lock(self->lock);
    }
    (void)context_clear(object);
    object_free(object);
}

/* None: neither of the two. */
static bool read_switch(PyObject *value, bool *on, bool *off) {
    if (value && value != Py_None) {
        int truth = PyObject_IsTrue(value);
        *on = truth > 0;
        *off = truth == 0;
        return truth >= 0;
    }
    return true;
}

static bool keep_callback(PyObject *callback, const char *name, PyObject **kept) {
    if (!callback || callback == Py_None) {
        return true;
    }
    if (!PyCallable_Check(callback)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a callable or None, given %R", name, callback);
        return false;
    }
    *kept = Py_NewRef(callback);
    return true;
}

static bool open_context(context_object *self, kernels_context_options *options) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status;
    options->warning = on_warning;
    options->progress = self->progress ? on_progress : NULL;
    options->cancelled = is_cancelled;
    options->payload = self;
    Py_BEGIN_ALLOW_THREADS status = kernels_context_new(options, &self->context, &error);
    Py_END_ALLOW_THREADS if (status) { kernels_python_raise(&error); }
    return !status;
}

/* An empty one, which can be freed. */
static context_object *context_allocate(PyTypeObject *type) {
    context_object *self = (context_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->process = getpid();
    self->lock = PyThread_allocate_lock();
    self->found_type = (PyTypeObject *)PyObject_GetAttrString(PyType_GetModule(type), "Found");
    if (!self->lock || !self->found_type) {
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        Py_CLEAR(self);
    }
    return self;
}

static PyObject *context_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"system",   "offline",         "telemetry", "user_agent", "token",
                            "endpoint", "cache_directory", "warn",      "progress",   NULL};
    kernels_context_options options = {.offline = false};
    kernels_system system;
    PyObject *facts, *offline = NULL, *telemetry = NULL, *cache = NULL, *warn = NULL, *progress = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$OOzzzOOO:Context", names, &facts, &offline, &telemetry,
                                     &options.user_agent, &options.token, &options.endpoint, &cache, &warn,
                                     &progress)) {
        return NULL;
    }
    context_object *self = context_allocate(type);
    PyObject *cache_bytes = NULL;
    bool fine = self && kernels_python_system_read(facts, &system) &&
                read_switch(offline, &options.offline, &options.online) &&
                read_switch(telemetry, &options.telemetry, &options.no_telemetry) &&
                keep_callback(warn, "warn", &self->warn) && keep_callback(progress, "progress", &self->progress) &&
                (!cache || cache == Py_None || PyUnicode_FSConverter(cache, &cache_bytes));
    options.system = &system;
    options.cache_directory = cache_bytes ? PyBytes_AsString(cache_bytes) : NULL;
    if (!fine || !open_context(self, &options)) {
        Py_CLEAR(self);
    }
    Py_XDECREF(cache_bytes);
    return (PyObject *)self;
}

/* ---- Context: finding ---- */

static PyObject *context_find(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"repo_id", "version", "revision", "commit", "backend", "cache_only", "trust", "hint", NULL};
    context_object *self = (context_object *)object;
    load_arguments wanted = {.options.for_python = true};
    const char *repo_id;
    PyObject *version = NULL, *trust = NULL;
    int cache_only = 0, hint = 1;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|$OzzzpOp:find", names, read_repository, &repo_id,
                                     &version, &wanted.options.revision, &wanted.options.commit,
                                     &wanted.options.backend, &cache_only, &trust, &hint)) {
        return NULL;
    }
    wanted.options.cache_only = cache_only != 0;
    wanted.options.no_hint = hint == 0;
    PyObject *result = NULL;
    if (read_version(version, &wanted.options) && read_trust(trust, &wanted) && enter(self)) {
        kernels_found *found = NULL;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status;
        Py_BEGIN_ALLOW_THREADS status = kernels_find(self->context, repo_id, &wanted.options, &found, &error);
        Py_END_ALLOW_THREADS result =
            status ? leave_failed(self, &error) : leave_with(self, found_new(self->found_type, found));
    }
    load_arguments_dispose(&wanted);
    return result;
}

static PyObject *context_find_folder(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"path", "backend", NULL};
    context_object *self = (context_object *)object;
    kernels_load_options options = {.for_python = true};
    PyObject *path;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|$z:find_folder", names, PyUnicode_FSConverter, &path,
                                     &options.backend)) {
        return NULL;
    }
    const char *folder = PyBytes_AsString(path);
    PyObject *result = NULL;
    if (enter(self)) {
        kernels_found *found = NULL;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status;
        Py_BEGIN_ALLOW_THREADS status = kernels_find_folder(self->context, folder, &options, &found, &error);
        Py_END_ALLOW_THREADS result =
            status ? leave_failed(self, &error) : leave_with(self, found_new(self->found_type, found));
    }
    Py_DECREF(path);
    return result;
}

/* ---- Context: installing ---- */

/* Takes over the path. */
static PyObject *leave_with_path(context_object *self, char *path) {
    leave(self);
    PyObject *result = PyUnicode_DecodeFSDefault(path);
    kernels_string_free(path);
    return result;
}

static PyObject *context_install(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"repo_id", "commit", "variant", "ref", "trust", NULL};
    context_object *self = (context_object *)object;
    load_arguments wanted = {.options.for_python = true};
    const char *repo_id, *commit, *ref = NULL;
    PyObject *variant, *trust = Py_True;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&sO&|$zO:install", names, read_repository, &repo_id,
                                     &commit, PyUnicode_FSConverter, &variant, &ref, &trust)) {
        return NULL;
    }
    const char *name = PyBytes_AsString(variant);
    PyObject *result = NULL;
    if (read_trust(trust, &wanted) && enter(self)) {
        char *path = NULL;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status;
        Py_BEGIN_ALLOW_THREADS status =
            kernels_install(self->context, repo_id, commit, name, ref, &wanted.options, &path, &error);
        Py_END_ALLOW_THREADS result = status ? leave_failed(self, &error) : leave_with_path(self, path);
    }
    load_arguments_dispose(&wanted);
    Py_DECREF(variant);
    return result;
}

static PyObject *context_install_all(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"repo_id", "commit", "ref", NULL};
    context_object *self = (context_object *)object;
    const kernels_load_options options = {.for_python = true, .trust_remote_code = true};
    const char *repo_id, *commit, *ref = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&s|$z:install_all", names, read_repository, &repo_id,
                                     &commit, &ref) ||
        !enter(self)) {
        return NULL;
    }
    char *path = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status;
    Py_BEGIN_ALLOW_THREADS status = kernels_install_all(self->context, repo_id, commit, ref, &options, &path, &error);
    Py_END_ALLOW_THREADS return status ? leave_failed(self, &error) : leave_with_path(self, path);
}

static PyObject *context_install_folder(PyObject *object, PyObject *arguments) {
    context_object *self = (context_object *)object;
    const kernels_load_options options = {.for_python = true};
    const char *repo_id, *commit, *folder;
    if (!PyArg_ParseTuple(arguments, "O&ss:install_folder", read_repository, &repo_id, &commit, &folder) ||
        !enter(self)) {
        return NULL;
    }
    char *path = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status;
    Py_BEGIN_ALLOW_THREADS status =
        kernels_install_folder(self->context, repo_id, commit, folder, &options, &path, &error);
    Py_END_ALLOW_THREADS return status ? leave_failed(self, &error) : leave_with_path(self, path);
}

static PyObject *context_verify(PyObject *object, PyObject *argument) {
    context_object *self = (context_object *)object;
    PyObject *path;
    if (!PyUnicode_FSConverter(argument, &path)) {
        return NULL;
    }
    const char *folder = PyBytes_AsString(path);
    PyObject *result = NULL;
    if (enter(self)) {
        bool has_digest = false;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status;
        Py_BEGIN_ALLOW_THREADS status = kernels_verify_folder(self->context, folder, &has_digest, &error);
        Py_END_ALLOW_THREADS result =
            status ? leave_failed(self, &error) : leave_with(self, PyBool_FromLong(has_digest));
    }
    Py_DECREF(path);
    return result;
}

/* ---- Context: questions ---- */

/* [(version, commit), ...] */
static PyObject *version_list(const kernels_version_branch *versions, size_t count) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        if (!append(list, Py_BuildValue("(Ks)", (unsigned long long)versions[i].version, versions[i].commit))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *context_versions(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"repo_id", "cache_only", NULL};
    context_object *self = (context_object *)object;
    const char *repo_id;
    int cache_only = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|$p:versions", names, read_repository, &repo_id,
                                     &cache_only) ||
        !enter(self)) {
        return NULL;
    }
    kernels_version_branch *versions = NULL;
    size_t count = 0;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status;
    Py_BEGIN_ALLOW_THREADS status =
        kernels_list_versions(self->context, repo_id, cache_only != 0, &versions, &count, &error);
    Py_END_ALLOW_THREADS if (status) { return leave_failed(self, &error); }
    leave(self);
    PyObject *list = version_list(versions, count);
    kernels_string_free((char *)versions);
    return list;
}

static PyObject *context_commit(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"repo_id", "version", "revision", "cache_only", NULL};
    context_object *self = (context_object *)object;
    kernels_load_options options = {.for_python = true};
    const char *repo_id;
    PyObject *version = NULL;
    int cache_only = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|$Ozp:commit", names, read_repository, &repo_id, &version,
                                     &options.revision, &cache_only) ||
        !read_version(version, &options) || !enter(self)) {
        return NULL;
    }
    options.cache_only = cache_only != 0;
    char commit[65] = "";
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status;
    Py_BEGIN_ALLOW_THREADS status = kernels_find_commit(self->context, repo_id, &options, commit, &error);
    Py_END_ALLOW_THREADS if (status) { return leave_failed(self, &error); }
    leave(self);
    return PyUnicode_FromString(commit);
}

static PyObject *context_variant_names(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"repo_id", "commit", "cache_only", NULL};
    context_object *self = (context_object *)object;
    const char *repo_id, *commit;
    int cache_only = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&s|$p:variant_names", names, read_repository, &repo_id,
                                     &commit, &cache_only) ||
        !enter(self)) {
        return NULL;
    }
    kernels_names variants = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status;
    Py_BEGIN_ALLOW_THREADS status =
        kernels_list_variants(self->context, repo_id, commit, cache_only != 0, &variants, &error);
    Py_END_ALLOW_THREADS if (status) { return leave_failed(self, &error); }
    leave(self);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < variants.count; i++) {
        if (!append(list, PyUnicode_DecodeFSDefault(variants.items[i]))) {
            Py_CLEAR(list);
        }
    }
    kernels_names_dispose(&variants);
    return list;
}

static PyObject *context_check_trust(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"repo_id", "trust", NULL};
    context_object *self = (context_object *)object;
    load_arguments wanted = {.options.for_python = true};
    const char *repo_id;
    PyObject *trust = NULL, *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|$O:check_trust", names, read_repository, &repo_id,
                                     &trust)) {
        return NULL;
    }
    if (read_trust(trust, &wanted) && enter(self)) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status;
        Py_BEGIN_ALLOW_THREADS status = kernels_check_trust(self->context, repo_id, &wanted.options, &error);
        Py_END_ALLOW_THREADS result = status ? leave_failed(self, &error) : leave_with(self, Py_NewRef(Py_None));
    }
    load_arguments_dispose(&wanted);
    return result;
}

/* ---- Context: locking ---- */

/* (repository, version or None, revision or None), kept alive by the tuple it comes from. */
static bool read_dependency(PyObject *item, kernels_dependency *dependency) {
    PyObject *version;
    *dependency = (kernels_dependency){.repo_id = NULL};
    if (!PyTuple_Check(item) ||
        !PyArg_ParseTuple(item, "O&Oz", read_repository, &dependency->repo_id, &version, &dependency->revision)) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "expected (repository, version, revision), given %R", item);
        }
        return false;
    }
    if (dependency->revision == NULL) {
        dependency->version = PyLong_AsUnsignedLongLong(version);
    }
    return !PyErr_Occurred();
}

static PyObject *lock_rows(const kernels_locks *locks) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < locks->count; i++) {
        const kernels_dependency *key = &locks->items[i].dependency;
        PyObject *version = key->revision ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(key->version);
        PyObject *row =
            version ? Py_BuildValue("(sNzs)", key->repo_id, version, key->revision, locks->items[i].commit) : NULL;
        if (!append(list, row)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *lock_dependencies(context_object *self, const kernels_dependency *dependencies, size_t count) {
    kernels_locks locks = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status;
    Py_BEGIN_ALLOW_THREADS status = kernels_lock_dependencies(self->context, dependencies, count, &locks, &error);
    Py_END_ALLOW_THREADS if (status) { return leave_failed(self, &error); }
    leave(self);
    PyObject *list = lock_rows(&locks);
    kernels_locks_dispose(&locks);
    return list;
}

static PyObject *context_lock(PyObject *object, PyObject *argument) {
    context_object *self = (context_object *)object;
    PyObject *rows = PySequence_Tuple(argument);
    Py_ssize_t count = rows ? PyTuple_Size(rows) : -1;
    if (count < 0) {
        Py_XDECREF(rows);
        return NULL;
    }
    kernels_dependency *dependencies = PyMem_Calloc((size_t)count + 1, sizeof *dependencies);
    bool fine = dependencies || (PyErr_NoMemory(), false);
    for (Py_ssize_t i = 0; fine && i < count; i++) {
        fine = read_dependency(PyTuple_GetItem(rows, i), &dependencies[i]);
    }
    PyObject *result = fine && enter(self) ? lock_dependencies(self, dependencies, (size_t)count) : NULL;
    PyMem_Free(dependencies);
    Py_DECREF(rows);
    return result;
}

/* ---- Context: the type ---- */

static PyObject *context_offline(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(kernels_context_is_offline(((context_object *)object)->context));
}

static PyObject *context_endpoint(PyObject *object, void *unused) {
    (void)unused;
    return PyUnicode_FromString(kernels_context_endpoint(((context_object *)object)->context));
}

static PyObject *context_cache_directory(PyObject *object, void *unused) {
    (void)unused;
    return PyUnicode_DecodeFSDefault(kernels_context_cache_directory(((context_object *)object)->context));
}

static PyObject *context_requests(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(kernels_context_requests(((context_object *)object)->context));
}

#define METHOD(name, function, text) \
    { name, (PyCFunction)(void (*)(void))function, METH_VARARGS | METH_KEYWORDS, text }

static PyMethodDef context_methods[] = {
    METHOD("find", context_find,
           "find(repo_id, *, version, revision, commit, backend, cache_only, trust, hint) -> Found"),
    METHOD("find_folder", context_find_folder, "find_folder(path, *, backend) -> Found"),
    METHOD("install", context_install, "install(repo_id, commit, variant, *, ref, trust) -> the variant folder"),
    METHOD("install_all", context_install_all, "install_all(repo_id, commit, *, ref) -> the folder build/"),
    {"install_folder", context_install_folder, METH_VARARGS,
     "install_folder(repo_id, commit, folder) -> that folder, of a trusted publisher"},
    {"verify", context_verify, METH_O, "verify(path) -> was there a digest to check the files against?"},
    METHOD("versions", context_versions, "versions(repo_id, *, cache_only) -> [(version, commit), ...]"),
    METHOD("commit", context_commit, "commit(repo_id, *, version, revision, cache_only) -> commit"),
    METHOD("variant_names", context_variant_names, "variant_names(repo_id, commit, *, cache_only) -> [name, ...]"),
    METHOD("check_trust", context_check_trust, "check_trust(repo_id, *, trust)"),
    {"lock", context_lock, METH_O,
     "lock([(repo_id, version, revision), ...]) -> [(repo_id, version, revision, commit), ...]"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef context_getters[] = {
    {"offline", context_offline, NULL, "Is the Hub never asked?", NULL},
    {"endpoint", context_endpoint, NULL, "Address of the Hub.", NULL},
    {"cache_directory", context_cache_directory, NULL, "Root of the cache.", NULL},
    {"requests", context_requests, NULL, "Requests sent so far.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot context_slots[] = {
    {Py_tp_doc, "One configuration of Hub, cache and machine."},
    {Py_tp_new, context_new},
    {Py_tp_dealloc, context_dealloc},
    {Py_tp_traverse, context_traverse},
    {Py_tp_clear, context_clear},
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_getters},
    {0, NULL},
};

static PyType_Spec context_spec = {
    .name = "kernels._native.Context",
    .basicsize = sizeof(context_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = context_slots,
};

static bool add_type(PyObject *module, PyType_Spec *spec) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    bool fine = type && PyModule_AddType(module, (PyTypeObject *)type) == 0;
    Py_XDECREF(type);
    return fine;
}

bool kernels_python_add_load(PyObject *module) {
    return add_type(module, &found_spec) && add_type(module, &context_spec);
}
