/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/view.h"

/* What follows the keyword of an endpoint below a repository. */
typedef enum rest_shape {
    REST_NONE,
    REST_REVISION,      /* one segment */
    REST_REVISION_PATH, /* one segment, then a path that may be empty */
    REST_REVISION_FILE, /* one segment, then a path */
    REST_NAME,          /* all of it, joined: a branch may come with a raw "/" */
    REST_SHA256,        /* one segment */
    REST_PAIR,          /* two segments: name and path */
    REST_PULL_REQUEST,  /* one segment, a number */
} rest_shape;

typedef struct route_row {
    const char *method;
    const char *keyword;
    rest_shape rest;
    kernels_endpoint_id endpoint;
} route_row;

/* /api/<types>/<id>/<keyword>/<rest> */
static const route_row api_rows[] = {
    {"GET", "refs", REST_NONE, KERNELS_ENDPOINT_REFS},
    {"GET", "revision", REST_REVISION, KERNELS_ENDPOINT_INFO},
    {"GET", "tree", REST_REVISION_PATH, KERNELS_ENDPOINT_TREE},
    {"POST", "paths-info", REST_REVISION, KERNELS_ENDPOINT_PATHS_INFO},
    {"POST", "branch", REST_NAME, KERNELS_ENDPOINT_CREATE_BRANCH},
    {"DELETE", "branch", REST_NAME, KERNELS_ENDPOINT_DELETE_BRANCH},
    {"POST", "tag", REST_REVISION, KERNELS_ENDPOINT_CREATE_TAG},
    {"DELETE", "tag", REST_NAME, KERNELS_ENDPOINT_DELETE_TAG},
    {"POST", "preupload", REST_REVISION, KERNELS_ENDPOINT_PREUPLOAD},
    {"POST", "commit", REST_REVISION, KERNELS_ENDPOINT_COMMIT},
};

/* /<prefix><id>/<keyword>/<rest>; without a keyword it is the page of the repository */
static const route_row file_rows[] = {
    {"GET", "resolve", REST_REVISION_FILE, KERNELS_ENDPOINT_RESOLVE},
    {"GET", "tree", REST_REVISION, KERNELS_ENDPOINT_PAGE},
    {"GET", "commit", REST_REVISION, KERNELS_ENDPOINT_PAGE},
    {"GET", "discussions", REST_PULL_REQUEST, KERNELS_ENDPOINT_PAGE},
};

/* /<prefix><id>.git/info/lfs/<keyword>/<rest> */
static const route_row lfs_rows[] = {
    {"POST", "objects/batch", REST_NONE, KERNELS_ENDPOINT_LFS_BATCH},
    {"POST", "objects/verify", REST_NONE, KERNELS_ENDPOINT_LFS_VERIFY},
    {"PUT", "upload", REST_SHA256, KERNELS_ENDPOINT_LFS_UPLOAD},
    {"PUT", "part", REST_PAIR, KERNELS_ENDPOINT_LFS_PART},
    {"POST", "join", REST_PAIR, KERNELS_ENDPOINT_LFS_JOIN},
};

/* Targets of their own; "*" stands for one segment that becomes route->name. */
static const struct {
    const char *method;
    const char *path;
    kernels_endpoint_id endpoint;
} fixed_rows[] = {
    {"GET", "api/whoami-v2", KERNELS_ENDPOINT_WHOAMI},
    {"GET", "api/organizations/*/overview", KERNELS_ENDPOINT_ORGANIZATION},
    {"POST", "api/validate-yaml", KERNELS_ENDPOINT_VALIDATE_YAML},
    {"POST", "api/repos/create", KERNELS_ENDPOINT_CREATE_REPOSITORY},
    {"DELETE", "api/repos/delete", KERNELS_ENDPOINT_DELETE_REPOSITORY},
    {"GET", "cdn/*", KERNELS_ENDPOINT_LFS_DOWNLOAD},
    {"GET", "", KERNELS_ENDPOINT_INDEX},
    {"GET", "kernels", KERNELS_ENDPOINT_INDEX},
    {"GET", "style.css", KERNELS_ENDPOINT_STYLE},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *kernels_route_prefix(kernels_repository_type type) {
    return type == KERNELS_REPOSITORY_MODEL ? "" : "kernels/";
}

bool kernels_route_owner_is_free(kernels_view owner) {
    static const char *const taken[] = {"api", "cdn", "kernels", "models", "datasets", "spaces", "style.css"};
    for (size_t i = 0; i < COUNT(taken); i++) {
        if (kernels_view_equal_text(owner, taken[i])) {
            return false;
        }
    }
    return true;
}

static kernels_view join(const kernels_view *segments, size_t count, kernels_arena *arena) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_TARGET_SIZE_LIMIT);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            kernels_buffer_add_char(&text, '/');
        }
        kernels_buffer_add_view(&text, segments[i]);
    }
    kernels_view joined = text.failure == KERNELS_OK ? kernels_arena_copy_view(arena, kernels_buffer_view(&text))
                                                     : (kernels_view){NULL, 0};
    kernels_buffer_dispose(&text);
    return joined;
}

/* ---- what follows the keyword ---- */

static bool match_rest(rest_shape shape, const kernels_view *rest, size_t count, kernels_arena *arena,
                       kernels_route *route) {
    switch (shape) {
    case REST_NONE:
        return count == 0;
    case REST_REVISION:
        if (count == 1) {
            route->revision = rest[0];
        }
        return count == 1;
    case REST_REVISION_PATH:
    case REST_REVISION_FILE:
        if (count < (shape == REST_REVISION_FILE ? 2 : 1)) {
            return false;
        }
        route->revision = rest[0];
        route->path = join(rest + 1, count - 1, arena);
        return route->path.data != NULL;
    case REST_NAME:
        route->name = count > 0 ? join(rest, count, arena) : (kernels_view){NULL, 0};
        return route->name.data != NULL;
    case REST_SHA256:
        if (count == 1) {
            route->name = rest[0];
        }
        return count == 1;
    case REST_PAIR:
        if (count == 2) {
            route->name = rest[0];
            route->path = rest[1];
        }
        return count == 2;
    case REST_PULL_REQUEST: {
        const kernels_view name[] = {KERNELS_VIEW("refs/pr"), count == 1 ? rest[0] : KERNELS_VIEW("")};
        route->revision = join(name, 2, arena);
        return count == 1 && route->revision.data != NULL;
    }
    }
    return false;
}

static bool match_row(const route_row *rows, size_t row_count, kernels_view method, kernels_view keyword,
                      const kernels_view *rest, size_t count, kernels_arena *arena, kernels_route *route) {
    for (size_t i = 0; i < row_count; i++) {
        if (kernels_view_equal_text(method, rows[i].method) && kernels_view_equal_text(keyword, rows[i].keyword) &&
            match_rest(rows[i].rest, rest, count, arena, route)) {
            route->endpoint = rows[i].endpoint;
            return true;
        }
    }
    return false;
}

static bool is_api_keyword(kernels_view segment) {
    for (size_t i = 0; i < COUNT(api_rows); i++) {
        if (kernels_view_equal_text(segment, api_rows[i].keyword)) {
            return true;
        }
    }
    return false;
}

/* ---- the three families below a repository ---- */

/* segments: <owner>/<name>/<keyword>... or, when the second one is a keyword, <name>/<keyword>... */
static bool match_api(kernels_view method, const kernels_view *segments, size_t count, kernels_arena *arena,
                      kernels_route *route) {
    bool bare = count >= 2 && is_api_keyword(segments[1]) && !(count >= 3 && is_api_keyword(segments[2]));
    size_t id_size = bare || count == 1 ? 1 : 2;
    if (count < id_size) {
        return false;
    }
    route->repository = join(segments, id_size, arena);
    if (route->repository.data == NULL) {
        return false;
    }
    if (count == id_size) {
        route->endpoint = KERNELS_ENDPOINT_INFO;
        return kernels_view_equal_text(method, "GET");
    }
    return match_row(api_rows, COUNT(api_rows), method, segments[id_size], segments + id_size + 1, count - id_size - 1,
                     arena, route);
}

static bool match_files(kernels_view method, const kernels_view *segments, size_t count, kernels_arena *arena,
                        kernels_route *route) {
    for (size_t id_size = 2; id_size >= 1; id_size--) {
        if (count > id_size && match_row(file_rows, COUNT(file_rows), method, segments[id_size], segments + id_size + 1,
                                         count - id_size - 1, arena, route)) {
            route->repository = join(segments, id_size, arena);
            return route->repository.data != NULL;
        }
    }
    return false;
}

static bool match_page(kernels_view method, const kernels_view *segments, size_t count, kernels_arena *arena,
                       kernels_route *route) {
    if (!kernels_view_equal_text(method, "GET") || count == 0 || count > 2 || segments[0].size == 0 ||
        segments[count - 1].size == 0) {
        return false;
    }
    route->endpoint = KERNELS_ENDPOINT_PAGE;
    route->revision = KERNELS_VIEW("");
    route->repository = join(segments, count, arena);
    return route->repository.data != NULL;
}

static bool match_lfs(kernels_view method, const kernels_view *segments, size_t count, kernels_arena *arena,
                      kernels_route *route) {
    const kernels_view suffix = KERNELS_VIEW(".git");
    for (size_t id_size = 1; id_size <= 2 && count >= id_size + 4; id_size++) {
        if (!kernels_view_ends_with(segments[id_size - 1], suffix) ||
            !kernels_view_equal_text(segments[id_size], "info") ||
            !kernels_view_equal_text(segments[id_size + 1], "lfs")) {
            continue;
        }
        kernels_view id = join(segments, id_size, arena);
        bool question = kernels_view_equal_text(segments[id_size + 2], "objects");
        kernels_view keyword = question ? join(segments + id_size + 2, 2, arena) : segments[id_size + 2];
        size_t used = id_size + (question ? 4 : 3);
        if (id.data == NULL || keyword.data == NULL) {
            return false;
        }
        route->repository = kernels_view_slice(id, 0, id.size - suffix.size);
        return match_row(lfs_rows, COUNT(lfs_rows), method, keyword, segments + used, count - used, arena, route);
    }
    return false;
}

/* ---- fixed targets ---- */

static bool match_fixed_path(const char *path, const kernels_target *target, kernels_route *route) {
    kernels_view rest = kernels_view_of(path), piece;
    size_t i = 0;
    while (kernels_view_split(&rest, '/', &piece)) {
        if (i == target->segment_count) {
            return false;
        }
        if (kernels_view_equal_text(piece, "*")) {
            route->name = target->segments[i];
        } else if (!kernels_view_equal(piece, target->segments[i])) {
            return false;
        }
        i++;
    }
    return i == target->segment_count;
}

static bool match_fixed(kernels_view method, const kernels_target *target, kernels_route *route) {
    for (size_t i = 0; i < COUNT(fixed_rows); i++) {
        if (kernels_view_equal_text(method, fixed_rows[i].method) &&
            match_fixed_path(fixed_rows[i].path, target, route)) {
            route->endpoint = fixed_rows[i].endpoint;
            return true;
        }
    }
    return false;
}

/* ---- all together ---- */

static bool match_repository(kernels_view method, const kernels_target *target, kernels_arena *arena,
                             kernels_route *route) {
    const kernels_view *segments = target->segments;
    size_t count = target->segment_count;
    if (kernels_view_equal_text(segments[0], "api")) {
        bool model = count > 2 && kernels_view_equal_text(segments[1], "models");
        route->type = model ? KERNELS_REPOSITORY_MODEL : KERNELS_REPOSITORY_KERNEL;
        return count > 2 && (model || kernels_view_equal_text(segments[1], "kernels")) &&
               match_api(method, segments + 2, count - 2, arena, route);
    }
    if (kernels_view_equal_text(segments[0], "kernels")) {
        route->type = KERNELS_REPOSITORY_KERNEL;
        return match_files(method, segments + 1, count - 1, arena, route) ||
               match_lfs(method, segments + 1, count - 1, arena, route) ||
               match_page(method, segments + 1, count - 1, arena, route);
    }
    route->type = KERNELS_REPOSITORY_MODEL;
    return kernels_route_owner_is_free(segments[0]) &&
           (match_files(method, segments, count, arena, route) || match_lfs(method, segments, count, arena, route) ||
            match_page(method, segments, count, arena, route));
}

kernels_status kernels_route_find(kernels_view method, const kernels_target *target, kernels_arena *arena,
                                  kernels_route *route, kernels_error *error) {
    if (kernels_view_equal_text(method, "HEAD")) {
        method = KERNELS_VIEW("GET");
    }
    *route = (kernels_route){.revision = KERNELS_VIEW("main"), .path = KERNELS_VIEW("")};
    if (target->segment_count > 0 &&
        (match_fixed(method, target, route) || match_repository(method, target, arena, route))) {
        return KERNELS_OK;
    }
    return kernels_fail(error, KERNELS_NOT_FOUND, "Sorry, there is nothing at this address for %.*s",
                        KERNELS_VIEW_ARGS(method));
}
