/* SPDX-License-Identifier: MIT */
/* A fuzz target as a program for any compiler: each file, and each file of each folder, is an input. A crash
 * input that is kept in tests/fuzz/corpus/ is thereby a regression test everywhere. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_MAX = 1 << 20 };

/* One input, in memory that ends behind it. */
static int run_file(const char *name)
{
    static uint8_t room[INPUT_MAX];
    FILE *file = fopen(name, "rb");
    uint8_t *exact;
    size_t n;

    if (!file) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        return -1;
    }
    n = fread(room, 1, sizeof(room), file);
    fclose(file);
    exact = malloc(n > 0 ? n : 1);
    if (!exact)
        return -1;
    memcpy(exact, room, n);
    /* So that a crash says which file it was. */
    fprintf(stderr, "%s\n", name);
    (void)LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    return 1;
}

static int run_folder(const char *folder)
{
    struct dirent **entries;
    const int n = scandir(folder, &entries, NULL, alphasort);
    int i, files = 0, result;
    char name[4096];

    if (n < 0) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        return -1;
    }
    for (i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s/%s", folder, entries[i]->d_name);
        result = entries[i]->d_name[0] == '.' ? 0 : run_file(name);
        files = result < 0 || files < 0 ? -1 : files + result;
        free(entries[i]);
    }
    free(entries);
    return files;
}

int main(int argc, char **argv)
{
    struct stat stat_of;
    int i, n, files = 0;

    fuzz_verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    if (argc < 2 + fuzz_verbose) {
        fprintf(stderr, "usage: %s [-v] FILE-OR-FOLDER...\nEach file is an input. -v: say what happens.\n", argv[0]);
        return 2;
    }
    for (i = 1 + fuzz_verbose; i < argc; i++) {
        n = stat(argv[i], &stat_of) == 0 && S_ISDIR(stat_of.st_mode) ? run_folder(argv[i]) : run_file(argv[i]);
        if (n < 0)
            return 1;
        files += n;
    }
    printf("%d inputs\n", files);
    return files > 0 ? 0 : 1;
}
