/* SPDX-License-Identifier: MIT */
/* Addresses as text: IPv4 as four decimal numbers, IPv6 by RFC 4291 2.2 (reading) and RFC 5952 (writing). */
#include <tenon/types.h>

enum { IP_TEXT_GROUPS = 8 };

/* ---- reading --------------------------------------------------------------------------------- */

/* Value of a hexadecimal digit, 16 for anything else. */
static unsigned ip_text_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    unsigned i;

    for (i = 0; i < 32; i++) {
        if (digits[i] == c)
            return i % 16;
    }
    return 16;
}

/* A number of at most max_digits digits. @return how many there were; 0: none or too many */
static unsigned ip_text_number(tenon_u32 *value, const char *text, unsigned base, unsigned max_digits)
{
    unsigned n;

    *value = 0;
    for (n = 0; ip_text_digit(text[n]) < base; n++) {
        if (n == max_digits)
            return 0;
        *value = *value * base + ip_text_digit(text[n]);
    }
    return n;
}

/* a.b.c.d; a leading zero might be meant as octal, so it is not taken. @return characters, 0: none */
static unsigned ip_text_read4(tenon_u32 *addr, const char *text)
{
    tenon_u32 whole = 0, number;
    unsigned i, at = 0, n;

    for (i = 0; i < 4; i++) {
        if (i > 0 && text[at++] != '.')
            return 0;
        n = ip_text_number(&number, text + at, 10, 3);
        if (n == 0 || number > 255 || (n > 1 && text[at] == '0'))
            return 0;
        whole = whole << 8 | number;
        at += n;
    }
    *addr = whole;
    return at;
}

/* What has been read of an IPv6 address. */
struct ip_text_reader {
    tenon_u32 groups[IP_TEXT_GROUPS];
    unsigned n;      /* groups read */
    unsigned gap;    /* groups before "::"; IP_TEXT_GROUPS: there is none */
    int ended;       /* an IPv4 address stands for the last two */
};

/* One group, or the IPv4 address at the end. @return characters, 0: neither */
static unsigned ip_text_read_group(struct ip_text_reader *r, const char *text)
{
    tenon_u32 value;
    unsigned chars = ip_text_number(&value, text, 16, 4);

    if (chars == 0)
        return 0;
    if (text[chars] != '.') {
        r->groups[r->n++] = value;
        return chars;
    }
    if (r->n > IP_TEXT_GROUPS - 2)
        return 0;
    chars = ip_text_read4(&value, text);
    r->groups[r->n++] = value >> 16;
    r->groups[r->n++] = value & 0xFFFF;
    r->ended = 1;
    return chars;
}

/* "::" behind r->n groups. @return whether a group follows */
static int ip_text_read_gap(struct ip_text_reader *r, const char *behind)
{
    r->gap = r->n;
    return ip_text_digit(*behind) < 16;
}

/* Groups and at most one gap. @return characters, 0: not an address */
static unsigned ip_text_read6(struct ip_text_reader *r, const char *text)
{
    unsigned at = 0, chars;

    r->n = 0;
    r->gap = IP_TEXT_GROUPS;
    r->ended = 0;
    if (text[0] == ':' && text[1] == ':') {
        at = 2;
        if (!ip_text_read_gap(r, text + at))
            return at;
    }
    for (;;) {
        chars = ip_text_read_group(r, text + at);
        if (chars == 0)
            return 0;
        at += chars;
        if (r->n == IP_TEXT_GROUPS || r->ended || text[at] != ':')
            return at;
        at++;
        if (text[at] != ':' || r->gap < IP_TEXT_GROUPS)
            continue;
        at++;
        if (!ip_text_read_gap(r, text + at))
            return at;
    }
}

/* The gap stands for one group at least (RFC 4291 2.2). @return 0 if there are too few or too many groups */
static int ip_text_close_gap(struct tenon_ip *ip, const struct ip_text_reader *r)
{
    unsigned i, at;

    if ((r->gap == IP_TEXT_GROUPS) != (r->n == IP_TEXT_GROUPS))
        return 0;
    *ip = tenon_ip_any();
    for (i = 0; i < r->n; i++) {
        at = i < r->gap ? i : i + IP_TEXT_GROUPS - r->n;
        ip->w[at / 2] |= r->groups[i] << (at % 2 == 0 ? 16 : 0);
    }
    return 1;
}

int tenon_ip_parse(struct tenon_ip *ip, const char *text)
{
    struct ip_text_reader reader;
    struct tenon_ip whole;
    tenon_u32 addr;
    unsigned chars;

    if (ip == NULL || text == NULL)
        return TENON_EINVAL;
    chars = ip_text_read4(&addr, text);
    if (chars > 0) {
        *ip = tenon_ip4(addr);
        return (int)chars;
    }
    if (!TENON_WITH_IPV6)
        return TENON_EINVAL;
    chars = ip_text_read6(&reader, text);
    if (chars == 0 || text[chars] == ':' || !ip_text_close_gap(&whole, &reader))
        return TENON_EINVAL;
    *ip = whole;
    return (int)chars;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A number below 2^16, without leading zeros. @return where the text goes on */
static char *ip_text_write_number(char *to, tenon_u32 value, unsigned base)
{
    static const char digits[] = "0123456789abcdef";
    char reversed[5];
    unsigned n = 0;

    do {
        reversed[n++] = digits[value % base];
        value /= base;
    } while (value > 0);
    while (n > 0)
        *to++ = reversed[--n];
    return to;
}

static char *ip_text_write4(char *to, tenon_u32 addr)
{
    unsigned i;

    for (i = 0; i < 4; i++) {
        if (i > 0)
            *to++ = '.';
        to = ip_text_write_number(to, addr >> (24 - 8 * i) & 0xFF, 10);
    }
    return to;
}

static tenon_u32 ip_text_group(const struct tenon_ip *ip, unsigned i)
{
    return i % 2 == 0 ? ip->w[i / 2] >> 16 : ip->w[i / 2] & 0xFFFF;
}

/* The longest run of zero groups, the first of several; one group alone is not worth a gap (RFC 5952 4.2).
 * @return its length, 0: none */
static unsigned ip_text_longest_run(const struct tenon_ip *ip, unsigned *start)
{
    unsigned i, run = 0, longest = 1;

    *start = IP_TEXT_GROUPS;
    for (i = 0; i < IP_TEXT_GROUPS; i++) {
        run = ip_text_group(ip, i) == 0 ? run + 1 : 0;
        if (run > longest) {
            longest = run;
            *start = i + 1 - run;
        }
    }
    return *start == IP_TEXT_GROUPS ? 0 : longest;
}

static char *ip_text_write6(char *to, const struct tenon_ip *ip)
{
    unsigned gap;
    const unsigned gap_groups = ip_text_longest_run(ip, &gap);
    unsigned i = 0;

    while (i < IP_TEXT_GROUPS) {
        if (i == gap) {
            *to++ = ':';
            *to++ = ':';
            i += gap_groups;
            continue;
        }
        if (i > 0 && i != gap + gap_groups)
            *to++ = ':';
        to = ip_text_write_number(to, ip_text_group(ip, i), 16);
        i++;
    }
    return to;
}

int tenon_ip_format(char *text, const struct tenon_ip *ip)
{
    char *const end = tenon_ip_is_v4(ip) ? ip_text_write4(text, ip->w[TENON_IP4_WORD]) : ip_text_write6(text, ip);

    *end = '\0';
    return (int)(end - text);
}
