/* SPDX-License-Identifier: MIT */
/* A time server (RFC 4330 6), which at times asks to be asked less, or does not know the time itself. */
#include "history.h"

#include <string.h>

enum { PORT = 123, BYTES = 48, SILLY_PPM = 50000 };
#define TO_1970 UINT64_C(2208988800)

static void put_time(tenon_u8 *p, uint64_t us)
{
    const uint64_t ntp = (us / SECOND + TO_1970) << 32 | (us % SECOND << 32) / SECOND;
    unsigned i;

    for (i = 0; i < 8; i++)
        p[i] = (tenon_u8)(ntp >> (56 - 8 * i));
}

static void received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                     const struct tenon_span *spans, unsigned n)
{
    struct server *s = app;
    tenon_u8 call[100], answer[BYTES];

    if (server_is_silent(s) || server_gather(call, sizeof(call), spans, n) < BYTES)
        return;
    memset(answer, 0, sizeof(answer));
    answer[0] = (tenon_u8)((call[0] & 0x38) | 4);
    answer[1] = 2;
    memcpy(answer + 24, call + 40, 8);
    put_time(answer + 32, truth_time_us(s->h));
    put_time(answer + 40, truth_time_us(s->h));
    if (history_happens(s->h, s->plan->kiss_ppm)) {
        answer[1] = 0;
        memcpy(answer + 12, "RATE", 4);
    } else if (history_happens(s->h, SILLY_PPM)) {
        answer[0] |= 0xC0;
        memset(answer + 32, 0, 16);
    } else if (history_happens(s->h, SILLY_PPM)) {
        answer[24] ^= 1;
    }
    (void)tenon_udp_write(sock, &info->from, answer, sizeof(answer));
}

static void failed(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)sock, (void)app, (void)to, (void)error;
}

void time_open(struct server *s)
{
    static const struct tenon_udp_events events = { received, failed };

    s->ntp = server_socket(s, PORT, &events, s);
}
