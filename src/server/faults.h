/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that a test asks for. The file is a JSON list; the first fault whose path is a prefix of the request's path
 * (as sent, without the query) and whose method fits applies, `times` times:
 *
 *     [{"path": "/api/kernels/a/b/tree", "method": "GET", "times": 1, "status": 503, "delay_ms": 100,
 *       "truncate": 10, "drop": true, "headers": {"ETag": "W/\"x\"", "X-Repo-Commit": null}, "body": "text"}]
 */
#ifndef KERNELS_SRC_SERVER_FAULTS_H
#define KERNELS_SRC_SERVER_FAULTS_H

#include "server/response.h"

#define KERNELS_FAULTS_LIMIT 1000
#define KERNELS_FAULTS_FILE_LIMIT ((size_t)16 * 1024 * 1024)
#define KERNELS_FAULT_DELAY_LIMIT 600000

typedef struct kernels_faults kernels_faults;
typedef struct kernels_fault_rule kernels_fault_rule;

kernels_status kernels_faults_read(const char *path, kernels_faults **faults, kernels_error *error);
void kernels_faults_free(kernels_faults *faults); /* NULL allowed */

/* The fault of this request, counted as used, or NULL. faults may be NULL. Any thread. */
const kernels_fault_rule *kernels_faults_find(kernels_faults *faults, kernels_view method, kernels_view path);
/* true: the request is answered by the fault alone and does nothing else */
bool kernels_fault_replaces_answer(const kernels_fault_rule *rule);
void kernels_fault_apply(const kernels_fault_rule *rule, kernels_response *response);

#endif
