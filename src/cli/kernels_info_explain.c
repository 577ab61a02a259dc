/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kernels_info_explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "cli/kernels_info_system.h"
#include "cli/published.h"
#include "load/versions.h"
#include "resolve/explain.h"
#include "resolve/system_json.h"

/* Most other versions that are looked at, the newest; each costs a request. */
#define VERSIONS_MAX ((size_t)50)
/* Names longer than this do not widen the column for all. */
#define NAME_COLUMN 40

/* ---- gathering ---- */

static kernels_status resolve(const kernels_explanation *explanation, kernels_context *context,
                              const kernels_candidates *candidates, kernels_decisions *decisions,
                              kernels_error *error) {
    const kernels_choice_options as_python = {0};
    return kernels_candidates_resolve(context, candidates, &explanation->system, &as_python, NULL, decisions, error);
}

/* What of one version fits. That it is not in the cache does not stop the others. */
static kernels_status look_at(const kernels_explain_request *request, kernels_explanation *explanation,
                              kernels_explained_version *version, kernels_error *error) {
    kernels_published published = {0};
    kernels_decisions decisions = {0};
    kernels_error failure = KERNELS_ERROR_INIT;
    kernels_status status =
        kernels_published_open(request->context, request->repo_id, version->commit, false, &published, &failure);
    if (status == KERNELS_NOT_CACHED) {
        version->note = "not cached";
        kernels_error_dispose(&failure);
        return KERNELS_OK;
    }
    if (status == KERNELS_OK) {
        status = resolve(explanation, request->context, &published.candidates, &decisions, &failure);
    }
    if (status == KERNELS_OK && decisions.accepted_count > 0) {
        version->variant =
            kernels_arena_copy_text(explanation->arena, kernels_view_of(decisions.items[0].variant.name));
        status = version->variant != NULL ? KERNELS_OK : kernels_fail_no_memory(&failure);
    }
    kernels_decisions_dispose(&decisions);
    kernels_published_dispose(&published);
    kernels_error_move(error, &failure);
    return status;
}

static kernels_status add_versions(const kernels_explain_request *request, const kernels_versions *versions,
                                   kernels_explanation *explanation, kernels_error *error) {
    explanation->versions = kernels_arena_array(explanation->arena, versions->count + 1, sizeof *explanation->versions);
    if (explanation->versions == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = versions->count; i-- > 0;) {
        const kernels_cached_version *from = &versions->items[i];
        if (strcmp(from->commit, request->commit) == 0) {
            continue;
        }
        if (explanation->version_count == VERSIONS_MAX) {
            explanation->versions_left_out++;
            continue;
        }
        kernels_explained_version *to = &explanation->versions[explanation->version_count++];
        to->version = from->version;
        memcpy(to->commit, from->commit, sizeof to->commit);
        KERNELS_TRY(look_at(request, explanation, to, error));
    }
    return KERNELS_OK;
}

static kernels_status find_versions(const kernels_explain_request *request, kernels_explanation *explanation,
                                    kernels_error *error) {
    kernels_versions versions = {0};
    if (request->repo_id == NULL) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_versions_list(request->context, request->repo_id, &versions, error));
    kernels_status status = add_versions(request, &versions, explanation, error);
    kernels_versions_dispose(&versions);
    return status;
}

kernels_status kernels_explain(const kernels_explain_request *request, kernels_explanation *explanation,
                               kernels_error *error) {
    *explanation = (kernels_explanation){.system_file = request->system_file, .commit = request->commit};
    KERNELS_TRY(kernels_system_select_backend(kernels_context_system(request->context), request->backend,
                                              &explanation->system, error));
    if (request->backend != NULL) {
        (void)snprintf(explanation->system.backend_reason, sizeof explanation->system.backend_reason,
                       "asked for with --backend; detected is %s",
                       kernels_backend_name(kernels_context_system(request->context)->backend));
    }
    explanation->arena = kernels_arena_new(0);
    if (explanation->arena == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = resolve(explanation, request->context, request->candidates, &explanation->decisions, error);
    if (status == KERNELS_OK) {
        status = find_versions(request, explanation, error);
    }
    if (status != KERNELS_OK) {
        kernels_explanation_dispose(explanation);
    }
    return status;
}

void kernels_explanation_dispose(kernels_explanation *explanation) {
    kernels_decisions_dispose(&explanation->decisions);
    kernels_arena_free(explanation->arena);
    *explanation = (kernels_explanation){0};
}

/* ---- for people ---- */

static const char *machine_name(const kernels_explanation *explanation) {
    return explanation->system_file != NULL ? explanation->system_file : "this machine";
}

/* Why the chosen one stands before the next that fits. */
static const char *reason_for_first(const kernels_explanation *explanation) {
    const kernels_decisions *decisions = &explanation->decisions;
    return decisions->accepted_count > 1
               ? kernels_explain_order(&decisions->items[0].variant, &decisions->items[1].variant)
               : "it is the only one that fits";
}

static void print_choice(const kernels_explanation *explanation, kernels_buffer *out) {
    const kernels_decisions *decisions = &explanation->decisions;
    if (decisions->accepted_count == 0) {
        kernels_buffer_printf(out, "\nNo variant fits %s.\n", machine_name(explanation));
        return;
    }
    kernels_buffer_printf(out, "\nChosen for %s: %s\n  %s\n", machine_name(explanation),
                          decisions->items[0].variant.name, reason_for_first(explanation));
}

static int name_width(const kernels_decisions *decisions) {
    size_t width = 0;
    for (size_t i = 0; i < decisions->count; i++) {
        size_t length = strlen(decisions->items[i].variant.name);
        width = length > width && length <= NAME_COLUMN ? length : width;
    }
    return (int)width;
}

static void print_decisions(const kernels_explanation *explanation, kernels_buffer *out) {
    const kernels_decisions *decisions = &explanation->decisions;
    int width = name_width(decisions);
    kernels_buffer_add_text(out, "\nVariants, the best first:\n");
    for (size_t i = 0; i < decisions->count; i++) {
        const kernels_decision *decision = &decisions->items[i];
        kernels_buffer_printf(out, "  %-*s  ", width, decision->variant.name);
        if (decision->accepted) {
            kernels_buffer_add_text(out, "fits: ");
            kernels_explain_fit(&explanation->system, &decision->variant, out);
        } else {
            kernels_buffer_add_text(out, decision->reason);
        }
        kernels_buffer_add_char(out, '\n');
    }
}

static void print_versions(const kernels_explanation *explanation, kernels_buffer *out) {
    if (explanation->version_count == 0) {
        return;
    }
    kernels_buffer_add_text(out, "\nOther versions:\n");
    for (size_t i = 0; i < explanation->version_count; i++) {
        const kernels_explained_version *version = &explanation->versions[i];
        const char *nothing = version->note != NULL ? version->note : "nothing fits";
        kernels_buffer_printf(out, "  %" PRIu64 "  %s\n", version->version,
                              version->variant != NULL ? version->variant : nothing);
    }
    if (explanation->versions_left_out > 0) {
        kernels_buffer_printf(out, "  and %zu older ones, not looked at\n", explanation->versions_left_out);
    }
}

void kernels_explanation_print(const kernels_explanation *explanation, kernels_buffer *out) {
    print_choice(explanation, out);
    print_decisions(explanation, out);
    print_versions(explanation, out);
    kernels_buffer_printf(out, "\n%s:\n", explanation->system_file != NULL ? explanation->system_file : "This machine");
    kernels_info_print_facts(&explanation->system, "  ", out);
}

/* ---- for programs ---- */

static void write_decision(kernels_json_writer *writer, const kernels_explanation *explanation, size_t index) {
    const kernels_decision *decision = &explanation->decisions.items[index];
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer fits = KERNELS_BUFFER_INIT(4096);
    if (decision->accepted) {
        kernels_explain_fit(&explanation->system, &decision->variant, &fits);
    }
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "name", decision->variant.name);
    kernels_json_member_boolean(writer, "compatible", decision->accepted);
    kernels_json_member_boolean(writer, "preferred", decision->accepted && index == 0);
    kernels_json_member_text(writer, "reason", decision->reason);
    kernels_json_member_text(writer, "fits", decision->accepted ? kernels_buffer_text(&fits) : NULL);
    kernels_json_end_object(writer);
}

static void write_version(kernels_json_writer *writer, const kernels_explained_version *version) {
    kernels_json_begin_object(writer);
    kernels_json_member_unsigned(writer, "version", version->version);
    kernels_json_member_text(writer, "commit", version->commit);
    kernels_json_member_text(writer, "variant", version->variant);
    kernels_json_member_text(writer, "note", version->note);
    kernels_json_end_object(writer);
}

void kernels_explanation_write(const kernels_explanation *explanation, kernels_json_writer *writer) {
    const kernels_decisions *decisions = &explanation->decisions;
    bool any = decisions->accepted_count > 0;
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "commit", explanation->commit);
    kernels_json_member_text(writer, "chosen", any ? decisions->items[0].variant.name : NULL);
    kernels_json_member_text(writer, "because", any ? reason_for_first(explanation) : NULL);
    kernels_json_key(writer, "variants");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < decisions->count; i++) {
        write_decision(writer, explanation, i);
    }
    kernels_json_end_array(writer);
    kernels_json_key(writer, "other_versions");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < explanation->version_count; i++) {
        write_version(writer, &explanation->versions[i]);
    }
    kernels_json_end_array(writer);
    kernels_json_key(writer, "system");
    kernels_system_write(writer, &explanation->system);
    kernels_json_end_object(writer);
}
