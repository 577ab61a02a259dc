/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels run`: calls a function of a kernel, times it, prints checksums or writes .npy files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/view.h"
#include "cli/context.h"
#include "cli/kernels_commands.h"
#include "cli/run_input.h"
#include "runtime/npy.h"

/* Most calls of one run. */
#define REPEAT_MAX 10000000

/* Which kernel the command line names. */
typedef struct run_target {
    const char *text; /* as given */
    char *repo_id;    /* heap; NULL: a local folder, text is its path */
    kernels_load_options load;
} run_target;

typedef struct run_result {
    kernels_shape shape;
    DLManagedTensorVersioned *tensor;
    char sha256[KERNELS_DIGEST_HEX_SIZE];
    const char *file; /* where it was written, or NULL */
} run_result;

typedef struct run_state {
    kernels_terminal *terminal;
    run_target target;
    const char *function_name;
    kernels_option_list input_texts, output_files;
    kernels_function_options options;
    size_t repeat;
    bool json;
    const char *system_file;
    kernels_kernel *kernel;
    kernels_function *function;
    kernels_run_input inputs[KERNELS_OPERANDS_MAX];
    size_t input_count;
    run_result results[KERNELS_OPERANDS_MAX];
    size_t result_count;
    uint64_t *times; /* nanoseconds of each call, in order; sorted but for the first when reported */
} run_state;

/* ---- the target ---- */

static kernels_status fail_revision(kernels_error *error, kernels_status status, const char *text) {
    return kernels_fail(error, status, "%s: must specify either branch or version: REPO@vN or REPO@BRANCH", text);
}

/* "vN" is a version, digits alone a slip, anything else a branch or commit. */
static kernels_status parse_revision(run_target *target, const char *revision, kernels_error *error) {
    kernels_view text = kernels_view_of(revision);
    uint64_t version = 0;
    if (text.size == 0) {
        return fail_revision(error, KERNELS_USAGE, target->text);
    }
    if (kernels_view_to_u64(text, &version)) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "%s: version must be prefixed with 'v': @v%s",
                            target->text, revision);
    }
    if (text.data[0] == 'v' && kernels_view_to_u64(kernels_view_slice(text, 1, text.size), &version)) {
        target->load.has_version = true;
        target->load.version = version;
    } else {
        target->load.revision = revision;
    }
    return KERNELS_OK;
}

static kernels_status parse_target(run_target *target, kernels_error *error) {
    if (kernels_file_is_directory(target->text)) {
        return KERNELS_OK;
    }
    kernels_view text = kernels_view_of(target->text);
    size_t at = kernels_view_find(text, '@');
    if (text.data[0] == '/' || text.data[0] == '.') {
        return kernels_fail(error, KERNELS_FILE_NOT_FOUND, "%s: there is no such folder", target->text);
    }
    if (at == SIZE_MAX) {
        return fail_revision(error, KERNELS_INVALID_ARGUMENT, target->text);
    }
    KERNELS_TRY(parse_revision(target, target->text + at + 1, error));
    target->repo_id = kernels_strndup(text.data, at);
    return target->repo_id ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* ---- loading ---- */

static kernels_status load_kernel(run_state *state, kernels_error *error) {
    kernels_context *context = NULL;
    state->terminal->remedy_for = KERNELS_UNTRUSTED;
    state->terminal->remedy = "To run it nevertheless, pass --trust-remote-code.";
    KERNELS_TRY(kernels_terminal_context_new_for(state->terminal, state->system_file, NULL, &context, error));
    const run_target *target = &state->target;
    kernels_status status = target->repo_id
                                ? kernels_load(context, target->repo_id, &target->load, &state->kernel, error)
                                : kernels_load_local(context, target->text, &target->load, &state->kernel, error);
    if (status) {
        /* the exit code of an interruption is told from the signals that wait */
        kernels_context_free(context);
        return status;
    }
    /* from here on nothing is written that a signal could leave half-done */
    kernels_terminal_context_free(state->terminal, context);
    return KERNELS_OK;
}

static kernels_status read_inputs(run_state *state, kernels_error *error) {
    if (state->input_texts.count > KERNELS_OPERANDS_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "more than %d inputs", KERNELS_OPERANDS_MAX);
    }
    for (size_t i = 0; i < state->input_texts.count; i++) {
        KERNELS_TRY(kernels_run_input_read(state->input_texts.values[i], &state->inputs[i], error));
        state->input_count++;
    }
    return KERNELS_OK;
}

/* ---- calling ---- */

static kernels_status find_results(run_state *state, kernels_error *error) {
    kernels_shape shapes[KERNELS_OPERANDS_MAX];
    for (size_t i = 0; i < state->input_count; i++) {
        shapes[i] = state->inputs[i].shape;
    }
    const kernels_specialisation *found = NULL;
    KERNELS_TRY(kernels_function_find(state->function, shapes, state->input_count, &found, error));
    if (state->output_files.count > found->output_count) {
        return kernels_fail(error, KERNELS_USAGE, "argument --output: %zu files for the %zu results of %s",
                            state->output_files.count, found->output_count, state->function_name);
    }
    for (size_t i = 0; i < found->output_count; i++) {
        state->results[i].shape = found->outputs[i];
    }
    state->result_count = found->output_count;
    return KERNELS_OK;
}

/* The first call allocates the results, the others write into them. */
static kernels_status call_all(run_state *state, kernels_error *error) {
    const DLTensor *inputs[KERNELS_OPERANDS_MAX];
    DLManagedTensorVersioned *made[KERNELS_OPERANDS_MAX];
    DLTensor *outputs[KERNELS_OPERANDS_MAX];
    for (size_t i = 0; i < state->input_count; i++) {
        inputs[i] = &state->inputs[i].tensor;
    }
    uint64_t start = kernels_clock_nanoseconds();
    KERNELS_TRY(
        kernels_function_call_allocate(state->function, inputs, state->input_count, made, state->result_count, error));
    state->times[0] = kernels_clock_nanoseconds() - start;
    for (size_t i = 0; i < state->result_count; i++) {
        state->results[i].tensor = made[i];
        outputs[i] = &made[i]->dl_tensor;
    }
    for (size_t i = 1; i < state->repeat; i++) {
        start = kernels_clock_nanoseconds();
        KERNELS_TRY(
            kernels_function_call(state->function, inputs, state->input_count, outputs, state->result_count, error));
        state->times[i] = kernels_clock_nanoseconds() - start;
    }
    return KERNELS_OK;
}

static kernels_status finish_results(run_state *state, kernels_error *error) {
    for (size_t i = 0; i < state->result_count; i++) {
        run_result *result = &state->results[i];
        const void *data = result->tensor->dl_tensor.data;
        kernels_digest digest;
        KERNELS_TRY(
            kernels_hash_bytes(KERNELS_HASH_SHA256, data, (size_t)kernels_shape_bytes(&result->shape), &digest, error));
        kernels_digest_hex(&digest, result->sha256);
        if (i < state->output_files.count) {
            result->file = state->output_files.values[i];
            KERNELS_TRY(kernels_npy_write(result->file, &result->shape, data, error));
        }
    }
    return KERNELS_OK;
}

/* ---- reporting ---- */

static int compare_times(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank, per cent, of the calls after the first; these are sorted. Milliseconds. */
static double time_rank(const run_state *state, size_t per_cent) {
    size_t count = state->repeat - 1;
    size_t rank = (count * per_cent + 99) / 100;
    return (double)state->times[rank ? rank : 1] / 1e6;
}

static void write_shape(kernels_json_writer *writer, const kernels_shape *shape) {
    KERNELS_CLEANUP_FREE char *text = kernels_shape_print(shape);
    kernels_json_member_text(writer, "shape", text);
}

static void write_kernel(const run_state *state, kernels_json_writer *writer) {
    const kernels_kernel *kernel = state->kernel;
    kernels_json_key(writer, "kernel");
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "repo_id", kernels_kernel_repo_id(kernel));
    kernels_json_member_text(writer, "revision", kernels_kernel_revision(kernel));
    kernels_json_member_text(writer, "path", kernels_kernel_path(kernel));
    kernels_json_member_text(writer, "variant", kernels_kernel_variant(kernel));
    kernels_json_member_boolean(writer, "verified", kernels_kernel_is_verified(kernel));
    kernels_json_end_object(writer);
}

static void write_timing(const run_state *state, kernels_json_writer *writer) {
    kernels_json_key(writer, "timing");
    kernels_json_begin_object(writer);
    kernels_json_member_unsigned(writer, "calls", state->repeat);
    kernels_json_member_double(writer, "first_ms", (double)state->times[0] / 1e6);
    if (state->repeat > 1) {
        kernels_json_member_double(writer, "median_ms", time_rank(state, 50));
        kernels_json_member_double(writer, "p99_ms", time_rank(state, 99));
    } else {
        kernels_json_member_text(writer, "median_ms", NULL);
        kernels_json_member_text(writer, "p99_ms", NULL);
    }
    kernels_json_end_object(writer);
}

static void print_json(const run_state *state, kernels_buffer *out) {
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, out, 2, true);
    kernels_json_begin_object(&writer);
    write_kernel(state, &writer);
    kernels_json_member_text(&writer, "function", state->function_name);
    kernels_json_member_text(&writer, "platform", kernels_function_platform(state->function));
    kernels_json_member_text(&writer, "plugin", kernels_function_plugin(state->function));
    kernels_json_key(&writer, "inputs");
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < state->input_count; i++) {
        kernels_json_begin_object(&writer);
        write_shape(&writer, &state->inputs[i].shape);
        kernels_json_member_text(&writer, "from", state->inputs[i].text);
        kernels_json_end_object(&writer);
    }
    kernels_json_end_array(&writer);
    kernels_json_key(&writer, "outputs");
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < state->result_count; i++) {
        kernels_json_begin_object(&writer);
        write_shape(&writer, &state->results[i].shape);
        kernels_json_member_text(&writer, "sha256", state->results[i].sha256);
        kernels_json_member_text(&writer, "file", state->results[i].file);
        kernels_json_end_object(&writer);
    }
    kernels_json_end_array(&writer);
    write_timing(state, &writer);
    kernels_json_end_object(&writer);
    kernels_buffer_add_char(out, '\n');
}

static void print_text(const run_state *state, kernels_buffer *out) {
    kernels_buffer_printf(out, "kernel    %s (%s, %s)\n", state->target.text, kernels_kernel_variant(state->kernel),
                          kernels_kernel_is_verified(state->kernel) ? "verified" : "not verified: no digest");
    kernels_buffer_printf(out, "function  %s on %s\n", state->function_name,
                          kernels_function_platform(state->function));
    kernels_buffer_printf(out, "plugin    %s\n", kernels_function_plugin(state->function));
    for (size_t i = 0; i < state->input_count; i++) {
        KERNELS_CLEANUP_FREE char *shape = kernels_shape_print(&state->inputs[i].shape);
        kernels_buffer_printf(out, "input %zu   %s from %s\n", i, shape ? shape : "?", state->inputs[i].text);
    }
    for (size_t i = 0; i < state->result_count; i++) {
        const run_result *result = &state->results[i];
        KERNELS_CLEANUP_FREE char *shape = kernels_shape_print(&result->shape);
        kernels_buffer_printf(out, "output %zu  %s sha256 %s%s%s\n", i, shape ? shape : "?", result->sha256,
                              result->file ? " in " : "", result->file ? result->file : "");
    }
    kernels_buffer_printf(out, "time      first call %.3f ms", (double)state->times[0] / 1e6);
    if (state->repeat > 1) {
        kernels_buffer_printf(out, "; %zu more: median %.3f ms, p99 %.3f ms", state->repeat - 1, time_rank(state, 50),
                              time_rank(state, 99));
    }
    kernels_buffer_add_char(out, '\n');
}

static int report(run_state *state) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    qsort(state->times + 1, state->repeat - 1, sizeof(*state->times), compare_times);
    (state->json ? print_json : print_text)(state, &out);
    kernels_error error = KERNELS_ERROR_INIT;
    int code = kernels_buffer_status(&out, &error) ? kernels_terminal_fail(state->terminal, &error)
                                                   : kernels_terminal_print(state->terminal, kernels_buffer_view(&out));
    kernels_buffer_dispose(&out);
    return code;
}

/* ---- the command ---- */

static kernels_status run_all(run_state *state, kernels_error *error) {
    state->times = kernels_calloc(state->repeat, sizeof(*state->times));
    if (!state->times) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(parse_target(&state->target, error));
    KERNELS_TRY(read_inputs(state, error));
    KERNELS_TRY(load_kernel(state, error));
    KERNELS_TRY(kernels_function_get(state->kernel, state->function_name, &state->options, &state->function, error));
    KERNELS_TRY(find_results(state, error));
    KERNELS_TRY(call_all(state, error));
    return finish_results(state, error);
}

static void dispose(run_state *state) {
    for (size_t i = 0; i < state->input_count; i++) {
        kernels_run_input_dispose(&state->inputs[i]);
    }
    for (size_t i = 0; i < state->result_count; i++) {
        if (state->results[i].tensor) {
            state->results[i].tensor->deleter(state->results[i].tensor);
        }
    }
    kernels_function_free(state->function);
    kernels_kernel_free(state->kernel);
    kernels_free(state->times);
    kernels_free(state->target.repo_id);
}

static void print_usage(const kernels_arguments *arguments) {
    kernels_buffer usage = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_options_usage(&usage, kernels_arguments_program(arguments), kernels_arguments_command(arguments));
    (void)fputs(kernels_buffer_text(&usage), stderr);
    kernels_buffer_dispose(&usage);
}

/* Plugins tear down their compilers when a process exits, which takes as long as opening them did, and nobody needs it.
 * Debug builds exit as others do: sanitizers and coverage report then. */
static int leave(int code) {
#ifdef NDEBUG
    quick_exit(code);
#else
    return code;
#endif
}

static int run_command(const kernels_arguments *arguments, void *payload) {
    run_state state = {
        .terminal = payload,
        .target = {.text = kernels_arguments_positional(arguments, 0),
                   .load.trust_remote_code = kernels_arguments_flag(arguments, "trust-remote-code")},
        .function_name = kernels_arguments_positional(arguments, 1),
        .input_texts = kernels_arguments_list(arguments, "input"),
        .output_files = kernels_arguments_list(arguments, "output"),
        .options = {.plugin = kernels_arguments_text(arguments, "plugin"),
                    .strict = kernels_arguments_flag(arguments, "strict"),
                    .warning = kernels_terminal_warning,
                    .payload = payload},
        .repeat = (size_t)kernels_arguments_integer(arguments, "repeat", 1),
        .json = kernels_arguments_flag(arguments, "json"),
        .system_file = kernels_arguments_text(arguments, "system"),
    };
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = run_all(&state, &error);
    if (status == KERNELS_USAGE) {
        print_usage(arguments);
    }
    int code = status ? kernels_terminal_fail(state.terminal, &error) : report(&state);
    bool used_plugin = state.function != NULL;
    dispose(&state);
    code = status == KERNELS_USAGE ? KERNELS_EXIT_USAGE : code;
    return used_plugin ? leave(code) : code;
}

static const kernels_option options[] = {
    {.name = "input",
     .type = KERNELS_OPTION_LIST,
     .value_name = "INPUT",
     .exact_name = true,
     .help = "An argument, in order: a .npy file, or DTYPE[D,D,...] with :random (default), :zeros or :ones."},
    {.name = "output",
     .type = KERNELS_OPTION_LIST,
     .value_name = "FILE",
     .exact_name = true,
     .help = "Write a result, in order, as a .npy file."},
    {.name = "plugin",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "FILE",
     .exact_name = true,
     .help = "PJRT plugin to use (default: found as `kernels info --system` shows)."},
    {.name = "repeat",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .exact_name = true,
     .minimum = 1,
     .maximum = REPEAT_MAX,
     .help = "Call it N times (default 1); median and 99th percentile leave out the first, which compiles."},
    {.name = "json", .type = KERNELS_OPTION_FLAG, .exact_name = true, .help = "Print a JSON object."},
    KERNELS_OPTION_SYSTEM,
    {.name = "strict",
     .type = KERNELS_OPTION_FLAG,
     .exact_name = true,
     .help = "Refuse a TPU generation that the kernel was not checked for, instead of warning."},
    {.name = "trust-remote-code",
     .type = KERNELS_OPTION_FLAG,
     .exact_name = true,
     .help = "Load the kernel even if its publisher is not trusted."},
    {0},
};

static const kernels_positional positionals[] = {
    {.name = "REPO@REV",
     .help = "Kernel: OWNER/NAME@vN (version N), OWNER/NAME@BRANCH or @COMMIT, or a local folder.",
     .required = true},
    {.name = "FUNCTION", .help = "Name of an exported function.", .required = true},
    {0},
};

const kernels_command kernels_command_run = {
    .name = "run",
    .summary = "Call a function of a kernel: shapes, times, checksums of the results.",
    .description = "Finds, downloads and verifies the kernel as a program would, then calls one of the functions that\n"
                   "were exported with it: on a TPU where there is one, else through an XLA CPU plugin. DTYPE is one\n"
                   "of pred s8 s16 s32 s64 u8 u16 u32 u64 f16 bf16 f32 f64; DTYPE[] is a scalar.",
    .options = options,
    .positionals = positionals,
    .examples = "kernels run kernels-test/relu-tpu@v1 relu --input 'f32[256,1024]:random' --repeat 100\n"
                "kernels run ./result relu --input x.npy --output y.npy\n",
    .run = run_command,
};
