/* SPDX-License-Identifier: Apache-2.0 */
/* The one place where files are born: temporary name, hash while writing, sync, rename. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

#define COPY_CHUNK ((size_t)256 * 1024)
/* After so many bytes the system is told to begin writing them to the disk, so that the sync at the end is short. */
#define FLUSH_INTERVAL ((uint64_t)8 * 1024 * 1024)

struct kernels_file_writer {
    char *path, *temporary;
    int descriptor;
    uint64_t size; /* from the beginning without a gap, hashed */
    uint64_t git_blob_size;
    uint64_t unflushed; /* bytes */
    bool no_sync, exclusive;
    kernels_hash_algorithm algorithms[KERNELS_FILE_WRITER_HASHES];
    kernels_hash *hashes[KERNELS_FILE_WRITER_HASHES];
    size_t hash_count;
};

static void free_hashes(kernels_file_writer *writer) {
    for (size_t i = 0; i < writer->hash_count; i++) {
        kernels_hash_free(writer->hashes[i]);
        writer->hashes[i] = NULL;
    }
}

static kernels_status make_hashes(kernels_file_writer *writer, kernels_error *error) {
    for (size_t i = 0; i < writer->hash_count; i++) {
        KERNELS_TRY(kernels_hash_new(writer->algorithms[i], writer->git_blob_size, &writer->hashes[i], error));
    }
    return KERNELS_OK;
}

void kernels_file_writer_abort(kernels_file_writer *writer) {
    if (!writer) {
        return;
    }
    if (writer->descriptor >= 0) {
        (void)close(writer->descriptor);
        (void)unlink(writer->temporary);
    }
    free_hashes(writer);
    kernels_free(writer->path);
    kernels_free(writer->temporary);
    kernels_free(writer);
}

/* "<folder>/.<name>.<8 hex>.tmp"; long names are cut so that the temporary one still fits. */
static char *temporary_name(const char *path, kernels_error *error) {
    char random[9];
    KERNELS_CLEANUP_FREE char *parent = kernels_path_parent(path);
    if (!parent || kernels_random_hex(random, 8, error) != KERNELS_OK) {
        return NULL;
    }
    kernels_view name = kernels_view_slice(kernels_path_name(path), 0, 200);
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&text, "%s/.%.*s.%s.tmp", parent, KERNELS_VIEW_ARGS(name), random);
    return kernels_buffer_take(&text);
}

/* Renaming would put a plain file in the place of a device, a pipe or a folder; links to files are replaced. */
static kernels_status check_target(const char *path, kernels_error *error) {
    struct stat facts;
    if (path[0] != '\0' && (stat(path, &facts) != 0 || S_ISREG(facts.st_mode))) {
        return KERNELS_OK;
    }
    const char *found = path[0] == '\0'          ? "the name is empty"
                        : S_ISDIR(facts.st_mode) ? "it is a folder"
                                                 : "it is not a plain file";
    kernels_fail(error, KERNELS_IO, "cannot write `%s`: %s", path, found);
    kernels_error_set_subject(error, path);
    return KERNELS_IO;
}

static kernels_status open_temporary(kernels_file_writer *writer, unsigned mode, kernels_error *error) {
    int number = kernels_fault(KERNELS_FAULT_OPEN) ? ENOSPC : 0;
    if (number == 0) {
        writer->descriptor =
            open(writer->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode ? (mode_t)mode : (mode_t)0666);
        number = writer->descriptor < 0 ? errno : 0;
    }
    if (number != 0) {
        kernels_status status = kernels_fail_errno(error, number, "cannot create `%s`", writer->path);
        kernels_error_set_subject(error, writer->path);
        return status;
    }
    return KERNELS_OK;
}

kernels_status kernels_file_writer_open(const char *path, const kernels_file_writer_options *options,
                                        kernels_file_writer **writer, kernels_error *error) {
    static const kernels_file_writer_options defaults = {0};
    options = options ? options : &defaults;
    if (options->algorithm_count > KERNELS_FILE_WRITER_HASHES) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "at most %d hashes at once", KERNELS_FILE_WRITER_HASHES);
    }
    if (!options->exclusive) {
        KERNELS_TRY(check_target(path, error));
    }
    kernels_file_writer *made = kernels_calloc(1, sizeof *made);
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    made->descriptor = -1;
    made->no_sync = options->no_sync;
    made->exclusive = options->exclusive;
    made->git_blob_size = options->git_blob_size;
    made->hash_count = options->algorithm_count;
    for (size_t i = 0; i < made->hash_count; i++) {
        made->algorithms[i] = options->algorithms[i];
    }
    made->path = kernels_strdup(path);
    made->temporary = options->temporary_path ? kernels_strdup(options->temporary_path) : temporary_name(path, error);
    kernels_status status = made->path && made->temporary ? make_hashes(made, error) : kernels_fail_no_memory(error);
    if (status == KERNELS_OK) {
        status = open_temporary(made, options->mode, error);
    }
    if (status != KERNELS_OK) {
        kernels_file_writer_abort(made);
        return status;
    }
    *writer = made;
    return KERNELS_OK;
}

static kernels_status fail_write(kernels_file_writer *writer, int number, kernels_error *error) {
    kernels_status status = kernels_fail_errno(error, number, "cannot write `%s`", writer->path);
    kernels_error_set_subject(error, writer->path);
    return status;
}

static kernels_status put(kernels_file_writer *writer, uint64_t offset, const char *bytes, size_t size,
                          kernels_error *error) {
    size_t done = 0;
    while (done < size) {
        if (kernels_fault(KERNELS_FAULT_WRITE)) {
            return fail_write(writer, ENOSPC, error);
        }
        ssize_t wrote = pwrite(writer->descriptor, bytes + done, size - done, (off_t)(offset + done));
        if (wrote < 0 && errno != EINTR) {
            return fail_write(writer, errno, error);
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return KERNELS_OK;
}

/* Starts writing to the disk what has gathered in memory; waits for nothing. */
static void flush_early(kernels_file_writer *writer, uint64_t offset, size_t size) {
    writer->unflushed += size;
    if (!writer->no_sync && writer->unflushed >= FLUSH_INTERVAL) {
        uint64_t start = offset > FLUSH_INTERVAL ? offset - FLUSH_INTERVAL : 0;
        (void)posix_fadvise(writer->descriptor, (off_t)start, (off_t)(offset - start + size), POSIX_FADV_DONTNEED);
        writer->unflushed = 0;
    }
}

static kernels_status take(kernels_file_writer *writer, const void *data, size_t size, kernels_error *error) {
    for (size_t i = 0; i < writer->hash_count; i++) {
        KERNELS_TRY(kernels_hash_update(writer->hashes[i], data, size, error));
    }
    writer->size += size;
    return KERNELS_OK;
}

kernels_status kernels_file_writer_write_at(kernels_file_writer *writer, uint64_t offset, const void *data, size_t size,
                                            kernels_error *error) {
    KERNELS_TRY(put(writer, offset, data, size, error));
    flush_early(writer, offset, size);
    if (offset < writer->size) {
        writer->size = 0;
        free_hashes(writer);
        KERNELS_TRY(make_hashes(writer, error));
    }
    return offset == writer->size ? take(writer, data, size, error) : KERNELS_OK;
}

kernels_status kernels_file_writer_write(kernels_file_writer *writer, const void *data, size_t size,
                                         kernels_error *error) {
    return kernels_file_writer_write_at(writer, writer->size, data, size, error);
}

kernels_status kernels_file_writer_take_in(kernels_file_writer *writer, uint64_t end, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *chunk = writer->size < end ? kernels_malloc(COPY_CHUNK) : NULL;
    if (writer->size < end && !chunk) {
        return kernels_fail_no_memory(error);
    }
    while (writer->size < end) {
        size_t wanted = end - writer->size < COPY_CHUNK ? (size_t)(end - writer->size) : COPY_CHUNK;
        ssize_t got = pread(writer->descriptor, chunk, wanted, (off_t)writer->size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return fail_write(writer, got < 0 ? errno : EIO, error);
        }
        KERNELS_TRY(take(writer, chunk, (size_t)got, error));
    }
    return KERNELS_OK;
}

kernels_status kernels_file_writer_restart(kernels_file_writer *writer, kernels_error *error) {
    if (ftruncate(writer->descriptor, 0) != 0) {
        return fail_write(writer, errno, error);
    }
    writer->size = 0;
    free_hashes(writer);
    return make_hashes(writer, error);
}

uint64_t kernels_file_writer_size(const kernels_file_writer *writer) { return writer->size; }

kernels_status kernels_file_writer_digest(kernels_file_writer *writer, kernels_hash_algorithm algorithm,
                                          kernels_digest *digest, kernels_error *error) {
    for (size_t i = 0; i < writer->hash_count; i++) {
        if (writer->algorithms[i] == algorithm) {
            return kernels_hash_digest(writer->hashes[i], digest, error);
        }
    }
    return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "this hash was not asked for when the file was opened");
}

/* Some file systems cannot sync a folder; the rename itself has happened by then. */
static void sync_folder_of(const char *path) {
    KERNELS_CLEANUP_FREE char *parent = kernels_path_parent(path);
    int descriptor = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (descriptor >= 0) {
        (void)fsync(descriptor);
        (void)close(descriptor);
    }
}

/* 0, or what went wrong. */
static int sync_descriptor(int descriptor) {
    int result;
    do {
        result = fsync(descriptor);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

static kernels_status sync_and_close(kernels_file_writer *writer, kernels_error *error) {
    if (!writer->no_sync) {
        int number = kernels_fault(KERNELS_FAULT_SYNC) ? EIO : sync_descriptor(writer->descriptor);
        if (number != 0 && number != EINVAL && number != EROFS) {
            return fail_write(writer, number, error);
        }
    }
    int number = close(writer->descriptor) == 0 ? 0 : errno;
    writer->descriptor = -1;
    return number == 0 || number == EINTR ? KERNELS_OK : fail_write(writer, number, error);
}

static kernels_status give_name(kernels_file_writer *writer, kernels_error *error) {
    if (!writer->exclusive) {
        return kernels_rename(writer->temporary, writer->path, error);
    }
    if (link(writer->temporary, writer->path) != 0) {
        int number = errno;
        kernels_status status = kernels_fail_errno(error, number, "cannot create `%s`", writer->path);
        kernels_error_set_subject(error, writer->path);
        return status;
    }
    (void)unlink(writer->temporary);
    return KERNELS_OK;
}

kernels_status kernels_file_writer_commit(kernels_file_writer *writer, kernels_error *error) {
    kernels_status status = sync_and_close(writer, error);
    if (status == KERNELS_OK) {
        status = give_name(writer, error);
    }
    if (status == KERNELS_OK && !writer->no_sync) {
        sync_folder_of(writer->path);
    }
    if (status != KERNELS_OK) {
        (void)unlink(writer->temporary);
    }
    kernels_file_writer_abort(writer);
    return status;
}

kernels_status kernels_file_write(const char *path, kernels_view content, unsigned mode, kernels_error *error) {
    kernels_file_writer *writer = NULL;
    KERNELS_TRY(kernels_file_writer_open(path, &(kernels_file_writer_options){.mode = mode}, &writer, error));
    kernels_status status = kernels_file_writer_write(writer, content.data, content.size, error);
    if (status != KERNELS_OK) {
        kernels_file_writer_abort(writer);
        return status;
    }
    return kernels_file_writer_commit(writer, error);
}

static kernels_status copy_content(int from, const char *name, kernels_file_writer *writer, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *chunk = kernels_malloc(COPY_CHUNK);
    if (!chunk) {
        return kernels_fail_no_memory(error);
    }
    for (;;) {
        ssize_t got = read(from, chunk, COPY_CHUNK);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return kernels_fail_errno(error, errno, "cannot read `%s`", name);
        }
        if (got == 0) {
            return KERNELS_OK;
        }
        KERNELS_TRY(kernels_file_writer_write(writer, chunk, (size_t)got, error));
    }
}

kernels_status kernels_file_copy(const char *from, const char *to, unsigned mode, kernels_error *error) {
    int source = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    if (source < 0 || fstat(source, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        int number = source < 0 ? errno : EINVAL;
        if (source >= 0) {
            (void)close(source);
        }
        kernels_status status = kernels_fail_errno(error, number, "cannot copy `%s`", from);
        kernels_error_set_subject(error, from);
        return status;
    }
    kernels_file_writer_options options = {.mode = mode ? mode : (unsigned)(facts.st_mode & 0777)};
    kernels_file_writer *writer = NULL;
    kernels_status status = kernels_file_writer_open(to, &options, &writer, error);
    if (status == KERNELS_OK) {
        status = copy_content(source, from, writer, error);
        if (status == KERNELS_OK) {
            status = kernels_file_writer_commit(writer, error);
        } else {
            kernels_file_writer_abort(writer);
        }
    }
    (void)close(source);
    return status;
}
