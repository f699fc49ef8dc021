/* SPDX-License-Identifier: MIT */
/** @file
 *  Bytes that several instances, in several threads, send at the same time.
 *
 *  The count of references in struct tenon_buf is not atomic, because it belongs to one instance. So every instance
 *  gets a buffer of its own for the same bytes, a view, and the views are counted atomically:
 *
 *      shared = sharedbuf_new(bytes, n, give_back, NULL);
 *      in each thread:
 *          struct tenon_buf *view = sharedbuf_view(shared);
 *          struct tenon_span span = { view, 0, n };
 *          for (i = 0; i < connections; i++)
 *              tenon_tcp_send(conn[i], &span);
 *          tenon_buf_put(view);         the connections have references of their own
 *      sharedbuf_put(shared);           the maker's own
 *
 *  When the last connection of the last instance has its last acknowledgement, give_back() is called, once, in the
 *  thread in which that happened. Until then nobody may write the bytes. */
#ifndef TENON_PORTS_COMMON_SHAREDBUF_H
#define TENON_PORTS_COMMON_SHAREDBUF_H

#include <tenon/buf.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The bytes of all its users: opaque, freed with the last reference. */
struct sharedbuf;

/** @param release  gives the bytes back; called once, by the thread that gives up the last reference
 *  @return one reference, the caller's; NULL: no memory, and release() is not called */
struct sharedbuf *sharedbuf_new(tenon_u8 *bytes, tenon_u32 n, void (*release)(void *arg, tenon_u8 *bytes), void *arg);

/** A buffer for one instance, with refs == 1, the caller's. The caller has a reference on `shared`, or somebody has
 *  it for him. Any thread.
 *  @return NULL: no memory */
struct tenon_buf *sharedbuf_view(struct sharedbuf *shared);

/** Take, or give up, a reference. Any thread. */
void sharedbuf_ref(struct sharedbuf *shared);
void sharedbuf_put(struct sharedbuf *shared);

#ifdef __cplusplus
}
#endif

#endif
