/* SPDX-License-Identifier: Apache-2.0 */
/* Which DLPack tensors are accepted, and what is said about the others. */
#include "support/test_support.h"

#include "runtime/tensor.h"

static int64_t shape_3_4[2] = {3, 4}, strides_4_1[2] = {4, 1};
static float elements[12];

static DLTensor fine(void) {
    return (DLTensor){.data = elements,
                      .device = {kDLCPU, 0},
                      .ndim = 2,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = shape_3_4,
                      .strides = strides_4_1};
}

static void expect_accepted(const DLTensor *tensor) {
    kernels_shape shape;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_tensor_check(tensor, "argument 0", &shape, &error), error);
    assert_int_equal(shape.rank, tensor->ndim);
}

static void expect_refused(const DLTensor *tensor, const char *part) {
    kernels_shape shape;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_equal(kernels_tensor_check(tensor, "argument 0", &shape, &error), KERNELS_MISMATCH);
    assert_contains(kernels_error_message(&error), "argument 0: ");
    assert_contains(kernels_error_message(&error), part);
    kernels_error_dispose(&error);
}

static void test_accepts(void **state) {
    (void)state;
    DLTensor tensor = fine();
    expect_accepted(&tensor);
    tensor.strides = NULL;
    expect_accepted(&tensor);
    tensor.device.device_type = kDLCUDAHost;
    expect_accepted(&tensor);
    tensor = fine();
    tensor.ndim = 0;
    tensor.shape = NULL;
    tensor.strides = NULL;
    expect_accepted(&tensor);
    /* the stride of a dimension of one element is free */
    int64_t shape[3] = {3, 1, 4}, strides[3] = {4, 99, 1};
    tensor = fine();
    tensor.ndim = 3;
    tensor.shape = shape;
    tensor.strides = strides;
    expect_accepted(&tensor);
    /* nothing of an empty tensor is looked at */
    int64_t empty[2] = {0, 4}, odd[2] = {7, 7};
    tensor = fine();
    tensor.shape = empty;
    tensor.strides = odd;
    tensor.data = NULL;
    expect_accepted(&tensor);
    assert_null(kernels_tensor_data(&tensor));
    tensor = fine();
    tensor.byte_offset = 8;
    assert_ptr_equal(kernels_tensor_data(&tensor), &elements[2]);
}

static void test_refuses(void **state) {
    (void)state;
    expect_refused(NULL, "given NULL");
    DLTensor tensor = fine();
    tensor.device.device_type = kDLCUDA;
    expect_refused(&tensor, "given one in CUDA memory");
    tensor = fine();
    tensor.dtype = (DLDataType){kDLComplex, 64, 1};
    expect_refused(&tensor, "code 5, 64 bits, 1 lanes");
    tensor = fine();
    tensor.dtype.lanes = 4;
    expect_refused(&tensor, "4 lanes");
    tensor = fine();
    int64_t transposed[2] = {1, 3};
    tensor.strides = transposed;
    expect_refused(&tensor, "strides [1, 3]");
    tensor = fine();
    tensor.data = NULL;
    expect_refused(&tensor, "no data");
    tensor = fine();
    tensor.ndim = 17;
    expect_refused(&tensor, "given 17");
    tensor.ndim = -1;
    expect_refused(&tensor, "given -1");
    tensor = fine();
    tensor.shape = NULL;
    expect_refused(&tensor, "dimensions");
    int64_t negative[2] = {3, -4}, huge[2] = {(int64_t)1 << 40, (int64_t)1 << 40};
    tensor = fine();
    tensor.shape = negative;
    expect_refused(&tensor, "dimension 1 is -4");
    tensor.shape = huge;
    expect_refused(&tensor, "dimension 1");
}

static void test_makes_tensors(void **state) {
    (void)state;
    static const char *const texts[] = {"f32[3,4]", "s32[]", "bf16[0,4]"};
    for (size_t i = 0; i < 3; i++) {
        kernels_shape shape, read;
        kernels_error error = KERNELS_ERROR_INIT;
        DLManagedTensorVersioned *made = NULL;
        assert_ok(kernels_shape_parse((kernels_view){texts[i], strlen(texts[i])}, &shape, &error), error);
        assert_ok(kernels_tensor_new(&shape, &made, &error), error);
        assert_int_equal(made->version.major, DLPACK_MAJOR_VERSION);
        assert_int_equal((uintptr_t)made->dl_tensor.data % 64, 0);
        memset(made->dl_tensor.data, 1, (size_t)kernels_shape_bytes(&shape));
        assert_ok(kernels_tensor_check(&made->dl_tensor, "it", &read, &error), error);
        assert_true(kernels_shape_equal(&shape, &read));
        made->deleter(made);
    }
}

static void test_shares_tensors(void **state) {
    (void)state;
    kernels_shape shape;
    kernels_error error = KERNELS_ERROR_INIT;
    DLManagedTensorVersioned *made = NULL, *second = NULL;
    DLManagedTensor *old = NULL;
    assert_ok(kernels_shape_parse(KERNELS_VIEW("f32[3,4]"), &shape, &error), error);
    assert_ok(kernels_tensor_new(&shape, &made, &error), error);
    assert_ok(kernels_tensor_share(made, &second, &error), error);
    assert_ok(kernels_tensor_share_unversioned(second, &old, &error), error);
    assert_ptr_equal(made->dl_tensor.data, old->dl_tensor.data);
    made->deleter(made);
    second->deleter(second);
    memset(old->dl_tensor.data, 1, 48); /* still there, and so is its shape */
    assert_int_equal(old->dl_tensor.shape[1], 4);
    assert_int_equal(old->dl_tensor.strides[0], 4);
    old->deleter(old);
    DLManagedTensorVersioned foreign = {.deleter = NULL};
    assert_int_equal(kernels_tensor_share(&foreign, &second, &error), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_tensor_share_unversioned(NULL, &old, &error), KERNELS_INVALID_ARGUMENT);
    kernels_error_dispose(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_makes_tensors),
        cmocka_unit_test(test_shares_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
