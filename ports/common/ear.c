/* SPDX-License-Identifier: MIT */
#include "ear.h"

#include <string.h>

/* The last character is out of the stream's reach, and stays 0: what fills its memory for the second time it does not
 * end. */
FILE *port_ear_open(struct ear *ear)
{
    if (ear->file == NULL)
        ear->file = fmemopen(ear->said, sizeof ear->said - 1, "w");
    if (ear->file != NULL)
        (void)fseek(ear->file, 0, SEEK_SET);
    memset(ear->said, 0, sizeof ear->said);
    return ear->file;
}

const char *port_ear_line(struct ear *ear)
{
    if (ear->file != NULL)
        (void)fflush(ear->file);
    ear->said[strcspn(ear->said, "\n")] = 0;
    for (size_t n = strlen(ear->said); n > 0 && ear->said[n - 1] == '.'; n--) /* more may be said behind it */
        ear->said[n - 1] = 0;
    return ear->said;
}
