/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command several times and prints, for each run, a line "SECONDS PEAK_KIB EXIT_CODE": wall time from fork
 * to exit, and the peak resident memory of the process. A program of its own because a process starts with the
 * memory of the one that forked it: a Python script would measure itself.
 *
 *     measure RUNS COMMAND [ARGUMENT...]
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS_MAX 10000

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void become(char **command) {
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

static int measure_once(char **command) {
    double started = now();
    pid_t child = fork();
    if (child == 0) {
        become(command);
    }
    int status = 0;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("measure");
        return 1;
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    printf("%.6f %ld %d\n", now() - started, usage.ru_maxrss, code);
    return code != 0;
}

/* 0 when the text is not a number of 1 to RUNS_MAX. */
static unsigned parse_runs(const char *text) {
    unsigned runs = 0;
    for (; *text >= '0' && *text <= '9' && runs <= RUNS_MAX; text++) {
        runs = runs * 10 + (unsigned)(*text - '0');
    }
    return *text == '\0' && runs <= RUNS_MAX ? runs : 0;
}

int main(int argc, char **argv) {
    unsigned runs = argc > 2 ? parse_runs(argv[1]) : 0;
    if (runs == 0) {
        fprintf(stderr, "usage: measure RUNS COMMAND [ARGUMENT...]\n");
        return 2;
    }
    for (unsigned run = 0; run < runs; run++) {
        if (measure_once(argv + 2) != 0) {
            return 1;
        }
    }
    return 0;
}
