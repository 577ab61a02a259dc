/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the publisher of a kernel trusted? Only the Hub's answer counts. A positive one is remembered in the process, and
 * for a day in a file of the user (never in the shared cache, into which others may write); what the file says is good
 * enough for what is in the cache already, not for anything that has to be downloaded (hub.h). How a user who trusts
 * the publisher nevertheless can say so is not known here: whoever shows KERNELS_UNTRUSTED adds it.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/hub_private.h"
#include "hub/url.h"

/* How long a remembered answer counts, seconds. */
#define LIFETIME ((uint64_t)24 * 60 * 60)
#define RECORD_LIMIT ((size_t)8192)
#define RECORD_MODE 0600

static char *publisher_of(const char *repo_id) {
    kernels_view id = kernels_view_of(repo_id);
    kernels_view owner = kernels_view_slice(id, 0, kernels_view_find(id, '/'));
    return kernels_strndup(owner.data, owner.size);
}

/* ---- in the process ---- */

static bool is_known(const kernels_hub *hub, const char *publisher) {
    for (size_t i = 0; i < hub->trusted_publisher_count; i++) {
        if (strcmp(hub->trusted_publishers[i], publisher) == 0) {
            return true;
        }
    }
    return false;
}

static void keep_known(kernels_hub *hub, const char *publisher) {
    char *copy = hub->trusted_publisher_count < KERNELS_HUB_PUBLISHERS ? kernels_strdup(publisher) : NULL;
    if (copy) {
        hub->trusted_publishers[hub->trusted_publisher_count] = copy;
        hub->trusted_publisher_count++;
    }
}

/* ---- in the user's file: the endpoint that said so and when, a line each ---- */

/* A publisher's name is part of a checked repository id: letters, digits, "-", "_", ".". */
static char *record_path(const kernels_hub *hub, const char *publisher) {
    return kernels_path_join3(hub->config.state, "publishers", publisher);
}

static bool read_record(const char *path, kernels_view endpoint, uint64_t *when) {
    char *data = NULL;
    size_t size = 0;
    if (!kernels_file_is_regular(path) || kernels_file_read(path, RECORD_LIMIT, &data, &size, NULL) != KERNELS_OK) {
        return false;
    }
    kernels_view rest = {data, size};
    kernels_view line;
    bool read = kernels_view_split(&rest, '\n', &line) && kernels_view_equal(line, endpoint) &&
                kernels_view_split(&rest, '\n', &line) && kernels_view_to_u64(line, when);
    kernels_free(data);
    return read;
}

bool kernels_hub_remembers_publisher(const kernels_hub *hub, const char *repo_id) {
    uint64_t when = 0;
    uint64_t now = (uint64_t)time(NULL);
    if (kernels_hub_check_names(repo_id, NULL, NULL) != KERNELS_OK) {
        return false;
    }
    KERNELS_CLEANUP_FREE char *publisher = publisher_of(repo_id);
    KERNELS_CLEANUP_FREE char *path = publisher ? record_path(hub, publisher) : NULL;
    return path && (is_known(hub, publisher) || (read_record(path, kernels_view_of(hub->config.endpoint), &when) &&
                                                 when <= now && now - when < LIFETIME));
}

/* Best effort: without the record the next process asks again. */
static void write_record(const kernels_hub *hub, const char *publisher) {
    KERNELS_CLEANUP_FREE char *folder = kernels_path_join(hub->config.state, "publishers");
    KERNELS_CLEANUP_FREE char *path = record_path(hub, publisher);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(RECORD_LIMIT);
    kernels_buffer_printf(&text, "%s\n%" PRIu64 "\n", hub->config.endpoint, (uint64_t)time(NULL));
    if (folder && path && text.failure == KERNELS_OK && kernels_make_directories(folder, NULL) == KERNELS_OK) {
        (void)kernels_file_write(path, kernels_buffer_view(&text), RECORD_MODE, NULL);
    }
}

static void remove_record(const kernels_hub *hub, const char *publisher) {
    KERNELS_CLEANUP_FREE char *path = record_path(hub, publisher);
    if (path && kernels_file_is_regular(path)) {
        (void)kernels_remove_file(path, NULL);
    }
}

/* ---- asking ---- */

static kernels_status ask(kernels_hub *hub, const char *publisher, bool *trusted, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer url = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    kernels_buffer_printf(&url, "%s/api/organizations/", hub->config.endpoint);
    kernels_encode_percent(&url, kernels_view_of(publisher), false);
    kernels_buffer_add_text(&url, "/overview");
    KERNELS_TRY(kernels_buffer_status(&url, error));
    kernels_document document;
    KERNELS_TRY(kernels_hub_get_json(hub, kernels_buffer_text(&url), KERNELS_HUB_ANSWER_LIMIT, &document, NULL, error));
    const kernels_node *member = kernels_node_find(document.root, "trustedKernelPublisher");
    *trusted = kernels_node_is(member, KERNELS_NODE_BOOLEAN) && member->as.boolean;
    kernels_document_dispose(&document);
    return KERNELS_OK;
}

static kernels_status fail_unverified(kernels_status status, const char *publisher, const char *repo_id,
                                      kernels_error *error) {
    if (status == KERNELS_INTERRUPTED || status == KERNELS_NO_MEMORY || status == KERNELS_MISSING_DEPENDENCY) {
        return status;
    }
    kernels_wrap(error, status, "could not verify publisher trust status of '%s' for the kernel '%s'", publisher,
                 repo_id);
    if (error) {
        error->status = KERNELS_UNTRUSTED;
    }
    return KERNELS_UNTRUSTED;
}

kernels_status kernels_hub_check_publisher(kernels_hub *hub, const char *repo_id, kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, NULL, error));
    KERNELS_CLEANUP_FREE char *publisher = publisher_of(repo_id);
    if (!publisher) {
        return kernels_fail_no_memory(error);
    }
    if (is_known(hub, publisher)) {
        return KERNELS_OK;
    }
    bool trusted = false;
    kernels_status status = ask(hub, publisher, &trusted, error);
    if (status != KERNELS_OK) {
        return fail_unverified(status, publisher, repo_id, error);
    }
    if (!trusted) {
        remove_record(hub, publisher);
        return kernels_fail(error, KERNELS_UNTRUSTED, "the kernel '%s' is not from a trusted publisher", repo_id);
    }
    keep_known(hub, publisher);
    write_record(hub, publisher);
    return KERNELS_OK;
}
