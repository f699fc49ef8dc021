/* SPDX-License-Identifier: MIT */
/* Text into memory, as far as there is room. */
#ifndef TENON_BOARD_TEXT_H
#define TENON_BOARD_TEXT_H

#include <tenon/types.h>

struct text {
    char *at, *end;
    int cut;    /* 1: there was more than room */
};

void text_begin(struct text *text, char *room, unsigned bytes);
void text_char(struct text *text, char c);
void text_add(struct text *text, const char *words);
void text_number(struct text *text, tenon_u32 value);
void text_hex(struct text *text, tenon_u32 value, unsigned digits);
void text_address(struct text *text, const struct tenon_addr *address);

/* The same on the serial line. */
void say(const char *words);
void say_number(tenon_u32 value);

#endif
