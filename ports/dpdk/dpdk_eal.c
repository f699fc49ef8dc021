/* SPDX-License-Identifier: MIT */
/* DPDK's environment (EAL), which a process has once: how it is started, and what it says. */
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "dpdk_internal.h"

enum { WORDS_MAX = 40, OTHER_MB = 64 /* of DPDK itself */, PLAIN_MB = 1024 /* taken as it is used */ };

struct dpdk_eal dpdk_eal;

static struct {
    int started;
    char given[PORT_TEXT_MAX]; /* the setting eal= of the first port */
    char words[2 * PORT_TEXT_MAX]; /* EAL keeps pointers to them */
    char said[160];
    FILE *ear;
} eal;

/* ---- what it says ------------------------------------------------------------------------------------------- */

void dpdk_listen(void)
{
    if (eal.ear == NULL)
        eal.ear = fmemopen(eal.said, sizeof eal.said, "w");
    memset(eal.said, 0, sizeof eal.said);
    if (eal.ear == NULL)
        return;
    rewind(eal.ear);
    (void)rte_openlog_stream(eal.ear);
}

const char *dpdk_said(void)
{
    (void)rte_openlog_stream(stderr);
    eal.said[strcspn(eal.said, "\n")] = 0;
    return eal.said[0] != 0 ? eal.said : "DPDK does not say why";
}

/* ---- how it is started -------------------------------------------------------------------------------------- */

static size_t free_huge_bytes(void)
{
    size_t bytes = 0, pages, kb;
    glob_t found;

    if (glob("/sys/kernel/mm/hugepages/hugepages-*kB/free_hugepages", 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "r");

        if (file != NULL && fscanf(file, "%zu", &pages) == 1 &&
            sscanf(found.gl_pathv[i], "/sys/kernel/mm/hugepages/hugepages-%zukB", &kb) == 1)
            bytes += pages * kb << 10;
        if (file != NULL)
            fclose(file);
    }
    globfree(&found);
    return bytes;
}

/* Nothing of it shall be seen by others, or be left behind. One thread, ours, on whatever processors we may have. */
static void choose_words(const char *device, size_t bytes)
{
    const size_t need_mb = (bytes >> 20) + OTHER_MB;
    const int name_bytes = (int)strcspn(device, ","), is_pci = memchr(device, ':', (size_t)name_bytes) != NULL;
    char memory[80] = "--in-memory --single-file-segments";

    dpdk_eal.huge = free_huge_bytes() >> 20 >= need_mb;
    if (!dpdk_eal.huge)
        snprintf(memory, sizeof memory, "--no-huge --no-shconf --iova-mode=va -m %zu",
                 RTE_MAX((size_t)PLAIN_MB, 2 * need_mb));
    snprintf(eal.words, sizeof eal.words,
             "tenon --lcores=0@%d --file-prefix=tenon%ld --no-telemetry --log-level=error %s%.*s %s", sched_getcpu(),
             (long)getpid(), is_pci ? "-a " : "--no-pci", is_pci ? name_bytes : 0, device, memory);
}

/* It makes a folder even if nothing is to be put into it. */
static void remove_folder(void)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s", rte_eal_get_runtime_dir());
    if (rmdir(path) == 0)
        (void)rmdir(dirname(path));
}

static void stop(void)
{
    dpdk_listen(); /* nobody wants to know, at the end */
    if (!dpdk_eal.leaves_memory)
        (void)rte_eal_cleanup();
    remove_folder();
}

/* @return as rte_eal_init() */
static int init(void)
{
    char *words[WORDS_MAX], *rest = eal.words;
    cpu_set_t before;
    int n = 0, status, bound;

    while (n < WORDS_MAX - 1 && (words[n] = strsep(&rest, " ")) != NULL)
        n += words[n][0] != 0;
    words[n] = NULL;
    bound = pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0;
    status = rte_eal_init(n, words);
    remove_folder();
    if (bound) /* EAL has bound us to one processor */
        (void)pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    return status;
}

int dpdk_start_for(const char *device, const char *words, size_t bytes, char *error, size_t size)
{
    int status;

    if (eal.started && words != NULL && strcmp(words, eal.given) != 0)
        return port_explain(error, size, "eal= is for the first port of a program: DPDK has been started already");
    if (eal.started)
        return 0;
    snprintf(eal.given, sizeof eal.given, "%s", words != NULL ? words : "");
    if (words == NULL)
        choose_words(device, bytes);
    else
        snprintf(eal.words, sizeof eal.words, "tenon --log-level=error %s", words);
    status = init();
    if (status < 0 && rte_errno != EALREADY)
        return port_explain(error, size, "DPDK cannot be started: %s (%s)", dpdk_said(), rte_strerror(rte_errno));
    if (status >= 0)
        (void)atexit(stop);
    if (status < 0 || words != NULL) /* the program has started it, or told how */
        dpdk_eal.huge = rte_eal_has_hugepages();
    eal.started = 1;
    return 0;
}

int dpdk_start(const char *words, size_t bytes, char *error, size_t error_size)
{
    int status;

    dpdk_listen();
    status = dpdk_start_for("", words, bytes, error, error_size);
    (void)dpdk_said();
    return status;
}
