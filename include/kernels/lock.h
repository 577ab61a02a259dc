/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels/lock.h - which commits a project uses: from the dependencies in its pyproject.toml to its kernels.lock.
 *
 *     kernels_project_dependencies wanted = {0};
 *     kernels_locks locks = {0};
 *     char *text;
 *     if (kernels_project_dependencies_read("my-project", &wanted, &error)) ...
 *     if (kernels_lock_dependencies(context, wanted.items, wanted.count, &locks, &error)) ...
 *     if (kernels_locks_print(&locks, &text, &error)) ...
 *
 * Lock files themselves are read and written by kernels/data.h. Nothing here runs a kernel.
 *
 * Since 0.1.
 */
#ifndef KERNELS_LOCK_H
#define KERNELS_LOCK_H

#include "kernels/base.h"
#include "kernels/data.h"
#include "kernels/load.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What [tool.kernels.dependencies] of a pyproject.toml asks for: repository ids and their versions. */
typedef struct kernels_project_dependencies {
    const kernels_dependency *items; /* in the order of the file, each repository once */
    size_t count;
    void *owner; /* private; frees everything */
} kernels_project_dependencies;

/* Most bytes of a pyproject.toml. */
#define KERNELS_PROJECT_SIZE_LIMIT ((size_t)4 * 1024 * 1024)

/* Reads <project_dir>/pyproject.toml. An empty table gives count 0; a missing one is KERNELS_SCHEMA. Errors are
 * "<file>:<line>:<column>: ...". */
KERNELS_API kernels_status kernels_project_dependencies_read(const char *project_dir,
                                                             kernels_project_dependencies *dependencies,
                                                             kernels_error *error);
KERNELS_API void kernels_project_dependencies_dispose(kernels_project_dependencies *dependencies);

/* Most kernels of one lock, and how deep their dependencies may go. */
#define KERNELS_LOCK_KERNELS_MAX ((size_t)1000)
#define KERNELS_LOCK_DEPTH_MAX ((size_t)64)

/*
 * The commits of these kernels and of all that any of their build variants depends on: what is locked does not depend
 * on this machine. A revision is resolved to the commit that it names now and stays the key.
 *
 * Asks the Hub; offline it is KERNELS_OFFLINE. A publisher that is not trusted is KERNELS_UNTRUSTED (there is no way
 * around it), a kernel that depends on itself KERNELS_SCHEMA ("Cyclic kernel dependency detected"), count 0
 * KERNELS_INVALID_ARGUMENT. A variant without metadata.json is passed over with a warning; one whose metadata.json
 * cannot be read is an error.
 */
KERNELS_API kernels_status kernels_lock_dependencies(kernels_context *context, const kernels_dependency *dependencies,
                                                     size_t count, kernels_locks *locks, kernels_error *error);

/* The text of a kernels.lock as releases before 0.17 wrote it: these kernels alone, in the order given, with the hashes
 * of their variants. Heap text, kernels_string_free. Fails as kernels_lock_dependencies does. */
KERNELS_API kernels_status kernels_lock_dependencies_older(kernels_context *context,
                                                           const kernels_dependency *dependencies, size_t count,
                                                           char **text, kernels_error *error);

#ifdef __cplusplus
}
#endif

#endif
