/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels/mapping.h - which kernel stands in for a layer: layer name, device, capability and mode to a repository.
 *
 *     kernels_layer_mapping *mapping;
 *     kernels_layer_mapping_new(NULL, &mapping, &error);
 *     kernels_layer_choice choice = {KERNELS_MODE_FALLBACK, my_repository};
 *     kernels_layer_entry entry = {.layer = KERNELS_VIEW("RMSNorm"), .has_device = true,
 *                                  .device = KERNELS_DEVICE_TPU, .choices = &choice, .choice_count = 1};
 *     kernels_layer_mapping_register(mapping, &entry, 1, false, &error);
 *     kernels_layer_query query = {.layer = KERNELS_VIEW("RMSNorm"), .device = KERNELS_VIEW("tpu"),
 *                                  .mode = KERNELS_MODE_INFERENCE};
 *     kernels_layer_answer answer;
 *     if (kernels_layer_mapping_find(mapping, &query, &answer, &error) == KERNELS_OK) ... answer.repository
 *
 * A repository is a pointer that the mapping does not look into; it is kept with the caller's retain and release. Any
 * number of threads may use one mapping at the same time. A copy costs no more than a pointer.
 *
 * Since 0.1.
 */
#ifndef KERNELS_MAPPING_H
#define KERNELS_MAPPING_H

#include "kernels/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- modes: sets of these ---- */

enum {
    KERNELS_MODE_FALLBACK = 1, /* for registration only: used when no other registered mode fits */
    KERNELS_MODE_TRAINING = 2,
    KERNELS_MODE_INFERENCE = 4,
    KERNELS_MODE_TORCH_COMPILE = 8,
    KERNELS_MODE_COUNT = 16 /* number of sets; a mode is below it */
};

#define KERNELS_MODE_TEXT_SIZE ((size_t)64)

/* KERNELS_INVALID_ARGUMENT for what contradicts itself: training with inference, fallback with anything. */
KERNELS_API kernels_status kernels_mode_union(unsigned a, unsigned b, unsigned *mode, kernels_error *error);
/* "INFERENCE|TORCH_COMPILE"; "NONE" for 0. */
KERNELS_API void kernels_mode_print(unsigned mode, char text[KERNELS_MODE_TEXT_SIZE]);
/* Which registered modes serve a request, best first. NULL and *count 0 for what cannot be requested. */
KERNELS_API const unsigned *kernels_mode_order(unsigned requested, size_t *count);
/* Can a repository that is registered for this mode ever be chosen? */
KERNELS_API bool kernels_mode_is_reachable(unsigned registered);
/* May kernelize be called with this mode at all? The message says what is missing. */
KERNELS_API kernels_status kernels_mode_check_request(unsigned requested, kernels_error *error);

/* Whether a layer that was chosen can be used. */
typedef enum kernels_layer_support {
    KERNELS_LAYER_FITS,
    KERNELS_LAYER_LACKS_BACKWARD,   /* was registered for training: a mistake of the registration */
    KERNELS_LAYER_LACKS_COMPILE,    /* was registered for torch.compile: likewise */
    KERNELS_LAYER_CANNOT_SERVE_MODE /* cannot do what was requested: use the original */
} kernels_layer_support;

KERNELS_API kernels_layer_support kernels_layer_check(unsigned registered, unsigned requested, bool can_torch_compile,
                                                      bool has_backward);

/* ---- devices ---- */

/* X(NAME, text), by text. */
#define KERNELS_DEVICE_TABLE(X) \
    X(CPU, "cpu")               \
    X(CUDA, "cuda")             \
    X(MPS, "mps")               \
    X(NEURON, "neuron")         \
    X(NPU, "npu")               \
    X(ROCM, "rocm")             \
    X(TPU, "tpu")               \
    X(XPU, "xpu")

typedef enum kernels_device {
#define KERNELS_DEVICE_ENUMERATOR(name, text) KERNELS_DEVICE_##name,
    KERNELS_DEVICE_TABLE(KERNELS_DEVICE_ENUMERATOR)
#undef KERNELS_DEVICE_ENUMERATOR
        KERNELS_DEVICE_COUNT
} kernels_device;

KERNELS_API kernels_status kernels_device_parse(kernels_view text, kernels_device *device, kernels_error *error);
KERNELS_API const char *kernels_device_name(kernels_device device); /* never NULL */

/* A number that capability ranges of "tpu" are about: "v2" 20, "v3" 30, "v4" 40, "v5e" 50, "v5p" 51, "v6e" 60, "v7"
 * and "v7x" 70. 0 when unknown. */
KERNELS_API int64_t kernels_tpu_generation_number(const char *generation);

/* ---- the mapping ---- */

#define KERNELS_LAYER_NAME_LIMIT ((size_t)4096)
#define KERNELS_LAYER_COUNT_LIMIT ((size_t)1 << 20)
#define KERNELS_LAYER_ENTRY_LIMIT ((size_t)1 << 22) /* of one registration */
#define KERNELS_LAYER_RANGE_LIMIT ((size_t)4096)    /* capability ranges of one layer and device */

typedef struct kernels_layer_mapping kernels_layer_mapping;

/* How repositories are kept. Either may be NULL. They are called in the thread that uses the mapping, without a lock
 * held, and must not fail. */
typedef struct kernels_layer_repositories {
    void (*retain)(void *repository);
    void (*release)(void *repository);
} kernels_layer_repositories;

typedef struct kernels_layer_choice {
    unsigned mode; /* registered; below KERNELS_MODE_COUNT */
    void *repository;
} kernels_layer_choice;

/* What a registration says about one layer and device. */
typedef struct kernels_layer_entry {
    kernels_view layer;
    bool has_device; /* false: only that the layer is known, and maps to nothing */
    kernels_device device;
    bool has_range; /* cuda, rocm (capability, major * 10 + minor) and tpu (generation number) only; cuda and rocm
                       without a range mean 0 to INT64_MAX */
    int64_t minimum, maximum;            /* inclusive */
    const kernels_layer_choice *choices; /* a mode that is there twice: the last one counts */
    size_t choice_count;
} kernels_layer_entry;

/* repositories: NULL = nothing is retained. */
KERNELS_API kernels_status kernels_layer_mapping_new(const kernels_layer_repositories *repositories,
                                                     kernels_layer_mapping **mapping, kernels_error *error);
KERNELS_API void kernels_layer_mapping_free(kernels_layer_mapping *mapping);
/* Later changes of either are not seen by the other. */
KERNELS_API kernels_status kernels_layer_mapping_copy(kernels_layer_mapping *mapping, kernels_layer_mapping **copy,
                                                      kernels_error *error);
/* All entries or, on failure, none. An entry replaces what was there for the same layer, device and range. clear: what
 * was there before is forgotten at the same moment. */
KERNELS_API kernels_status kernels_layer_mapping_register(kernels_layer_mapping *mapping,
                                                          const kernels_layer_entry *entries, size_t count, bool clear,
                                                          kernels_error *error);
/* The same layers, devices, ranges, modes and the same repositories (by pointer)? */
KERNELS_API bool kernels_layer_mapping_equal(kernels_layer_mapping *a, kernels_layer_mapping *b);

typedef struct kernels_layer_query {
    kernels_view layer;
    kernels_view device; /* its type; one that is not in the table maps to nothing */
    bool has_capability; /* known? */
    int64_t capability;
    unsigned mode; /* requested; not looked at by kernels_layer_mapping_choices */
} kernels_layer_query;

/* What a query ended with. */
typedef enum kernels_layer_result {
    KERNELS_LAYER_FOUND,
    KERNELS_LAYER_NO_LAYER,
    KERNELS_LAYER_NO_DEVICE,
    KERNELS_LAYER_NO_PROPERTIES, /* no range holds the capability */
    KERNELS_LAYER_NO_MODE,
    KERNELS_LAYER_BAD_MODE /* this mode cannot be requested */
} kernels_layer_result;

typedef struct kernels_layer_answer {
    kernels_layer_result result;
    void *repository; /* FOUND: retained for the caller */
    unsigned mode;    /* FOUND: the registered mode */
} kernels_layer_answer;

/* KERNELS_NOT_FOUND (or KERNELS_INVALID_ARGUMENT for BAD_MODE) with a message when there is none; the answer is set in
 * any case. Of several ranges the narrowest counts, of equally narrow ones that which begins higher. A capability that
 * is unknown or in no range takes what tpu has without a range. */
KERNELS_API kernels_status kernels_layer_mapping_find(kernels_layer_mapping *mapping, const kernels_layer_query *query,
                                                      kernels_layer_answer *answer, kernels_error *error);
/* All that is registered for the query's layer, device and capability, retained, in the order of registration. */
KERNELS_API kernels_layer_result kernels_layer_mapping_choices(kernels_layer_mapping *mapping,
                                                               const kernels_layer_query *query,
                                                               kernels_layer_choice choices[KERNELS_MODE_COUNT],
                                                               size_t *count);
/* Every entry, by layer name, device and range; what is pointed to lives during the call. `visit` returns false to
 * stop. The mapping may change meanwhile: what is visited is what there was at the start. */
KERNELS_API void kernels_layer_mapping_visit(kernels_layer_mapping *mapping,
                                             bool (*visit)(void *payload, const kernels_layer_entry *entry),
                                             void *payload);

#ifdef __cplusplus
}
#endif

#endif
