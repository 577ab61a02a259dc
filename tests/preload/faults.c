/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program under test: makes its file system fail.
 *
 *     FAULT_CALLS=pwrite,fsync   which calls count: open mkdir pwrite fsync rename symlink ftruncate close flock read
 *     FAULT_ERRNO=ENOSPC         what they fail with: ENOSPC EIO EINTR ENOLCK EOPNOTSUPP; or "short": a part is
 * written; or "lie": flock says yes and does nothing FAULT_NTH=3                only the third of them; 0 = every one,
 * EINTR: every second one FAULT_BELOW=/folder        only files below this folder (calls on descriptors: only regular
 * files)
 *
 * Each fault is told on standard error as "fault: <call>".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long calls;

static int wanted_errno(void) {
    static const struct {
        const char *name;
        int number;
    } names[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EINTR", EINTR}, {"ENOLCK", ENOLCK}, {"EOPNOTSUPP", EOPNOTSUPP}};
    const char *text = getenv("FAULT_ERRNO");
    for (size_t i = 0; text && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].name) == 0) {
            return names[i].number;
        }
    }
    return 0;
}

static bool is_mode(const char *mode) {
    const char *text = getenv("FAULT_ERRNO");
    return text && strcmp(text, mode) == 0;
}

static bool is_listed(const char *call) {
    const char *list = getenv("FAULT_CALLS");
    const char *found = list ? strstr(list, call) : NULL;
    size_t length = strlen(call);
    return found && (found == list || found[-1] == ',') && (found[length] == '\0' || found[length] == ',');
}

static bool is_below(const char *path) {
    const char *folder = getenv("FAULT_BELOW");
    return !folder || strncmp(path, folder, strlen(folder)) == 0;
}

/* Sockets, pipes and terminals are left alone. */
static bool is_file(int descriptor) {
    struct stat facts;
    char link[64], path[4096];
    if (fstat(descriptor, &facts) != 0 || !(S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode))) {
        return false;
    }
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return is_below(path);
}

static bool is_due(const char *call) {
    if (!is_listed(call)) {
        return false;
    }
    const char *nth = getenv("FAULT_NTH");
    unsigned long number = 0;
    for (; nth && *nth >= '0' && *nth <= '9'; nth++) {
        number = number * 10 + (unsigned long)(*nth - '0');
    }
    calls++;
    bool due = number > 0 ? calls == number : is_mode("EINTR") ? calls % 2 == 1 : true;
    if (due) {
        char text[64];
        int length = snprintf(text, sizeof text, "fault: %s\n", call);
        (void)syscall(SYS_write, STDERR_FILENO, text, (size_t)length);
    }
    return due;
}

static bool fails(const char *call) {
    int number = wanted_errno();
    if (number == 0 || !is_due(call)) {
        return false;
    }
    errno = number;
    return true;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static ssize_t write_part(const char *call, int descriptor, const void *data, size_t size, off_t offset) {
    if (is_file(descriptor)) {
        if (is_mode("short") && size > 1 && is_due(call)) {
            size = (size + 1) / 2;
        } else if (fails(call)) {
            return -1;
        }
    }
    return NEXT(pwrite)(descriptor, data, size, offset);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    return write_part("pwrite", descriptor, data, size, offset);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
    return write_part("pwrite", descriptor, data, size, (off_t)offset);
}

ssize_t read(int descriptor, void *data, size_t size) {
    if (is_listed("read") && is_file(descriptor)) {
        if (is_mode("short") && size > 1 && is_due("read")) {
            size = (size + 1) / 2;
        } else if (fails("read")) {
            return -1;
        }
    }
    return NEXT(read)(descriptor, data, size);
}

static int open_file(int (*next)(const char *, int, ...), const char *path, int flags, mode_t mode) {
    if ((flags & O_CREAT) != 0 && is_below(path) && fails("open")) {
        return -1;
    }
    return next(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open_file(NEXT(open), path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open_file(NEXT(open64), path, flags, mode);
}

int mkdir(const char *path, mode_t mode) { return is_below(path) && fails("mkdir") ? -1 : NEXT(mkdir)(path, mode); }

int fsync(int descriptor) {
    return is_listed("fsync") && is_file(descriptor) && fails("fsync") ? -1 : NEXT(fsync)(descriptor);
}

int ftruncate(int descriptor, off_t size) {
    return is_listed("ftruncate") && is_file(descriptor) && fails("ftruncate") ? -1 : NEXT(ftruncate)(descriptor, size);
}

int rename(const char *from, const char *to) { return is_below(to) && fails("rename") ? -1 : NEXT(rename)(from, to); }

int symlink(const char *target, const char *path) {
    return is_below(path) && fails("symlink") ? -1 : NEXT(symlink)(target, path);
}

/* As Linux does: the descriptor is gone, whatever the call says. */
int close(int descriptor) {
    bool fail = is_listed("close") && is_file(descriptor) && fails("close");
    int number = errno;
    int result = NEXT(close)(descriptor);
    errno = fail ? number : errno;
    return fail ? -1 : result;
}

int flock(int descriptor, int operation) {
    if (is_listed("flock") && is_mode("lie")) {
        return 0;
    }
    return fails("flock") ? -1 : (int)syscall(SYS_flock, descriptor, operation);
}
