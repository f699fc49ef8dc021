/* SPDX-License-Identifier: MIT */
#include "hugepages.h"

#include <stdio.h>

size_t port_hugepages_free_mb(void)
{
    size_t free_kb = 0, pages;
    char path[80];

    for (size_t kb = 64; kb <= 16 << 20; kb *= 2) {
        FILE *file;

        snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%zukB/free_hugepages", kb);
        file = fopen(path, "r");
        if (file != NULL && fscanf(file, "%zu", &pages) == 1)
            free_kb += pages * kb;
        if (file != NULL)
            fclose(file);
    }
    return free_kb >> 10;
}

size_t port_hugepages_wanted(size_t mb)
{
    size_t total = 0, unused = 0, kb = 2048;
    FILE *file = fopen("/proc/meminfo", "r");
    char line[160];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "HugePages_Total: %zu", &total);
        (void)sscanf(line, "HugePages_Free: %zu", &unused);
        (void)sscanf(line, "Hugepagesize: %zu", &kb);
    }
    if (file != NULL)
        fclose(file);
    if (kb == 0)
        return 0;    /* a page of no size: nothing to reckon with */
    return total - unused + ((mb << 10) + kb - 1) / kb;
}
