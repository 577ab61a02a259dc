/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share about a kernels_hub. */
#ifndef KERNELS_SRC_HUB_HUB_PRIVATE_H
#define KERNELS_SRC_HUB_HUB_PRIVATE_H

#include "base/document.h"
#include "hub/config.h"
#include "hub/http.h"
#include "hub/hub.h"

/* Publishers found trusted: asked once each. */
#define KERNELS_HUB_PUBLISHERS 256

struct kernels_hub {
    kernels_hub_config config;
    char *token; /* NULL = none */
    char *user_agent;
    kernels_http *http;
    kernels_progress_function *progress;
    kernels_log_function *log;
    void *payload;
    char *trusted_publishers[KERNELS_HUB_PUBLISHERS];
    size_t trusted_publisher_count;
    bool cache_is_guarded;                 /* kernels_cache_guard has spoken */
    uint64_t fetched_files, fetched_bytes; /* downloads that ended well */
};

void kernels_hub_log(const kernels_hub *hub, kernels_log_level level, const char *format, ...) KERNELS_PRINTF(3, 4);

/* Bounds on answers in JSON: a page of an API that lists, and everything else. */
#define KERNELS_HUB_PAGE_LIMIT ((size_t)16 * 1024 * 1024)
#define KERNELS_HUB_ANSWER_LIMIT ((size_t)1024 * 1024)

/* GETs url and parses the answer. `next` (may be NULL) receives the URL of the next page, heap text or NULL. */
kernels_status kernels_hub_get_json(kernels_hub *hub, const char *url, size_t limit, kernels_document *document,
                                    char **next, kernels_error *error);
/* POSTs a JSON text and parses the answer. */
kernels_status kernels_hub_post_json(kernels_hub *hub, const char *url, kernels_view text, bool repeatable,
                                     kernels_document *document, kernels_error *error);

/* Repository id and revision (may be NULL) are usable. */
kernels_status kernels_hub_check_names(const char *repo_id, const char *revision, kernels_error *error);

/* A required text member; KERNELS_SCHEMA naming `what` when it is not there. */
kernels_status kernels_hub_text_member(const kernels_node *node, const char *key, const char *what, kernels_view *text,
                                       kernels_error *error);
/* A required commit: 40 or 64 lower-case hex digits. */
kernels_status kernels_hub_commit_member(const kernels_node *node, const char *key, const char *what, char commit[65],
                                         kernels_error *error);

#endif
