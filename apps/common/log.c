/* SPDX-License-Identifier: MIT */
/* Messages and progress on stderr. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

enum { PROGRESS_EVERY_US = 200000, PROGRESS_LINE_EVERY_US = 1000000 };

static struct {
    const char *program;
    enum log_level level;
    struct progress *progress;    /* the line that must be taken away before a message */
} logger = { "tenon", LOG_NORMAL, NULL };

uint64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void log_open(const char *program, enum log_level level)
{
    logger.program = program;
    logger.level = level;
}

enum log_level log_level(void)
{
    return logger.level;
}

static void clear_line(void)
{
    if (logger.progress != NULL && logger.progress->shown && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

void log_error(const char *format, ...)
{
    va_list args;

    flockfile(stderr);
    clear_line();
    fprintf(stderr, "%s: ", logger.program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void log_say(enum log_level at, const char *format, ...)
{
    va_list args;

    if (logger.level < at)
        return;
    flockfile(stderr);
    clear_line();
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void progress_begin(struct progress *progress, const char *what, int force)
{
    memset(progress, 0, sizeof *progress);
    progress->what = what;
    progress->began_us = progress->shown_us = clock_us();
    progress->wanted = force || (isatty(STDERR_FILENO) && logger.level >= LOG_NORMAL);
    logger.progress = progress;
}

static void progress_draw(const struct progress *progress, uint64_t bytes, double seconds)
{
    struct text have = text_bytes(bytes), rate = text_rate(bytes, seconds);
    double left;

    if (progress->total == 0) {
        fprintf(stderr, "%s %s  %s  %s", progress->what, have.s, rate.s, text_duration(seconds).s);
        return;
    }
    left = bytes > 0 ? seconds * (double)(progress->total - bytes) / (double)bytes : 0;
    fprintf(stderr, "%s %s of %s (%u %%)  %s  %s left", progress->what, have.s, text_bytes(progress->total).s,
            (unsigned)((double)bytes * 100 / (double)progress->total), rate.s, text_duration(left).s);
}

void progress_show(struct progress *progress, uint64_t bytes)
{
    int terminal = isatty(STDERR_FILENO);
    uint64_t now;

    if (!progress->wanted)
        return;
    now = clock_us();
    if (now - progress->shown_us < (terminal ? PROGRESS_EVERY_US : PROGRESS_LINE_EVERY_US))
        return;
    progress->shown_us = now;
    if (progress->total > 0 && bytes > progress->total)
        bytes = progress->total;
    progress->shown = 1;
    if (terminal)
        fputs("\r\033[K", stderr);
    progress_draw(progress, bytes, (double)(now - progress->began_us) / 1e6);
    if (!terminal)
        fputc('\n', stderr);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    clear_line();
    progress->shown = progress->wanted = 0;
    if (logger.progress == progress)
        logger.progress = NULL;
}
