/* SPDX-License-Identifier: MIT */
/* DPDK's environment (EAL), which a process has once: how it is started, and what it says. */
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_log.h>

#include "dpdk_internal.h"

enum { WORDS_MAX = 40, OTHER_MB = 64 /* of DPDK itself */, PLAIN_MB = 1024 /* taken as it is used */ };

unsigned dpdk_traits;

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
    if (eal.ear != NULL)
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

/* Of all sizes that processors have. */
static size_t free_huge_mb(void)
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

/* Nothing of it shall be seen by others, or be left behind. One thread, ours, on whatever processors we may have.
 * With a virtual device huge pages are taken at once, for another one too: see dpdk_memory_hold(). */
static void choose_words(const char *device, size_t bytes)
{
    const int name_bytes = (int)strcspn(device, ","), is_pci = memchr(device, ':', (size_t)name_bytes) != NULL;
    const size_t need_mb = (bytes >> 20 << !is_pci) + OTHER_MB, plain_mb = RTE_MAX((size_t)PLAIN_MB, 2 * need_mb);
    const int huge = free_huge_mb() >= need_mb;

    snprintf(eal.words, sizeof eal.words,
             "tenon --lcores=0@%d --file-prefix=tenon%ld --no-telemetry --log-level=error %s%.*s %s -m %zu",
             sched_getcpu(), (long)getpid(), is_pci ? "-a " : "--no-pci", is_pci ? name_bytes : 0, device,
             huge ? "--in-memory --single-file-segments" : "--no-huge --no-shconf --iova-mode=va",
             !huge ? plain_mb : is_pci ? 0 : need_mb); /* 0: as it is needed */
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
    if ((dpdk_traits & DPDK_STAYS) == 0) /* somebody may look into it until the end */
        (void)rte_eal_cleanup();
}

/* @return as rte_eal_init() */
static int init(void)
{
    char *words[WORDS_MAX] = { NULL };
    cpu_set_t before = { { 0 } };
    int n = 0, status;

    for (char *word = strtok(eal.words, " "); word != NULL && n < WORDS_MAX - 1; word = strtok(NULL, " "))
        words[n++] = word;
    (void)sched_getaffinity(0, sizeof before, &before);
    status = rte_eal_init(n, words);
    remove_folder();
    (void)sched_setaffinity(0, sizeof before, &before); /* EAL has bound us to one processor */
    return status;
}

int dpdk_start(const char *device, const char *words, size_t bytes, char *error, size_t error_size)
{
    int status;

    if (eal.started && words != NULL && strcmp(words, eal.given) != 0)
        return port_explain(error, error_size, "eal= is for the first port: DPDK has been started already");
    if (eal.started)
        return 0;
    snprintf(eal.given, sizeof eal.given, "%s", words != NULL ? words : "");
    if (words == NULL)
        choose_words(device, bytes);
    else
        snprintf(eal.words, sizeof eal.words, "tenon --log-level=error %s", words);
    dpdk_listen();
    status = init();
    (void)dpdk_said();
    if (status < 0 && rte_errno != EALREADY)
        return port_explain(error, error_size, "DPDK cannot be started: %s (%s)", dpdk_said(), rte_strerror(rte_errno));
    if (status >= 0) /* and not the program, before */
        (void)atexit(stop);
    eal.started = 1;
    return 0;
}
