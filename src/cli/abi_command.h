/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that check libraries share: `kernel-abi-check` and `kernel-builder check-abi`. */
#ifndef KERNELS_SRC_CLI_ABI_COMMAND_H
#define KERNELS_SRC_CLI_ABI_COMMAND_H

#include "abi/scan.h"
#include "base/options.h"
#include "cli/terminal.h"

extern const kernels_option kernels_abi_options[];
extern const char kernels_abi_description[];

/* Adds what the command is about to the scan. */
typedef kernels_status kernels_abi_collect_files(const kernels_arguments *arguments, kernels_abi_scan *scan,
                                                 kernels_error *error);

/* The whole run: limits from the options, files from collect, the report (text on standard error, or JSON on standard
 * output), the exit code. */
int kernels_abi_command_run(const kernels_arguments *arguments, kernels_terminal *terminal,
                            kernels_abi_collect_files *collect);

/* One file's block of the text. */
void kernels_abi_report_text(const kernels_abi_scanned *item, bool strict, kernels_buffer *out);
/* The document of --json, with a final newline. */
void kernels_abi_report_json(const kernels_abi_scan *scan, bool strict, kernels_buffer *out);

#endif
