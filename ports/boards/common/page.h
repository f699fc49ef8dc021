/* SPDX-License-Identifier: MIT */
/* The state of a board as rows of text, for people (HTML) and for programs (JSON). */
#ifndef TENON_BOARD_PAGE_H
#define TENON_BOARD_PAGE_H

#include "text.h"

enum page { PAGE_HTML, PAGE_ROWS, PAGE_JSON };

/* What a program adds: a connection for each index. @return 0: there are not so many */
typedef int (*page_client)(unsigned index, struct tenon_addr *peer, const char **doing);

/* Write the row-th piece of a page: at most PAGE_ROW_MAX bytes. @return 0: the page has not so many */
enum { PAGE_ROW_MAX = 320 };
int page_row(struct text *text, enum page page, unsigned row, page_client client);

/* To be called more often than the clock wraps. */
void page_tick(void);

#endif
