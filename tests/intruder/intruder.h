/* SPDX-License-Identifier: MIT */
/* Somebody on the line who means harm: he sends what he likes in anybody's name, but does not hear what others say to
 * each other (RFC 5961, RFC 5927 call it off-path). Of a connection he is let know everything but one thing, the number
 * that he would have to guess: whatever he sends, it must go on. The simulators put his frames among those of their
 * histories. */
#ifndef TENON_TEST_INTRUDER_H
#define TENON_TEST_INTRUDER_H

#include <tenon/tenon.h>

#include <stdint.h>

enum {
    INTRUDER_FRAME_MAX = 1514,
    INTRUDER_PORTS = 1001, INTRUDER_PORTS_N = 22    /* his own; nobody else may have anything there */
};

struct tenon_tcp;

/* Whom he sends to, and in whose name. */
struct intruder {
    uint32_t (*chance)(void *arg, uint32_t below);    /* 0 to below - 1 */
    void *arg;
    unsigned link;                                    /* bytes of a link header: 14, or 0 */
    uint8_t mac[6], friend_mac[6];
    struct tenon_ip ip, friend_ip;                    /* the victim, and whom it trusts */
    uint16_t port;                                    /* on which the victim takes connections; 0: none */
};

/* A frame for the victim.
 * conn: its connection with the friend that is to be harmed, in any state; NULL: there is none, and the frame is of
 * those that only cost time and memory. far: the same connection at the friend, or NULL.
 * frame: INTRUDER_FRAME_MAX bytes. @return how many there are of it */
unsigned intruder_frame(const struct intruder *who, const struct tenon_tcp *conn, const struct tenon_tcp *far,
                        uint8_t *frame);

#endif
