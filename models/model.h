/* SPDX-License-Identifier: MIT */
/** @file
 *  Core assignment: the same application in three, and over any port.
 *
 *      MODEL_UNIFIED   application and stack in one thread: handlers are called by the stack's loop
 *      MODEL_SPLIT     in two threads, on two cores: commands go down and events come up through two rings
 *      MODEL_MERGE     in two threads on one core: whoever has nothing to do sleeps
 *
 *  and several of any kind with work handed between them (model_link_open()).
 *
 *      struct model *model = model_open(&conf, error, sizeof error);
 *      model_listen(model, &listener, &at, &events, app, 0);
 *      model_run(model);                  the application's loop, until model_stop()
 *      model_close(model);
 *
 *  All functions but model_stop() belong to the application's thread: the one that calls model_run(), or
 *  model_rest() from a loop of its own. All handlers are called in it. In MODEL_UNIFIED the stack lives there
 *  too; in the others it has a thread of its own from model_open() to model_close(), and the instance and the
 *  port belong to that thread meanwhile. What is not offered here is done there, by model_call().
 *
 *  An application that keeps to what is written here does not know in which model it runs. What it must
 *  expect:
 *
 *  - model_tcp_send() says TENON_EAGAIN not only when a connection's queue is full but also when the ring is.
 *    acked() tells when there is room, also with 0 bytes.
 *  - What is said to a connection is done later. It may have ended by then; nothing happens to it any more,
 *    and closed() is on its way.
 *  - A datagram that comes is lost when the ring is full, as it is when a socket's buffer is: see
 *    model_udp_open().
 *  - Counts of references belong to the stack's thread: the application gives and takes them by
 *    model_buf_put() and model_buf_ref(), never by tenon_buf_put(). */
#ifndef TENON_MODELS_MODEL_H
#define TENON_MODELS_MODEL_H

#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

struct port;
struct model_spread;
/** An application with its instance and port: from model_open() to model_close(). */
struct model;
/** The way on which one model hands work to another: from model_link_open() to model_link_close(). */
struct model_link;
/** From model_listen() to model_listener_close(), or model_close(). */
struct model_listener;

/** A connection, as the application has it: from model_tcp_connect(), or the event opened(), until the event closed()
 *  returns, or model_tcp_put() gives up the last reference. */
struct model_tcp;

/** A UDP socket, as the application has it: from model_udp_open() until model_udp_close(). */
struct model_udp;

/** Which thread does what: see the top of this page. */
enum model_kind { MODEL_UNIFIED, MODEL_SPLIT, MODEL_MERGE };

/** Bytes of a message of model_hand(); least and most slots of a ring. */
enum { MODEL_MESSAGE_MAX = 56, MODEL_SLOTS_MIN = 64, MODEL_SLOTS_MAX = 1 << 20 };

/** For model_open(), which copies it. A field that is 0 takes its default. */
struct model_conf {
    enum model_kind kind;

    /** The port, opened, and the instance on it. They stay the caller's, who ends them after model_close(); until
     *  then nobody else may touch them. */
    struct port *port;
    struct tenon *stack;
    unsigned netif; /**< of the instance, where the port's frames go in */

    /** One of several models, of any kind, at the queues of one interface: what comes to its queue and concerns
     *  another's instance goes there (spread.h). From model_open() to model_close() it is the member of this number.
     *  The boxes stay the caller's, who closes them after all models. NULL: what comes to the port is its own. */
    struct model_spread *spread;
    unsigned member; /**< of the spread; from 0 */

    int poll; /**< 1: the stack looks for packets all the time; 0: it sleeps when there are none;
                               on a port without a descriptor it looks again and again, with pauses of up
                               to 6 ms when nothing comes. In MODEL_SPLIT the application does
                               the same; in MODEL_MERGE the application sleeps in any case */
    unsigned spin_us; /**< with poll 0: look so long before sleeping; not in MODEL_MERGE */
    int own_loop; /**< 1: the application has a loop of its own, and calls model_rest() instead of model_run().
                               Then spin_us is the stack's alone, and so is poll in MODEL_SPLIT and MODEL_MERGE */
    int pin; /**< 1: run on the processors that follow; 0: the system chooses */
    int app_cpu; /**< of the application; MODEL_MERGE: of both */
    int stack_cpu; /**< MODEL_SPLIT: of the stack */
    unsigned slots; /**< of each ring, a power of two; 0: 4096 */

    /** Called in every turn of the application's loop, outside of handlers: for what it has to do besides.
     * NULL: nothing.
     *  @return microseconds until it wants to be called again, at the latest */
    tenon_u32 (*turn)(void *app, tenon_u32 now_us);
    void *app;

    tenon_u32 (*now_us)(void); /**< the clock; NULL: port_now_us() */
    int stepped; /**< 1: no thread is made; model_step_stack() and model_step() are called in
                               turns by one thread. For tests, and for simulators, whose clock this is not */
};

/** What was counted. */
struct model_stats {
    unsigned long events; /**< slots that came up */
    unsigned long commands; /**< slots that went down */
    unsigned long event_batches, command_batches; /**< and in how many pieces */
    unsigned long app_woken, stack_woken; /**< system calls made to wake */
    unsigned long app_slept, stack_slept;
    unsigned long events_full; /**< events that had to wait for room in the ring */
    unsigned long commands_full; /**< times the application was told TENON_EAGAIN, or waited, because of the ring */
    unsigned long deferred; /**< sends that the stack could not take at once: they waited there */
    unsigned long refused; /**< model_tcp_set() with a value that was none */
    unsigned long handed; /**< messages of other models that came in */
    unsigned long connections; /**< now, with those that only a reference keeps */
    unsigned long datagrams_lost; /**< datagrams that came, and errors about some, that the application was not told
                                       of: there was no room in the ring, or no memory. Never in MODEL_UNIFIED */
    unsigned long datagrams_unsent; /**< datagrams that model_udp_send() or model_udp_write() took, and for
                                       which the core had no room or no memory. Never in MODEL_UNIFIED, where
                                       that is returned */
};

/* ---- a model ---------------------------------------------------------------------------------------- */

/** @param[out] error  what is wrong and what to do about it, in one line; untouched on success
 *  @return NULL on failure; nothing is left behind then */
struct model *model_open(const struct model_conf *conf, char *error, size_t error_size);

/** Turns of the application's loop, in this thread, until model_stop().
 *  @return 0; -1: the port is gone */
int model_run(struct model *model);

/** For a loop of the application's own (conf.own_loop), over poll(), epoll, libuv or whatever else: turns
 * until there is nothing to do, but no more than a few, so that others have theirs. To be called in each turn
 * of that loop, after all else and before it waits: what was said outside of handlers leaves here.
 *
 *      while ((status = model_rest(model, &wait_us)) == 0) {
 *          struct pollfd ready[2] = { { model_fd(model), POLLIN, 0 }, { theirs, POLLIN, 0 } };
 *          poll(ready, 2, (int)(wait_us / 1000 + (wait_us % 1000 != 0)));
 *          ...
 *      }
 *
 *  @param[out] wait_us  microseconds until it wants to be called again, at the latest: 0 if there is more to
 *                       do
 *  @return 0; 1: model_stop() was called; -1: the port is gone */
int model_rest(struct model *model, tenon_u32 *wait_us);

/** What such a loop waits for: readable when model_rest() is to be called before its time. Level-triggered. It is the
 *  model's: not to be read or closed. -1 without conf.own_loop. */
int model_fd(const struct model *model);

/** One turn, without waiting. @return 1: there was something to do */
int model_step(struct model *model);

/** conf.stepped: one turn of the stack. @return 1: there was something to do */
int model_step_stack(struct model *model);

/** Let model_run() return. From any thread, or a signal handler. */
void model_stop(struct model *model);

/** End it: connections that are open are reset, with their peers told, and closed() is called for each; listeners are
 *  closed, and as the last, UDP sockets that are open: closed() may still use them. It opens no connection and no
 *  listener any more (TENON_ECLOSED). What the application keeps of received data must have been given back by the time
 *  of the last closed(); datagrams before this is called, their sockets being closed. Not from a handler. The instance
 *  and the port are the caller's again. */
void model_close(struct model *model);

/** Run fn(stack, arg) in the stack's thread, after all that was said to connections before, and wait until it has been
 *  done. For all that the interface of Tenon has and this one has not. fn must not call functions of this
 *  header but model_tcp_core() and model_udp_core(). */
void model_call(struct model *model, void (*fn)(struct tenon *stack, void *arg), void *arg);

/** The clock of the model. */
tenon_u32 model_now_us(const struct model *model);

/** What has been counted since model_open(). */
void model_stats(struct model *model, struct model_stats *stats);

/* ---- connections ------------------------------------------------------------------------------------- */

/** Handlers, as in struct tenon_tcp_events; any may be NULL. */
struct model_tcp_events {
    void (*opened)(struct model_tcp *tcp, void *app);

    /** Data in order. The spans may be read until this returns; who keeps one takes a reference before that.
     *  NULL: data is consumed and thrown away. */
    void (*received)(struct model_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n);

    /** The peer has acknowledged `bytes` more; or, with 0, what was refused with TENON_EAGAIN may be tried again. */
    void (*acked)(struct model_tcp *tcp, void *app, tenon_u32 bytes);

    /** The peer has finished sending. NULL: model_tcp_finish() is called. */
    void (*finished)(struct model_tcp *tcp, void *app);

    /** The last event. `why` as in Tenon; besides, what tenon_tcp_connect() returned, and TENON_ENOMEM: there was no
     *  memory for what had to wait, so that the connection was reset. */
    void (*closed)(struct model_tcp *tcp, void *app, int why);
};

/** Listen; see tenon_tcp_listen(), of which it has the parameters and the errors; besides, TENON_ECLOSED: model_close()
 *  has begun. */
int model_listen(struct model *model, struct model_listener **out, const struct tenon_addr *at,
                 const struct model_tcp_events *events, void *app, unsigned backlog);

/** The address it has got. */
void model_listener_local(const struct model_listener *listener, struct tenon_addr *local);

/** Listen no more. Connections that are open stay; so do those that have been opened and not yet been told of. */
void model_listener_close(struct model_listener *listener);

/** Open a connection; see tenon_tcp_connect(). Data may be sent at once.
 *  @return TENON_OK: what else is wrong is told by closed(); TENON_ENOMEM; TENON_EAGAIN: the ring is full;
 *          TENON_ECLOSED: model_close() has begun. In MODEL_UNIFIED also what tenon_tcp_connect() returns, without
 *          closed() */
int model_tcp_connect(struct model *model, struct model_tcp **out, const struct tenon_addr *from,
                      const struct tenon_addr *to, const struct model_tcp_events *events, void *app);

/** Exchange the handlers. */
void model_tcp_handler(struct model_tcp *tcp, const struct model_tcp_events *events, void *app);

/** What was given with the handlers, and the model that it belongs to. */
void *model_tcp_app(const struct model_tcp *tcp);
struct model *model_tcp_model(const struct model_tcp *tcp);

/** The core's connection, for a function that model_call() runs. NULL: it has ended. */
struct tenon_tcp *model_tcp_core(const struct model_tcp *tcp);

/** Keep the handle, or keep it no longer. After closed() it is good for nothing but these two, and all functions say
 *  TENON_ECLOSED: who has handed work on and does not know what became of the connection meanwhile is safe. */
void model_tcp_ref(struct model_tcp *tcp);
void model_tcp_put(struct model_tcp *tcp);

/** Send a span without a copy; see tenon_tcp_send(). The caller has a reference on its buffer, or received it in this
 *  very event; he keeps it.
 *  @return TENON_OK, TENON_EAGAIN (nothing was taken), TENON_ECLOSED; in MODEL_UNIFIED TENON_ENOMEM too */
int model_tcp_send(struct model_tcp *tcp, const struct tenon_span *span);

/** Send a copy; see tenon_tcp_write(). Up to a thousand bytes travel in the ring itself.
 *  @return how many bytes were taken, 0 to n; TENON_ECLOSED; TENON_ENOMEM */
tenon_i32 model_tcp_write(struct model_tcp *tcp, const void *bytes, tenon_u32 n);

/** Bytes that can be sent now, if the ring has room for them. */
tenon_u32 model_tcp_room(const struct model_tcp *tcp);

/** So many bytes of what was received are done with. */
void model_tcp_consumed(struct model_tcp *tcp, tenon_u32 bytes);

/** See tenon_tcp_finish(). @return TENON_OK, TENON_ECLOSED */
int model_tcp_finish(struct model_tcp *tcp);

/** See tenon_tcp_close(). Of the events, only closed() follows. */
void model_tcp_close(struct model_tcp *tcp);

/** See tenon_tcp_abort(). Of the events, only closed() follows; in MODEL_UNIFIED before this returns. */
void model_tcp_abort(struct model_tcp *tcp);

/** See tenon_tcp_set(). @return TENON_OK, TENON_ECLOSED, TENON_EINVAL: there is no such option; what else is wrong is
 *  counted */
int model_tcp_set(struct model_tcp *tcp, enum tenon_tcp_option option, tenon_u32 value);

/* ---- datagrams --------------------------------------------------------------------------------------- */

/** Handlers, as in struct tenon_udp_events; any may be NULL. Called in the application's thread, as all are. May call
 *  anything, model_udp_close() on their own socket included. */
struct model_udp_events {
    /** A datagram, in 0 or more spans that may be read until this returns; who keeps one takes a reference before that
     *  (model_buf_ref()). Of one in more than 3 (fragments), MODEL_SPLIT and MODEL_MERGE make a copy in one piece.
     *  `info` may be read until this returns as well. NULL: datagrams are thrown away. */
    void (*received)(struct model_udp *udp, void *app, const struct tenon_udp_info *info,
                     const struct tenon_span *spans, unsigned n);

    /** An error about a datagram that was sent to `to`: what tenon_udp_events.error() tells; besides, in MODEL_SPLIT
     *  and MODEL_MERGE, what tenon_udp_send() returned there, such as TENON_EUNREACH, TENON_EACCES, TENON_EMSGSIZE or
     *  TENON_EINVAL. Without room in the ring it is lost, and counted. */
    void (*error)(struct model_udp *udp, void *app, const struct tenon_addr *to, int error);
};

/** Open a socket and bind it: tenon_udp_open() and tenon_udp_bind(). What comes between two turns of the application,
 *  and has no room in the ring (a datagram takes two slots), is lost and counted (model_stats.datagrams_lost): UDP
 *  promises nothing else (RFC 768, RFC 8085 3.1). Who expects bursts asks for more slots.
 *  @param at      copied. NULL: any address and a free port, as with port 0
 *  @param events  kept: must outlive the socket
 *  @return TENON_OK, TENON_EINVAL (the core was built without UDP), TENON_ENOMEM, TENON_ELIMIT, TENON_ENOADDR,
 *          TENON_EINUSE; nothing is left behind then */
int model_udp_open(struct model *model, struct model_udp **out, const struct tenon_addr *at,
                   const struct model_udp_events *events, void *app);

/** Fix the peer, or with NULL have none any more: tenon_udp_connect(), whose errors it returns. What came from others
 *  before may still be received after this. */
int model_udp_connect(struct model_udp *udp, const struct tenon_addr *to);

/** tenon_udp_set(). @return TENON_OK, TENON_EINVAL */
int model_udp_set(struct model_udp *udp, enum tenon_udp_option option, tenon_u32 value);

/** The address it is bound to, as of model_udp_open() or model_udp_connect(). */
void model_udp_local(const struct model_udp *udp, struct tenon_addr *local);

/** The model that it belongs to. */
struct model *model_udp_model(const struct model_udp *udp);

/** The core's socket, for a function that model_call() runs: tenon_udp_payload_max() and the like. */
struct tenon_udp *model_udp_core(const struct model_udp *udp);

/** Send one datagram, gathered from n spans; see tenon_udp_send(). The caller has references on their buffers, or
 *  received them in this very event; he keeps them. Up to 4 spans go without a copy, more (but in MODEL_UNIFIED) are
 *  joined first. The bytes are not to be changed any more.
 *  @param to  copied. NULL on a connected socket
 *  @return TENON_OK: in MODEL_SPLIT and MODEL_MERGE, what is wrong besides is told by error(), and what the core has no
 *          room or no memory for is counted (model_stats.datagrams_unsent). TENON_EMSGSIZE: more than 65527 bytes;
 *          TENON_EAGAIN: the ring is full, try again in the next turn or do without; TENON_ENOMEM. In MODEL_UNIFIED
 *          also what tenon_udp_send() returns, without error() */
int model_udp_send(struct model_udp *udp, const struct tenon_addr *to, const struct tenon_span *spans, unsigned n);

/** As model_udp_send(), from a given local address: to answer from the address that was asked.
 *  @param from  copied; as for tenon_udp_send_from(). NULL: as model_udp_send() */
int model_udp_send_from(struct model_udp *udp, const struct tenon_ip *from, const struct tenon_addr *to,
                        const struct tenon_span *spans, unsigned n);

/** As model_udp_send(), a copy of n bytes. Up to 1536 travel in the ring itself. */
int model_udp_write(struct model_udp *udp, const struct tenon_addr *to, const void *bytes, tenon_u32 n);

/** As model_udp_write(), from a given local address as model_udp_send_from() takes it. */
int model_udp_write_from(struct model_udp *udp, const struct tenon_ip *from, const struct tenon_addr *to,
                         const void *bytes, tenon_u32 n);

/** Close; no event comes after it, and the handle is not to be used any more. What was sent before it still goes out.
 *  Waits for room in the ring, if there is none. */
void model_udp_close(struct model_udp *udp);

/* ---- buffers ----------------------------------------------------------------------------------------- */

/** Take a reference on a buffer, for instance of a span that has been received. The caller has one himself, or it
 *  belongs to the event in which this is called. */
void model_buf_ref(struct model *model, struct tenon_buf *buf);

/** Give one back. The stack does so, later: the bytes are not to be touched from now on. */
void model_buf_put(struct model *model, struct tenon_buf *buf);

/** A buffer to send from, with one reference, the caller's. It may be written until it is sent the first time.
 *  Bytes for several models: sharedbuf_view() of ports/common/sharedbuf.h makes a buffer for each.
 *  @return NULL: no memory */
struct tenon_buf *model_buf_new(tenon_u32 bytes);

/* ---- handing work to another model ------------------------------------------------------------------- */

/** A way from one model's application to another's, for messages that the other one's thread works on. Made before
 *  either runs, closed when neither does, before the models. Each direction is a link of its own.
 *  @param slots  a power of two; 0: 1024
 *  @return NULL: no memory, or too many */
struct model_link *model_link_open(struct model *from, struct model *to, unsigned slots);
void model_link_close(struct model_link *link);

/** Let the other application's thread call fn(to, message), in its next turn. In order; the bytes are copied.
 *  What a message points to is the receiver's until he hands it back. Buffers and connections of this model
 *  are not his to use: he names them in his answer.
 *  @param bytes  0 to MODEL_MESSAGE_MAX
 *  @return TENON_OK, TENON_EINVAL, TENON_EAGAIN: the link is full, try again in the next turn */
int model_hand(struct model_link *link, void (*fn)(struct model *to, const void *message), const void *message,
               unsigned bytes);

#ifdef __cplusplus
}
#endif

#endif
