/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels benchmark`: scripts are Python, so the work is done by kernels.cli.benchmark in an interpreter that the user
 * names or that is found. This file finds it and gives it the arguments. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/kernels_commands.h"

#define DEFAULT_ITERATIONS 100
#define DEFAULT_WARMUP 10
#define ITERATIONS_MAX 1000000000

/* An interpreter without this package, or with one that cannot do it, is told apart from a failed benchmark. */
static const char program[] =
    "import sys\n"
    "try:\n"
    "    from kernels.cli.benchmark import main\n"
    "except ImportError as error:\n"
    "    sys.exit(f'kernels: error: {sys.executable} cannot run benchmarks: {error}; install the Python package "
    "kernels there, or name another interpreter with --python or KERNELS_PYTHON')\n"
    "sys.exit(main(sys.argv[1]))\n";

/* ---- the interpreter ---- */

static bool is_given(const char *text) { return text != NULL && text[0] != '\0'; }

/* Heap text, NULL when there is none. */
static char *find_interpreter(const kernels_arguments *arguments) {
    const char *named = kernels_arguments_text(arguments, "python");
    named = is_given(named) ? named : getenv("KERNELS_PYTHON");
    if (is_given(named)) {
        return kernels_process_find(named);
    }
    const char *environment = getenv("VIRTUAL_ENV");
    if (is_given(environment)) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join3(environment, "bin", "python3");
        char *found = path != NULL ? kernels_process_find(path) : NULL;
        if (found != NULL) {
            return found;
        }
    }
    return kernels_process_find("python3");
}

static int fail_no_interpreter(kernels_terminal *terminal, const kernels_arguments *arguments) {
    const char *named = kernels_arguments_text(arguments, "python");
    named = is_given(named) ? named : getenv("KERNELS_PYTHON");
    return is_given(named)
               ? kernels_terminal_failure(terminal, "%s is no program: expected a Python interpreter", named)
               : kernels_terminal_failure(terminal, "benchmarks are Python scripts, and no Python was found: "
                                                    "name one with --python or KERNELS_PYTHON");
}

/* ---- the arguments, as keywords of run_benchmark ---- */

static void write_keywords(const kernels_arguments *arguments, kernels_buffer *out) {
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, out, 0, true);
    kernels_json_begin_object(&writer);
    kernels_json_member_text(&writer, "repo_id", kernels_arguments_positional(arguments, 0));
    kernels_json_member_text(&writer, "branch", kernels_arguments_text(arguments, "branch"));
    if (kernels_arguments_given(arguments, "version")) {
        kernels_json_member_signed(&writer, "version", kernels_arguments_integer(arguments, "version", 0));
    }
    kernels_json_member_signed(&writer, "iterations",
                               kernels_arguments_integer(arguments, "iterations", DEFAULT_ITERATIONS));
    kernels_json_member_signed(&writer, "warmup", kernels_arguments_integer(arguments, "warmup", DEFAULT_WARMUP));
    kernels_json_member_signed(&writer, "ref_iterations", kernels_arguments_integer(arguments, "ref-iterations", 1));
    kernels_json_member_text(&writer, "output", kernels_arguments_text(arguments, "output"));
    kernels_json_member_boolean(&writer, "print_json", kernels_arguments_flag(arguments, "json"));
    kernels_json_member_text(&writer, "visual", kernels_arguments_text(arguments, "visual"));
    kernels_json_member_boolean(&writer, "rasterized", kernels_arguments_flag(arguments, "rasterized"));
    kernels_option_list others = kernels_arguments_list(arguments, "compare");
    kernels_json_key(&writer, "compare");
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < others.count; i++) {
        kernels_json_text(&writer, others.values[i]);
    }
    kernels_json_end_array(&writer);
    kernels_json_end_object(&writer);
}

/* ---- the command ---- */

static kernels_status run_interpreter(const char *interpreter, const char *keywords, kernels_process_result *result,
                                      kernels_error *error) {
    const char *const words[] = {interpreter, "-c", program, keywords, NULL};
    const kernels_process_options options = {.arguments = words, .inherit_output = true};
    kernels_terminal_hold_signals();
    return kernels_process_run(&options, result, error);
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_terminal *terminal = payload;
    KERNELS_CLEANUP_FREE char *interpreter = find_interpreter(arguments);
    if (interpreter == NULL) {
        return fail_no_interpreter(terminal, arguments);
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer keywords = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_process_result result;
    write_keywords(arguments, &keywords);
    kernels_status status = kernels_buffer_status(&keywords, &error);
    if (status == KERNELS_OK) {
        status = run_interpreter(interpreter, kernels_buffer_text(&keywords), &result, &error);
    }
    if (status != KERNELS_OK) {
        return kernels_terminal_fail(terminal, &error);
    }
    kernels_process_result_dispose(&result);
    return result.signal == 0 ? result.exit_code
                              : kernels_terminal_failure(terminal, "%s was ended by signal %d (%s)", interpreter,
                                                         result.signal, strsignal(result.signal));
}

static const kernels_option options[] = {
    {.name = "branch", .type = KERNELS_OPTION_TEXT, .value_name = "BRANCH", .help = "This branch of REPO_ID."},
    {.name = "version",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .help = "This version of REPO_ID; wins over --branch."},
    {.name = "output", .type = KERNELS_OPTION_TEXT, .value_name = "FILE", .help = "Write the results to FILE as JSON."},
    {.name = "json", .type = KERNELS_OPTION_FLAG, .help = "Print the results as JSON."},
    {.name = "iterations",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .minimum = 1,
     .maximum = ITERATIONS_MAX,
     .help = "Timed calls of each workload (default 100)."},
    {.name = "warmup",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .minimum = 0,
     .maximum = ITERATIONS_MAX,
     .help = "Calls before them that are not timed (default 10)."},
    {.name = "visual",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "BASE",
     .help = "Draw charts into ./media/BASE_... as SVG; needs matplotlib."},
    {.name = "rasterized", .type = KERNELS_OPTION_FLAG, .help = "With --visual: also as PNG and GIF; needs Pillow."},
    {.name = "compare",
     .type = KERNELS_OPTION_LIST,
     .value_name = "KERNEL",
     .exact_name = true,
     .help = "Run the same scripts with this kernel too: a revision of REPO_ID, a folder, OWNER/NAME@REVISION, or "
             "variant:NAME."},
    {.name = "ref-iterations",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .minimum = 1,
     .maximum = ITERATIONS_MAX,
     .exact_name = true,
     .help = "Timed calls of each reference, whose mean is its time (default 1)."},
    {.name = "python",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "FILE",
     .exact_name = true,
     .help = "Interpreter that runs the scripts (default: KERNELS_PYTHON, that of VIRTUAL_ENV, python3 on PATH)."},
    {0},
};

static const kernels_positional positionals[] = {
    {.name = "REPO_ID",
     .help = "A folder, or OWNER/NAME with --version or --branch, or OWNER/NAME@vN, OWNER/NAME@BRANCH.",
     .required = true},
    {0},
};

const kernels_command kernels_command_benchmark = {
    .name = "benchmark",
    .summary = "Time a kernel's benchmark scripts and check their results.",
    .description =
        "Runs benchmarks/benchmark*.py of the kernel: every benchmark_NAME method of a subclass of "
        "kernels.benchmark.Benchmark is timed, the device waited for after each call, and its result compared with "
        "what verify_NAME returns. A table goes to standard error. A difference from the reference ends with exit "
        "code 1 and no results.\n\n"
        "The interpreter needs the Python package kernels, and what the scripts import (torch, most of them). A kernel "
        "that Python cannot load there but C can runs through an XLA plugin.",
    .options = options,
    .positionals = positionals,
    .examples = "kernels benchmark kernels-community/activation --version 1\n"
                "kernels benchmark . --iterations 20 --output results.json --visual activation --rasterized\n"
                "kernels benchmark kernels-community/activation@v2 --compare v1\n",
    .run = run,
};
