/* SPDX-License-Identifier: MIT */
/* Datagrams and pings beside the connections: they may get lost, but what arrives is right. When the
 * network is well again, every host answers every other. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum { UDP_PORT = 7000, DGRAM_MAX = 65507, FINAL = PLAN_DGRAMS_MAX };

/* A datagram begins with its number (two bytes); the rest follows from it. */
static void dgram_fill(struct sim *sim, uint8_t *to, unsigned index, uint32_t n)
{
    app_fill(to, sim_hash(sim, 77, index), 0, n);
    if (n > 0)
        to[0] = (uint8_t)(index >> 8);
    if (n > 1)
        to[1] = (uint8_t)index;
}

/* foreign: it may be none of ours. */
static void dgram_check(struct sim *sim, const struct tenon_span *spans, unsigned n, uint32_t bytes, const char *what,
                        int foreign)
{
    static uint8_t got[DGRAM_MAX + 1], want[DGRAM_MAX + 1];
    uint32_t off = 0;
    unsigned i, index;

    for (i = 0; i < n; i++) {
        if (off + spans[i].len > DGRAM_MAX)
            sim_fail(sim, "datagram too long", "%s of more than %u bytes", what, off);
        memcpy(got + off, tenon_span_data(&spans[i]), spans[i].len);
        off += spans[i].len;
    }
    if (off != bytes)
        sim_fail(sim, "datagram length", "%s: info says %u bytes, spans hold %u", what, bytes, off);
    if (off < 2)
        return;
    index = (unsigned)got[0] << 8 | got[1];
    if (index > FINAL || (index < FINAL && (index >= sim->plan->ndgrams || sim->plan->dgram[index].bytes != off))) {
        if (foreign)
            return;
        sim_fail(sim, "datagram from nobody", "%s number %u of %u bytes was never sent", what, index, off);
    }
    dgram_fill(sim, want, index, off);
    if (memcmp(got, want, off) != 0)
        sim_fail(sim, "wrong datagram", "%s number %u of %u bytes has arrived damaged", what, index, off);
}

static void on_dgram(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                     const struct tenon_span *spans, unsigned n)
{
    struct sim_host *host = app;

    (void)sock;
    sim_note(host->sim, "host %u: datagram of %u bytes", host->index, info->bytes);
    dgram_check(host->sim, spans, n, info->bytes, "datagram", 0);
    host->dgrams_rcvd++;
}

static void on_dgram_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    struct sim_host *host = app;

    (void)sock;
    (void)to;
    sim_note(host->sim, "host %u: datagram error, %s", host->index, tenon_error_text(error));
}

static void on_reply(struct tenon_echo *echo, void *app, const struct tenon_echo_info *info,
                     const struct tenon_span *spans, unsigned n)
{
    struct sim_host *host = app;

    (void)echo;
    sim_note(host->sim, "host %u: echo reply %u of %u bytes", host->index, info->seq, info->bytes);
    /* Who asks in our name chooses the identifier, which may be ours. */
    dgram_check(host->sim, spans, n, info->bytes, "echo reply", host->sim->intruded);
    host->echo_replies++;
}

static const struct tenon_udp_events dgram_events = {on_dgram, on_dgram_error};
static const struct tenon_echo_events echo_events = {on_reply, NULL};

void dgram_open(struct sim *sim, unsigned i)
{
    struct sim_host *host = &sim->host[i];
    struct tenon_addr at;

    memset(&at, 0, sizeof(at));
    at.port = UDP_PORT;
    if ((TENON_WITH_UDP && (tenon_udp_open(host->stack, &host->udp, &dgram_events, host) != TENON_OK
                            || tenon_udp_bind(host->udp, &at) != TENON_OK))
        || (TENON_WITH_PING && tenon_echo_open(host->stack, &host->echo, &echo_events, host) != TENON_OK))
        sim_fail(sim, "open", "host %u: UDP socket or echo cannot be opened", i);
}

void dgram_close(struct sim *sim, unsigned i)
{
    if (TENON_WITH_UDP)
        tenon_udp_close(sim->host[i].udp);
    if (TENON_WITH_PING)
        tenon_echo_close(sim->host[i].echo);
}

/* Half of them copied, half gathered from three spans. */
static int dgram_write(struct sim_host *host, const struct tenon_addr *to, const uint8_t *bytes, uint32_t n)
{
    struct tenon_span spans[3];
    struct tenon_buf *buf;
    int error;

    if (n % 2 == 0)
        return tenon_udp_write(host->udp, to, bytes, n);
    buf = app_buf_new(host->sim, n);
    memcpy(buf->data, bytes, n);
    spans[0] = (struct tenon_span){ buf, 0, n / 3 };
    spans[1] = (struct tenon_span){ buf, n / 3, n / 3 };
    spans[2] = (struct tenon_span){ buf, n / 3 * 2, n - n / 3 * 2 };
    if (n < 3)
        error = tenon_udp_send(host->udp, to, spans + 2, 1);
    else
        error = tenon_udp_send(host->udp, to, spans, 3);
    tenon_buf_put(buf);
    return error;
}

static int dgram_emit(struct sim *sim, unsigned from, unsigned to, int v6, int ping, unsigned index, uint32_t n)
{
    static uint8_t bytes[DGRAM_MAX];
    struct sim_host *host = &sim->host[from];
    struct tenon_addr addr;
    int error;

    dgram_fill(sim, bytes, index, n);
    sim_address(sim, &addr, to, v6, ping ? 0U : (unsigned)UDP_PORT);
    error = ping ? tenon_echo_send(host->echo, &addr, (tenon_u16)index, bytes, n)
                 : dgram_write(host, &addr, bytes, n);
    wire_wake(host->host);
    sim_note(sim, "host %u: %s of %u bytes to host %u: %s", from, ping ? "ping" : "datagram", n, to,
             tenon_error_text(error));
    return error;
}

void dgram_send(struct sim *sim, const struct plan_dgram *dgram)
{
    const unsigned index = (unsigned)(dgram - sim->plan->dgram);
    const int error = dgram_emit(sim, dgram->from, dgram->to, dgram->v6, dgram->ping, index, dgram->bytes);

    if (error != TENON_OK && error != TENON_ENOMEM && error != TENON_EAGAIN && error != TENON_EUNREACH
        && (TENON_WITH_FRAGMENTS || error != TENON_EMSGSIZE))
        sim_fail(sim, "datagram refused", "host %u: sending %u bytes says %s", dgram->from, dgram->bytes,
                 tenon_error_text(error));
}

/* Everybody is well: one ping and one datagram from each host to the next must come through. The first may
 * be lost to stale knowledge of neighbours, so there are several tries. */
void dgram_final(struct sim *sim)
{
    const unsigned n = sim->plan->nhosts;
    uint64_t replies[PLAN_HOSTS_MAX], dgrams[PLAN_HOSTS_MAX];
    unsigned i, try, missing = n;

    for (i = 0; i < n; i++) {
        replies[i] = sim->host[i].echo_replies;
        dgrams[i] = sim->host[i].dgrams_rcvd;
    }
    for (try = 0; try < 20 && missing > 0; try++) {
        for (i = 0; i < n; i++) {
            if (TENON_WITH_PING)
                dgram_emit(sim, i, (i + 1) % n, sim->plan->v6 && (!sim->plan->v4 || try % 2), 1, FINAL, 60);
            if (TENON_WITH_UDP)
                dgram_emit(sim, i, (i + 1) % n, sim->plan->v6 && (!sim->plan->v4 || try % 2), 0, FINAL, 61);
        }
        wire_run(sim->wire, wire_now(sim->wire) + 3000000);
        for (missing = 0, i = 0; i < n; i++)
            missing += (TENON_WITH_PING && sim->host[i].echo_replies == replies[i])
                       || (TENON_WITH_UDP && sim->host[i].dgrams_rcvd == dgrams[i]);
    }
    if (missing > 0)
        sim_fail(sim, "no answer", "%u of %u hosts get no ping or no datagram through a network without faults",
                 missing, n);
}
