/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/tensor.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "runtime/dtype.h"

/* Alignment of the tensors we make: a cache line, and what XLA wants for using memory without copying it. */
#define TENSOR_ALIGNMENT ((uintptr_t)64)
/* A dimension beyond this cannot be multiplied without care; no exported shape has one. */
#define TENSOR_DIMENSION_MAX ((int64_t)1 << 46)

/* ---- checking ---- */

static const char *device_name(DLDeviceType device) {
    switch (device) {
    case kDLCPU:
        return "host memory";
    case kDLCUDA:
        return "CUDA memory";
    case kDLROCM:
        return "ROCm memory";
    case kDLMetal:
        return "Metal memory";
    case kDLOneAPI:
        return "oneAPI memory";
    default:
        return "other device memory";
    }
}

static kernels_status check_form(const DLTensor *tensor, const char *who, kernels_error *error) {
    if (!tensor) {
        return kernels_fail(error, KERNELS_MISMATCH, "%s: expected a tensor, given NULL", who);
    }
    DLDeviceType device = tensor->device.device_type;
    if (device != kDLCPU && device != kDLCUDAHost && device != kDLROCMHost) {
        return kernels_fail(error, KERNELS_MISMATCH,
                            "%s: expected a tensor in host memory, given one in %s (DLPack "
                            "device type %d)",
                            who, device_name(device), (int)device);
    }
    if (tensor->ndim < 0 || tensor->ndim > KERNELS_RANK_MAX || (tensor->ndim > 0 && !tensor->shape)) {
        return kernels_fail(error, KERNELS_MISMATCH, "%s: expected 0 to %d dimensions, given %" PRId32, who,
                            KERNELS_RANK_MAX, tensor->ndim);
    }
    if (!kernels_dtype_name(tensor->dtype)) {
        char text[64];
        kernels_dtype_print(tensor->dtype, text);
        return kernels_fail(error, KERNELS_MISMATCH,
                            "%s: element type %s is not one of pred s8 s16 s32 s64 u8 u16 u32 u64 f16 bf16 f32 f64",
                            who, text);
    }
    return KERNELS_OK;
}

static bool is_compact(const DLTensor *tensor) {
    int64_t expected = 1;
    for (int32_t i = tensor->ndim - 1; tensor->strides && i >= 0; i--) {
        /* the stride of a dimension of one element is never used */
        if (tensor->shape[i] != 1 && tensor->strides[i] != expected) {
            return false;
        }
        expected *= tensor->shape[i];
    }
    return true;
}

static bool is_empty(const DLTensor *tensor) {
    for (int32_t i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] == 0) {
            return true;
        }
    }
    return false;
}

static kernels_status fail_strides(const DLTensor *tensor, const char *who, kernels_error *error) {
    kernels_buffer given = KERNELS_BUFFER_INIT(512);
    for (int32_t i = 0; i < tensor->ndim; i++) {
        kernels_buffer_printf(&given, "%s%" PRId64, i ? ", " : "", tensor->strides[i]);
    }
    kernels_status status = kernels_fail(
        error, KERNELS_MISMATCH, "%s: expected a compact row-major tensor, given strides [%s]; make a contiguous copy",
        who, kernels_buffer_text(&given));
    kernels_buffer_dispose(&given);
    return status;
}

/* Also keeps the products below inside 64 bits. */
static kernels_status read_shape(const DLTensor *tensor, const char *who, kernels_shape *shape, kernels_error *error) {
    *shape = (kernels_shape){.dtype = tensor->dtype, .rank = tensor->ndim};
    int64_t elements = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        int64_t dimension = tensor->shape[i];
        if (dimension < 0 || dimension > TENSOR_DIMENSION_MAX ||
            (dimension > 0 && elements > TENSOR_DIMENSION_MAX / dimension)) {
            return kernels_fail(error, KERNELS_MISMATCH, "%s: dimension %" PRId32 " is %" PRId64 ", out of range", who,
                                i, dimension);
        }
        elements *= dimension > 0 ? dimension : 1;
        shape->dimensions[i] = dimension;
    }
    return KERNELS_OK;
}

kernels_status kernels_tensor_check(const DLTensor *tensor, const char *who, kernels_shape *shape,
                                    kernels_error *error) {
    KERNELS_TRY(check_form(tensor, who, error));
    KERNELS_TRY(read_shape(tensor, who, shape, error));
    if (is_empty(tensor)) {
        return KERNELS_OK; /* neither strides nor data mean anything */
    }
    if (!is_compact(tensor)) {
        return fail_strides(tensor, who, error);
    }
    if (!tensor->data) {
        return kernels_fail(error, KERNELS_MISMATCH, "%s: the tensor has no data", who);
    }
    return KERNELS_OK;
}

void *kernels_tensor_data(const DLTensor *tensor) {
    return tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
}

/* ---- making ---- */

/* The memory, shared by all handles on it. */
typedef struct kernels_tensor_block {
    atomic_uint owners;
    DLTensor tensor; /* shape and strides point below */
    int64_t shape[KERNELS_RANK_MAX];
    int64_t strides[KERNELS_RANK_MAX];
} kernels_tensor_block;

static void block_release(kernels_tensor_block *block) {
    if (atomic_fetch_sub_explicit(&block->owners, 1, memory_order_acq_rel) == 1) {
        kernels_free(block);
    }
}

static void handle_delete(DLManagedTensorVersioned *tensor) {
    block_release(tensor->manager_ctx);
    kernels_free(tensor);
}

static void unversioned_delete(DLManagedTensor *tensor) {
    block_release(tensor->manager_ctx);
    kernels_free(tensor);
}

/* Does not count the new owner. */
static DLManagedTensorVersioned *handle_new(kernels_tensor_block *block) {
    DLManagedTensorVersioned *handle = kernels_calloc(1, sizeof(*handle));
    if (handle) {
        handle->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        handle->manager_ctx = block;
        handle->deleter = handle_delete;
        handle->dl_tensor = block->tensor;
    }
    return handle;
}

static kernels_tensor_block *block_new(const kernels_shape *shape) {
    uint64_t bytes = kernels_shape_bytes(shape);
    /* one piece: record, gap up to the alignment, elements */
    kernels_tensor_block *block =
        bytes < SIZE_MAX / 2 ? kernels_malloc(sizeof(*block) + TENSOR_ALIGNMENT + (size_t)bytes) : NULL;
    if (!block) {
        return NULL;
    }
    int64_t stride = 1;
    for (int32_t i = shape->rank - 1; i >= 0; i--) {
        block->shape[i] = shape->dimensions[i];
        block->strides[i] = stride;
        stride *= shape->dimensions[i];
    }
    uintptr_t data = ((uintptr_t)(block + 1) + TENSOR_ALIGNMENT - 1) & ~(TENSOR_ALIGNMENT - 1);
    atomic_init(&block->owners, 1);
    block->tensor = (DLTensor){.data = (void *)data,
                               .device = {kDLCPU, 0},
                               .ndim = shape->rank,
                               .dtype = shape->dtype,
                               .shape = block->shape,
                               .strides = block->strides};
    return block;
}

kernels_status kernels_tensor_new(const kernels_shape *shape, DLManagedTensorVersioned **tensor, kernels_error *error) {
    kernels_tensor_block *block = block_new(shape);
    DLManagedTensorVersioned *handle = block ? handle_new(block) : NULL;
    if (!handle) {
        kernels_free(block);
        return kernels_fail_no_memory(error);
    }
    *tensor = handle;
    return KERNELS_OK;
}

/* ---- sharing ---- */

static kernels_status find_block(const DLManagedTensorVersioned *tensor, kernels_tensor_block **block,
                                 kernels_error *error) {
    if (!tensor || tensor->deleter != handle_delete) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "only a tensor made by this library can be shared");
    }
    *block = tensor->manager_ctx;
    return KERNELS_OK;
}

kernels_status kernels_tensor_share(const DLManagedTensorVersioned *tensor, DLManagedTensorVersioned **shared,
                                    kernels_error *error) {
    kernels_tensor_block *block = NULL;
    KERNELS_TRY(find_block(tensor, &block, error));
    DLManagedTensorVersioned *handle = handle_new(block);
    if (!handle) {
        return kernels_fail_no_memory(error);
    }
    atomic_fetch_add_explicit(&block->owners, 1, memory_order_relaxed);
    *shared = handle;
    return KERNELS_OK;
}

kernels_status kernels_tensor_share_unversioned(const DLManagedTensorVersioned *tensor, DLManagedTensor **shared,
                                                kernels_error *error) {
    kernels_tensor_block *block = NULL;
    KERNELS_TRY(find_block(tensor, &block, error));
    DLManagedTensor *handle = kernels_malloc(sizeof(*handle));
    if (!handle) {
        return kernels_fail_no_memory(error);
    }
    *handle = (DLManagedTensor){.dl_tensor = block->tensor, .manager_ctx = block, .deleter = unversioned_delete};
    atomic_fetch_add_explicit(&block->owners, 1, memory_order_relaxed);
    *shared = handle;
    return KERNELS_OK;
}
