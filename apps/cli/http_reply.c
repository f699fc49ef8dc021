/* SPDX-License-Identifier: MIT */
/* HTTP responses, from spans cut anywhere. */
#include "http_reply.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { REPLY_HEAD_MAX = 65536, REPLY_LINE_MAX = 4096 };

static void bad(struct http_reply *reply, const char *wrong)
{
    reply->state = REPLY_BAD;
    reply->wrong = wrong;
}

/* Blanks around a value are no part of it (RFC 9110 5.5). */
static void read_field(struct http_reply *reply, char *line)
{
    char *value = strchr(line, ':'), *end = line + strlen(line);
    size_t name = value != NULL ? (size_t)(value - line) : 0;

    if (value == NULL)
        return;
    value += 1 + strspn(value + 1, " \t");
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    if (name == 14 && strncasecmp(line, "Content-Length", name) == 0) {
        uint64_t length = 0;

        if (text_read_number(value, 0, UINT64_MAX, &length) != NULL ||
            (reply->has_length && reply->length != length))
            bad(reply, "its Content-Length makes no sense");
        reply->has_length = 1;
        reply->length = length;
    } else if (name == 17 && strncasecmp(line, "Transfer-Encoding", name) == 0) {
        if (strcasecmp(value, "chunked") == 0)
            reply->chunked = 1;
        else
            bad(reply, "it has a Transfer-Encoding other than chunked");
    }
}

/* RFC 9112 6.3: how the body ends. */
static void begin_body(struct http_reply *reply)
{
    int empty = reply->head_only || reply->status == 204 || reply->status == 304;

    if (reply->status / 100 == 1) {
        sb_free(&reply->head);
        reply->has_length = reply->chunked = 0;
        return;    /* an interim response; the next one follows */
    }
    reply->left = reply->length;
    if (empty || (!reply->chunked && reply->has_length && reply->length == 0))
        reply->state = REPLY_DONE;
    else if (reply->chunked)
        reply->state = REPLY_CHUNK_LINE;
    else
        reply->state = reply->has_length ? REPLY_LENGTH : REPLY_UNTIL_CLOSE;
}

/* RFC 9112 4, with whatever reason, or none. */
static int is_status_line(const char *line)
{
    const unsigned char *digits = (const unsigned char *)line + 9;

    return strncmp(line, "HTTP/1.", 7) == 0 && strlen(line) >= 12 && line[8] == ' ' && isdigit(digits[0]) &&
           isdigit(digits[1]) && isdigit(digits[2]) && (digits[3] == '\0' || digits[3] == ' ');
}

/* All of the head, which is complete. */
static void read_fields(struct http_reply *reply)
{
    struct strbuf head = { NULL, 0, 0 };
    char *rest, *line;

    sb_add(&head, reply->head.s, reply->head.len);
    rest = head.s;
    (void)strsep(&rest, "\n");    /* the status line */
    while ((line = strsep(&rest, "\n")) != NULL && reply->state != REPLY_BAD)
        read_field(reply, line);
    sb_free(&head);
}

static void head_line(struct http_reply *reply, char *line)
{
    if (reply->head.len + strlen(line) > REPLY_HEAD_MAX) {
        bad(reply, "its head has no end");
        return;
    }
    if (reply->head.len == 0) {
        if (!is_status_line(line)) {
            bad(reply, "it is not HTTP/1.1");
            return;
        }
        reply->status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
    } else if (line[0] == '\0') {
        read_fields(reply);
        if (reply->state != REPLY_BAD)
            begin_body(reply);
        return;
    } else if (line[0] == ' ' || line[0] == '\t') {
        if (strchr(reply->head.s, '\n') == reply->head.s + reply->head.len - 1)
            return;    /* behind the status line it is nothing: RFC 9112 2.2 */
        reply->head.s[reply->head.len - 1] = ' ';    /* the line before goes on: 5.2 */
    }
    sb_text(&reply->head, line);
    sb_text(&reply->head, "\n");
}

static void chunk_line(struct http_reply *reply, const char *line)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t size = 0;
    unsigned n = 0;

    for (; n < 16 && isxdigit((unsigned char)line[n]); n++)
        size = size << 4 | (uint64_t)(strchr(digits, tolower((unsigned char)line[n])) - digits);
    if (n == 0 || (line[n] != '\0' && strchr("; \t", line[n]) == NULL)) {
        bad(reply, "the size of a chunk makes no sense");
        return;
    }
    reply->left = size;
    reply->state = size > 0 ? REPLY_CHUNK : REPLY_TRAILER;
}

static void whole_line(struct http_reply *reply, char *line)
{
    switch (reply->state) {
    case REPLY_HEAD:
        head_line(reply, line);
        break;
    case REPLY_CHUNK_LINE:
        chunk_line(reply, line);
        break;
    case REPLY_CHUNK_END:
        if (line[0] == '\0')
            reply->state = REPLY_CHUNK_LINE;
        else
            bad(reply, "a chunk is longer than it says");
        break;
    default:
        if (line[0] == '\0')
            reply->state = REPLY_DONE;
    }
}

/* A NUL ends no line, and neither does a CR alone: in a head it is a blank (RFC 9110 5.5), elsewhere what makes no
 * sense. */
static void take_away(struct strbuf *line, char instead)
{
    size_t i;

    for (i = 0; i < line->len; i++) {
        if (line->s[i] == '\0' || line->s[i] == '\r')
            line->s[i] = instead;
    }
}

/* @return bytes used: to the end of the line, or all */
static uint32_t feed_line(struct http_reply *reply, const char *bytes, uint32_t n)
{
    const char *end = memchr(bytes, '\n', n);
    uint32_t used = end != NULL ? (uint32_t)(end - bytes) + 1 : n;

    sb_add(&reply->line, bytes, end != NULL ? used - 1 : used);
    if (end == NULL) {
        if (reply->line.len > (reply->state == REPLY_HEAD ? REPLY_HEAD_MAX : REPLY_LINE_MAX))
            bad(reply, "it has a line without end");
        return used;
    }
    if (reply->line.len > 0 && reply->line.s[reply->line.len - 1] == '\r')
        reply->line.s[--reply->line.len] = '\0';
    take_away(&reply->line, reply->state == REPLY_HEAD ? ' ' : '?');
    whole_line(reply, reply->line.s);
    reply->line.len = 0;
    return used;
}

/* @return bytes used */
static uint32_t feed_body(struct http_reply *reply, const struct tenon_span *from, uint32_t off)
{
    struct tenon_span span = *from;

    span.off += off;
    span.len -= off;
    if (reply->state != REPLY_UNTIL_CLOSE && span.len > reply->left)
        span.len = (tenon_u32)reply->left;
    reply->body_bytes += span.len;
    if (reply->state != REPLY_UNTIL_CLOSE) {
        reply->left -= span.len;
        if (reply->left == 0)
            reply->state = reply->state == REPLY_CHUNK ? REPLY_CHUNK_END : REPLY_DONE;
    }
    reply->body(reply->arg, &span);
    return span.len;
}

uint32_t http_reply_feed(struct http_reply *reply, const struct tenon_span *spans, unsigned n)
{
    uint32_t other = 0, used, off;
    unsigned i;

    for (i = 0; i < n; i++) {
        for (off = 0; off < spans[i].len; off += used) {
            if (reply->state == REPLY_LENGTH || reply->state == REPLY_CHUNK || reply->state == REPLY_UNTIL_CLOSE) {
                used = feed_body(reply, &spans[i], off);
                continue;
            }
            used = spans[i].len - off;
            if (reply->state != REPLY_DONE && reply->state != REPLY_BAD)
                used = feed_line(reply, (const char *)tenon_span_data(&spans[i]) + off, used);
            other += used;
        }
    }
    return other;
}

int http_reply_end(struct http_reply *reply)
{
    if (reply->state == REPLY_UNTIL_CLOSE)
        reply->state = REPLY_DONE;
    return reply->state == REPLY_DONE ? 0 : -1;
}

void http_reply_free(struct http_reply *reply)
{
    sb_free(&reply->head);
    sb_free(&reply->line);
}
