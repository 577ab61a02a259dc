/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: splitting, decoding, and the endpoint that each means. */
#include "support/test_support.h"

#include "base/buffer.h"
#include "base/view.h"
#include "server/route.h"

typedef struct route_case {
    const char *method, *target;
    int endpoint; /* -1: refused */
    const char *repository, *revision, *path, *name;
} route_case;

static const route_case cases[] = {
    {"GET", "/api/kernels/a/b/refs", KERNELS_ENDPOINT_REFS, "a/b", "main", "", ""},
    {"GET", "/api/kernels/a/b/refs?include_prs=1", KERNELS_ENDPOINT_REFS, "a/b", "main", "", ""},
    {"GET", "/api/kernels/b/refs", KERNELS_ENDPOINT_REFS, "b", "main", "", ""},
    {"HEAD", "/api/models/a/b", KERNELS_ENDPOINT_INFO, "a/b", "main", "", ""},
    {"GET", "/api/kernels/b", KERNELS_ENDPOINT_INFO, "b", "main", "", ""},
    {"GET", "/api/kernels/a/b/revision/refs%2Fpr%2F1", KERNELS_ENDPOINT_INFO, "a/b", "refs/pr/1", "", ""},
    {"GET", "/api/kernels/a/b/tree/v1", KERNELS_ENDPOINT_TREE, "a/b", "v1", "", ""},
    {"GET", "/api/kernels/a/b/tree/v1/x/y", KERNELS_ENDPOINT_TREE, "a/b", "v1", "x/y", ""},
    {"GET", "/api/kernels/a/b/tree/refs%2Fheads%2Fv1/x%2Fy", KERNELS_ENDPOINT_TREE, "a/b", "refs/heads/v1", "x/y", ""},
    {"GET", "/api/kernels/a/tree/tree/main", KERNELS_ENDPOINT_TREE, "a/tree", "main", "", ""},
    {"GET", "/api/kernels/tree/tree/main", KERNELS_ENDPOINT_TREE, "tree", "main", "", ""},
    {"POST", "/api/kernels/a/b/branch/x/y", KERNELS_ENDPOINT_CREATE_BRANCH, "a/b", "main", "", "x/y"},
    {"DELETE", "/api/kernels/a/b/branch/x%2Fy", KERNELS_ENDPOINT_DELETE_BRANCH, "a/b", "main", "", "x/y"},
    {"POST", "/api/kernels/a/b/commit/main?create_pr=1", KERNELS_ENDPOINT_COMMIT, "a/b", "main", "", ""},
    {"POST", "/api/kernels/a/b/preupload/main", KERNELS_ENDPOINT_PREUPLOAD, "a/b", "main", "", ""},
    {"GET", "/kernels/a/b/resolve/main/x/y%20z", KERNELS_ENDPOINT_RESOLVE, "a/b", "main", "x/y z", ""},
    {"GET", "/a/b/resolve/main/x", KERNELS_ENDPOINT_RESOLVE, "a/b", "main", "x", ""},
    {"GET", "/b/resolve/main/resolve", KERNELS_ENDPOINT_RESOLVE, "b", "main", "resolve", ""},
    {"GET", "/kernels/a/resolve/resolve/main/x", KERNELS_ENDPOINT_RESOLVE, "a/resolve", "main", "x", ""},
    {"POST", "/kernels/a/b.git/info/lfs/objects/batch", KERNELS_ENDPOINT_LFS_BATCH, "a/b", "main", "", ""},
    {"POST", "/b.git/info/lfs/objects/batch", KERNELS_ENDPOINT_LFS_BATCH, "b", "main", "", ""},
    {"POST", "/a/b.git/info/lfs/objects/verify", KERNELS_ENDPOINT_LFS_VERIFY, "a/b", "main", "", ""},
    {"PUT", "/kernels/a/b.git/info/lfs/upload/00ff", KERNELS_ENDPOINT_LFS_UPLOAD, "a/b", "main", "", "00ff"},
    {"GET", "/cdn/00ff", KERNELS_ENDPOINT_LFS_DOWNLOAD, "", "main", "", "00ff"},
    {"GET", "/api/organizations/a/overview", KERNELS_ENDPOINT_ORGANIZATION, "", "main", "", "a"},
    {"GET", "/api/whoami-v2", KERNELS_ENDPOINT_WHOAMI, "", "main", "", ""},
    {"POST", "/api/repos/create", KERNELS_ENDPOINT_CREATE_REPOSITORY, "", "main", "", ""},
    {"PUT", "/kernels/a/b.git/info/lfs/part/00ff/12", KERNELS_ENDPOINT_LFS_PART, "a/b", "main", "12", "00ff"},
    {"POST", "/a/b.git/info/lfs/join/00ff/11ee", KERNELS_ENDPOINT_LFS_JOIN, "a/b", "main", "11ee", "00ff"},
    {"PUT", "/kernels/a/b.git/info/lfs/part/00ff", -1, "", "", "", ""},
    {"GET", "/", KERNELS_ENDPOINT_INDEX, "", "main", "", ""},
    {"GET", "/kernels", KERNELS_ENDPOINT_INDEX, "", "main", "", ""},
    {"GET", "/style.css", KERNELS_ENDPOINT_STYLE, "", "main", "", ""},
    {"GET", "/kernels/a/b", KERNELS_ENDPOINT_PAGE, "a/b", "", "", ""},
    {"GET", "/a/b", KERNELS_ENDPOINT_PAGE, "a/b", "", "", ""},
    {"GET", "/kernels/a/b/tree/v1", KERNELS_ENDPOINT_PAGE, "a/b", "v1", "", ""},
    {"GET", "/kernels/a/tree", KERNELS_ENDPOINT_PAGE, "a/tree", "", "", ""},
    {"GET", "/kernels/a/tree/tree/v1", KERNELS_ENDPOINT_PAGE, "a/tree", "v1", "", ""},
    {"GET", "/kernels/a/b/commit/00ff", KERNELS_ENDPOINT_PAGE, "a/b", "00ff", "", ""},
    {"GET", "/kernels/a/b/discussions/7", KERNELS_ENDPOINT_PAGE, "a/b", "refs/pr/7", "", ""},
    {"POST", "/kernels/a/b", -1, "", "", "", ""},
    {"GET", "/kernels/", -1, "", "", "", ""},
    {"GET", "/kernels/a/b/c", -1, "", "", "", ""},
    {"GET", "//", -1, "", "", "", ""},
    {"GET", "/api", -1, "", "", "", ""},
    {"GET", "/api/kernels", -1, "", "", "", ""},
    {"GET", "/api/datasets/a/b/refs", -1, "", "", "", ""},
    {"GET", "/datasets/a/resolve/main/x", -1, "", "", "", ""},
    {"GET", "/kernels/a/b/resolve/main", -1, "", "", "", ""},
    {"POST", "/api/kernels/a/b/refs", -1, "", "", "", ""},
    {"GET", "/api/kernels/a/b/commit/main", -1, "", "", "", ""},
    {"GET", "/api/kernels/a/b/revision/a/b", -1, "", "", "", ""},
    {"POST", "/api/kernels/a/b/branch/", KERNELS_ENDPOINT_CREATE_BRANCH, "a/b", "main", "", ""},
    {"PUT", "/kernels/a/b.git/info/lfs/upload", -1, "", "", "", ""},
    {"GET", "relative", -1, "", "", "", ""},
    {"GET", "", -1, "", "", "", ""},
    {"GET", "/%", -1, "", "", "", ""},
    {"GET", "/%0", -1, "", "", "", ""},
    {"GET", "/api/kernels/a/%00/refs", -1, "", "", "", ""},
    {"GET", "/api/kernels/a/%0a/refs", -1, "", "", "", ""},
    {"GET", "/api/kernels/a/%ff/refs", -1, "", "", "", ""},
};

static void assert_view(kernels_view view, const char *expected, const char *target) {
    if (!kernels_view_equal_text(view, expected)) {
        fail_msg("%s: expected `%s`, found `%.*s`", target, expected, KERNELS_VIEW_ARGS(view));
    }
}

static void routes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const route_case *c = &cases[i];
        kernels_arena *arena = kernels_arena_new(0);
        kernels_target target;
        kernels_route route;
        kernels_status status = kernels_target_parse(kernels_view_of(c->target), arena, &target, NULL);
        if (status == KERNELS_OK) {
            status = kernels_route_find(kernels_view_of(c->method), &target, arena, &route, NULL);
        }
        if ((status == KERNELS_OK) != (c->endpoint >= 0)) {
            fail_msg("%s %s: %s", c->method, c->target, kernels_status_name(status));
        }
        if (status == KERNELS_OK) {
            assert_int_equal(route.endpoint, c->endpoint);
            assert_view(route.repository, c->repository, c->target);
            assert_view(route.revision, c->revision, c->target);
            assert_view(route.path, c->path, c->target);
            assert_view(route.name, c->name, c->target);
        }
        kernels_arena_free(arena);
    }
}

static void queries(void **state) {
    (void)state;
    kernels_arena *arena = kernels_arena_new(0);
    kernels_target target;
    kernels_view text = KERNELS_VIEW("/a?recursive=True&&empty&x=1%262&x=second");
    assert_int_equal(kernels_target_parse(text, arena, &target, NULL), KERNELS_OK);
    assert_view(target.raw_path, "/a", "raw path");
    assert_true(kernels_target_query_is_true(&target, "recursive"));
    assert_false(kernels_target_query_is_true(&target, "empty"));
    assert_false(kernels_target_query_is_true(&target, "absent"));
    assert_view(kernels_target_query(&target, "x"), "1&2", "x");
    assert_null(kernels_target_query(&target, "absent").data);
    assert_non_null(kernels_target_query(&target, "empty").data);
    kernels_arena_free(arena);
}

static void too_many_parts(void **state) {
    (void)state;
    kernels_arena *arena = kernels_arena_new(0);
    kernels_target target;
    kernels_buffer text = KERNELS_BUFFER_INIT(1 << 20);
    for (int i = 0; i <= KERNELS_TARGET_SEGMENTS_LIMIT; i++) {
        kernels_buffer_add_text(&text, "/a");
    }
    assert_int_equal(kernels_target_parse(kernels_buffer_view(&text), arena, &target, NULL), KERNELS_BAD_REQUEST);
    kernels_buffer_reset(&text);
    kernels_buffer_add_text(&text, "/?");
    for (int i = 0; i <= KERNELS_TARGET_QUERY_LIMIT; i++) {
        kernels_buffer_add_text(&text, "a=1&");
    }
    assert_int_equal(kernels_target_parse(kernels_buffer_view(&text), arena, &target, NULL), KERNELS_BAD_REQUEST);
    kernels_buffer_dispose(&text);
    kernels_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes),
        cmocka_unit_test(queries),
        cmocka_unit_test(too_many_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
