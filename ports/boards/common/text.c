/* SPDX-License-Identifier: MIT */
#include "text.h"
#include "board.h"

void text_begin(struct text *text, char *room, unsigned bytes)
{
    text->at = room;
    text->end = room + bytes;
    text->cut = 0;
}

void text_char(struct text *text, char c)
{
    if (text->at == text->end)
        text->cut = 1;
    else
        *text->at++ = c;
}

void text_add(struct text *text, const char *words)
{
    while (*words != '\0')
        text_char(text, *words++);
}

void text_number(struct text *text, tenon_u32 value)
{
    char digits[10];
    unsigned n = 0;

    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (n > 0)
        text_char(text, digits[--n]);
}

void text_hex(struct text *text, tenon_u32 value, unsigned digits)
{
    while (digits-- > 0)
        text_char(text, "0123456789abcdef"[value >> 4 * digits & 15]);
}

void text_address(struct text *text, const struct tenon_addr *address)
{
    const int v6 = !tenon_ip_is_v4(&address->ip);
    char words[TENON_IP_TEXT_MAX];

    (void)tenon_ip_format(words, &address->ip);
    text_add(text, v6 ? "[" : "");
    text_add(text, words);
    text_add(text, v6 ? "]:" : ":");
    text_number(text, address->port);
}

void say(const char *words)
{
    for (; *words != '\0'; words++) {
        if (*words == '\n')
            board_put('\r');
        board_put(*words);
    }
}

void say_number(tenon_u32 value)
{
    char room[12];
    struct text text;

    text_begin(&text, room, sizeof(room) - 1);
    text_number(&text, value);
    *text.at = '\0';
    say(room);
}
