/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room hub on a command line, for test_hub_*.py. TYPE is kernel or model.
 *
 *   refs TYPE REPO                      tree TYPE REPO REVISION [PATH]
 *   revision TYPE REPO REVISION         fetch TYPE REPO REVISION [PREFIX]
 *   snapshot TYPE REPO REVISION         versions REPO
 *   check TYPE REPO COMMIT VARIANT      publisher REPO            whoami
 *   create TYPE REPO                    branch TYPE REPO BRANCH
 *   commit TYPE REPO BRANCH MESSAGE [+PATH=FILE | -PATH]...    pr (as commit)
 *
 * The last line of stdout is "requests N". A failure is told on stderr: status name, HTTP status, the messages.
 * DRIVER_FAULT="POINT N" makes the N-th call at that fault point fail (exit 3 where faults are not compiled in).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/view.h"
#include "hub/hub.h"

#define OPERATION_COUNT 2048

typedef struct driver {
    kernels_hub *hub;
    kernels_repository_type type;
    int count;
    char **words; /* after TYPE */
    kernels_error error;
} driver;

static void print_refs(const char *kind, const kernels_ref *refs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        printf("%s %s %s %s\n", kind, refs[i].name, refs[i].ref, refs[i].commit);
    }
}

static kernels_status run_refs(driver *d) {
    kernels_refs refs;
    KERNELS_TRY(kernels_hub_refs(d->hub, d->type, d->words[0], true, &refs, &d->error));
    print_refs("branch", refs.branches, refs.branch_count);
    print_refs("tag", refs.tags, refs.tag_count);
    print_refs("pr", refs.pull_requests, refs.pull_request_count);
    kernels_refs_dispose(&refs);
    return KERNELS_OK;
}

static kernels_status run_tree(driver *d) {
    kernels_tree tree;
    const char *path = d->count > 2 ? d->words[2] : NULL;
    KERNELS_TRY(kernels_hub_tree(d->hub, d->type, d->words[0], d->words[1], path, true, &tree, &d->error));
    for (size_t i = 0; i < tree.count; i++) {
        const kernels_tree_entry *e = &tree.entries[i];
        printf("%s %s %" PRIu64 " %s %s\n", e->is_directory ? "directory" : "file", e->path, e->size,
               e->oid[0] ? e->oid : "-", e->lfs_sha256[0] ? e->lfs_sha256 : "-");
    }
    kernels_tree_dispose(&tree);
    return KERNELS_OK;
}

static kernels_status run_revision(driver *d) {
    char commit[65];
    KERNELS_TRY(kernels_hub_resolve_revision(d->hub, d->type, d->words[0], d->words[1], commit, &d->error));
    printf("%s\n", commit);
    return KERNELS_OK;
}

static kernels_status fetch_files(driver *d, const kernels_tree *tree, const char *commit) {
    const char *prefix = d->count > 2 ? d->words[2] : "";
    const kernels_tree_entry **files = kernels_calloc(tree->count + 1, sizeof(*files));
    if (!files) {
        return kernels_fail_no_memory(&d->error);
    }
    size_t count = 0;
    for (size_t i = 0; i < tree->count; i++) {
        if (!tree->entries[i].is_directory && strncmp(tree->entries[i].path, prefix, strlen(prefix)) == 0) {
            files[count] = &tree->entries[i];
            count++;
        }
    }
    char *snapshot = NULL;
    kernels_status status =
        kernels_hub_fetch(d->hub, d->type, d->words[0], commit, files, count, d->words[1], &snapshot, &d->error);
    if (status == KERNELS_OK) {
        printf("%s\n", snapshot);
    }
    kernels_free(snapshot);
    kernels_free(files);
    return status;
}

static kernels_status run_fetch(driver *d) {
    char commit[65];
    kernels_tree tree;
    KERNELS_TRY(kernels_hub_resolve_revision(d->hub, d->type, d->words[0], d->words[1], commit, &d->error));
    KERNELS_TRY(kernels_hub_tree(d->hub, d->type, d->words[0], commit, NULL, true, &tree, &d->error));
    kernels_status status = fetch_files(d, &tree, commit);
    kernels_tree_dispose(&tree);
    return status;
}

static kernels_status run_snapshot(driver *d) {
    char commit[65];
    char *snapshot = NULL;
    KERNELS_TRY(kernels_cache_snapshot(d->hub, d->type, d->words[0], d->words[1], commit, &snapshot, &d->error));
    printf("%s %s\n", commit, snapshot);
    kernels_free(snapshot);
    return KERNELS_OK;
}

static kernels_status run_versions(driver *d) {
    kernels_cached_version *versions = NULL;
    size_t count = 0;
    KERNELS_TRY(kernels_cache_versions(d->hub, d->words[0], &versions, &count, &d->error));
    for (size_t i = 0; i < count; i++) {
        printf("%" PRIu64 " %s\n", versions[i].version, versions[i].commit);
    }
    kernels_free(versions);
    return KERNELS_OK;
}

static kernels_status run_check(driver *d) {
    return kernels_cache_check_variant(d->hub, d->type, d->words[0], d->words[1], d->words[2], &d->error);
}

static kernels_status run_publisher(driver *d) { return kernels_hub_check_publisher(d->hub, d->words[0], &d->error); }

static kernels_status run_whoami(driver *d) {
    char *name = NULL;
    KERNELS_TRY(kernels_hub_whoami(d->hub, &name, &d->error));
    printf("%s\n", name);
    kernels_free(name);
    return KERNELS_OK;
}

static kernels_status run_create(driver *d) {
    char *id = NULL;
    KERNELS_TRY(kernels_hub_create_repository(d->hub, d->type, d->words[0], false, &id, &d->error));
    printf("%s\n", id);
    kernels_free(id);
    return KERNELS_OK;
}

static kernels_status run_branch(driver *d) {
    bool created = false;
    KERNELS_TRY(kernels_hub_create_branch(d->hub, d->type, d->words[0], d->words[1], &created, &d->error));
    printf("%s\n", created ? "created" : "exists");
    return KERNELS_OK;
}

static kernels_status commit(driver *d, bool create_pr) {
    static kernels_operation operations[OPERATION_COUNT];
    size_t count = 0;
    for (int i = 3; i < d->count && count < OPERATION_COUNT; i++) {
        char *word = d->words[i];
        char *equals = strchr(word, '=');
        kernels_operation *operation = &operations[count];
        operation->type = word[0] == '+' ? KERNELS_OPERATION_ADD : KERNELS_OPERATION_DELETE;
        operation->path = word + 1;
        if (equals) {
            *equals = '\0';
            operation->local_path = equals + 1;
        }
        count++;
    }
    kernels_commit_result result;
    KERNELS_TRY(kernels_hub_commit(d->hub, d->type, d->words[0], d->words[1], operations, count, d->words[2], create_pr,
                                   &result, &d->error));
    printf("commit %s added %zu deleted %zu unchanged %zu pr %" PRIu64 " %s\n", result.commit[0] ? result.commit : "-",
           result.added, result.deleted, result.unchanged, result.pull_request,
           result.pull_request_url ? result.pull_request_url : "-");
    kernels_commit_result_dispose(&result);
    return KERNELS_OK;
}

static kernels_status run_commit(driver *d) { return commit(d, false); }

static kernels_status run_pr(driver *d) { return commit(d, true); }

static const struct {
    const char *name;
    bool has_type;
    int words;
    kernels_status (*run)(driver *d);
} commands[] = {
    {"refs", true, 1, run_refs},
    {"tree", true, 2, run_tree},
    {"revision", true, 2, run_revision},
    {"fetch", true, 2, run_fetch},
    {"snapshot", true, 2, run_snapshot},
    {"versions", false, 1, run_versions},
    {"check", true, 3, run_check},
    {"publisher", false, 1, run_publisher},
    {"whoami", false, 0, run_whoami},
    {"create", true, 1, run_create},
    {"branch", true, 2, run_branch},
    {"commit", true, 3, run_commit},
    {"pr", true, 3, run_pr},
};

static void print_log(void *payload, kernels_log_level level, const char *message) {
    static const char *const names[] = {"debug", "info", "warning"};
    (void)payload;
    fprintf(stderr, "%s: %s\n", names[level], message);
}

static void print_progress(void *payload, const char *file, uint64_t done, uint64_t total) {
    (void)payload;
    fprintf(stderr, "progress: %s %" PRIu64 "/%" PRIu64 "\n", file ? file : "all", done, total);
}

static int run_command(driver *d, size_t index, int argc, char **argv) {
    int skip = commands[index].has_type ? 3 : 2;
    if (argc - skip < commands[index].words) {
        return 2;
    }
    d->type = commands[index].has_type && strcmp(argv[2], "model") == 0 ? KERNELS_REPOSITORY_MODEL
                                                                        : KERNELS_REPOSITORY_KERNEL;
    d->count = argc - skip;
    d->words = argv + skip;
    const kernels_hub_options options = {
        .log = print_log, .progress = getenv("DRIVER_PROGRESS") ? print_progress : NULL, .user_agent = "driver/1"};
    kernels_status status = kernels_hub_new(&options, &d->hub, &d->error);
    if (status == KERNELS_OK) {
        status = commands[index].run(d);
        printf("requests %" PRIu64 "\n", kernels_hub_request_count(d->hub));
    }
    if (status != KERNELS_OK) {
        fprintf(stderr, "failure: %s %d", kernels_status_name(status), d->error.http_status);
        for (const kernels_error *e = &d->error; e; e = e->cause) {
            fprintf(stderr, ": %s", kernels_error_message(e));
        }
        fprintf(stderr, "\n");
    }
    kernels_hub_free(d->hub);
    kernels_error_dispose(&d->error);
    return status == KERNELS_OK ? 0 : 1;
}

/* false: asked for, but not possible in this build. */
static bool arm_fault(void) {
    const char *text = getenv("DRIVER_FAULT");
#ifdef KERNELS_FAULTS
    static const char *const points[] = {"allocate", "open", "write", "sync", "rename"};
    for (size_t i = 0; text && i < sizeof(points) / sizeof(points[0]); i++) {
        kernels_view rest = kernels_view_of(text);
        uint64_t countdown = 0;
        if (kernels_view_starts_with(rest, kernels_view_of(points[i])) &&
            kernels_view_to_u64(kernels_view_slice(rest, strlen(points[i]) + 1, rest.size), &countdown)) {
            kernels_fault_arm((kernels_fault_point)i, countdown);
        }
    }
    return true;
#else
    return !text;
#endif
}

int main(int argc, char **argv) {
    driver d = {.error = KERNELS_ERROR_INIT};
    if (!arm_fault()) {
        return 3;
    }
    for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, argv[1]) == 0) {
            return run_command(&d, i, argc, argv);
        }
    }
    fprintf(stderr, "usage: hub-driver COMMAND ...\n");
    return 2;
}
