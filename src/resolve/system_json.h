/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of a machine as JSON: an object whose members are those of kernels_system (the table stands in
 * docs/internals/resolve.md). A member is a value, or {"value": ..., "from": "where it is known from"}.
 */
#ifndef KERNELS_SRC_RESOLVE_SYSTEM_JSON_H
#define KERNELS_SRC_RESOLVE_SYSTEM_JSON_H

#include "base/json_writer.h"
#include "kernels/resolve.h"

/* Most bytes of such a file. */
#define KERNELS_SYSTEM_SIZE_LIMIT ((size_t)1024 * 1024)

/* Strict: unknown, repeated and mistyped members are KERNELS_SCHEMA, "<name>:<line>:<column>: <member>: ...". os, cpu
 * and backend are required, what else is absent or null is unknown. An object with a member "system" (as `kernels info
 * --system --json` prints it) is read from there. */
kernels_status kernels_system_parse(kernels_view text, const char *name, kernels_system *system, kernels_error *error);
kernels_status kernels_system_read(const char *path, kernels_system *system, kernels_error *error);

/* The object, all members; facts whose origin is known with it. */
void kernels_system_write(kernels_json_writer *writer, const kernels_system *system);

#endif
