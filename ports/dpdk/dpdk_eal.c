/* SPDX-License-Identifier: MIT */
/* DPDK's environment (EAL), which a process has once: how it is started, and what it leaves. */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_errno.h>

#include "../common/folder.h"
#include "../common/hugepages.h"
#include "dpdk_internal.h"

enum { WORDS_MAX = 40, OTHER_MB = 64 /* of DPDK itself */, PLAIN_MB = 1024 /* taken as it is used */ };

unsigned dpdk_traits;
size_t dpdk_pages;

static struct {
    int started; /* -1: it could not be */
    char given[PORT_TEXT_MAX]; /* the setting eal= of the first port */
    char words[2 * PORT_TEXT_MAX]; /* EAL keeps pointers to them */
    struct timespec began;
} eal;

/* Nothing of it shall be seen by others, or be left behind. One thread, ours, on whatever processors we may have.
 * With a virtual device huge pages are taken at once, for another one too: see dpdk_memory_hold(). */
static void choose_words(const char *device, size_t bytes)
{
    const int name_bytes = (int)strcspn(device, ","), is_pci = memchr(device, ':', (size_t)name_bytes) != NULL;
    const size_t need_mb = (bytes >> 20 << !is_pci) + OTHER_MB, plain_mb = RTE_MAX((size_t)PLAIN_MB, 2 * need_mb);
    const int huge = port_hugepages_free_mb() >= need_mb;

    snprintf(eal.words, sizeof eal.words,
             "tenon --lcores=0@%d --file-prefix=tenon%ld --no-telemetry --log-level=error %s%.*s %s -m %zu",
             sched_getcpu(), (long)getpid(), is_pci ? "-a " : "--no-pci", is_pci ? name_bytes : 0, device,
             huge ? "--in-memory --single-file-segments" : "--no-huge --no-shconf --iova-mode=va",
             !huge ? plain_mb : is_pci ? 0 : need_mb); /* 0: as it is needed */
}

static void stop(void)
{
    dpdk_listen(); /* nobody wants to know, at the end */
    if ((dpdk_traits & DPDK_STAYS) == 0) /* somebody may look into it until the end */
        (void)rte_eal_cleanup();
    port_folder_clear(rte_eal_get_runtime_dir(), "config", &eal.began);
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
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &eal.began);
    status = rte_eal_init(n, words);
    if (status < 0 ? rte_errno != EALREADY : eal.given[0] == 0) /* what others have asked for may be for others */
        port_folder_clear(rte_eal_get_runtime_dir(), "config", &eal.began);
    (void)sched_setaffinity(0, sizeof before, &before); /* EAL has bound us to one processor */
    return status;
}

/* A start that has failed is the last: DPDK keeps what it has read of its words, and threads and sockets that it has
 * begun. It says EALREADY then, as if it were there, or begins once more with two threads for interrupts. */
int dpdk_start(const char *device, const char *words, size_t bytes, char *error, size_t error_size)
{
    static const char twice[] = "eal= is for the first port: DPDK has been started already";
    static const char failed[] = "DPDK has failed to start in this process before: begin the program anew";
    int status;

    if (eal.started > 0 && (words == NULL || strcmp(words, eal.given) == 0))
        return 0;
    if (eal.started != 0)
        return port_explain(error, error_size, "%s", eal.started > 0 ? twice : failed);
    snprintf(eal.given, sizeof eal.given, "%s", words != NULL ? words : "");
    dpdk_pages = port_hugepages_wanted(2 * (bytes >> 20) + OTHER_MB);
    if (words == NULL)
        choose_words(device, bytes);
    else
        snprintf(eal.words, sizeof eal.words, "tenon --log-level=error %s", words);
    dpdk_listen();
    status = init();
    eal.started = status < 0 && rte_errno != EALREADY ? -1 : 1;
    if (eal.started < 0)
        return port_explain(error, error_size, "DPDK cannot be started: %s", dpdk_said(-rte_errno));
    (void)dpdk_said(0);
    if (status >= 0) /* and not the program, before */
        (void)atexit(stop);
    return 0;
}
