/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files of its corpus folders: the corpora are part of the test suite. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        return -1;
    }
    static uint8_t data[16u * 1024 * 1024];
    size_t size = fread(data, 1, sizeof data, file);
    (void)fclose(file);
    uint8_t *exact = malloc(size ? size : 1); /* exact size, so that ASan sees a read past the end */
    if (!exact) {
        return -1;
    }
    memcpy(exact, data, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

int main(int argc, char **argv) {
    unsigned long replayed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            (void)fprintf(stderr, "no corpus %s\n", argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            int size = snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (entry->d_name[0] != '.' && size > 0 && (size_t)size < sizeof path) {
                if (replay_file(path) != 0) {
                    (void)closedir(folder);
                    return 1;
                }
                replayed++;
            }
        }
        (void)closedir(folder);
    }
    (void)printf("replayed %lu inputs\n", replayed);
    return replayed > 0 ? 0 : 1;
}
