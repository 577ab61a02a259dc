/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, folders, links, removal and locks. New files: file_writer.c. Listings: listing.c. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

#define READ_CHUNK ((size_t)256 * 1024)

static kernels_status fail_path(kernels_error *error, int number, const char *what, const char *path) {
    kernels_status status = kernels_fail_errno(error, number, "cannot %s `%s`", what, path);
    kernels_error_set_subject(error, path);
    return status;
}

/* ---- reading ---- */

static bool path_is(const char *path, mode_t type) {
    struct stat facts;
    return stat(path, &facts) == 0 && (facts.st_mode & S_IFMT) == type;
}

bool kernels_file_exists(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0;
}

bool kernels_file_is_regular(const char *path) { return path_is(path, S_IFREG); }

bool kernels_file_is_directory(const char *path) { return path_is(path, S_IFDIR); }

bool kernels_file_is_link(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode);
}

/* Opens for reading, refusing anything but a plain file (a FIFO would block for ever). */
static kernels_status open_plain(const char *path, int *descriptor, uint64_t *size, kernels_error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return fail_path(error, errno, "open", path);
    }
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        int number = errno;
        (void)close(fd);
        return fail_path(error, number, "read", path);
    }
    if (!S_ISREG(facts.st_mode)) {
        (void)close(fd);
        kernels_status status = kernels_fail(error, KERNELS_IO, "cannot read `%s`: it is not a plain file", path);
        kernels_error_set_subject(error, path);
        if (error) {
            error->system_errno = S_ISDIR(facts.st_mode) ? EISDIR : 0;
        }
        return status;
    }
    *descriptor = fd;
    *size = (uint64_t)facts.st_size;
    return KERNELS_OK;
}

/* read() until EOF or size bytes; -1 on error. */
static ssize_t read_some(int descriptor, void *data, size_t size) {
    ssize_t got;
    do {
        got = read(descriptor, data, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

static kernels_status read_all(int descriptor, const char *path, kernels_buffer *content, kernels_error *error) {
    for (;;) {
        char chunk[16 * 1024];
        ssize_t got = read_some(descriptor, chunk, sizeof chunk);
        if (got < 0) {
            return fail_path(error, errno, "read", path);
        }
        if (got == 0) {
            return KERNELS_OK;
        }
        kernels_buffer_add(content, chunk, (size_t)got);
        if (content->failure == KERNELS_LIMIT) {
            kernels_status status =
                kernels_fail(error, KERNELS_LIMIT, "`%s` is larger than the limit of %zu bytes", path, content->limit);
            kernels_error_set_subject(error, path);
            return status;
        }
        KERNELS_TRY(kernels_buffer_status(content, error));
    }
}

kernels_status kernels_file_read(const char *path, size_t limit, char **data, size_t *size, kernels_error *error) {
    int descriptor;
    uint64_t expected;
    KERNELS_TRY(open_plain(path, &descriptor, &expected, error));
    kernels_buffer content = KERNELS_BUFFER_INIT(limit);
    kernels_status status = read_all(descriptor, path, &content, error);
    (void)close(descriptor);
    if (status != KERNELS_OK) {
        kernels_buffer_dispose(&content);
        return status;
    }
    size_t length = content.size;
    char *text = kernels_buffer_take(&content);
    if (!text) {
        return kernels_fail_no_memory(error);
    }
    *data = text;
    *size = length;
    return KERNELS_OK;
}

kernels_status kernels_file_size(const char *path, uint64_t *size, kernels_error *error) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return fail_path(error, errno, "read", path);
    }
    *size = (uint64_t)facts.st_size;
    return KERNELS_OK;
}

struct kernels_file_hasher {
    kernels_hash *hash;
    kernels_hash_algorithm algorithm;
    char chunk[READ_CHUNK];
};

kernels_status kernels_file_hasher_new(kernels_hash_algorithm algorithm, kernels_file_hasher **hasher,
                                       kernels_error *error) {
    kernels_file_hasher *made = kernels_malloc(sizeof *made);
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    made->algorithm = algorithm;
    kernels_status status = kernels_hash_new(algorithm, 0, &made->hash, error);
    if (status != KERNELS_OK) {
        kernels_free(made);
        return status;
    }
    *hasher = made;
    return KERNELS_OK;
}

void kernels_file_hasher_free(kernels_file_hasher *hasher) {
    if (hasher) {
        kernels_hash_free(hasher->hash);
        kernels_free(hasher);
    }
}

/* Reads to the end, which a short read at the expected size is: asking once more would cost small files dear. */
static kernels_status hash_descriptor(kernels_file_hasher *hasher, int descriptor, const char *path, uint64_t expected,
                                      uint64_t *total, kernels_error *error) {
    for (*total = 0;;) {
        ssize_t got = read_some(descriptor, hasher->chunk, READ_CHUNK);
        if (got < 0) {
            return fail_path(error, errno, "read", path);
        }
        if (got == 0) {
            return KERNELS_OK;
        }
        *total += (uint64_t)got;
        KERNELS_TRY(kernels_hash_update(hasher->hash, hasher->chunk, (size_t)got, error));
        if ((size_t)got < READ_CHUNK && *total == expected) {
            return KERNELS_OK;
        }
    }
}

kernels_status kernels_file_hasher_run(kernels_file_hasher *hasher, const char *path, kernels_digest *digest,
                                       uint64_t *size, kernels_error *error) {
    int descriptor;
    uint64_t expected, total = 0;
    KERNELS_TRY(open_plain(path, &descriptor, &expected, error));
    kernels_status status = kernels_hash_restart(hasher->hash, expected, error);
    if (status == KERNELS_OK) {
        status = hash_descriptor(hasher, descriptor, path, expected, &total, error);
    }
    if (status == KERNELS_OK && hasher->algorithm == KERNELS_HASH_GIT_BLOB && total != expected) {
        status = kernels_fail(error, KERNELS_IO, "`%s` changed its size while it was read", path);
    }
    if (status == KERNELS_OK) {
        status = kernels_hash_finish(hasher->hash, digest, error);
    }
    if (status == KERNELS_OK && size) {
        *size = total;
    }
    (void)close(descriptor);
    return status;
}

kernels_status kernels_file_hash(const char *path, kernels_hash_algorithm algorithm, kernels_digest *digest,
                                 uint64_t *size, kernels_error *error) {
    kernels_file_hasher *hasher = NULL;
    KERNELS_TRY(kernels_file_hasher_new(algorithm, &hasher, error));
    kernels_status status = kernels_file_hasher_run(hasher, path, digest, size, error);
    kernels_file_hasher_free(hasher);
    return status;
}

/* ---- folders and links ---- */

kernels_status kernels_make_directory(const char *path, kernels_error *error) {
    if (kernels_fault(KERNELS_FAULT_OPEN)) {
        return fail_path(error, ENOSPC, "create the folder", path);
    }
    if (mkdir(path, 0777) != 0 && !(errno == EEXIST && kernels_file_is_directory(path))) {
        return fail_path(error, errno, "create the folder", path);
    }
    return KERNELS_OK;
}

kernels_status kernels_make_directories(const char *path, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *copy = kernels_strdup(path);
    if (!copy) {
        return kernels_fail_no_memory(error);
    }
    if (path[0] == '\0') {
        return fail_path(error, ENOENT, "create the folder", path);
    }
    if (kernels_file_is_directory(path)) {
        return KERNELS_OK;
    }
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!kernels_file_is_directory(copy)) {
            KERNELS_TRY(kernels_make_directory(copy, error));
        }
        *slash = '/';
    }
    return kernels_make_directory(copy, error);
}

kernels_status kernels_rename(const char *from, const char *to, kernels_error *error) {
    int number = kernels_fault(KERNELS_FAULT_RENAME) ? EIO : rename(from, to) == 0 ? 0 : errno;
    if (number != 0) {
        kernels_status status = kernels_fail_errno(error, number, "cannot rename `%s` to `%s`", from, to);
        kernels_error_set_subject(error, to);
        return status;
    }
    return KERNELS_OK;
}

kernels_status kernels_make_link(const char *target, const char *path, kernels_error *error) {
    if (symlink(target, path) == 0) {
        return KERNELS_OK;
    }
    if (errno != EEXIST) {
        return fail_path(error, errno, "create the link", path);
    }
    char random[9];
    KERNELS_TRY(kernels_random_hex(random, 8, error));
    kernels_buffer name = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&name, "%s.%s.tmp", path, random);
    KERNELS_CLEANUP_FREE char *temporary = kernels_buffer_take(&name);
    if (!temporary) {
        return kernels_fail_no_memory(error);
    }
    if (symlink(target, temporary) != 0) {
        return fail_path(error, errno, "create the link", path);
    }
    kernels_status status = kernels_rename(temporary, path, error);
    if (status != KERNELS_OK) {
        (void)unlink(temporary);
    }
    return status;
}

kernels_status kernels_make_temporary_directory(const char *parent, const char *prefix, char **path,
                                                kernels_error *error) {
    const char *base = parent ? parent : getenv("TMPDIR");
    if (!base || base[0] == '\0') {
        base = "/tmp";
    }
    kernels_buffer name = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&name, "%s/%sXXXXXX", base, prefix);
    char *template = kernels_buffer_take(&name);
    if (!template) {
        return kernels_fail_no_memory(error);
    }
    if (!mkdtemp(template)) {
        kernels_status status = kernels_fail_errno(error, errno, "cannot create a temporary folder in `%s`", base);
        kernels_free(template);
        return status;
    }
    *path = template;
    return KERNELS_OK;
}

kernels_status kernels_remove_file(const char *path, kernels_error *error) {
    if (unlink(path) != 0 && errno != ENOENT) {
        return fail_path(error, errno, "remove", path);
    }
    return KERNELS_OK;
}

/* Files and links go in a first pass over the listing, then folders deepest first (descending paths
 * put every folder behind what it holds). */
static kernels_status remove_entries(const char *path, const kernels_listing *listing, kernels_error *error) {
    for (size_t i = listing->count; i > 0; i--) {
        const kernels_entry *entry = &listing->entries[i - 1];
        KERNELS_CLEANUP_FREE char *full = kernels_path_join(path, entry->path);
        if (!full) {
            return kernels_fail_no_memory(error);
        }
        bool directory = entry->type == KERNELS_ENTRY_DIRECTORY && !entry->is_link;
        if ((directory ? rmdir(full) : unlink(full)) != 0 && errno != ENOENT) {
            return fail_path(error, errno, "remove", full);
        }
    }
    return KERNELS_OK;
}

static void make_folders_writable(const char *path, const kernels_listing *listing) {
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->entries[i].type == KERNELS_ENTRY_DIRECTORY) {
            KERNELS_CLEANUP_FREE char *full = kernels_path_join(path, listing->entries[i].path);
            if (full) {
                (void)chmod(full, 0700);
            }
        }
    }
}

kernels_status kernels_remove_tree(const char *path, kernels_error *error) {
    struct stat facts;
    if (lstat(path, &facts) != 0) {
        return errno == ENOENT ? KERNELS_OK : fail_path(error, errno, "remove", path);
    }
    if (!S_ISDIR(facts.st_mode)) {
        return kernels_remove_file(path, error);
    }
    (void)chmod(path, 0700);
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(path, KERNELS_LIST_RECURSIVE, &listing, error));
    make_folders_writable(path, &listing);
    kernels_status status = remove_entries(path, &listing, error);
    kernels_listing_dispose(&listing);
    if (status == KERNELS_OK && rmdir(path) != 0 && errno != ENOENT) {
        status = fail_path(error, errno, "remove", path);
    }
    return status;
}

/* ---- locks ---- */

struct kernels_file_lock {
    int descriptor;
};

#define LOCK_POLL_MS 20

static bool is_lock_unsupported(int number) {
    return number == ENOLCK || number == EOPNOTSUPP || number == ENOSYS || number == EINVAL;
}

static kernels_status wait_for_lock(int descriptor, const char *path, int timeout_ms, kernels_error *error) {
    uint64_t begin = kernels_clock_nanoseconds();
    for (;;) {
        int flags = timeout_ms < 0 ? LOCK_EX : LOCK_EX | LOCK_NB;
        if (flock(descriptor, flags) == 0 || is_lock_unsupported(errno)) {
            return KERNELS_OK;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EWOULDBLOCK) {
            return fail_path(error, errno, "lock", path);
        }
        if ((kernels_clock_nanoseconds() - begin) / 1000000u >= (uint64_t)timeout_ms) {
            return kernels_fail(error, KERNELS_TIMEOUT, "another process holds the lock `%s`; waited %d ms", path,
                                timeout_ms);
        }
        kernels_clock_sleep_ms(LOCK_POLL_MS);
    }
}

kernels_status kernels_file_lock_take(const char *path, int timeout_ms, kernels_file_lock **lock,
                                      kernels_error *error) {
    kernels_file_lock *made = kernels_malloc(sizeof *made);
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    made->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0664);
    if (made->descriptor < 0) {
        int number = errno;
        kernels_free(made);
        return fail_path(error, number, "create the lock", path);
    }
    kernels_status status = wait_for_lock(made->descriptor, path, timeout_ms, error);
    if (status != KERNELS_OK) {
        kernels_file_lock_release(made);
        return status;
    }
    *lock = made;
    return KERNELS_OK;
}

void kernels_file_lock_release(kernels_file_lock *lock) {
    if (lock) {
        (void)close(lock->descriptor); /* closing releases it */
        kernels_free(lock);
    }
}
