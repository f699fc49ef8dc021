/* SPDX-License-Identifier: MIT */
#include "range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *range_number(const char *text, uint64_t *n)
{
    char *end;

    errno = 0;
    *n = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *n > 0 && errno == 0 ? end : NULL;
}

int range_read(const char *text, uint64_t *first, uint64_t *last)
{
    const char *at = range_number(text, first);

    if (at == NULL || strncmp(at, "..", 2) != 0)
        return 0;
    at = range_number(at + 2, last);
    return at != NULL && *at == '\0' && *first <= *last;
}
