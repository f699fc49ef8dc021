/* SPDX-License-Identifier: MIT */
/** @file
 *  Reading HTTP/1.1 requests (RFC 9112), and what a file server needs of them (RFC 9110). */
#ifndef APPS_CLI_HTTP_REQUEST_H
#define APPS_CLI_HTTP_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_OTHER };

/** A request. The texts point into the head that was read; NULL: the field is not there. */
struct http_request {
    enum http_method method;
    int minor;                    /**< of HTTP/1.minor */
    const char *target;
    int keep_alive;
    int close;                    /**< the connection option; it prevails */
    int has_length;               /**< a Content-Length */
    int has_body;                 /**< a Content-Length that is not 0, or a Transfer-Encoding */
    const char *host, *range, *if_range, *if_match, *if_none_match, *if_modified_since, *if_unmodified_since;
};

/** Bytes of the head, with the empty line that ends it; 0: it is not complete. */
size_t http_head_bytes(const char *bytes, size_t n);

/** Read a head.
 *  @param head  its bytes; they are changed (texts are 0-terminated)
 *  @return 0, or the status to answer with: 400, 405 or 505 */
int http_request_read(struct http_request *request, char *head, size_t n);

/** Decode the path of a target and make it relative: "/a%20b/./c?x" becomes "a b/c"; "" is the root.
 *  A "/" at the end is kept.
 *  @return 0, or the status to answer with: 400 (malformed, or leads out of the root), 404 (hidden), 414 */
int http_path_read(const char *target, char *path, size_t size);

enum http_range { HTTP_RANGE_NONE, HTTP_RANGE_PART, HTTP_RANGE_UNSATISFIABLE };

/** Read a Range field for a file of `size` bytes. Only a single range of bytes is understood; all else is
 *  ignored, as RFC 9110 14.2 allows.
 *  @param[out] first, end  the part [first, end), when there is one */
enum http_range http_range_read(const char *range, uint64_t size, uint64_t *first, uint64_t *end);

enum { HTTP_DATE_MAX = 32 };

/** "Sun, 06 Nov 1994 08:49:37 GMT"; years have four digits: what is before or after those is the first or the last. */
void http_date_write(char *text, time_t when);

/** The same, or one of the two obsolete formats. @return the time, or -1 */
time_t http_date_read(const char *text);

/** The phrase of a status. */
const char *http_status_text(int status);

#endif
