/* SPDX-License-Identifier: MIT */
/** @file
 *  Reading one HTTP/1.1 response from spans as they arrive (RFC 9112): the head, then a body that ends by its
 *  length, by its last chunk, or with the connection. */
#ifndef APPS_CLI_HTTP_REPLY_H
#define APPS_CLI_HTTP_REPLY_H

#include <stdint.h>

#include <tenon/buf.h>

#include "common/text.h"

enum reply_state {
    REPLY_HEAD,
    REPLY_LENGTH,        /**< in a body of known length: `left` bytes to come */
    REPLY_UNTIL_CLOSE,   /**< in a body that ends with the connection */
    REPLY_CHUNK_LINE,    /**< in the line before a chunk */
    REPLY_CHUNK,         /**< in a chunk: `left` bytes to come */
    REPLY_CHUNK_END,     /**< in the line end after a chunk */
    REPLY_TRAILER,
    REPLY_DONE,
    REPLY_BAD            /**< see `wrong` */
};

/** Zero it, and set head_only for the answer to a HEAD request. */
struct http_reply {
    enum reply_state state;
    int head_only;
    int status;
    int has_length;
    uint64_t length;             /**< with has_length: of the whole body */
    uint64_t left;
    uint64_t body_bytes;         /**< so far */
    int chunked;
    struct strbuf head;          /**< with all its lines, when it is complete */
    struct strbuf line;          /**< a line that is not complete yet */
    const char *wrong;           /**< why it is REPLY_BAD */
    /** Gets the body, piece by piece. */
    void (*body)(void *arg, const struct tenon_span *span);
    void *arg;
};

/** Read what has arrived. What comes after the end is ignored.
 *  @return how many of the bytes were not body */
uint32_t http_reply_feed(struct http_reply *reply, const struct tenon_span *spans, unsigned n);

/** The connection has ended. @return 0 when the response is complete, -1 when it is cut */
int http_reply_end(struct http_reply *reply);
void http_reply_free(struct http_reply *reply);

#endif
