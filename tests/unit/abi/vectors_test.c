/* SPDX-License-Identifier: Apache-2.0 */
/* Every object of tests/data/abi/bin against its recorded answers: what is right, and, reading as released checkers
 * do, what those say. */
#include "support/test_support.h"
#include "vector.h"

#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "kernels/abi.h"

#define EACH(row, list)                        \
    for (size_t i = 0; i < (list)->count; i++) \
        for (const kernels_node *row = (list)->as.items[i]; row; row = NULL)

typedef struct counts {
    size_t same, corrected, findings, errors;
} counts;

/* ---- running one check ---- */

typedef struct answer {
    kernels_status status;
    kernels_abi_findings findings;
    kernels_error error;
} answer;

static kernels_version version_of(const char *text) {
    kernels_version version = {0};
    assert_int_equal(kernels_version_parse(kernels_view_of(text), &version, NULL), KERNELS_OK);
    return version;
}

static void run_check(const char *path, const char *check, const char *argument, unsigned flags, answer *got) {
    kernels_abi_object *object = NULL;
    *got = (answer){.error = KERNELS_ERROR_INIT};
    got->status = kernels_abi_object_open(path, flags, &object, &got->error);
    if (got->status == KERNELS_OK && strcmp(check, "manylinux") == 0) {
        got->status = kernels_abi_check_manylinux(object, argument, &got->findings, &got->error);
    } else if (got->status == KERNELS_OK) {
        kernels_version limit = version_of(argument);
        got->status =
            strcmp(check, "python_abi") == 0 ? kernels_abi_check_python(object, &limit, &got->findings, &got->error)
            : strcmp(check, "macos") == 0    ? kernels_abi_check_macos(object, &limit, &got->findings, &got->error)
                                             : kernels_abi_check_torch(object, &limit, &got->findings, &got->error);
    }
    kernels_abi_object_free(object);
}

static void dispose(answer *got) {
    kernels_abi_findings_dispose(&got->findings);
    kernels_error_dispose(&got->error);
}

/* ---- comparing ---- */

static const struct {
    kernels_abi_check check;
    kernels_abi_kind kind;
    const char *name;
} peer_kinds[] = {
    {KERNELS_ABI_CHECK_MANYLINUX, KERNELS_ABI_VERSION_NOT_ALLOWED, "IncompatibleManylinuxSymbol"},
    {KERNELS_ABI_CHECK_PYTHON, KERNELS_ABI_TOO_NEW, "IncompatibleAbi3Symbol"},
    {KERNELS_ABI_CHECK_PYTHON, KERNELS_ABI_NOT_ABI3, "NonAbi3Symbol"},
    {KERNELS_ABI_CHECK_MACOS, KERNELS_ABI_OS_VERSION_TOO_NEW, "IncompatibleMacOSVersion"},
    {KERNELS_ABI_CHECK_MACOS, KERNELS_ABI_OS_VERSION_MISSING, "MissingMacOSVersion"},
    {KERNELS_ABI_CHECK_TORCH, KERNELS_ABI_TOO_NEW, "IncompatibleStableAbiSymbol"},
    {KERNELS_ABI_CHECK_TORCH, KERNELS_ABI_NOT_STABLE, "NonStableAbiSymbol"},
};

/* The peer's name of a kind, or NULL for those that only we have. */
static const char *peer_kind(const kernels_abi_finding *finding) {
    for (size_t i = 0; i < sizeof peer_kinds / sizeof peer_kinds[0]; i++) {
        if (peer_kinds[i].check == finding->check && peer_kinds[i].kind == finding->kind) {
            return peer_kinds[i].name;
        }
    }
    return NULL;
}

static bool is_member(const kernels_node *want, const char *key, const char *got) {
    const kernels_node *node = kernels_node_find(want, key);
    return node == NULL || kernels_view_equal_text(kernels_node_text(node), got == NULL ? "" : got);
}

static bool is_same_finding(const kernels_node *want, const kernels_abi_finding *got) {
    return kernels_view_equal_text(kernels_node_text(kernels_node_find(want, "kind")), peer_kind(got)) &&
           is_member(want, "name", got->name) && is_member(want, "mangled", got->mangled) &&
           is_member(want, "dep", got->dep) && is_member(want, "version", got->version) &&
           is_member(want, "added", got->added);
}

static bool has_finding(const kernels_node *want, const answer *got) {
    for (size_t i = 0; i < got->findings.count; i++) {
        if (peer_kind(&got->findings.items[i]) != NULL && is_same_finding(want, &got->findings.items[i])) {
            return true;
        }
    }
    return false;
}

static char *show(const answer *got) {
    kernels_buffer text = KERNELS_BUFFER_INIT(1024 * 1024);
    kernels_buffer_add_text(&text, got->status == KERNELS_OK ? "" : kernels_error_message(&got->error));
    for (size_t i = 0; i < got->findings.count; i++) {
        const kernels_abi_finding *one = &got->findings.items[i];
        kernels_buffer_printf(&text, "\n  %s %s: %s", kernels_abi_check_name(one->check),
                              kernels_abi_kind_name(one->kind), one->message);
    }
    return kernels_buffer_take(&text);
}

static void compare(const char *what, const kernels_node *want, answer *got, counts *sum) {
    bool is_error = kernels_node_is(want, KERNELS_NODE_OBJECT), same = is_error == (got->status != KERNELS_OK);
    size_t count = 0;
    for (size_t i = 0; i < got->findings.count; i++) {
        count += peer_kind(&got->findings.items[i]) != NULL ? 1 : 0;
    }
    same = same && (is_error || count == want->count);
    for (size_t i = 0; same && !is_error && i < want->count; i++) {
        same = has_finding(want->as.items[i], got);
    }
    if (!same) {
        fail_msg("%s: wanted %s of %zu, got %s", what, is_error ? "an error" : "a list", want->count, show(got));
    }
    sum->findings += count;
    sum->errors += is_error ? 1 : 0;
    dispose(got);
}

/* ---- cases.json ---- */

static void check_case(kernels_document *document, const kernels_node *row, unsigned flags, counts *sum) {
    const char *file = vector_text(document, row, "file");
    char *folder = kernels_path_join(getenv("KERNELS_TEST_DATA"), "abi");
    char *path = kernels_path_join(folder, file);
    bool is_elf = kernels_node_is(kernels_node_find(row, "format"), KERNELS_NODE_STRING) &&
                  kernels_view_equal_text(kernels_node_find(row, "format")->as.text, "BinaryFormat.ELF");
    EACH(one, kernels_node_find(row, "checks")) {
        const char *check = vector_text(document, one, "check"), *argument = vector_text(document, one, "arg");
        const kernels_node *right = kernels_node_find(one, "right"), *reference = kernels_node_find(one, "reference");
        char *what = kernels_arena_printf(document->arena, "%s %s %s", file, check, argument);
        answer got;
        if (flags == 0) {
            run_check(path, check, argument, 0, &got);
            compare(what, right != NULL ? right : reference, &got, sum);
            sum->corrected += right != NULL ? 1 : 0;
            sum->same += right == NULL ? 1 : 0;
        } else if (is_elf) {
            run_check(path, check, argument, flags, &got);
            compare(what, reference, &got, sum);
            sum->same++;
        }
    }
    kernels_free(path);
    kernels_free(folder);
}

static void check_all(unsigned flags, const char *what) {
    kernels_document document = vector_read("abi/cases.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    counts sum = {0};
    EACH(row, cases) { check_case(&document, row, flags, &sum); }
    print_message("%s: %zu objects, %zu checks as the peer's, %zu corrected; %zu findings, %zu errors\n", what,
                  cases->count, sum.same, sum.corrected, sum.findings, sum.errors);
    kernels_document_dispose(&document);
}

static void test_right(void **state) {
    (void)state;
    check_all(0, "right answers");
}

static void test_reference(void **state) {
    (void)state;
    check_all(KERNELS_ABI_SYMTAB_ONLY, "reading static symbols only");
}

/* ---- one source, built in four ways ---- */

static char *findings_of(const char *name, const char *policy) {
    char *path = kernels_path_join3(getenv("KERNELS_TEST_DATA"), "abi/bin", name);
    answer got;
    run_check(path, "manylinux", policy, 0, &got);
    assert_ok(got.status, got.error);
    kernels_buffer text = KERNELS_BUFFER_INIT(65536);
    for (size_t i = 0; i < got.findings.count; i++) {
        const kernels_abi_finding *one = &got.findings.items[i];
        kernels_buffer_printf(&text, "%s %s %s of %s: %s\n", one->name, one->dep, one->version, one->library,
                              one->message);
    }
    dispose(&got);
    kernels_free(path);
    return kernels_buffer_take(&text);
}

static void test_builds_agree(void **state) {
    static const char *const builds[] = {"glibc_new.stripped.so", "glibc_new.lld.so", "glibc_new.gold.so",
                                         "hand/no_section_headers.so"};
    (void)state;
    char *plain = findings_of("glibc_new.so", "manylinux_2_28");
    assert_contains(plain, "dlsym GLIBC 2.34 of libc.so.6: `dlsym` needs GLIBC_2.34 of libc.so.6, which manylinux_2_28 "
                           "does not promise on x86_64; manylinux_2_34 would\nexp GLIBC 2.29");
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        char *other = findings_of(builds[i], "manylinux_2_28");
        assert_string_equal(plain, other);
        kernels_free(other);
    }
    kernels_free(plain);
}

/* The build set's probe: the same six whether stripped or not, none when linked against the floor. */
static void test_probes(void **state) {
    static const struct {
        const char *name;
        size_t count;
    } probes[] = {{"probe-glibc236.so", 6}, {"probe-glibc236-stripped.so", 6}, {"probe-floor228.so", 0}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char *path = kernels_path_join3(getenv("KERNELS_TEST_DATA"), "buildsets/elf", probes[i].name);
        answer got;
        run_check(path, "manylinux", "manylinux_2_28", 0, &got);
        assert_ok(got.status, got.error);
        assert_int_equal(got.findings.count, probes[i].count);
        dispose(&got);
        kernels_free(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_builds_agree),
        cmocka_unit_test(test_probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
