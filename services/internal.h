/* SPDX-License-Identifier: MIT */
/* What several services need, and nobody else. */
#ifndef TENON_SERVICES_INTERNAL_H
#define TENON_SERVICES_INTERNAL_H

#include <tenon/udp.h>

TENON_BEGIN_DECLS

/* What a freestanding compiler may call anyway. */
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);

TENON_INLINE tenon_u16 svc_get16(const tenon_u8 *p)
{
    return (tenon_u16)((tenon_u32)p[0] << 8 | p[1]);
}

TENON_INLINE tenon_u32 svc_get32(const tenon_u8 *p)
{
    return (tenon_u32)p[0] << 24 | (tenon_u32)p[1] << 16 | (tenon_u32)p[2] << 8 | p[3];
}

TENON_INLINE void svc_put16(tenon_u8 *p, tenon_u32 v)
{
    p[0] = (tenon_u8)(v >> 8 & 0xFF);
    p[1] = (tenon_u8)(v & 0xFF);
}

TENON_INLINE void svc_put32(tenon_u8 *p, tenon_u32 v)
{
    svc_put16(p, v >> 16);
    svc_put16(p + 2, v & 0xFFFFUL);
}

/* A datagram in one piece. @return its length, or `room` + 1: it is longer than that, and not copied whole */
TENON_INLINE tenon_u32 svc_gather(tenon_u8 *to, tenon_u32 room, const struct tenon_span *spans, unsigned n)
{
    tenon_u32 at = 0;
    unsigned i;

    for (i = 0; i < n; i++) {
        if (spans[i].len > room - at)
            return room + 1;
        memcpy(to + at, tenon_span_data(&spans[i]), (size_t)spans[i].len);
        at += spans[i].len;
    }
    return at;
}

/* One of our addresses. @return 0: it is not there */
TENON_INLINE int svc_address(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip,
                             struct tenon_addr_info *info)
{
    unsigned i;

    for (i = 0; tenon_addr_get(stack, i, info) == TENON_OK; i++) {
        if (info->netif == netif && tenon_ip_equal(&info->ip, ip))
            return 1;
    }
    return 0;
}

/* 0 .. n-1; n > 0 and small: the bias is not worth speaking of. */
TENON_INLINE tenon_u32 svc_random_below(struct tenon *stack, tenon_u32 n)
{
    return tenon_random(stack) % n;
}

TENON_INLINE tenon_u32 svc_min(tenon_u32 a, tenon_u32 b)
{
    return a < b ? a : b;
}

/* 1: something could not leave for want of memory, a buffer, a socket or a port, which others may give back soon. */
TENON_INLINE int svc_is_short(int error)
{
    return error == TENON_ENOMEM || error == TENON_EAGAIN || error == TENON_ELIMIT || error == TENON_EINUSE;
}

/* When to try again what could not leave: after 10 ms, then each time after as long as it has waited until then
 * (*held_ms; 0 at first). So it waits no more than twice as long as it had to. */
TENON_INLINE tenon_u32 svc_pause(tenon_u32 *held_ms, tenon_u32 max_ms)
{
    const tenon_u32 pause_ms = svc_min(*held_ms + 10, max_ms);

    *held_ms += pause_ms;
    return pause_ms;
}

TENON_END_DECLS

#endif
