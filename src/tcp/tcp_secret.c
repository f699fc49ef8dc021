/* SPDX-License-Identifier: MIT */
/* What peers get to see and nobody may predict: initial sequence numbers (RFC 6528), local ports (RFC 6056),
 * timestamp offsets (RFC 7323 5.4), SYN cookies (RFC 4987), keys of Fast Open cookies (RFC 7413). All are
 * SipHash-2-4 of the connection's ends under the instance's key (tn_secret_words()); a byte that is different
 * keeps them apart. */
#include "base/bytes.h"
#include "tcp/tcp_internal.h"

enum secret_use {
    SECRET_NUMBERS = 1,
    SECRET_PORT = 3,
    SECRET_COOKIE = 4,
    SECRET_FASTOPEN = 6
};

enum { SECRET_ENDS_MAX = 16 + 16 + 4 };
enum { SECRET_PORT_LOW = 1024 };    /* ports that are chosen begin there, ... */

#define SECRET_PORT_SPAN 64512UL    /* ... and are so many */

/* Both ends. Those of IPv4 are shorter, and the length is part of the hash: no two kinds are ever the same.
 * @return bytes */
static unsigned secret_ends(tenon_u8 *p, const struct tenon_addr *local, const struct tenon_addr *remote)
{
    unsigned n = 8;

    if (tenon_ip_is_v4(&local->ip) && tenon_ip_is_v4(&remote->ip)) {
        put32be(p, local->ip.w[TENON_IP4_WORD]);
        put32be(p + 4, remote->ip.w[TENON_IP4_WORD]);
    } else {
        put_ip6(p, &local->ip);
        put_ip6(p + 16, &remote->ip);
        n = 32;
    }
    put16be(p + n, local->port);
    put16be(p + n + 2, remote->port);
    return n + 4;
}

/* Two numbers that have nothing to do with each other: the halves of one result of a pseudorandom function. */
static void secret_hash(tenon_u32 out[2], const struct tenon *stack, enum secret_use use,
                        const struct tenon_addr *local, const struct tenon_addr *remote)
{
    tenon_u32 words[9 + 1];
    unsigned n = 2, i;

    words[0] = local->ip.w[TENON_IP4_WORD];
    words[1] = remote->ip.w[TENON_IP4_WORD];
    if (!tenon_ip_is_v4(&local->ip)) {
        for (i = 0; i < 3; i++) {
            words[2 + i] = local->ip.w[i];
            words[5 + i] = remote->ip.w[i];
        }
        n = 8;
    }
    words[n] = (tenon_u32)local->port << 16 | remote->port;
    tn_secret_words(out, &stack->secret, words, n + 1, (unsigned)use);
}

/* RFC 6528 3: M + F(ends, secret), M counts 4 us. The microsecond clock wraps after 71 minutes, so M is
 * made of the millisecond count, which wraps after 49 days, and the microseconds in it. RFC 7323 5.4 wants another
 * number of the same kind for the timestamps: the other half. */
TENON_INTERNAL tenon_u32 tn_tcp_isn(struct tenon *stack, const struct tenon_addr *local,
                                    const struct tenon_addr *remote, tenon_u32 *ts_offset)
{
    const tenon_u32 m = stack->now_ms * 250 + (stack->now_us - stack->ms_us) / 4;
    tenon_u32 out[2];

    secret_hash(out, stack, SECRET_NUMBERS, local, remote);
    if (TENON_WITH_SCALE)
        *ts_offset = out[1];
    return m + out[0];
}

TENON_INTERNAL tenon_u32 tn_tcp_ts_offset(struct tenon *stack, const struct tenon_addr *local,
                                          const struct tenon_addr *remote)
{
    tenon_u32 out[2];

    secret_hash(out, stack, SECRET_NUMBERS, local, remote);
    return out[1];
}

TENON_INTERNAL tenon_u32 tn_tcp_cookie_hash(struct tenon *stack, const struct tenon_addr *local,
                                            const struct tenon_addr *remote, const tenon_u32 more[2])
{
    tenon_u8 bytes[SECRET_ENDS_MAX + 1 + 8];
    const unsigned n = secret_ends(bytes, local, remote);
    tenon_u32 out[2];

    bytes[n] = SECRET_COOKIE;
    put32be(bytes + n + 1, more[0]);
    put32be(bytes + n + 5, more[1]);
    tn_siphash(out, &stack->secret, bytes, n + 9);
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

static int secret_port_is_free(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote,
                               tenon_u32 hash)
{
    const struct tenon_port_filter *filter = TENON_WITH_MANY ? stack->conf.tcp_ports : NULL;
    const struct tenon_tcp_listener *listener;

    if (filter != NULL && !filter->fits(filter, local, remote))
        return 0;
    if (tn_tcp_find_hash(stack, local, remote, hash) != NULL)
        return 0;
    for (listener = stack->tcp.listeners; TENON_WITH_LISTEN && listener != NULL; listener = listener->next)
        if (listener->local.port == local->port)
            return 0;
    return 1;
}

/* The double hash of RFC 6056 3.3.4: where to begin, and which counter. Who connects somewhere mostly does so again. */
static const tenon_u32 *secret_port_hash(struct tenon *stack, const struct tenon_addr *local,
                                         const struct tenon_addr *remote)
{
    struct tn_tcp_ports *ports = &stack->tcp.ports;

    if (remote->port != ports->port || !tenon_ip_equal(&remote->ip, &ports->remote) ||
        !tenon_ip_equal(&local->ip, &ports->local)) {
        ports->port = remote->port;
        ports->remote = remote->ip;
        ports->local = local->ip;
        secret_hash(ports->hash, stack, SECRET_PORT, local, remote);
        ports->hash[0] %= SECRET_PORT_SPAN;
        ports->hash[1] %= stack->conf.tcp_port_counters;
    }
    return ports->hash;
}

/* 1 to 8: three bits of a random number, which is used up bit by bit. */
static tenon_u32 secret_port_step(struct tenon *stack)
{
    struct tn_tcp_state *tcp = &stack->tcp;
    tenon_u32 step;

    if (tcp->nsteps == 0) {
        tcp->steps = tn_random(&stack->random);
        tcp->nsteps = 10;
    }
    step = 1 + (tcp->steps & 7);
    tcp->steps >>= 3;
    tcp->nsteps--;
    return step;
}

/* RFC 6056 3.3.1: the first free one from a random one on. With few connections hardly any is taken, and who is
 * connected to again meets another port. */
static int secret_random_port(struct tenon *stack, struct tenon_addr *local, const struct tenon_addr *remote,
                              tenon_u32 *hash)
{
    tenon_u32 i, port = tn_random(&stack->random);

    for (i = 0; i < 65536UL; i++, port++) {
        local->port = (tenon_u16)(port & 0xFFFFUL);
        *hash = tn_tcp_hash(stack, local, remote);
        if (local->port >= SECRET_PORT_LOW && secret_port_is_free(stack, local, remote, *hash))
            return 1;
    }
    return 0;
}

/* RFC 6056 3.3.4, double hash: one hash of the destination says where to begin, another one which of many
 * counters goes on from there. Who opens connections to himself sees a counter that hardly any other
 * destination shares (CVE-2022-1012), and it advances by random steps (3.3.5). */
TENON_INTERNAL int tn_tcp_choose_port(struct tenon *stack, struct tenon_addr *local, const struct tenon_addr *remote,
                                      tenon_u32 *hash)
{
    const tenon_u32 low = SECRET_PORT_LOW, span = SECRET_PORT_SPAN;
    const tenon_u32 *secret;
    tenon_u32 step, i;
    tenon_u16 *counter;

    if (!TENON_WITH_MANY)
        return secret_random_port(stack, local, remote, hash);
    local->port = 0;
    secret = secret_port_hash(stack, local, remote);
    counter = &stack->tcp.port_counters[secret[1]];
    step = secret_port_step(stack);
    for (i = 0; i < span; i++) {
        const tenon_u32 next = (*counter + step + i) % span;

        local->port = (tenon_u16)(low + (secret[0] + next) % span);
        *hash = tn_tcp_hash(stack, local, remote);
        if (secret_port_is_free(stack, local, remote, *hash)) {
            *counter = (tenon_u16)next;
            return 1;
        }
    }
    return 0;
}
