/* SPDX-License-Identifier: MIT */
/** @file
 *  The seven calls by their first names, for programs that have one instance. The program defines
 *  `struct tenon_socks *tenon_sock_only` and sets it by tenon_sock_start(). send() is the name of a function of POSIX
 *  too: this header and <sys/socket.h> do not go together. */
#ifndef TENON_SOCK_NAMES_H
#define TENON_SOCK_NAMES_H

#include "tenon_sock.h"

TENON_BEGIN_DECLS
/** The end points that the seven names mean: the program defines it, and sets it before their first use. */
extern struct tenon_socks *tenon_sock_only;
TENON_END_DECLS

/** An address as cre_sock() has it, in one struct. NULL: any. */
TENON_INLINE struct tenon_addr tenon_sock_names_addr(const struct tenon_ip *ip, unsigned port)
{
    struct tenon_addr addr;

    addr.ip = ip != NULL ? *ip : tenon_ip_any();
    addr.port = (tenon_u16)port;
    addr.netif = (tenon_u16)(TENON_WITH_IPV6 && addr.ip.w[0] >> 22 == 0x3FAUL);    /* fe80::/10: our one interface */
    return addr;
}

/** saddr, daddr: NULL means any. */
TENON_INLINE int cre_sock(const struct tenon_ip *saddr, unsigned sport, const struct tenon_ip *daddr, unsigned dport,
                          int protocol, unsigned opt)
{
    const struct tenon_addr local = tenon_sock_names_addr(saddr, sport), remote = tenon_sock_names_addr(daddr, dport);

    return tenon_sock_create(tenon_sock_only, &local, &remote, protocol, opt);
}

/** tenon_sock_delete(), without options. */
TENON_INLINE int del_sock(int sk)
{
    return tenon_sock_delete(tenon_sock_only, sk, 0);
}

/** tenon_sock_ask_rbuf(). */
TENON_INLINE int ask_rbuf(int sk, tenon_u8 **p)
{
    return tenon_sock_ask_rbuf(tenon_sock_only, sk, p);
}

/** tenon_sock_read_done(). */
TENON_INLINE int read_done(int sk, const tenon_u8 *p, unsigned len)
{
    return tenon_sock_read_done(tenon_sock_only, sk, p, len);
}

/** tenon_sock_set_sbuf(). */
TENON_INLINE int set_sbuf(int sk, void *addr, tenon_u32 len)
{
    return tenon_sock_set_sbuf(tenon_sock_only, sk, addr, len);
}

/** tenon_sock_ask_sbuf(). */
TENON_INLINE int ask_sbuf(int sk, tenon_u8 **p)
{
    return tenon_sock_ask_sbuf(tenon_sock_only, sk, p);
}

/** tenon_sock_send(). It hides the send() of an operating system, which such a program has not. */
TENON_INLINE int send(int sk, const tenon_u8 *p, unsigned len, unsigned opt)
{
    return tenon_sock_send(tenon_sock_only, sk, p, len, opt);
}

#endif
