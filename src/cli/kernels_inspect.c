/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels inspect`: what a binary is, needs and contains. */
#include <inttypes.h>
#include <string.h>

#include "abi/collector.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "cli/kernels_commands.h"

/* Names that are shown of a long list; --json has all. */
#define SHOWN_LIMIT 20

typedef char version_text[KERNELS_VERSION_TEXT_SIZE];

/* What an image needs at least. */
typedef struct needs {
    version_text glibc, python, torch;
    bool has_glibc, has_python, has_torch;
    const char *manylinux;
} needs;

static needs find_needs(const kernels_abi_image *image, const kernels_abi_floors *floors) {
    needs found = {.manylinux = image->format == KERNELS_ABI_ELF ? floors->manylinux : NULL,
                   .has_glibc = floors->glibc.count > 0,
                   .has_python = floors->python.count > 0,
                   .has_torch = floors->torch.count > 0};
    kernels_abi_version_print(&floors->glibc, found.glibc);
    kernels_abi_version_print(&floors->python, found.python);
    kernels_abi_version_print(&floors->torch, found.torch);
    return found;
}

/* ---- text ---- */

static void add_row(kernels_buffer *out, const char *label, const char *text) {
    if (text != NULL && text[0] != '\0') {
        kernels_buffer_printf(out, "%-14s %s\n", label, text);
    }
}

static void add_texts(kernels_buffer *out, const char *label, kernels_abi_texts texts) {
    for (size_t i = 0; i < texts.count && i < SHOWN_LIMIT; i++) {
        kernels_buffer_printf(out, "%-14s %.*s\n", i == 0 ? label : "", KERNELS_VIEW_ARGS(texts.items[i]));
    }
    if (texts.count > SHOWN_LIMIT) {
        kernels_buffer_printf(out, "%-14s ... and %zu more\n", "", texts.count - SHOWN_LIMIT);
    }
}

static void add_needs(kernels_buffer *out, const needs *found) {
    add_row(out, "glibc", found->has_glibc ? found->glibc : NULL);
    add_row(out, "policy", found->manylinux);
    add_row(out, "Python", found->has_python ? found->python : NULL);
    add_row(out, "torch", found->has_torch ? found->torch : NULL);
}

static void add_hardening(kernels_buffer *out, const kernels_abi_image *image) {
    if (image->format == KERNELS_ABI_ELF) {
        kernels_buffer_printf(out, "%-14s stack %s, tables %s, code %s\n", "protection",
                              !image->has_stack_note        ? "unsaid"
                              : image->has_executable_stack ? "executable"
                                                            : "plain",
                              !image->has_relro     ? "writable"
                              : image->has_bind_now ? "read-only after loading"
                                                    : "read-only but for lazy binding",
                              image->has_writable_code || image->has_text_relocations ? "writable" : "read-only");
    }
}

static void add_image(kernels_buffer *out, const kernels_abi_image *image, const needs *found) {
    kernels_buffer_printf(out, "%-14s %s %s, %s, %s\n", "kind", kernels_abi_format_name(image->format),
                          image->is_64_bit ? "64-bit" : "32-bit", image->machine,
                          image->is_device_code ? "device code"
                          : image->is_shared    ? "shared library"
                                                : "no shared library");
    if (image->name.size > 0) {
        kernels_buffer_printf(out, "%-14s %.*s\n", "name", KERNELS_VIEW_ARGS(image->name));
    }
    if (image->has_minimum_os) {
        version_text minimum;
        kernels_abi_version_print(&image->minimum_os, minimum);
        kernels_buffer_printf(out, "%-14s %s (platform %u)\n", "minimum OS", minimum, image->platform);
    }
    add_needs(out, found);
    add_texts(out, "needs", image->needed);
    add_texts(out, "run path", image->run_path);
    kernels_buffer_printf(out, "%-14s %zu undefined, %zu exported\n", "symbols", image->symbol_count,
                          image->defined_count);
    add_texts(out, "entered by", image->exports);
    for (size_t i = 0; i < image->gpu_arch_count; i++) {
        add_row(out, i == 0 ? "device code" : "", image->gpu_archs[i].name);
    }
    add_row(out, "device code", image->gpu_is_compressed ? "compressed: architectures are not readable" : NULL);
    add_hardening(out, image);
}

/* ---- JSON ---- */

static void write_view(kernels_json_writer *writer, const char *key, kernels_view text) {
    kernels_json_key(writer, key);
    if (text.size == 0) {
        kernels_json_null(writer);
    } else {
        kernels_json_string(writer, text);
    }
}

static void write_texts(kernels_json_writer *writer, const char *key, kernels_abi_texts texts) {
    kernels_json_key(writer, key);
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < texts.count; i++) {
        kernels_json_string(writer, texts.items[i]);
    }
    kernels_json_end_array(writer);
}

static void write_versions(kernels_json_writer *writer, const kernels_abi_image *image) {
    kernels_json_key(writer, "versions");
    kernels_json_begin_array(writer);
    for (size_t i = 1; i < image->version_count; i++) {
        kernels_json_begin_object(writer);
        write_view(writer, "name", image->versions[i].name);
        write_view(writer, "library", image->versions[i].library);
        kernels_json_end_object(writer);
    }
    kernels_json_end_array(writer);
}

static void write_undefined(kernels_json_writer *writer, const kernels_abi_image *image) {
    kernels_json_key(writer, "undefined");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < image->symbol_count; i++) {
        const kernels_abi_symbol *symbol = &image->symbols[i];
        kernels_json_begin_object(writer);
        write_view(writer, "name", symbol->name);
        write_view(writer, "version", image->versions[symbol->version].name);
        kernels_json_member_boolean(writer, "weak", symbol->is_weak);
        kernels_json_end_object(writer);
    }
    kernels_json_end_array(writer);
}

static void write_device_code(kernels_json_writer *writer, const kernels_abi_image *image) {
    kernels_json_key(writer, "device_code");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < image->gpu_arch_count; i++) {
        kernels_json_text(writer, image->gpu_archs[i].name);
    }
    kernels_json_end_array(writer);
}

static void write_needs(kernels_json_writer *writer, const needs *found) {
    kernels_json_key(writer, "floors");
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "glibc", found->has_glibc ? found->glibc : NULL);
    kernels_json_member_text(writer, "manylinux", found->manylinux);
    kernels_json_member_text(writer, "python", found->has_python ? found->python : NULL);
    kernels_json_member_text(writer, "torch", found->has_torch ? found->torch : NULL);
    kernels_json_end_object(writer);
}

static void write_image(kernels_json_writer *writer, const kernels_abi_image *image, const needs *found) {
    version_text minimum;
    kernels_abi_version_print(&image->minimum_os, minimum);
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "format", kernels_abi_format_name(image->format));
    kernels_json_member_text(writer, "machine", image->machine);
    kernels_json_member_boolean(writer, "shared", image->is_shared);
    write_view(writer, "name", image->name);
    kernels_json_member_text(writer, "minimum_os", image->has_minimum_os ? minimum : NULL);
    write_needs(writer, found);
    write_texts(writer, "needed", image->needed);
    write_texts(writer, "run_path", image->run_path);
    write_versions(writer, image);
    write_undefined(writer, image);
    write_texts(writer, "exports", image->exports);
    write_device_code(writer, image);
    kernels_json_member_boolean(writer, "executable_stack", image->has_executable_stack);
    kernels_json_member_boolean(writer, "relro", image->has_relro);
    kernels_json_member_boolean(writer, "bind_now", image->has_bind_now);
    kernels_json_member_boolean(writer, "text_relocations", image->has_text_relocations);
    kernels_json_member_boolean(writer, "writable_code", image->has_writable_code);
    kernels_json_end_object(writer);
}

/* ---- the command ---- */

/* Damage beyond the headers is an error here too: half of an answer would look like a whole one. */
static kernels_status show(const kernels_abi_object *object, bool json, kernels_buffer *out, kernels_error *error) {
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, out, 2, false);
    if (json) {
        kernels_json_begin_array(&writer);
    }
    for (size_t i = 0; i < kernels_abi_object_image_count(object); i++) {
        const kernels_abi_image *image = kernels_abi_object_image(object, i);
        kernels_abi_floors floors;
        KERNELS_TRY(kernels_abi_floors_of(object, i, &floors, error));
        needs found = find_needs(image, &floors);
        if (json) {
            write_image(&writer, image, &found);
        } else {
            kernels_buffer_add_text(out, i > 0 ? "\n" : "");
            add_image(out, image, &found);
        }
    }
    if (json) {
        kernels_json_end_array(&writer);
        kernels_buffer_add_char(out, '\n');
    }
    return kernels_buffer_status(out, error);
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_abi_object *object = NULL;
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_status status =
        kernels_abi_object_open(kernels_arguments_positional(arguments, 0), KERNELS_ABI_EXPORTS, &object, &error);
    if (status == KERNELS_OK) {
        status = show(object, kernels_arguments_flag(arguments, "json"), &out, &error);
    }
    int code = status == KERNELS_OK ? kernels_terminal_print(payload, kernels_buffer_view(&out))
                                    : kernels_terminal_fail(payload, &error);
    kernels_abi_object_free(object);
    kernels_buffer_dispose(&out);
    return code;
}

static const kernels_option options[] = {
    {.name = "json", .type = KERNELS_OPTION_FLAG, .help = "Print a JSON list, with one object an architecture."},
    {0},
};

static const kernels_positional positionals[] = {
    {.name = "FILE", .help = "Shared library, extension module or universal file.", .required = true},
    {0},
};

const kernels_command kernels_command_inspect = {
    .name = "inspect",
    .summary = "Show what a compiled library is, needs and contains.",
    .description =
        "Machine, libraries and versions that it needs, oldest systems it loads on, device code, protection.\n"
        "`kernel-abi-check` compares that with a promise.",
    .options = options,
    .positionals = positionals,
    .examples = "kernels inspect build/torch211-cxx11-cpu-x86_64-linux/_relu.abi3.so\n",
    .run = run,
};
