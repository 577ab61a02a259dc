/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side of tpu_jobs.h. Only for a process of its own: it sets the process's alarm. */
#ifndef KERNELS_SRC_BUILD_TPU_WORKER_H
#define KERNELS_SRC_BUILD_TPU_WORKER_H

#include "kernels/base.h"

#define KERNELS_TPU_WORKER_REQUEST_LIMIT ((size_t)64 * 1024 * 1024)

/*
 * request: {"plugin": file, "timeout": seconds, "jobs": [{"program", "topology"} or
 * {"program", "rtol", "atol", "inputs": [{"shape", "file"}], "outputs": [...]}]}.
 * emit gets one line without newline at a time: {"begin": index}, then
 * {"end": index, "passed": bool, "message"?, "seconds", "stats"? or "difference"?}.
 * A job that takes longer than the timeout ends the process with SIGALRM.
 */
kernels_status kernels_tpu_worker_run(kernels_view request, void (*emit)(void *payload, kernels_view line),
                                      void *payload, kernels_error *error);

#endif
