/* SPDX-License-Identifier: MIT */
/* What peers get to see and nobody may predict: initial sequence numbers (RFC 6528), local ports (RFC 6056),
 * timestamp offsets (RFC 7323 5.4), SYN cookies (RFC 4987), keys of Fast Open cookies (RFC 7413). All are
 * SipHash-2-4 of the connection's ends under the instance's key; a different first byte keeps them apart. */
#include "base/bytes.h"
#include "tcp/tcp_internal.h"

enum secret_use {
    SECRET_ISN = 1,
    SECRET_TIMESTAMP = 2,
    SECRET_PORT_OFFSET = 3,
    SECRET_COOKIE = 4,
    SECRET_PORT_COUNTER = 5,
    SECRET_FASTOPEN = 6
};

static tenon_u32 secret_hash(const struct tenon *stack, enum secret_use use, const struct tenon_addr *local,
                             const struct tenon_addr *remote)
{
    tenon_u8 bytes[1 + 16 + 16 + 4];
    tenon_u32 out[2];

    bytes[0] = (tenon_u8)use;
    put_ip6(bytes + 1, &local->ip);
    put_ip6(bytes + 17, &remote->ip);
    put16be(bytes + 33, local->port);
    put16be(bytes + 35, remote->port);
    tn_siphash(out, &stack->secret, bytes, sizeof(bytes));
    return out[0];
}

/* RFC 6528 3: M + F(ends, secret), M counts 4 us. The microsecond clock wraps after 71 minutes, so M is
 * made of the millisecond count, which wraps after 49 days, and the microseconds in it. */
TENON_INTERNAL tenon_u32 tn_tcp_isn(struct tenon *stack, const struct tenon_addr *local,
                                    const struct tenon_addr *remote)
{
    const tenon_u32 m = stack->now_ms * 250 + (stack->now_us - stack->ms_us) / 4;

    return m + secret_hash(stack, SECRET_ISN, local, remote);
}

TENON_INTERNAL tenon_u32 tn_tcp_ts_offset(struct tenon *stack, const struct tenon_addr *local,
                                          const struct tenon_addr *remote)
{
    return secret_hash(stack, SECRET_TIMESTAMP, local, remote);
}

TENON_INTERNAL tenon_u32 tn_tcp_cookie_hash(struct tenon *stack, const struct tenon_addr *local,
                                            const struct tenon_addr *remote, const tenon_u32 more[2])
{
    tenon_u8 bytes[1 + 16 + 16 + 4 + 8];
    tenon_u32 out[2];

    bytes[0] = SECRET_COOKIE;
    put_ip6(bytes + 1, &local->ip);
    put_ip6(bytes + 17, &remote->ip);
    put16be(bytes + 33, local->port);
    put16be(bytes + 35, remote->port);
    put32be(bytes + 37, more[0]);
    put32be(bytes + 41, more[1]);
    tn_siphash(out, &stack->secret, bytes, sizeof(bytes));
    return out[0];
}

TENON_INTERNAL void tn_tcp_fastopen_key(struct tn_key128 *key, const struct tenon *stack, tenon_u32 period)
{
    tenon_u8 bytes[1 + 1 + 4];
    unsigned half;

    bytes[0] = SECRET_FASTOPEN;
    put32be(bytes + 2, period);
    for (half = 0; half < 2; half++) {
        bytes[1] = (tenon_u8)half;
        tn_siphash(key->k + (size_t)2 * half, &stack->secret, bytes, sizeof(bytes));
    }
}

static int secret_port_is_free(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote)
{
    const struct tenon_tcp_listener *listener;

    if (tn_tcp_find(stack, local, remote) != NULL)
        return 0;
    for (listener = stack->tcp.listeners; listener != NULL; listener = listener->next)
        if (listener->local.port == local->port)
            return 0;
    return 1;
}

/* RFC 6056 3.3.4, double hash: one hash of the destination says where to begin, another one which of many
 * counters goes on from there. Who opens connections to himself sees a counter that hardly any other
 * destination shares (CVE-2022-1012), and it advances by random steps (3.3.5). */
TENON_INTERNAL tenon_u16 tn_tcp_choose_port(struct tenon *stack, const struct tenon_addr *local,
                                            const struct tenon_addr *remote)
{
    const tenon_u32 low = 1024, span = 65536UL - low;
    struct tenon_addr candidate = *local;
    tenon_u32 offset, step, i;
    tenon_u16 *counter;

    candidate.port = 0;
    counter = &stack->tcp.port_counters[secret_hash(stack, SECRET_PORT_COUNTER, &candidate, remote) %
                                        stack->conf.tcp_port_counters];
    step = 1 + tn_random_below(&stack->random, 8);
    offset = secret_hash(stack, SECRET_PORT_OFFSET, &candidate, remote) % span;
    for (i = 0; i < span; i++) {
        const tenon_u32 next = (*counter + step + i) % span;

        candidate.port = (tenon_u16)(low + (offset + next) % span);
        if (secret_port_is_free(stack, &candidate, remote)) {
            *counter = (tenon_u16)next;
            return candidate.port;
        }
    }
    return 0;
}
