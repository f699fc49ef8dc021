/* SPDX-License-Identifier: MIT */
/* A line of a script into words. Every error names file, line and column, and shows the line. */
#include "script.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    max_align_t bytes[];
};

void *arena_get(struct arena *arena, size_t bytes)
{
    struct arena_block *block = calloc(1, sizeof(*block) + bytes);

    if (block == NULL) {
        fprintf(stderr, "tenon-script: out of memory\n");
        exit(2);
    }
    block->next = arena->first;
    arena->first = block;
    return block->bytes;
}

char *arena_text(struct arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;

    return memcpy(arena_get(arena, n), text, n);
}

void arena_free(struct arena *arena)
{
    while (arena->first != NULL) {
        struct arena_block *block = arena->first;

        arena->first = block->next;
        free(block);
    }
}

_Noreturn void lex_fail(struct lexer *lx, int col, const char *format, ...)
{
    va_list args;

    printf("%s:%d:%d: ", lx->file, lx->line, col + 1);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n    %s\n    %*s^\n", lx->text, col, "");
    longjmp(*lx->fail, 1);
}

static void skip_blanks(struct lexer *lx)
{
    while (*lx->p == ' ' || *lx->p == '\t' || *lx->p == '\r')
        lx->p++;
}

bool lex_end(struct lexer *lx)
{
    skip_blanks(lx);
    return *lx->p == '\0' || *lx->p == '#';
}

const char *lex_word(struct lexer *lx, const char *what)
{
    size_t n = 0;

    if (lex_end(lx))
        lex_fail(lx, (int)(lx->p - lx->text), "the line ends where %s should be", what);
    lx->word_col = (int)(lx->p - lx->text);
    while (*lx->p != '\0' && *lx->p != ' ' && *lx->p != '\t' && *lx->p != '\r') {
        if (n + 1 < sizeof(lx->word))
            lx->word[n++] = *lx->p;
        lx->p++;
    }
    lx->word[n] = '\0';
    return lx->word;
}

bool lex_peek(struct lexer *lx, const char *word)
{
    size_t n = strlen(word);

    skip_blanks(lx);
    return strncmp(lx->p, word, n) == 0 && (lx->p[n] == '\0' || isspace((unsigned char)lx->p[n]));
}

bool lex_take(struct lexer *lx, const char *word)
{
    if (!lex_peek(lx, word))
        return false;
    lx->word_col = (int)(lx->p - lx->text);
    lx->p += strlen(word);
    return true;
}

bool lex_char(struct lexer *lx, char c)
{
    skip_blanks(lx);
    if (*lx->p != c)
        return false;
    lx->p++;
    return true;
}

int64_t lex_number_of(struct lexer *lx, const char *word, const char *what)
{
    char *end;
    int64_t v;

    errno = 0;
    v = strtoll(word, &end, 0);
    if (end == word || *end != '\0' || errno != 0)
        lex_fail(lx, lx->word_col, "\"%s\" is not %s (a number)", word, what);
    return v;
}

int64_t lex_number(struct lexer *lx, const char *what)
{
    return lex_number_of(lx, lex_word(lx, what), what);
}

/* Seconds with a decimal point, or a number with the unit us, ms, s, m, h or d. */
int64_t lex_seconds(struct lexer *lx, const char *what)
{
    static const struct {
        const char *unit;
        double us;
    } units[] = { { "", 1e6 },   { "us", 1 },     { "ms", 1e3 },   { "s", 1e6 },
                  { "m", 60e6 }, { "h", 3600e6 }, { "d", 86400e6 } };
    const char *word = lex_word(lx, what);
    char *end;
    double v = strtod(word, &end);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && end != word; i++)
        if (strcmp(end, units[i].unit) == 0)
            return (int64_t)(v * units[i].us + (v < 0 ? -0.5 : 0.5));
    lex_fail(lx, lx->word_col, "\"%s\" is not %s (seconds, or a number with us, ms, s, m, h or d)", word, what);
}

int lex_pick(struct lexer *lx, const char *what, const char *const *names)
{
    const char *word = lex_word(lx, what);
    char all[1024] = "";

    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    for (int i = 0; names[i] != NULL; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i > 0 ? ", " : "", names[i]);
    lex_fail(lx, lx->word_col, "\"%s\" is not %s; it can be: %s", word, what, all);
}

void lex_need_end(struct lexer *lx)
{
    if (!lex_end(lx))
        lex_fail(lx, (int)(lx->p - lx->text), "the line should end here");
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int lex_hex(struct lexer *lx, uint8_t *bytes, int max)
{
    int n = 0;
    bool bracket = lex_char(lx, '[');

    while (!lex_end(lx) && *lx->p != ']') {
        int high = hex_digit(lx->p[0]), low = high < 0 ? -1 : hex_digit(lx->p[1]);

        if (low < 0)
            lex_fail(lx, (int)(lx->p - lx->text), "two hexadecimal digits should be here");
        if (n == max)
            lex_fail(lx, (int)(lx->p - lx->text), "more than %d bytes", max);
        bytes[n++] = (uint8_t)(high << 4 | low);
        lx->p += 2;
    }
    if (bracket && !lex_char(lx, ']'))
        lex_fail(lx, (int)(lx->p - lx->text), "\"]\" is missing");
    return n;
}

bool lex_ip(struct lexer *lx, const char *word, struct tenon_ip *ip, int af)
{
    uint8_t b[16];

    (void)lx;
    if (af != 6 && inet_pton(AF_INET, word, b) == 1) {
        *ip = tenon_ip4(be32(b));
        return true;
    }
    if (af != 4 && inet_pton(AF_INET6, word, b) == 1) {
        *ip = tenon_ip6(be32(b), be32(b + 4), be32(b + 8), be32(b + 12));
        return true;
    }
    return false;
}

struct tenon_ip lex_address(struct lexer *lx, const struct script *s)
{
    const char *word = lex_word(lx, "an address");
    struct tenon_ip ip;

    if (strcmp(word, "me") == 0)
        return s->me;
    if (strcmp(word, "peer") == 0)
        return s->peer;
    if (strcmp(word, "any") == 0)
        return s->af == 4 ? tenon_ip4(0) : tenon_ip_any();
    if (!lex_ip(lx, word, &ip, 0))
        lex_fail(lx, lx->word_col, "\"%s\" is not an address (me, peer, any, IPv4 or IPv6)", word);
    return ip;
}

void lex_mac(struct lexer *lx, uint8_t mac[6])
{
    const char *word = lex_word(lx, "an Ethernet address");
    unsigned m[6];

    if (strcmp(word, "me") == 0)
        memcpy(mac, mac_me, 6);
    else if (strcmp(word, "peer") == 0)
        memcpy(mac, mac_peer, 6);
    else if (strcmp(word, "broadcast") == 0)
        memcpy(mac, mac_broadcast, 6);
    else if (sscanf(word, "%2x:%2x:%2x:%2x:%2x:%2x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]) == 6)
        for (int i = 0; i < 6; i++)
            mac[i] = (uint8_t)m[i];
    else
        lex_fail(lx, lx->word_col,
                 "\"%s\" is not an Ethernet address (me, peer, broadcast or 02:00:00:00:00:01)", word);
}
