/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "server/api.h"
#include "server/commit_parser.h"

#define PREUPLOAD_LIMIT ((size_t)100000)
/* Operations of one commit. */
#define CHANGES_LIMIT KERNELS_STORE_ENTRIES_LIMIT

static kernels_status check_path(kernels_view path, kernels_error *error) {
    const char *reason = kernels_store_path_unsafe_reason(path);
    return reason == NULL ? KERNELS_OK
                          : kernels_fail(error, KERNELS_BAD_REQUEST, "The path %.*s cannot be used: %s",
                                         KERNELS_VIEW_ARGS(kernels_view_slice(path, 0, 200)), reason);
}

/* ---- preupload ---- */

static kernels_status write_preupload_file(kernels_request *request, const char *commit, const kernels_node *file,
                                           kernels_json_writer *json, kernels_error *error) {
    kernels_view path = kernels_node_text(kernels_node_find(file, "path"));
    const kernels_node *size = kernels_node_find(file, "size");
    kernels_store_entry entry;
    if (path.data == NULL || !kernels_node_is(size, KERNELS_NODE_UNSIGNED)) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "every file needs a \"path\" and a \"size\"");
    }
    KERNELS_TRY(check_path(path, error));
    bool is_large = size->as.unsigned_value > 0 && size->as.unsigned_value >= request->service->lfs_threshold;
    kernels_json_begin_object(json);
    kernels_json_member_view(json, "path", path);
    kernels_json_member_text(json, "uploadMode", is_large ? "lfs" : "regular");
    kernels_json_member_boolean(json, "shouldIgnore", false);
    if (kernels_repository_entry(request->repository, commit, path, request->arena, &entry, NULL) == KERNELS_OK &&
        !entry.is_directory) {
        kernels_json_member_text(json, "oid", entry.lfs_sha256[0] != '\0' ? entry.lfs_sha256 : entry.oid);
    }
    kernels_json_end_object(json);
    return KERNELS_OK;
}

static kernels_status write_preupload(kernels_request *request, const char *commit, const kernels_node *root,
                                      kernels_json_writer *json, kernels_error *error) {
    const kernels_node *files = kernels_node_find(root, "files");
    if (!kernels_node_is(files, KERNELS_NODE_ARRAY) || files->count > PREUPLOAD_LIMIT) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "\"files\" must be a list of at most %zu files",
                            PREUPLOAD_LIMIT);
    }
    kernels_json_begin_object(json);
    kernels_json_key(json, "files");
    kernels_json_begin_array(json);
    for (size_t i = 0; i < files->count; i++) {
        KERNELS_TRY(write_preupload_file(request, commit, files->as.items[i], json, error));
    }
    kernels_json_end_array(json);
    kernels_json_member_text(json, "commitOid", commit);
    kernels_json_end_object(json);
    return KERNELS_OK;
}

kernels_status kernels_api_preupload(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_document document;
    kernels_json_writer json;
    char commit[KERNELS_COMMIT_ID_SIZE];
    KERNELS_TRY(kernels_request_commit(request, response, commit, error));
    KERNELS_TRY(kernels_request_json(request, &document, error));
    kernels_response_json(response, &json);
    kernels_status status = write_preupload(request, commit, document.root, &json, error);
    kernels_document_dispose(&document);
    return status;
}

/* ---- commit: the lines as they come ---- */

typedef struct commit_state {
    kernels_request *request;
    kernels_commit_parser *parser;
    kernels_blob_writer *blob;
    kernels_change *changes;
    size_t change_count, change_capacity;
    const char *message;
    const char *parent;
} commit_state;

static kernels_status add_change(commit_state *state, const kernels_change *change, kernels_error *error) {
    if (state->change_count == CHANGES_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "a commit holds at most %zu operations", CHANGES_LIMIT);
    }
    if (!kernels_grow((void **)&state->changes, &state->change_capacity, state->change_count, sizeof *state->changes,
                      CHANGES_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    state->changes[state->change_count++] = *change;
    return KERNELS_OK;
}

static kernels_status take_header(commit_state *state, const kernels_commit_line *line, kernels_error *error) {
    kernels_arena *arena = state->request->arena;
    if (kernels_view_find(line->summary, '\0') != SIZE_MAX || kernels_view_find(line->description, '\0') != SIZE_MAX) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "The message of the commit holds a NUL character");
    }
    state->message = line->description.size > 0
                         ? kernels_arena_printf(arena, "%.*s\n\n%.*s", KERNELS_VIEW_ARGS(line->summary),
                                                KERNELS_VIEW_ARGS(line->description))
                         : kernels_arena_copy_text(arena, line->summary);
    if (line->parent.size > 0) {
        state->parent = kernels_arena_copy_text(arena, line->parent);
    }
    return state->message != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status take_large_file(commit_state *state, const kernels_commit_line *line, kernels_change *change,
                                      kernels_error *error) {
    char sha256[KERNELS_SHA256_HEX_SIZE];
    uint64_t stored;
    if (!kernels_is_sha256(line->sha256)) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "The \"oid\" of %s is no SHA-256", change->path);
    }
    memcpy(sha256, line->sha256.data, line->sha256.size);
    sha256[line->sha256.size] = '\0';
    if (kernels_repository_lfs_size(state->request->repository, sha256, &stored, NULL) != KERNELS_OK ||
        stored != line->size) {
        return kernels_fail(error, KERNELS_BAD_REQUEST,
                            "The content of %s is not here with that size; upload it before the commit", change->path);
    }
    return kernels_repository_add_pointer(state->request->repository, sha256, stored, change->oid, error);
}

static kernels_status take_line(void *payload, const kernels_commit_line *line, kernels_error *error) {
    commit_state *state = payload;
    kernels_change change = {.type = KERNELS_CHANGE_PUT};
    if (line->type == KERNELS_LINE_HEADER) {
        return take_header(state, line, error);
    }
    kernels_view path = line->path;
    if (line->type == KERNELS_LINE_DELETED_FOLDER && kernels_view_ends_with(path, KERNELS_VIEW("/"))) {
        path = kernels_view_slice(path, 0, path.size - 1);
    }
    KERNELS_TRY(check_path(path, error));
    change.path = kernels_arena_copy_text(state->request->arena, path);
    if (change.path == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (line->type == KERNELS_LINE_FILE) {
        KERNELS_TRY(kernels_blob_writer_finish(state->blob, change.oid, error));
    } else if (line->type == KERNELS_LINE_LFS_FILE) {
        KERNELS_TRY(take_large_file(state, line, &change, error));
    } else {
        change.type =
            line->type == KERNELS_LINE_DELETED_FILE ? KERNELS_CHANGE_DELETE_FILE : KERNELS_CHANGE_DELETE_FOLDER;
    }
    return add_change(state, &change, error);
}

static kernels_status take_content(void *payload, const void *data, size_t size, kernels_error *error) {
    commit_state *state = payload;
    return kernels_blob_writer_add(state->blob, data, size, error);
}

static bool makes_pull_request(const kernels_request *request) {
    return kernels_target_query_is_true(&request->target, "create_pr");
}

kernels_status kernels_api_commit_begin(kernels_request *request, kernels_error *error) {
    char commit[KERNELS_COMMIT_ID_SIZE];
    KERNELS_TRY(makes_pull_request(request)
                    ? kernels_repository_resolve(request->repository, request->route.revision, commit, error)
                    : kernels_repository_check_writable(request->repository, request->route.revision, error));
    commit_state *state = kernels_calloc(1, sizeof *state);
    if (state == NULL) {
        return kernels_fail_no_memory(error);
    }
    request->state = state;
    state->request = request;
    const kernels_commit_sink sink = {.content = take_content, .line = take_line, .payload = state};
    KERNELS_TRY(kernels_commit_parser_new(&sink, &state->parser, error));
    return kernels_blob_writer_new(request->repository, &state->blob, error);
}

kernels_status kernels_api_commit_receive(kernels_request *request, const void *data, size_t size,
                                          kernels_error *error) {
    commit_state *state = request->state;
    return kernels_commit_parser_feed(state->parser, data, size, error);
}

void kernels_api_commit_dispose(kernels_request *request) {
    commit_state *state = request->state;
    if (state != NULL) {
        kernels_commit_parser_free(state->parser);
        kernels_blob_writer_free(state->blob);
        kernels_free(state->changes);
        kernels_free(state);
    }
}

/* ---- commit: the end ---- */

static void write_committed(kernels_request *request, const kernels_commit_outcome *outcome,
                            kernels_response *response) {
    kernels_json_writer json;
    const char *page =
        kernels_arena_printf(request->arena, "%s/%s%.*s", kernels_request_base_url(request),
                             kernels_route_prefix(request->route.type), KERNELS_VIEW_ARGS(request->route.repository));
    page = page != NULL ? page : "";
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    kernels_json_member_boolean(&json, "success", true);
    kernels_json_member_text(&json, "commitOid", outcome->commit);
    kernels_json_member_text(&json, "commitUrl",
                             kernels_arena_printf(request->arena, "%s/commit/%s", page, outcome->commit));
    kernels_json_member_text(&json, "hookOutput", "");
    if (outcome->pull_request > 0) {
        kernels_json_member_text(
            &json, "pullRequestUrl",
            kernels_arena_printf(request->arena, "%s/discussions/%" PRIu64, page, outcome->pull_request));
        kernels_json_member_unsigned(&json, "prNum", outcome->pull_request);
    }
    kernels_json_end_object(&json);
}

kernels_status kernels_api_commit(kernels_request *request, kernels_response *response, kernels_error *error) {
    commit_state *state = request->state;
    kernels_commit_outcome outcome;
    char head[KERNELS_COMMIT_ID_SIZE];
    KERNELS_TRY(kernels_request_commit(request, response, head, error));
    KERNELS_TRY(kernels_commit_parser_finish(state->parser, error));
    const kernels_commit_request wanted = {
        .revision = request->route.revision,
        .create_pr = makes_pull_request(request),
        .changes = state->changes,
        .change_count = state->change_count,
        .message = state->message,
        .parent = state->parent,
        .author = request->account != NULL ? request->account->name : "anonymous",
    };
    KERNELS_TRY(kernels_repository_commit(request->repository, &wanted, &outcome, error));
    kernels_response_set_header(response, "X-Repo-Commit",
                                kernels_arena_copy_text(request->arena, kernels_view_of(outcome.commit)));
    write_committed(request, &outcome, response);
    return KERNELS_OK;
}
