/* SPDX-License-Identifier: MIT */
/* Files for the HTTP server. A file is mapped whole; because a buffer of the stack has a 32-bit size, a
 * large file is described by several buffers, one per gigabyte. The mapping goes when the last
 * connection has let go of the file and the last peer has acknowledged its bytes. */
#include "http_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FILE_WINDOW_BITS = 30 };

struct window {
    struct tenon_buf buf;
    struct http_file *file;
};

struct http_file {
    struct http_file *next;
    int fd;
    struct stat st;
    tenon_u8 *map;
    unsigned refs;        /* connections that send it */
    unsigned alive;       /* windows of which somebody has a reference */
    unsigned nwindows;
    struct window windows[];
};

/* A thread's own: references of buffers are counted without locks. */
static _Thread_local struct http_file *files;

/* ---- a file that shrinks under us ----------------------------------------------------------------- */

/* Reading a mapped page beyond the end of the file raises SIGBUS. Zeros are put there instead; the
 * connection finds out by http_file_intact() and is reset. */
static void sigbus(int signal_number, siginfo_t *info, void *context)
{
    const tenon_u8 *at = info->si_addr;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct http_file *file;

    (void)context;
    for (file = files; file != NULL; file = file->next) {
        if (at < file->map || at >= file->map + file->st.st_size)
            continue;
        if (mmap((void *)((uintptr_t)at & ~(page - 1)), page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != MAP_FAILED)
            return;
    }
    signal(signal_number, SIG_DFL);
}

void http_files_begin(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = sigbus;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, NULL);
}

/* ---- opening -------------------------------------------------------------------------------------- */

/* For kernels without openat2(): one component at a time, and no symbolic links at all. */
static int open_step_by_step(int root, const char *path)
{
    char name[256];
    int at = dup(root), next;
    size_t n;

    while (at >= 0 && *path != '\0') {
        n = strcspn(path, "/");
        if (n >= sizeof name) {
            close(at);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, path, n);
        name[n] = '\0';
        path += n + strspn(path + n, "/");
        next = openat(at, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        close(at);
        at = next;
    }
    return at;
}

int http_open_beneath(int root, const char *path, struct stat *st)
{
    struct open_how how;
    const char *name = path[0] != '\0' ? path : ".";
    int fd;

    memset(&how, 0, sizeof how);
    how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    how.resolve = RESOLVE_BENEATH;
    fd = (int)syscall(SYS_openat2, root, name, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = open_step_by_step(root, path);
    if (fd >= 0 && fstat(fd, st) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void window_release(struct tenon_buf *buf)
{
    struct http_file *file = TENON_CONTAINER(buf, struct window, buf)->file, **at;

    if (--file->alive > 0)
        return;
    for (at = &files; *at != file; at = &(*at)->next)
        ;
    *at = file->next;
    if (file->map != NULL)
        munmap(file->map, (size_t)file->st.st_size);
    close(file->fd);
    free(file);
}

static struct http_file *find_file(const struct stat *st)
{
    struct http_file *file;

    for (file = files; file != NULL; file = file->next) {
        if (file->refs > 0 && same_file(&file->st, st))
            return file;
    }
    return NULL;
}

static void describe_windows(struct http_file *file)
{
    uint64_t at, size = (uint64_t)file->st.st_size, left;
    unsigned i;

    for (i = 0; i < file->nwindows; i++) {
        struct tenon_buf *buf = &file->windows[i].buf;

        at = (uint64_t)i << FILE_WINDOW_BITS;
        left = size - at;
        buf->data = file->map + at;
        buf->size = left < (1ULL << FILE_WINDOW_BITS) ? (tenon_u32)left : (tenon_u32)1 << FILE_WINDOW_BITS;
        buf->refs = 1;
        buf->release = window_release;
        file->windows[i].file = file;
    }
    file->alive = file->nwindows;
}

struct http_file *http_file_open(int fd, const struct stat *st)
{
    struct http_file *file = find_file(st);
    uint64_t size = (uint64_t)st->st_size;
    unsigned n = (unsigned)((size + (1ULL << FILE_WINDOW_BITS) - 1) >> FILE_WINDOW_BITS);
    void *map = NULL;

    if (file != NULL) {
        close(fd);
        file->refs++;
        return file;
    }
    n = n > 0 ? n : 1;
    file = calloc(1, sizeof *file + n * sizeof file->windows[0]);
    if (file != NULL && size > 0)
        map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    if (file == NULL || map == MAP_FAILED) {
        free(file);
        close(fd);
        errno = ENOMEM;
        return NULL;
    }
    file->fd = fd;
    file->st = *st;
    file->map = map;
    file->refs = 1;
    file->nwindows = n;
    describe_windows(file);
    file->next = files;
    files = file;
    return file;
}

void http_file_put(struct http_file *file)
{
    unsigned i, n = file->nwindows;

    if (--file->refs > 0)
        return;
    for (i = 0; i < n; i++)
        tenon_buf_put(&file->windows[i].buf);    /* the last one may free the file */
}

uint64_t http_file_size(const struct http_file *file)
{
    return (uint64_t)file->st.st_size;
}

int http_file_intact(const struct http_file *file)
{
    struct stat now;

    return fstat(file->fd, &now) == 0 && now.st_size >= file->st.st_size;
}

struct tenon_span http_file_span(const struct http_file *file, uint64_t at, uint64_t end)
{
    const struct window *window = &file->windows[at >> FILE_WINDOW_BITS];
    struct tenon_span span;

    span.buf = (struct tenon_buf *)(uintptr_t)&window->buf;
    span.off = (tenon_u32)(at & ((1ULL << FILE_WINDOW_BITS) - 1));
    span.len = span.buf->size - span.off;
    if (span.len > end - at)
        span.len = (tenon_u32)(end - at);
    return span;
}

/* ---- directories ---------------------------------------------------------------------------------- */

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* What may be fetched under this name: of a link that leads out of the root nothing is told. @return 0 or -1 */
static int stat_entry(int root, const char *path, int fd, const char *name, struct stat *st)
{
    struct strbuf whole = { NULL, 0, 0 };
    int target;

    if (fstatat(fd, name, st, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    if (!S_ISLNK(st->st_mode))
        return 0;
    sb_printf(&whole, "%s%s", path, name);
    target = http_open_beneath(root, whole.s, st);
    sb_free(&whole);
    return target >= 0 ? close(target) : -1;
}

static void list_entry(struct strbuf *page, const struct stat *st, const char *name)
{
    const int folder = S_ISDIR(st->st_mode);
    char when[32] = "";
    struct tm tm;

    if (!folder && !S_ISREG(st->st_mode))
        return;
    if (gmtime_r(&st->st_mtime, &tm) != NULL)    /* some file systems have times of years that no int can say */
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
    sb_text(page, "<tr><td><a href=\"./");
    sb_url(page, name);
    sb_printf(page, "%s\">", folder ? "/" : "");
    sb_html(page, name);
    sb_printf(page, "%s</a></td><td align=\"right\">%s</td><td>%s</td></tr>\n", folder ? "/" : "",
              folder ? "" : text_bytes((uint64_t)st->st_size).s, when);
}

int http_listing(struct strbuf *page, int root, int fd, const char *path)
{
    struct dirent **entries;
    struct stat st;
    int n = scandirat(fd, ".", &entries, not_hidden, by_name), i;

    if (n < 0) {
        close(fd);
        return -1;
    }
    sb_text(page, "<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>/");
    sb_html(page, path);
    sb_text(page, "</title><style>body{font-family:sans-serif;margin:2em}td{padding:0 1.5em .2em 0}</style></head>\n"
                  "<body><h1>/");
    sb_html(page, path);
    sb_text(page, "</h1>\n<table>\n");
    if (path[0] != '\0')
        sb_text(page, "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n");
    for (i = 0; i < n; i++) {
        if (stat_entry(root, path, fd, entries[i]->d_name, &st) == 0)
            list_entry(page, &st, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    sb_text(page, "</table>\n</body></html>\n");
    close(fd);
    return 0;
}

const char *http_content_type(const char *path)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        { "html", "text/html; charset=utf-8" },
        { "htm", "text/html; charset=utf-8" },
        { "txt", "text/plain; charset=utf-8" },
        { "md", "text/plain; charset=utf-8" },
        { "c", "text/plain; charset=utf-8" },
        { "h", "text/plain; charset=utf-8" },
        { "log", "text/plain; charset=utf-8" },
        { "css", "text/css" },
        { "js", "text/javascript" },
        { "mjs", "text/javascript" },
        { "json", "application/json" },
        { "xml", "application/xml" },
        { "pdf", "application/pdf" },
        { "wasm", "application/wasm" },
        { "gz", "application/gzip" },
        { "zip", "application/zip" },
        { "svg", "image/svg+xml" },
        { "png", "image/png" },
        { "jpg", "image/jpeg" },
        { "jpeg", "image/jpeg" },
        { "gif", "image/gif" },
        { "webp", "image/webp" },
        { "ico", "image/x-icon" },
        { "woff2", "font/woff2" },
        { "mp3", "audio/mpeg" },
        { "ogg", "audio/ogg" },
        { "mp4", "video/mp4" },
        { "webm", "video/webm" },
    };
    const char *dot = strrchr(path, '.');
    unsigned i;

    for (i = 0; dot != NULL && i < sizeof types / sizeof types[0]; i++) {
        if (strcasecmp(dot + 1, types[i].ending) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}
