/* SPDX-License-Identifier: Apache-2.0 */
#include "build/publish.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "build/publish_plan.h"
#include "build/report.h"

#define TEXT_LIMIT ((size_t)1024 * 1024)
#define COMMIT_MESSAGE "Uploaded using `kernel-builder`."
#define APPROVAL_PAGE "https://huggingface.co/spaces/kernels-community/README/discussions/new"

typedef struct publisher {
    kernels_hub *hub;
    const kernels_publish_options *options;
    kernels_publish_result *result;
    kernels_error *error;
    char *kernel_dir; /* resolved */
    kernels_built built;
    bool is_new;       /* the branch was not there */
    kernels_tree tree; /* of the branch, or of main that it comes from */
    kernels_publish_plan plan;
} publisher;

static void note(const publisher *run, const char *format, ...) KERNELS_PRINTF(2, 3);
static void note(const publisher *run, const char *format, ...) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    va_list arguments;
    va_start(arguments, format);
    kernels_buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (run->options->note) {
        run->options->note(run->options->payload, kernels_buffer_text(&text));
    }
}

static void warn(const publisher *run, const char *heading, const kernels_buffer *list) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    if (list->size && run->options->warning) {
        kernels_buffer_printf(&text, "%s%s", heading, kernels_buffer_text(list));
        run->options->warning(run->options->payload, kernels_buffer_text(&text));
    }
}

/* ---- what is here ---- */

static void add_name(kernels_buffer *list, const char *name) {
    kernels_buffer_printf(list, "%s%s", list->size ? ", " : "", name);
}

/* Files that cannot be read are told of later. */
static bool fits_digest(const char *folder, const kernels_variant_digest *digest) {
    kernels_variant_digest found = {0};
    if (kernels_digest_hash_variant(digest->algorithm, folder, &found, NULL)) {
        return true;
    }
    bool fits = kernels_digest_validate(digest, &found, NULL, NULL) == KERNELS_OK;
    kernels_variant_digest_dispose(&found);
    return fits;
}

/* Variants whose sources were not clean, and those without a digest or with that of other files. Unreadable metadata is
 * no matter here. */
static void warn_variants(const publisher *run) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer dirty = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer bare = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer changed = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer reasons = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    for (size_t i = 0; i < run->built.count; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(run->built.variants[i].path, "metadata.json");
        kernels_metadata metadata;
        if (!path || kernels_metadata_read(path, &metadata, NULL)) {
            continue;
        }
        if (metadata.provenance.builder.dirty || metadata.provenance.kernel.dirty) {
            add_name(&dirty, run->built.variants[i].name);
        }
        if (!metadata.has_digest) {
            add_name(&bare, run->built.variants[i].name);
        } else if (!fits_digest(run->built.variants[i].path, &metadata.digest)) {
            add_name(&changed, run->built.variants[i].name);
        }
        kernels_metadata_dispose(&metadata);
    }
    warn(run, "built from sources that differ from their commit: ", &dirty);
    warn(run, "without a digest (kernel-builder hash makes one), so that loaders cannot verify the files: ", &bare);
    warn(run, "changed after they were built, so that loaders will refuse them (build again, or kernel-builder hash): ",
         &changed);
    if (kernels_report_read_reasons(run->built.directory, &reasons)) {
        while (reasons.size && reasons.data[reasons.size - 1] == '\n') {
            reasons.data[--reasons.size] = '\0';
        }
        warn(run, "the build's report says that this is not fit for publishing:\n", &reasons);
    }
}

static kernels_status set_text(char **target, const char *text, kernels_error *error) {
    kernels_free(*target);
    *target = kernels_strdup(text);
    return *target ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* "v3" from the variants, which must agree. */
static kernels_status branch_of_version(publisher *run) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer name = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    uint64_t version = 0;
    for (size_t i = 0; i < run->built.count; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(run->built.variants[i].path, "metadata.json");
        kernels_metadata metadata;
        KERNELS_TRY(path ? kernels_metadata_read(path, &metadata, run->error) : kernels_fail_no_memory(run->error));
        uint64_t own = metadata.version;
        kernels_metadata_dispose(&metadata);
        if (i > 0 && own != version) {
            return kernels_fail(run->error, KERNELS_SCHEMA,
                                "the variants are of different versions: %s is of %llu, %s of %llu; build them again "
                                "or choose a branch with --branch",
                                run->built.variants[0].name, (unsigned long long)version, run->built.variants[i].name,
                                (unsigned long long)own);
        }
        version = own;
    }
    kernels_buffer_printf(&name, "v%llu", (unsigned long long)version);
    KERNELS_TRY(kernels_buffer_status(&name, run->error));
    return set_text(&run->result->branch, kernels_buffer_text(&name), run->error);
}

static kernels_status choose_from_build(publisher *run, const kernels_build *build) {
    if (!run->result->repo_id && build->hub_repo_id) {
        KERNELS_TRY(set_text(&run->result->repo_id, build->hub_repo_id, run->error));
    }
    if (!run->result->branch && build->hub_branch) {
        KERNELS_TRY(set_text(&run->result->branch, build->hub_branch, run->error));
    }
    return KERNELS_OK;
}

/* With --repo-id a build.toml that is missing or broken does not matter. */
static kernels_status choose_target(publisher *run) {
    kernels_build build;
    if (run->options->repo_id) {
        KERNELS_TRY(set_text(&run->result->repo_id, run->options->repo_id, run->error));
    }
    if (run->options->branch) {
        KERNELS_TRY(set_text(&run->result->branch, run->options->branch, run->error));
    }
    kernels_status status = kernels_build_read(run->kernel_dir, &build, NULL, run->error);
    if (!status) {
        status = choose_from_build(run, &build);
        kernels_build_dispose(&build);
        KERNELS_TRY(status);
    } else if (!run->result->repo_id) {
        return kernels_wrap(run->error, status, "the repository is unknown: give it with --repo-id");
    } else {
        kernels_error_dispose(run->error);
    }
    if (!run->result->repo_id) {
        return kernels_fail(run->error, KERNELS_NOT_FOUND,
                            "the repository is unknown: set general.hub.repo-id in build.toml or give --repo-id");
    }
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(run->result->repo_id), run->error));
    return run->result->branch ? KERNELS_OK : branch_of_version(run);
}

/* ---- what is on the Hub ---- */

/* The Hub may refuse to make a kernel repository for a user who is known to it: that needs an approval. */
static kernels_status explain_forbidden(publisher *run) {
    char *user = NULL;
    if (kernels_hub_whoami(run->hub, &user, NULL)) {
        return KERNELS_FORBIDDEN;
    }
    kernels_string_free(user);
    return kernels_wrap(run->error, KERNELS_FORBIDDEN,
                        "you have no permission to publish %s. Publishing kernels needs an approval; ask for it at\n"
                        "  " APPROVAL_PAGE "\n"
                        "and include: the confirmation that the kernel builds, the URI of its source, its purpose, "
                        "Benchmark numbers",
                        run->result->repo_id);
}

static kernels_status create_repository(publisher *run) {
    char *own_spelling = NULL;
    if (run->options->create_pr || run->options->dry_run) {
        return KERNELS_OK;
    }
    kernels_status status = kernels_hub_create_repository(run->hub, run->options->type, run->result->repo_id,
                                                          run->options->is_private, &own_spelling, run->error);
    if (status == KERNELS_FORBIDDEN) {
        return explain_forbidden(run);
    }
    if (!status && own_spelling && *own_spelling) {
        status = set_text(&run->result->repo_id, own_spelling, run->error);
    }
    kernels_string_free(own_spelling);
    return status;
}

static kernels_status has_branch(publisher *run, bool *found) {
    kernels_refs refs;
    *found = false;
    kernels_status status =
        kernels_hub_refs(run->hub, run->options->type, run->result->repo_id, false, &refs, run->error);
    if (status == KERNELS_REPOSITORY_NOT_FOUND && run->options->dry_run) {
        return KERNELS_OK;
    }
    KERNELS_TRY(status);
    for (size_t i = 0; i < refs.branch_count; i++) {
        *found |= strcmp(refs.branches[i].name, run->result->branch) == 0;
    }
    kernels_refs_dispose(&refs);
    return KERNELS_OK;
}

static kernels_status provide_branch(publisher *run) {
    bool found = false, created = false;
    KERNELS_TRY(has_branch(run, &found));
    run->is_new = !found;
    if (!found && !run->options->dry_run) {
        kernels_status status = kernels_hub_create_branch(run->hub, run->options->type, run->result->repo_id,
                                                          run->result->branch, &created, run->error);
        if (status && run->options->create_pr) {
            return kernels_wrap(run->error, status,
                                "a pull request needs its branch: ask a maintainer of %s to make %s first",
                                run->result->repo_id, run->result->branch);
        }
        KERNELS_TRY(status);
    }
    note(run, "Using branch `%s`%s", run->result->branch, run->is_new ? " (new)" : "");
    return KERNELS_OK;
}

/* Only "not there" counts as an empty tree. */
static kernels_status read_tree(publisher *run, const char *revision, kernels_tree *tree) {
    *tree = (kernels_tree){0};
    kernels_status status =
        kernels_hub_tree(run->hub, run->options->type, run->result->repo_id, revision, "", true, tree, run->error);
    if (status == KERNELS_ENTRY_NOT_FOUND || status == KERNELS_REVISION_NOT_FOUND ||
        (status == KERNELS_REPOSITORY_NOT_FOUND && run->options->dry_run)) {
        kernels_error_dispose(run->error);
        return KERNELS_OK;
    }
    return status;
}

/* ---- the plan ---- */

static kernels_status make_plan(publisher *run, const char **remote) {
    size_t count = 0;
    for (size_t i = 0; i < run->tree.count; i++) {
        if (!run->tree.entries[i].is_directory) {
            remote[count++] = run->tree.entries[i].path;
        }
    }
    kernels_publish_input input = {run->kernel_dir, &run->built, run->result->branch, run->is_new, remote, count};
    return kernels_publish_plan_make(&input, &run->plan, run->error);
}

static kernels_status drop_unchanged(publisher *run) {
    kernels_tree main_tree = {0};
    KERNELS_TRY(kernels_publish_plan_drop_unchanged(&run->plan, run->result->branch, &run->tree, run->error));
    if (run->plan.count < 2) {
        return KERNELS_OK;
    }
    KERNELS_TRY(read_tree(run, "main", &main_tree));
    kernels_status status = kernels_publish_plan_drop_unchanged(&run->plan, "main", &main_tree, run->error);
    kernels_tree_dispose(&main_tree);
    return status;
}

static kernels_status plan_changes(publisher *run) {
    bool exists_in_main = run->is_new && run->options->dry_run;
    KERNELS_TRY(read_tree(run, exists_in_main ? "main" : run->result->branch, &run->tree));
    const char **remote = kernels_calloc(run->tree.count + 1, sizeof *remote);
    kernels_status status = remote ? make_plan(run, remote) : kernels_fail_no_memory(run->error);
    kernels_free(remote);
    return status ? status : drop_unchanged(run);
}

/* Refuses what cannot be uploaded before the Hub is asked for anything. */
static kernels_status check_files(publisher *run) {
    kernels_publish_plan plan;
    kernels_publish_input input = {run->kernel_dir, &run->built, run->result->branch, true, NULL, 0};
    KERNELS_TRY(kernels_publish_plan_make(&input, &plan, run->error));
    kernels_publish_plan_dispose(&plan);
    return KERNELS_OK;
}

static kernels_status print_plan(publisher *run) {
    kernels_buffer *out = &run->result->plan;
    for (size_t i = 0; i < run->plan.count; i++) {
        const kernels_publish_branch *branch = &run->plan.branches[i];
        if (branch->count) {
            bool is_new = run->is_new && strcmp(branch->name, run->result->branch) == 0;
            kernels_buffer_printf(out, "%s branch %s%s:\n", run->result->repo_id, branch->name, is_new ? " (new)" : "");
        }
        for (size_t j = 0; j < branch->count; j++) {
            bool is_add = branch->operations[j].type == KERNELS_OPERATION_ADD;
            kernels_buffer_printf(out, "  %s %s\n", is_add ? "add   " : "delete", branch->operations[j].path);
        }
    }
    return kernels_buffer_status(out, run->error);
}

/* ---- commits ---- */

static kernels_status commit_branch(publisher *run, const kernels_publish_branch *branch) {
    kernels_commit_result done;
    KERNELS_TRY(kernels_hub_commit(run->hub, run->options->type, run->result->repo_id, branch->name, branch->operations,
                                   branch->count, COMMIT_MESSAGE, run->options->create_pr, &done, run->error));
    kernels_status status = KERNELS_OK;
    if (done.commit[0]) {
        run->result->commits++;
        note(run, "%s: %zu added, %zu deleted, %zu unchanged", branch->name, done.added, done.deleted,
             done.unchanged + branch->unchanged);
    }
    if (done.commit[0] && done.pull_request_url) {
        kernels_pull_request *request = &run->result->pull_requests[run->result->pull_request_count++];
        status = set_text(&request->branch, branch->name, run->error);
        status = status ? status : set_text(&request->url, done.pull_request_url, run->error);
    }
    kernels_commit_result_dispose(&done);
    return status;
}

static kernels_status commit_all(publisher *run) {
    for (size_t i = 0; i < run->plan.count; i++) {
        if (run->plan.branches[i].count) {
            KERNELS_TRY(commit_branch(run, &run->plan.branches[i]));
        }
    }
    return KERNELS_OK;
}

static kernels_status write_url(publisher *run) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer url = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    bool is_kernel = run->options->type == KERNELS_REPOSITORY_KERNEL;
    kernels_buffer_printf(&url, "%s/%s%s/tree/%s", kernels_hub_web_address(run->hub), is_kernel ? "kernels/" : "",
                          run->result->repo_id, run->result->branch);
    KERNELS_TRY(kernels_buffer_status(&url, run->error));
    return set_text(&run->result->url, kernels_buffer_text(&url), run->error);
}

/* ---- the whole ---- */

static kernels_status publish(publisher *run) {
    run->kernel_dir = kernels_path_resolve(run->options->kernel_dir);
    if (!run->kernel_dir) {
        return kernels_fail(run->error, KERNELS_FILE_NOT_FOUND, "%s is not a directory", run->options->kernel_dir);
    }
    KERNELS_TRY(kernels_built_find(run->kernel_dir, &run->built, run->error));
    note(run, "Found %zu variant%s in %s", run->built.count, run->built.count == 1 ? "" : "s", run->built.directory);
    warn_variants(run);
    KERNELS_TRY(choose_target(run));
    KERNELS_TRY(check_files(run));
    KERNELS_TRY(create_repository(run));
    KERNELS_TRY(write_url(run));
    KERNELS_TRY(provide_branch(run));
    KERNELS_TRY(plan_changes(run));
    return run->options->dry_run ? print_plan(run) : commit_all(run);
}

kernels_status kernels_publish(kernels_hub *hub, const kernels_publish_options *options, kernels_publish_result *result,
                               kernels_error *error) {
    kernels_error own = KERNELS_ERROR_INIT;
    *result = (kernels_publish_result){.plan = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT)};
    publisher run = {.hub = hub, .options = options, .result = result, .error = &own};
    kernels_status status = publish(&run);
    kernels_publish_plan_dispose(&run.plan);
    kernels_tree_dispose(&run.tree);
    kernels_built_dispose(&run.built);
    kernels_free(run.kernel_dir);
    if (status) {
        kernels_error_move(error, &own);
        kernels_publish_result_dispose(result);
    }
    kernels_error_dispose(&own); /* what steps that may fail left: a tree that is not there */
    return status;
}

void kernels_publish_result_dispose(kernels_publish_result *result) {
    for (size_t i = 0; i < result->pull_request_count; i++) {
        kernels_free(result->pull_requests[i].branch);
        kernels_free(result->pull_requests[i].url);
    }
    kernels_free(result->repo_id);
    kernels_free(result->branch);
    kernels_free(result->url);
    kernels_buffer_dispose(&result->plan);
    *result = (kernels_publish_result){0};
}
