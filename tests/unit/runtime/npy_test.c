/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_support.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "runtime/npy.h"

static kernels_status parse(const char *header, size_t elements, kernels_shape *shape, kernels_error *error) {
    kernels_buffer file = KERNELS_BUFFER_INIT(1 << 20);
    size_t size = strlen(header);
    const unsigned char start[4] = {1, 0, (unsigned char)(size & 0xff), (unsigned char)(size >> 8)};
    kernels_view data;
    kernels_buffer_add_text(&file, "\x93NUMPY");
    kernels_buffer_add(&file, start, sizeof(start));
    kernels_buffer_add_text(&file, header);
    for (size_t i = 0; i < elements; i++) {
        kernels_buffer_add_char(&file, 'x');
    }
    kernels_status status = kernels_npy_parse(kernels_buffer_view(&file), "a.npy", shape, &data, error);
    if (!status) {
        assert_int_equal(data.size, elements);
    }
    kernels_buffer_dispose(&file);
    return status;
}

static void expect_shape(const char *header, size_t bytes, const char *expected) {
    kernels_shape shape;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(parse(header, bytes, &shape, &error), error);
    char *text = kernels_shape_print(&shape);
    assert_string_equal(text, expected);
    kernels_string_free(text);
}

static void test_reads_headers(void **state) {
    (void)state;
    expect_shape("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n", 48, "f32[3,4]");
    expect_shape("{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", 1, "pred[]");
    expect_shape("{'shape': (5,), 'fortran_order': True, 'descr': '<i8'}", 40, "s64[5]");
    expect_shape("{'descr': '<V2', 'fortran_order': False, 'shape': (2, 0)}", 0, "bf16[2,0]");
    expect_shape("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 2)}", 2, "u8[1,1,2]");
    expect_shape("{'descr': '=f2', 'fortran_order': False, 'shape': (2,)}", 4, "f16[2]");
}

static void test_refuses_headers(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t bytes;
        kernels_status status;
    } cases[] = {
        {"", 0, KERNELS_SYNTAX},
        {"{}", 0, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False}", 4, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'shape': ()}", 4, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}", 4, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", 4, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 4, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", 8, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,,2)}", 8, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1", 4, KERNELS_SYNTAX},
        {"{'descr': '<f4", 4, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 4, KERNELS_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", 16, KERNELS_UNSUPPORTED},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8, KERNELS_UNSUPPORTED},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", 16, KERNELS_UNSUPPORTED},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", 16, KERNELS_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kernels_shape shape;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status = parse(cases[i].header, cases[i].bytes, &shape, &error);
        if (status != cases[i].status) {
            fail_msg("`%s` gave %s", cases[i].header, kernels_status_name(status));
        }
        assert_contains(kernels_error_message(&error), "a.npy");
        kernels_error_dispose(&error);
    }
}

static void test_refuses_files(void **state) {
    (void)state;
    static const kernels_view files[] = {
        KERNELS_VIEW(""),
        KERNELS_VIEW("\x93NUMPY"),
        KERNELS_VIEW("\x93NUMPY\x01\x00\xff\xff{}"),
        KERNELS_VIEW("\x93NUMPY\x02\x00\xff\xff\xff\xff"),
        KERNELS_VIEW("\x93NUMPY\x04\x00\x02\x00\x00\x00{}"),
        KERNELS_VIEW("PK\x03\x04 a zip archive"),
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        kernels_shape shape;
        kernels_view data;
        assert_int_equal(kernels_npy_parse(files[i], "a.npy", &shape, &data, NULL), KERNELS_SYNTAX);
    }
}

static void test_writes_what_it_reads(void **state) {
    (void)state;
    static const char *const texts[] = {"f32[3,4]", "pred[]", "bf16[2]", "s64[1,2,3]", "u8[0,5]", "f16[7]"};
    kernels_error error = KERNELS_ERROR_INIT;
    char *folder = NULL;
    const char elements[64] = "elements";
    assert_ok(kernels_make_temporary_directory(NULL, "npy", &folder, &error), error);
    char *path = kernels_path_join(folder, "a.npy");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        kernels_shape shape, read;
        kernels_view data;
        char *contents = NULL;
        assert_ok(kernels_shape_parse(kernels_view_of(texts[i]), &shape, &error), error);
        assert_ok(kernels_npy_write(path, &shape, elements, &error), error);
        assert_ok(kernels_npy_read(path, &read, &contents, &data, &error), error);
        assert_true(kernels_shape_equal(&shape, &read));
        assert_memory_equal(data.data, elements, data.size);
        assert_int_equal((data.data - contents) % 64, 0);
        kernels_free(contents);
    }
    assert_ok(kernels_remove_tree(folder, &error), error);
    kernels_free(path);
    kernels_free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_headers),
        cmocka_unit_test(test_refuses_headers),
        cmocka_unit_test(test_refuses_files),
        cmocka_unit_test(test_writes_what_it_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
