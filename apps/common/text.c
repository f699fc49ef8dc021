/* SPDX-License-Identifier: MIT */
/* Reading what people type, writing what people read. */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ------------------------------------------------------------------------------------ */

const char *text_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    static char range[80];
    unsigned long long value;
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return "is not a whole number";
    errno = 0;
    value = strtoull(text, &end, 10);
    if (*end != '\0')
        return "is not a whole number";
    if (errno == ERANGE || value < min || value > max) {
        snprintf(range, sizeof range, "is not between %llu and %llu", (unsigned long long)min,
                 (unsigned long long)max);
        return range;
    }
    *out = value;
    return NULL;
}

const char *text_read_seconds(const char *text, double min, double max, double *out)
{
    static char range[80];
    double value;
    char *end;

    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return "is not a number of seconds";
    value = strtod(text, &end);
    if (*end != '\0' || isnan(value))
        return "is not a number of seconds";
    if (value < min || value > max) {
        snprintf(range, sizeof range, "is not between %g and %g seconds", min, max);
        return range;
    }
    *out = value;
    return NULL;
}

const char *text_read_ip(const char *text, struct tenon_ip *out)
{
    static const char *const wrong = "is not an IPv4 or IPv6 address (such as 10.9.0.2 or fd00:9::2)";
    char inner[TENON_IP_TEXT_MAX + 2];
    size_t len = strlen(text);

    if (len >= sizeof inner || len == 0)
        return wrong;
    memcpy(inner, text, len + 1);
    if (inner[0] == '[') {
        if (inner[len - 1] != ']')
            return "has a \"[\" without its \"]\"";
        memmove(inner, inner + 1, len - 2);
        len -= 2;
        inner[len] = '\0';
    }
    if (len == 0 || tenon_ip_parse(out, inner) != (int)len)
        return wrong;
    return NULL;
}

const char *text_read_prefix(const char *text, struct tenon_ip *out, unsigned *prefix)
{
    char address[TENON_IP_TEXT_MAX + 2];
    const char *slash = strchr(text, '/'), *wrong;
    uint64_t bits;

    if (slash == NULL)
        return "lacks its prefix length (write 10.9.0.2/24 or fd00:9::2/64)";
    if ((size_t)(slash - text) >= sizeof address)
        return "is not an address";
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = '\0';
    wrong = text_read_ip(address, out);
    if (wrong != NULL)
        return wrong;
    if (text_read_number(slash + 1, 0, tenon_ip_is_v4(out) ? 32 : 128, &bits) != NULL)
        return tenon_ip_is_v4(out) ? "needs a prefix length of 0 to 32 after the \"/\""
                                   : "needs a prefix length of 0 to 128 after the \"/\"";
    *prefix = (unsigned)bits;
    return NULL;
}

const char *text_read_endpoint(const char *text, uint16_t port, struct tenon_addr *out)
{
    char address[TENON_IP_TEXT_MAX + 2];
    const char *colon = NULL, *wrong;
    size_t len = strlen(text);
    uint64_t number = port;

    memset(out, 0, sizeof *out);
    if (text[0] == '[')
        colon = strchr(text, ']') != NULL && strchr(text, ']')[1] == ':' ? strchr(text, ']') + 1 : NULL;
    else if (strchr(text, ':') == strrchr(text, ':'))
        colon = strchr(text, ':');
    if (colon != NULL) {
        if (text_read_number(colon + 1, 1, 65535, &number) != NULL)
            return "needs a port of 1 to 65535 after the last \":\"";
        len = (size_t)(colon - text);
    }
    if (number == 0)
        return "needs a port (write 10.9.0.1:80 or [fd00:9::1]:80)";
    if (len >= sizeof address)
        return "is not an address";
    memcpy(address, text, len);
    address[len] = '\0';
    wrong = text_read_ip(address, &out->ip);
    out->port = (tenon_u16)number;
    return wrong;
}

/* ---- writing ------------------------------------------------------------------------------------ */

struct text text_bytes(uint64_t bytes)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB" };
    struct text out;
    double value = (double)bytes / 1024;
    unsigned i = 0;

    if (bytes < 1024) {
        snprintf(out.s, sizeof out.s, "%u B", (unsigned)bytes);
        return out;
    }
    while (value >= 1023.5 && i + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        i++;
    }
    snprintf(out.s, sizeof out.s, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[i]);
    return out;
}

struct text text_rate(uint64_t bytes, double seconds)
{
    static const char *const units[] = { "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s" };
    struct text out;
    double value = seconds > 0 ? (double)bytes * 8 / seconds : 0;
    unsigned i = 0;

    while (value >= 999.5 && i + 1 < sizeof units / sizeof units[0]) {
        value /= 1000;
        i++;
    }
    snprintf(out.s, sizeof out.s, value < 9.995 && i > 0 ? "%.2f %s" : value < 99.95 && i > 0 ? "%.1f %s"
                                                                                              : "%.0f %s",
             value, units[i]);
    return out;
}

struct text text_duration(double seconds)
{
    struct text out;
    unsigned long whole = seconds > 0 ? (unsigned long)(seconds + 0.5) : 0;

    if (seconds < 1e-3)
        snprintf(out.s, sizeof out.s, "%.0f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(out.s, sizeof out.s, seconds < 0.1 ? "%.1f ms" : "%.0f ms", seconds * 1e3);
    else if (seconds < 60)
        snprintf(out.s, sizeof out.s, seconds < 10 ? "%.2f s" : "%.1f s", seconds);
    else if (whole < 3600)
        snprintf(out.s, sizeof out.s, "%lu min %lu s", whole / 60, whole % 60);
    else
        snprintf(out.s, sizeof out.s, "%lu h %lu min", whole / 3600, whole / 60 % 60);
    return out;
}

struct text text_count(uint64_t n)
{
    struct text out;
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), i, at = 0;

    for (i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out.s[at++] = ',';
        out.s[at++] = digits[i];
    }
    out.s[at] = '\0';
    return out;
}

struct text text_ip(const struct tenon_ip *ip)
{
    struct text out;

    tenon_ip_format(out.s, ip);
    return out;
}

struct text text_endpoint(const struct tenon_addr *addr)
{
    struct text ip = text_ip(&addr->ip), out;

    if (tenon_ip_is_v4(&addr->ip))
        snprintf(out.s, sizeof out.s, "%.46s:%u", ip.s, (unsigned)addr->port);
    else
        snprintf(out.s, sizeof out.s, "[%.46s]:%u", ip.s, (unsigned)addr->port);
    return out;
}

/* ---- a string that grows ------------------------------------------------------------------------ */

void *must_realloc(void *mem, size_t bytes)
{
    void *out = realloc(mem, bytes > 0 ? bytes : 1);

    if (out == NULL) {
        fputs("tenon: out of memory\n", stderr);
        exit(1);
    }
    return out;
}

void *must_alloc(size_t bytes)
{
    return must_realloc(NULL, bytes);
}

static void sb_reserve(struct strbuf *sb, size_t more)
{
    size_t want = sb->len + more + 1;

    if (want <= sb->cap)
        return;
    sb->cap = want > sb->cap * 2 ? want + 64 : sb->cap * 2;
    sb->s = must_realloc(sb->s, sb->cap);
}

void sb_add(struct strbuf *sb, const char *text, size_t len)
{
    sb_reserve(sb, len);
    if (len > 0)
        memcpy(sb->s + sb->len, text, len);
    sb->len += len;
    sb->s[sb->len] = '\0';
}

void sb_text(struct strbuf *sb, const char *text)
{
    sb_add(sb, text, strlen(text));
}

void sb_printf(struct strbuf *sb, const char *format, ...)
{
    va_list args, again;
    int len;

    va_start(args, format);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, args);
    if (len > 0) {
        sb_reserve(sb, (size_t)len);
        vsnprintf(sb->s + sb->len, (size_t)len + 1, format, again);
        sb->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
}

/* @return how many bytes the first character has; 0: they are none of UTF-8 (RFC 3629 4) */
static size_t utf8_bytes(const unsigned char *at)
{
    size_t i, n = at[0] < 0x80 ? 1 : at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : at[0] < 0xF5 ? 4 : 0;

    for (i = 1; i < n; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    }
    if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90)) /* longer than it need be */
        return 0;
    return (at[0] == 0xED && at[1] > 0x9F) || (at[0] == 0xF4 && at[1] > 0x8F) ? 0 : n;
}

/* Names of files and interfaces may be any bytes, JSON may not (RFC 8259 8.1). What controls a terminal is escaped. */
void sb_json(struct strbuf *sb, const char *text)
{
    size_t n;

    sb_add(sb, "\"", 1);
    for (; *text != '\0'; text += n > 0 ? n : 1) {
        const unsigned char *at = (const unsigned char *)text;

        n = utf8_bytes(at);
        if (n == 0)
            sb_text(sb, "\\ufffd");
        else if (*at == '"' || *at == '\\')
            sb_printf(sb, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7F || (*at == 0xC2 && at[1] < 0xA0))
            sb_printf(sb, "\\u%04x", (unsigned)at[n - 1]);
        else
            sb_add(sb, text, n);
    }
    sb_add(sb, "\"", 1);
}

void sb_html(struct strbuf *sb, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            sb_text(sb, "&amp;");
            break;
        case '<':
            sb_text(sb, "&lt;");
            break;
        case '>':
            sb_text(sb, "&gt;");
            break;
        case '"':
            sb_text(sb, "&quot;");
            break;
        default:
            sb_add(sb, text, 1);
        }
    }
}

void sb_url(struct strbuf *sb, const char *text)
{
    for (; *text != '\0'; text++) {
        if (isalnum((unsigned char)*text) || strchr("-._~/", *text) != NULL)
            sb_add(sb, text, 1);
        else
            sb_printf(sb, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

/* C1 is what UTF-8 has as C2 80 to C2 9F. */
void sb_hide_controls(struct strbuf *sb)
{
    size_t i;

    for (i = 0; i < sb->len; i++) {
        unsigned char *at = (unsigned char *)sb->s + i;

        if ((*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7F)
            *at = '?';
        else if (*at == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0)
            at[0] = at[1] = '?';
    }
}

void sb_free(struct strbuf *sb)
{
    free(sb->s);
    memset(sb, 0, sizeof *sb);
}
