/* SPDX-License-Identifier: MIT */
/* From a failing history to a short one: things are taken away as long as the same check still fails. First
 * what takes most away - kinds of faults, sessions - then single events, bytes, and single frames. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 1500 };

struct shrinker {
    uint64_t seed;
    const struct sim_options *options;
    struct plan_mods *best;         /* fails */
    struct plan_mods *trial;
    struct plan *plan;
    struct sim_log *log;            /* of the last run */
    char kind[SIM_KIND_MAX];
    unsigned runs;
};

/* Run the trial. It becomes the best if it fails as the first did. */
static int still_fails(struct shrinker *shrinker)
{
    if (shrinker->runs >= RUNS_MAX)
        return 0;
    shrinker->runs++;
    plan_draw(shrinker->plan, shrinker->seed);
    plan_apply(shrinker->plan, shrinker->trial);
    if (!isolated_run(shrinker->plan, shrinker->trial, shrinker->options, shrinker->log)
        || strcmp(shrinker->log->kind, shrinker->kind) != 0)
        return 0;
    *shrinker->best = *shrinker->trial;
    return 1;
}

/* Try to set flags, many at once and then fewer: what is left is needed. */
static void try_flags(struct shrinker *shrinker, uint8_t *flags_of_trial, unsigned n)
{
    unsigned chunk, first, i, changed;

    for (chunk = n; chunk > 0; chunk /= 2) {
        for (first = 0; first < n; first += chunk) {
            *shrinker->trial = *shrinker->best;
            changed = 0;
            for (i = first; i < n && i < first + chunk; i++) {
                changed += !flags_of_trial[i];
                flags_of_trial[i] = 1;
            }
            if (changed > 0)
                still_fails(shrinker);
        }
    }
    *shrinker->trial = *shrinker->best;
}

static void try_classes(struct shrinker *shrinker)
{
    unsigned i;

    for (i = 0; i < CLASS_COUNT; i++) {
        if (shrinker->best->class_off[i])
            continue;
        *shrinker->trial = *shrinker->best;
        shrinker->trial->class_off[i] = 1;
        still_fails(shrinker);
    }
    *shrinker->trial = *shrinker->best;
}

static void try_bytes(struct shrinker *shrinker)
{
    uint32_t bytes = shrinker->best->bytes_max ? shrinker->best->bytes_max : 600000;

    while (bytes > 1) {
        *shrinker->trial = *shrinker->best;
        shrinker->trial->bytes_max = bytes / 2;
        if (!still_fails(shrinker))
            break;
        bytes /= 2;
    }
    *shrinker->trial = *shrinker->best;
}

/* The faults that have struck in the best run, as a list; then fewer of them. */
static void list_fates(struct shrinker *shrinker)
{
    struct plan_mods *trial = shrinker->trial;

    *trial = *shrinker->best;
    if (!still_fails(shrinker) || shrinker->log->nfates == PLAN_FATES_MAX)
        return;
    trial->fates_only = 1;
    trial->nfates = shrinker->log->nfates;
    memcpy(trial->fate, shrinker->log->fates, trial->nfates * sizeof(trial->fate[0]));
    qsort(trial->fate, trial->nfates, sizeof(trial->fate[0]), sim_compare_fates);
    still_fails(shrinker);
}

static void try_fates(struct shrinker *shrinker)
{
    unsigned chunk, first;

    if (!shrinker->best->fates_only)
        list_fates(shrinker);
    if (!shrinker->best->fates_only)
        return;
    for (chunk = shrinker->best->nfates; chunk > 0; chunk /= 2) {
        for (first = 0; first < shrinker->best->nfates;) {
            struct plan_mods *trial = shrinker->trial;
            unsigned n = chunk;

            *trial = *shrinker->best;
            if (n > trial->nfates - first)
                n = trial->nfates - first;
            memmove(trial->fate + first, trial->fate + first + n,
                    (trial->nfates - first - n) * sizeof(trial->fate[0]));
            trial->nfates -= n;
            if (!still_fails(shrinker))
                first += n;
        }
    }
}

static unsigned count_left(const struct shrinker *shrinker, unsigned *sessions)
{
    unsigned i, left = 0;

    *sessions = 0;
    plan_draw(shrinker->plan, shrinker->seed);
    plan_apply(shrinker->plan, shrinker->best);
    for (i = 0; i < shrinker->plan->nsessions; i++)
        *sessions += !shrinker->plan->session[i].off;
    for (i = 0; i < CLASS_COUNT; i++)
        left += !shrinker->best->class_off[i];
    return left;
}

unsigned shrink_sessions_left(uint64_t seed, const struct plan_mods *mods)
{
    struct shrinker shrinker = { .seed = seed, .best = (struct plan_mods *)(uintptr_t)mods };
    unsigned sessions;

    shrinker.plan = malloc(sizeof(*shrinker.plan));
    if (!shrinker.plan)
        abort();
    count_left(&shrinker, &sessions);
    free(shrinker.plan);
    return sessions;
}

static void report(const struct shrinker *shrinker, const char *what)
{
    unsigned sessions, left = count_left(shrinker, &sessions);

    fprintf(stderr, "%5u runs, %-22s %u kinds of trouble, %u sessions", shrinker->runs, what, left, sessions);
    if (shrinker->best->fates_only)
        fprintf(stderr, ", %u single faults", shrinker->best->nfates);
    if (shrinker->best->bytes_max)
        fprintf(stderr, ", at most %u bytes", shrinker->best->bytes_max);
    fprintf(stderr, "\n");
}

/* @return 1: mods hold the short history, log how it fails; 0: the seed does not fail */
int shrink(uint64_t seed, const struct sim_options *options, struct plan_mods *mods, struct sim_log *log)
{
    struct shrinker shrinker = {.seed = seed, .options = options, .best = mods, .log = log};
    unsigned round;

    shrinker.plan = malloc(sizeof(*shrinker.plan));
    shrinker.trial = malloc(sizeof(*shrinker.trial));
    if (!shrinker.plan || !shrinker.trial)
        abort();
    *shrinker.trial = *mods;
    plan_draw(shrinker.plan, seed);
    plan_apply(shrinker.plan, mods);
    if (!isolated_run(shrinker.plan, mods, options, log)) {
        free(shrinker.plan);
        free(shrinker.trial);
        return 0;
    }
    memcpy(shrinker.kind, log->kind, sizeof(shrinker.kind));
    for (round = 0; round < 2; round++) {
        try_classes(&shrinker);
        report(&shrinker, "classes:");
        try_flags(&shrinker, shrinker.trial->session_off, PLAN_SESSIONS_MAX);
        report(&shrinker, "sessions:");
        try_flags(&shrinker, shrinker.trial->event_off, PLAN_EVENTS_MAX);
        try_flags(&shrinker, shrinker.trial->dgram_off, PLAN_DGRAMS_MAX);
        try_bytes(&shrinker);
        report(&shrinker, "events and bytes:");
        try_fates(&shrinker);
        report(&shrinker, "single faults:");
    }
    *shrinker.trial = *mods;
    plan_draw(shrinker.plan, seed);
    plan_apply(shrinker.plan, mods);
    isolated_run(shrinker.plan, mods, options, log);
    free(shrinker.plan);
    free(shrinker.trial);
    return 1;
}
