/* SPDX-License-Identifier: MIT */
/* DPDK's environment (EAL), which a process has once: how it is started, what it says, and the threads that
 * it knows. */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "dpdk_internal.h"

enum { WORDS_MAX = 40, OTHER_MB = 64 /* of DPDK itself */, PLAIN_MB = 1024 /* taken as it is used */ };

static struct {
    int started, huge;
    char words[PORT_TEXT_MAX]; /* the setting eal= of the first port */
    char argument[WORDS_MAX][32]; /* EAL keeps pointers to them */
} eal;

static _Thread_local unsigned thread_ports;
static _Thread_local int thread_is_ours;

/* ---- what it says ------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    int listening;
    size_t n;
    char said[DPDK_SAID_MAX];
} ear = { PTHREAD_MUTEX_INITIALIZER, 0, 0, "" };

static ssize_t hear(void *arg, const char *text, size_t n)
{
    size_t room;

    (void)arg;
    pthread_mutex_lock(&ear.lock);
    room = sizeof ear.said - 1 - ear.n;
    if (!ear.listening) {
        (void)!fwrite(text, 1, n, stderr);
    } else {
        memcpy(ear.said + ear.n, text, n < room ? n : room);
        ear.n += n < room ? n : room;
    }
    pthread_mutex_unlock(&ear.lock);
    return (ssize_t)n;
}

void dpdk_listen(void)
{
    pthread_mutex_lock(&ear.lock);
    ear.listening = 1;
    ear.n = 0;
    memset(ear.said, 0, sizeof ear.said);
    pthread_mutex_unlock(&ear.lock);
}

const char *dpdk_said(void)
{
    pthread_mutex_lock(&ear.lock);
    ear.listening = 0;
    ear.said[strcspn(ear.said, "\n")] = 0;
    pthread_mutex_unlock(&ear.lock);
    return ear.said[0] != 0 ? ear.said : "DPDK does not say why";
}

static void give_it_an_ear(void)
{
    static const cookie_io_functions_t functions = { .write = hear };
    FILE *stream = fopencookie(NULL, "w", functions);

    if (stream == NULL)
        return;
    setvbuf(stream, NULL, _IOLBF, 0);
    (void)rte_openlog_stream(stream);
}

/* ---- how it is started -------------------------------------------------------------------------------------- */

static size_t free_huge_bytes(void)
{
    size_t bytes = 0, pages;
    unsigned kb;
    glob_t found;

    if (glob("/sys/kernel/mm/hugepages/hugepages-*kB", 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char path[128];
        FILE *file;

        snprintf(path, sizeof path, "%s/free_hugepages", found.gl_pathv[i]);
        file = fopen(path, "r");
        if (file != NULL && fscanf(file, "%zu", &pages) == 1 &&
            sscanf(found.gl_pathv[i], "/sys/kernel/mm/hugepages/hugepages-%ukB", &kb) == 1)
            bytes += pages * (size_t)kb * 1024;
        if (file != NULL)
            fclose(file);
    }
    globfree(&found);
    return bytes;
}

static void add(int *n, const char *word)
{
    if (*n + 1 < WORDS_MAX)
        snprintf(eal.argument[(*n)++], sizeof eal.argument[0], "%s", word);
}

/* Nothing of it shall be seen by others, or be left behind. One thread, ours, on whatever processors we may have. */
static int default_words(const char *device, size_t bytes)
{
    const int is_pci = strchr(device, ':') != NULL;
    char processor[32], prefix[32];
    cpu_set_t set;
    unsigned first = 0;
    int n = 0;

    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &set))
        first++;
    snprintf(processor, sizeof processor, "--lcores=0@%u", first);
    snprintf(prefix, sizeof prefix, "--file-prefix=tenon%ld", (long)getpid());
    add(&n, "tenon");
    add(&n, processor);
    add(&n, prefix);
    add(&n, "--no-telemetry");
    add(&n, "--log-level=error");
    add(&n, is_pci ? "-a" : "--no-pci");
    if (is_pci)
        add(&n, device);
    eal.huge = free_huge_bytes() >= bytes + ((size_t)OTHER_MB << 20);
    if (eal.huge) {
        add(&n, "--in-memory");
        add(&n, "--single-file-segments");
    } else {
        char megabytes[32];

        snprintf(megabytes, sizeof megabytes, "%zu", RTE_MAX((size_t)PLAIN_MB, (bytes >> 20) * 2 + OTHER_MB));
        add(&n, "--no-huge");
        add(&n, "--no-shconf");
        add(&n, "-m");
        add(&n, megabytes);
    }
    return n;
}

static int given_words(const char *words)
{
    char copy[PORT_TEXT_MAX], *rest = copy, *word;
    int n = 0;

    snprintf(copy, sizeof copy, "%s", words);
    eal.huge = strstr(words, "--no-huge") == NULL;
    add(&n, "tenon");
    add(&n, "--log-level=error");
    while ((word = strsep(&rest, " ")) != NULL)
        if (word[0] != 0)
            add(&n, word);
    return n;
}

/* It makes a folder even if nothing is to be put into it. */
static void remove_folder(void)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s", rte_eal_get_runtime_dir());
    if (rmdir(path) == 0 && strrchr(path, '/') != NULL) {
        *strrchr(path, '/') = 0;
        (void)!rmdir(path);
    }
}

static void stop(void)
{
    dpdk_listen(); /* nobody wants to know, at the end */
    (void)rte_eal_cleanup();
    remove_folder();
}

/* @param words  the setting eal=, or NULL
 * @param bytes  of memory that the first port needs */
int dpdk_start(const char *device, const char *words, size_t bytes, char *error, size_t error_size)
{
    char *arguments[WORDS_MAX + 1] = { NULL };
    cpu_set_t before;
    int n, status;

    if (eal.started && words != NULL && strcmp(words, eal.words) != 0)
        return port_explain(error, error_size,
                            "eal= is for the first port of a program: DPDK has been started already");
    if (eal.started)
        return 0;
    n = words != NULL ? given_words(words) : default_words(device, bytes);
    for (int i = 0; i < n; i++)
        arguments[i] = eal.argument[i];
    if (pthread_getaffinity_np(pthread_self(), sizeof before, &before) != 0)
        CPU_ZERO(&before);
    give_it_an_ear();
    dpdk_listen();
    status = rte_eal_init(n, arguments);
    remove_folder();
    (void)pthread_setaffinity_np(pthread_self(), sizeof before, &before); /* EAL has bound us to one processor */
    if (status < 0 && rte_errno != EALREADY)
        return port_explain(error, error_size, "DPDK cannot be started: %s (%s)", dpdk_said(), rte_strerror(rte_errno));
    (void)dpdk_said();
    if (status < 0)
        eal.huge = rte_eal_has_hugepages(); /* the program itself has started it */
    else
        (void)atexit(stop);
    snprintf(eal.words, sizeof eal.words, "%s", words != NULL ? words : "");
    eal.started = 1;
    return 0;
}

int dpdk_huge(void)
{
    return eal.huge;
}

struct errand {
    void (*run)(void *arg);
    void *arg;
    sem_t done;
};

static void do_errand(void *arg)
{
    struct errand *errand = arg;

    errand->run(errand->arg);
    sem_post(&errand->done);
}

void dpdk_errand(void (*run)(void *arg), void *arg)
{
    struct errand errand = { .run = run, .arg = arg };

    sem_init(&errand.done, 0, 0);
    if (rte_eal_alarm_set(1, do_errand, &errand) != 0)
        do_errand(&errand);
    while (sem_wait(&errand.done) != 0)
        ;
    sem_destroy(&errand.done);
}

void dpdk_thread_begin(void)
{
    if (thread_ports++ == 0)
        thread_is_ours = rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;
}

void dpdk_thread_end(void)
{
    if (thread_ports > 0 && --thread_ports == 0 && thread_is_ours)
        rte_thread_unregister();
}
