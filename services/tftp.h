/* SPDX-License-Identifier: MIT */
/** @file
 *  Files from a TFTP server (RFC 1350), with the options for larger blocks, the size beforehand, and the server's time
 *  between repetitions (RFC 2347, 2348, 2349): what a boot loader or an update fetches where there is no HTTP.
 *
 *  One block is on its way at a time, so a transfer takes a round trip for each. Nobody proves who he is: what has come
 *  is to be believed when a checksum or a signature says so. Driven as all services: tenon_tftp_poll() after each
 *  tenon_poll(). */
#ifndef TENON_SERVICES_TFTP_H
#define TENON_SERVICES_TFTP_H

#include <tenon/udp.h>

#include "clock.h"

TENON_BEGIN_DECLS

/** Numbers of TFTP and limits of a client. */
enum {
    TENON_TFTP_PORT = 69,
    TENON_TFTP_NAME_MAX = 127,       /**< characters of a file's name */
    TENON_TFTP_PLAIN_BYTES = 512,    /**< of a block, without the option (RFC 1350) */
    TENON_TFTP_BLOCK_MIN = 8         /**< RFC 2348 */
};

/** RFC 2348. */
#define TENON_TFTP_BLOCK_MAX 65464UL

/** How a transfer ended. */
enum tenon_tftp_status {
    TENON_TFTP_OK,             /**< the file is there, whole as far as the server said how large it is */
    TENON_TFTP_TIMEOUT,        /**< the server has not answered, or not any more */
    TENON_TFTP_UNREACHED,      /**< ICMP says that nobody is there, or there is no way, before anything came */
    TENON_TFTP_REFUSED,        /**< the server sent an error: `code` */
    TENON_TFTP_BAD_OPTION,     /**< the server agreed to what nobody had asked for (RFC 2347) */
    TENON_TFTP_OTHER_SIZE,     /**< there was more or less than the server had said (RFC 2349) */
    TENON_TFTP_NOT_TAKEN       /**< data() did not want it */
};

/** Numbers of errors (RFC 1350 5, RFC 2347). */
enum tenon_tftp_code {
    TENON_TFTP_CODE_OTHER = 0,
    TENON_TFTP_CODE_NO_FILE = 1,
    TENON_TFTP_CODE_ACCESS = 2,
    TENON_TFTP_CODE_FULL = 3,
    TENON_TFTP_CODE_ILLEGAL = 4,
    TENON_TFTP_CODE_STRANGER = 5,
    TENON_TFTP_CODE_OPTION = 8
};

/** What is counted: X(NAME, "name", "what it counts") */
#define TENON_TFTP_STATS(X) \
    X(SENT, "sent", "requests and acknowledgements sent") \
    X(AGAIN, "again", "of them sent again, because nothing came") \
    X(NOT_SENT, "not_sent", "attempts to send one that the core refused, or had no memory or way for") \
    X(BLOCKS, "blocks", "blocks taken") \
    X(DUPLICATES, "duplicates", "the last block once more, or the agreement to options: acknowledged again") \
    X(OTHER_BLOCK, "other_block", "blocks that are neither the next one nor the last, dropped") \
    X(STRANGERS, "strangers", "datagrams of others than the server's end of this transfer") \
    X(BAD_LENGTH, "bad_length", "datagrams that are cut, or larger than a block may be") \
    X(BAD_OPCODE, "bad_opcode", "datagrams that no server sends, or not then") \
    X(WITHOUT_OPTIONS, "without_options", "requests made anew without options, because the server has none (error 8)") \
    X(UNREACHED, "unreached", "ICMP errors about this transfer")

#define TENON_TFTP_STATS_ENUM(id, name, text) TENON_TFTP_STAT_##id,
enum tenon_tftp_stat { TENON_TFTP_STATS(TENON_TFTP_STATS_ENUM) TENON_TFTP_STAT_COUNT };
#undef TENON_TFTP_STATS_ENUM

struct tenon_tftp;

/** What is fetched, and how. */
struct tenon_tftp_conf {
    struct tenon_addr server;    /**< port 0: the usual one, 69; netif: the link of a link-local one */
    const char *name;            /**< of the file, as the server knows it; kept until the end */
    tenon_u16 block_bytes;       /**< asked for; 0: as much as a packet carries that is sent, and taken (mru of
                                      the interfaces), 1428 at most; TENON_TFTP_PLAIN_BYTES: no such
                                      option is sent */
    tenon_u8
        server_s; /**< ask the server to repeat a block after so many seconds (RFC 2349); 0: as it likes */
    tenon_u8 plain;              /**< 1: without any options, as RFC 1350 alone knows it */
    tenon_u16 timeout_ms;        /**< until something is sent again; doubles each time, to 16 s at most; 0: 1000 */
    tenon_u8 tries;              /**< times that the same is sent before it is given up; 0: 6 */
    /** The next bytes of the file; called within tenon_input(), once or several times for a block.
     *  @return 0: go on; else the transfer ends (TENON_TFTP_NOT_TAKEN), and the server is told */
    int (*data)(struct tenon_tftp *tftp, void *app, const tenon_u8 *bytes, tenon_u32 n);
    /** The end, called once within tenon_tftp_poll(), not after tenon_tftp_stop(). May start another transfer. */
    void (*done)(struct tenon_tftp *tftp, void *app, enum tenon_tftp_status status);
    void *app;
};

/** A transfer. The memory is the caller's, all zero before the first start. He may read the fields of the
 * first part. */
struct tenon_tftp {
    tenon_u32 got;            /**< bytes that data() was given */
    tenon_u32 size;           /**< of the file, as the server said before it; 0 without size_known */
    tenon_u8 size_known;
    tenon_u16 block_bytes;    /**< as agreed */
    tenon_u16 code;           /**< with TENON_TFTP_REFUSED: enum tenon_tftp_code, or another number */
    tenon_u32 stats[TENON_TFTP_STAT_COUNT];

    struct tenon *stack;
    struct tenon_tftp_conf conf;
    struct tenon_udp *sock;    /* NULL: none is open */
    struct tenon_addr peer;    /* the server's end of this transfer, from its first answer on */
    struct tenon_svc_clock clock;
    struct tenon_svc_time due;
    tenon_u32 wait_ms;
    tenon_u32 held_ms;         /* so long a message could not leave */
    tenon_u16 asked_bytes;     /* what the request said: 0: nothing */
    tenon_u16 block;           /* the last one that was taken */
    tenon_u8 any;              /* 1: one was */
    tenon_u8 state, heard, status, sends;
    tenon_u8 unsent;           /* 1: the last request or acknowledgement could not leave */
    tenon_u8 stirred;          /* 1: there is something for the core to do */
};

/** Begin; the request goes out at the next tenon_tftp_poll(). The end of a transfer may be the beginning of the next.
 *  @param conf  copied
 *  @return TENON_OK or TENON_EINVAL (a bad value, or one is going on) */
int tenon_tftp_start(struct tenon_tftp *tftp, struct tenon *stack, const struct tenon_tftp_conf *conf,
                     tenon_u32 now_us);

/** Do what is due, and tenon_poll() when there is something for the core to do. Not to be called from a handler. After
 *  the end it is to be called for some seconds more: the server may not have heard the last acknowledgement.
 *  @return microseconds until it wants to be called again, at most 30 minutes; earlier after each tenon_poll() */
tenon_u32 tenon_tftp_poll(struct tenon_tftp *tftp, tenon_u32 now_us);

/** End. The server is told if it is still sending. Not to be called from data(). */
void tenon_tftp_stop(struct tenon_tftp *tftp);

/** A status in words ("no answer"), NULL for a number that is none; so is the name of a counter. */
const char *tenon_tftp_status_text(enum tenon_tftp_status status);
const char *tenon_tftp_stat_name(enum tenon_tftp_stat stat);

TENON_END_DECLS

#endif
