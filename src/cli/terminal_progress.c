/* SPDX-License-Identifier: Apache-2.0 */
/* Progress: a bar for the whole and one for each file on its way, redrawn in place. */
#include <stdio.h>
#include <string.h>

#include "cli/size_text.h"
#include "cli/terminal.h"

#define BAR_WIDTH 30
#define NAME_WIDTH (KERNELS_TERMINAL_BAR_NAME - 1)

static unsigned percent_of(uint64_t done, uint64_t total) {
    return done >= total ? 100 : (unsigned)((double)done * 100.0 / (double)total);
}

static void draw_bar(const char *name, unsigned percent) {
    char bar[BAR_WIDTH + 1];
    unsigned filled = percent * BAR_WIDTH / 100;
    memset(bar, ' ', BAR_WIDTH);
    memset(bar, '#', filled);
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, "%-*.*s [%s] %3u %%", NAME_WIDTH, NAME_WIDTH, name, bar, percent);
}

/* The cursor stands at the end of the last line drawn; afterwards at the start of the first. */
static void erase(kernels_terminal *terminal) {
    for (unsigned line = terminal->drawn_lines; line > 0; line--) {
        (void)fputs(line > 1 ? "\r\033[K\033[A" : "\r\033[K", stderr);
    }
    terminal->drawn_lines = 0;
}

static void draw(kernels_terminal *terminal, unsigned percent) {
    erase(terminal);
    (void)fputc('\r', stderr);
    draw_bar(terminal->work != NULL ? terminal->work : "Downloading", percent);
    for (size_t i = 0; i < terminal->bar_count; i++) {
        const kernels_terminal_bar *bar = &terminal->bars[i];
        (void)fputs("\n  ", stderr);
        draw_bar(bar->name, percent_of(bar->done, bar->total));
    }
    terminal->drawn_lines = 1 + (unsigned)terminal->bar_count;
    terminal->drawn_percent = percent;
    (void)fflush(stderr);
}

/* The end of a path says most. Control characters of strangers must not move the cursor. */
static void short_name(char *name, const char *file) {
    size_t length = strlen(file);
    const char *tail = length > NAME_WIDTH ? file + length - NAME_WIDTH : file;
    size_t i = 0;
    for (; tail[i] != '\0' && i < NAME_WIDTH; i++) {
        unsigned char c = (unsigned char)tail[i];
        name[i] = tail[i];
        if (c < 0x20 || c >= 0x7f) {
            name[i] = '?';
        }
    }
    name[i] = '\0';
}

static void note_file(kernels_terminal *terminal, const char *file, uint64_t done, uint64_t total) {
    char name[KERNELS_TERMINAL_BAR_NAME];
    short_name(name, file);
    size_t i = 0;
    while (i < terminal->bar_count && strcmp(terminal->bars[i].name, name) != 0) {
        i++;
    }
    if (done >= total) {
        if (i < terminal->bar_count) {
            terminal->bar_count--;
            memmove(&terminal->bars[i], &terminal->bars[i + 1], (terminal->bar_count - i) * sizeof *terminal->bars);
        }
        return;
    }
    if (i == KERNELS_TERMINAL_BARS) {
        return;
    }
    if (i == terminal->bar_count) {
        terminal->bar_count++;
        memcpy(terminal->bars[i].name, name, sizeof name);
    }
    terminal->bars[i].done = done;
    terminal->bars[i].total = total;
}

static void print_file(const char *file, uint64_t total) {
    char name[4096];
    char size[KERNELS_SIZE_TEXT];
    size_t i = 0;
    for (; file[i] != '\0' && i + 1 < sizeof name; i++) {
        name[i] = file[i];
        if ((unsigned char)file[i] < 0x20 || file[i] == 0x7f) {
            name[i] = '?';
        }
    }
    name[i] = '\0';
    kernels_size_text(size, total);
    (void)fprintf(stderr, "  %s (%s)\n", name, size);
}

void kernels_terminal_progress(void *payload, const char *file, uint64_t done, uint64_t total) {
    kernels_terminal *terminal = payload;
    if (terminal->progress == KERNELS_PROGRESS_NONE) {
        return;
    }
    if (!terminal->is_terminal) {
        if (file != NULL && done == total && terminal->progress == KERNELS_PROGRESS_FILES) {
            print_file(file, total);
        }
        return;
    }
    if (file != NULL) {
        note_file(terminal, file, done, total);
        return;
    }
    unsigned percent = total == 0 ? 100 : percent_of(done, total);
    if (total > 0 && (terminal->drawn_lines != 1 + (unsigned)terminal->bar_count ||
                      percent != terminal->drawn_percent || terminal->bar_count > 0)) {
        draw(terminal, percent);
    }
}

void kernels_terminal_end_progress(kernels_terminal *terminal) {
    if (terminal->drawn_lines > 0) {
        erase(terminal);
        terminal->bar_count = 0;
        (void)fflush(stderr);
    }
}
