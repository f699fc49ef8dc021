/* SPDX-License-Identifier: MIT */
/* Questions and answers as bytes (RFC 1035 4). For dns.c and the tests. */
#ifndef TENON_SERVICES_DNS_MESSAGE_H
#define TENON_SERVICES_DNS_MESSAGE_H

#include "dns.h"

TENON_BEGIN_DECLS

enum { DNS_BYTES_MAX = 512 };    /* of a datagram (RFC 1035 2.3.4) */

/* What has come for a question, and waits for the poll. With DNS_ERROR `answer.status` says what it comes to if there
 * is nobody left to ask. */
enum dns_heard { DNS_NOTHING, DNS_ANSWER, DNS_ERROR };

/* Write a question. @return its length */
unsigned tenon_dns_build(tenon_u8 bytes[DNS_BYTES_MAX], const struct tenon_dns_query *query);

/* Read what claims to be the answer to it. n: at most 65535
 * @param[out] answer  written when 0 is returned; with TENON_DNS_FAILED and TENON_DNS_TRUNCATED another server may know
 * @return 0, or the counter of what is wrong (none of those that we need is 0): it is as if nothing had come */
enum tenon_dns_stat tenon_dns_parse(struct tenon_dns_answer *answer, const struct tenon_dns_query *query,
                                    const tenon_u8 *bytes, tenon_u32 n);

TENON_END_DECLS

#endif
