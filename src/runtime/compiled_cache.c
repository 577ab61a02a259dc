/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compiled_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

/* Changes when what stands in the files does. */
#define CACHE_FORMAT "kernels compiled program 1"
/* The first processor of /proc/cpuinfo; all are alike in what matters here. */
#define CPU_FACTS_SIZE ((size_t)8 * 1024)
#define KEY_LIMIT ((size_t)64 * 1024)
/* A file is the SHA-256 of the compiled program (hex), a line end, the compiled program. */
#define HEADER_SIZE ((size_t)65)

/* Lines of the facts that tell which instructions a compiler may use. */
static void add_cpu(kernels_buffer *key) {
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) {
        return; /* not Linux: a home folder stays on one machine */
    }
    char facts[CPU_FACTS_SIZE];
    kernels_view rest = {facts, fread(facts, 1, sizeof(facts), file)};
    (void)fclose(file);
    kernels_view line;
    while (kernels_view_split(&rest, '\n', &line) && line.size > 0) {
        if (kernels_view_starts_with(line, KERNELS_VIEW("model name")) ||
            kernels_view_starts_with(line, KERNELS_VIEW("flags")) ||
            kernels_view_starts_with(line, KERNELS_VIEW("Features"))) {
            kernels_buffer_add_view(key, line);
            kernels_buffer_add_char(key, '\n');
        }
    }
}

static kernels_status make_key(const char *plugin, const char *program_sha256, kernels_buffer *key,
                               kernels_error *error) {
    struct stat facts;
    if (stat(plugin, &facts) != 0) {
        return kernels_fail(error, KERNELS_FILE_NOT_FOUND, "cannot look at the plugin %s", plugin);
    }
    const char *flags = getenv("XLA_FLAGS");
    kernels_buffer_printf(key, CACHE_FORMAT "\n%s\n%s\n%" PRId64 " %" PRId64 "\n%s\n", program_sha256, plugin,
                          (int64_t)facts.st_size, (int64_t)facts.st_mtime, flags ? flags : "");
    add_cpu(key);
    return kernels_buffer_status(key, error);
}

/* NULL: none, or no memory. */
static char *cache_directory(void) {
    const char *given = getenv("KERNELS_COMPILED_CACHE");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (given) {
        return *given ? kernels_strdup(given) : NULL;
    }
    if (xdg && kernels_path_is_absolute(xdg)) {
        return kernels_path_join(xdg, "kernels/compiled");
    }
    return home && kernels_path_is_absolute(home) ? kernels_path_join(home, ".cache/kernels/compiled") : NULL;
}

kernels_status kernels_compiled_cache_path(const char *plugin, const char *program_sha256, char **path,
                                           kernels_error *error) {
    KERNELS_CLEANUP_FREE char *directory = cache_directory();
    *path = NULL;
    if (!directory) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer key = KERNELS_BUFFER_INIT(KEY_LIMIT);
    kernels_digest digest;
    char hex[KERNELS_DIGEST_HEX_SIZE];
    KERNELS_TRY(make_key(plugin, program_sha256, &key, error));
    KERNELS_TRY(kernels_hash_bytes(KERNELS_HASH_SHA256, key.data, key.size, &digest, error));
    kernels_digest_hex(&digest, hex);
    *path = kernels_path_join(directory, hex);
    return *path ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* What is run as machine code must not have been written by somebody else. */
static bool is_ours_alone(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool is_intact(kernels_view file) {
    kernels_digest digest;
    return file.size > HEADER_SIZE &&
           kernels_hash_bytes(KERNELS_HASH_SHA256, file.data + HEADER_SIZE, file.size - HEADER_SIZE, &digest, NULL) ==
               KERNELS_OK &&
           kernels_digest_equal_hex(&digest, kernels_view_slice(file, 0, HEADER_SIZE - 1));
}

kernels_status kernels_compiled_cache_read(const char *path, char **contents, kernels_view *bytes,
                                           kernels_error *error) {
    KERNELS_CLEANUP_FREE char *read = NULL;
    size_t size = 0;
    if (!is_ours_alone(path) ||
        kernels_file_read(path, KERNELS_COMPILED_SIZE_LIMIT + HEADER_SIZE, &read, &size, NULL) != KERNELS_OK ||
        !is_intact((kernels_view){read, size})) {
        return kernels_fail(error, KERNELS_NOT_CACHED, "no usable compiled program at %s", path);
    }
    *contents = read;
    *bytes = (kernels_view){read + HEADER_SIZE, size - HEADER_SIZE};
    read = NULL;
    return KERNELS_OK;
}

kernels_status kernels_compiled_cache_write(const char *path, kernels_view bytes, kernels_error *error) {
    kernels_digest digest;
    char header[KERNELS_DIGEST_HEX_SIZE];
    KERNELS_CLEANUP_FREE char *directory = kernels_path_parent(path);
    if (!directory) {
        return kernels_fail_no_memory(error);
    }
    if (bytes.size > KERNELS_COMPILED_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "a compiled program of %zu bytes is not kept", bytes.size);
    }
    KERNELS_TRY(kernels_hash_bytes(KERNELS_HASH_SHA256, bytes.data, bytes.size, &digest, error));
    kernels_digest_hex(&digest, header);
    header[HEADER_SIZE - 1] = '\n';
    KERNELS_TRY(kernels_make_directories(directory, error));
    const kernels_file_writer_options options = {.mode = 0600, .no_sync = true};
    kernels_file_writer *writer = NULL;
    KERNELS_TRY(kernels_file_writer_open(path, &options, &writer, error));
    kernels_status status = kernels_file_writer_write(writer, header, HEADER_SIZE, error);
    if (status == KERNELS_OK) {
        status = kernels_file_writer_write(writer, bytes.data, bytes.size, error);
    }
    if (status != KERNELS_OK) {
        kernels_file_writer_abort(writer);
        return status;
    }
    return kernels_file_writer_commit(writer, error);
}
