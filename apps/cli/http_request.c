/* SPDX-License-Identifier: MIT */
/* HTTP requests, read strictly: what is ambiguous is refused, not guessed (RFC 9112 2.2, 5.1). */
#include "http_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

size_t http_head_bytes(const char *bytes, size_t n)
{
    size_t i, line = 0;

    /* Empty lines before a request are skipped (RFC 9112 2.2), so an end needs a line before it. */
    while (line < n && (bytes[line] == '\r' || bytes[line] == '\n'))
        line++;
    for (i = line; i < n; i++) {
        if (bytes[i] != '\n')
            continue;
        if (i == line || (i - line == 1 && bytes[line] == '\r'))
            return i + 1;
        line = i + 1;
    }
    return 0;
}

/* Cut the next line off; its end is overwritten by 0. @return the line, or NULL after the last */
static char *next_line(char **at, char *end)
{
    char *line = *at, *stop;

    if (line >= end)
        return NULL;
    stop = memchr(line, '\n', (size_t)(end - line));
    if (stop == NULL)
        return NULL;
    *at = stop + 1;
    *stop = '\0';
    if (stop > line && stop[-1] == '\r')
        stop[-1] = '\0';
    return line;
}

static int is_token(const char *text, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (!isalnum((unsigned char)text[i]) && strchr("!#$%&'*+-.^_`|~", text[i]) == NULL)
            return 0;
    }
    return n > 0;
}

static int read_request_line(struct http_request *request, char *line)
{
    char *target = strchr(line, ' '), *version;

    if (target == NULL || !is_token(line, (size_t)(target - line)))
        return 400;
    *target++ = '\0';
    version = strchr(target, ' ');
    if (version == NULL || version == target)
        return 400;
    *version++ = '\0';
    if (strncmp(version, "HTTP/", 5) != 0)
        return 400;
    if (strncmp(version, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)version[7]) || version[8] != '\0')
        return 505;
    request->minor = version[7] - '0';
    request->keep_alive = request->minor > 0;
    request->method = strcmp(line, "GET") == 0 ? HTTP_GET : strcmp(line, "HEAD") == 0 ? HTTP_HEAD
                                                                                      : HTTP_OTHER;
    request->target = target;
    if (strncasecmp(target, "http://", 7) == 0) {
        if (strchr("/?:", target[7]) != NULL)    /* of nobody: RFC 9110 4.2.1 */
            return 400;
        target = strpbrk(target + 7, "/?");
        request->target = target != NULL && *target == '/' ? target : "/";
    }
    return request->target[0] == '/' ? 0 : request->method == HTTP_OTHER ? 405
                                                                         : 400;
}

static int list_has(const char *list, const char *word)
{
    size_t n = strlen(word);

    while (*list != '\0') {
        list += strspn(list, " \t,");
        if (strncasecmp(list, word, n) == 0 && strchr(" \t,", list[n]) != NULL)
            return 1;
        list += strcspn(list, ",");
    }
    return 0;
}

static int read_digits(const char **at, uint64_t *value)
{
    char *end;

    if (!isdigit((unsigned char)**at))
        return -1;
    errno = 0;
    *value = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0 ? 0 : -1;
}

/* Where the next request begins must not be a matter of opinion (RFC 9112 6.3, 11.2). */
static int read_length(struct http_request *request, const char *value)
{
    uint64_t length;

    if (request->has_length || read_digits(&value, &length) != 0 || *value != '\0')
        return 400;
    request->has_length = 1;
    request->has_body |= length > 0;
    return 0;
}

/* A name or an address, which may be empty, and perhaps a port (RFC 9110 7.2, RFC 3986 3.2.2). */
static int is_host(const char *text)
{
    static const char digits[] = "0123456789",
                      usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+,;=";

    if (*text == '[') {
        do
            text += 1 + strspn(text + 1, usual);
        while (*text == ':');
        if (*text++ != ']')
            return 0;
    } else {
        text += strspn(text, usual);
    }
    return *text == '\0' || (*text == ':' && text[1 + strspn(text + 1, digits)] == '\0');
}

static int read_field(struct http_request *request, const char *name, const char *value)
{
    if (strcasecmp(name, "Host") == 0) {
        if (request->host != NULL || !is_host(value))    /* RFC 9112 3.2 */
            return 400;
        request->host = value;
    } else if (strcasecmp(name, "Connection") == 0) {
        request->close |= list_has(value, "close");    /* in whichever of several lines: RFC 9112 9.3 */
        request->keep_alive |= list_has(value, "keep-alive");
    } else if (strcasecmp(name, "Content-Length") == 0) {
        return read_length(request, value);
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        request->has_body = 1;
        return strcasecmp(value, "chunked") == 0 ? 0 : 400;
    } else if (strcasecmp(name, "Range") == 0) {
        request->range = value;
    } else if (strcasecmp(name, "If-Range") == 0) {
        request->if_range = value;
    } else if (strcasecmp(name, "If-Match") == 0) {
        request->if_match = value;
    } else if (strcasecmp(name, "If-None-Match") == 0) {
        request->if_none_match = value;
    } else if (strcasecmp(name, "If-Modified-Since") == 0) {
        request->if_modified_since = value;
    } else if (strcasecmp(name, "If-Unmodified-Since") == 0) {
        request->if_unmodified_since = value;
    }
    return 0;
}

static int read_field_line(struct http_request *request, char *line)
{
    char *colon = strchr(line, ':'), *value, *end;

    if (colon == NULL || !is_token(line, (size_t)(colon - line)))
        return 400;
    *colon = '\0';
    value = colon + 1 + strspn(colon + 1, " \t");
    end = value + strlen(value);
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    return read_field(request, line, value);
}

/* One that does not end a line: a recipient further on might take it for an end (RFC 9112 2.2). */
static int has_bare_cr(const char *head, const char *end)
{
    while ((head = memchr(head, '\r', (size_t)(end - head))) != NULL) {
        if (++head == end || *head != '\n')
            return 1;
    }
    return 0;
}

int http_request_read(struct http_request *request, char *head, size_t n)
{
    char *at = head, *end = head + n, *line;
    int status;

    memset(request, 0, sizeof *request);
    if (memchr(head, '\0', n) != NULL || has_bare_cr(head, end))
        return 400;
    while (at < end && (*at == '\r' || *at == '\n'))
        at++;
    line = next_line(&at, end);
    status = line != NULL ? read_request_line(request, line) : 400;
    while (status == 0 && (line = next_line(&at, end)) != NULL && line[0] != '\0')
        status = read_field_line(request, line);
    if (status != 0)
        return status;
    request->keep_alive &= !request->close;
    if (request->minor > 0 && request->host == NULL)
        return 400;
    return request->method == HTTP_OTHER ? 405 : 0;
}

/* ---- paths ---------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Percent-decoding first, for the whole path: what is checked below is what will be opened. */
static int decode(const char *target, char *path, size_t size)
{
    size_t n = 0;
    int high, low;
    char c;

    for (; *target != '\0' && *target != '?' && *target != '#'; target++) {
        c = *target;
        if (c == '%') {
            high = hex_digit(target[1]);
            low = high >= 0 ? hex_digit(target[2]) : -1;
            if (low < 0)
                return 400;
            c = (char)(high << 4 | low);
            target += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7F)
            return 400;
        if (n + 1 >= size)
            return 414;
        path[n++] = c;
    }
    path[n] = '\0';
    return 0;
}

int http_path_read(const char *target, char *path, size_t size)
{
    char *from = path, *to = path, *end;
    int status = decode(target, path, size);
    size_t n;

    if (status != 0)
        return status;
    while (*from != '\0') {
        from += strspn(from, "/");
        n = strcspn(from, "/");
        end = from + n;
        if (n == 2 && from[0] == '.' && from[1] == '.') {
            if (to == path)
                return 400;
            for (to--; to > path && to[-1] != '/'; to--)
                ;
        } else if (n > 1 && from[0] == '.') {
            return 404;
        } else if (n > 0 && from[0] != '.') {
            int slash = *end == '/';

            memmove(to, from, n);
            to += n;
            if (slash)
                *to++ = '/';
        }
        from = end;
    }
    *to = '\0';
    return 0;
}

/* ---- ranges, dates, phrases ----------------------------------------------------------------------- */

enum http_range http_range_read(const char *range, uint64_t size, uint64_t *first, uint64_t *end)
{
    uint64_t last;

    if (range == NULL || strncasecmp(range, "bytes=", 6) != 0)
        return HTTP_RANGE_NONE;
    range += 6;
    if (*range == '-') {
        range++;
        if (read_digits(&range, &last) != 0 || *range != '\0')
            return HTTP_RANGE_NONE;
        *first = last < size ? size - last : 0;
        *end = size;
        return last > 0 && size > 0 ? HTTP_RANGE_PART : HTTP_RANGE_UNSATISFIABLE;
    }
    if (read_digits(&range, first) != 0 || *range++ != '-')
        return HTTP_RANGE_NONE;
    *end = size;
    if (*range != '\0') {
        if (read_digits(&range, &last) != 0 || *range != '\0' || last < *first)
            return HTTP_RANGE_NONE;
        if (last < size)
            *end = last + 1;
    }
    return *first < size ? HTTP_RANGE_PART : HTTP_RANGE_UNSATISFIABLE;
}

void http_date_write(char *text, time_t when)
{
    static const int64_t first = -30610224000, last = 253402300799;    /* of the years 1000 and 9999 */
    struct tm tm;

    when = (time_t)(when < first ? first : when > last ? last : when);
    gmtime_r(&when, &tm);
    strftime(text, HTTP_DATE_MAX, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

/* The format of today, and the two that a recipient has to know as well (RFC 9110 5.6.7). */
time_t http_date_read(const char *text)
{
    static const char *const formats[] = { "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                           "%a %b %e %H:%M:%S %Y" };
    struct tm tm;
    const char *end;
    unsigned i;

    for (i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        memset(&tm, 0, sizeof tm);
        end = strptime(text, formats[i], &tm);
        if (end != NULL && *end == '\0')
            return timegm(&tm);
    }
    return (time_t)-1;
}

const char *http_status_text(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 206:
        return "Partial Content";
    case 301:
        return "Moved Permanently";
    case 304:
        return "Not Modified";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 412:
        return "Precondition Failed";
    case 414:
        return "URI Too Long";
    case 416:
        return "Range Not Satisfiable";
    case 431:
        return "Request Header Fields Too Large";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Internal Server Error";
    }
}
