/* SPDX-License-Identifier: MIT */
/* Any bytes as the answer to a question: the first byte says which question and what is made right
 * (identifier, flags, question), the rest is the answer. What is taken must hold together; the same bytes
 * read twice say the same. */
#include "fuzz.h"

#include <string.h>

#include "services/dns.h"
#include "services/dns_message.h"

static void must(int good, unsigned line)
{
    if (!good)
        fuzz_fail("%s:%u: this must hold", __FILE__, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "a", "www.example.com", "a.b.c.d.e.f.g.h.i", "_x-1.example" };
    struct fuzz_bytes in = { data, size };
    struct tenon_dns_answer answer, again;
    struct tenon_dns_query query;
    uint8_t bytes[4 * DNS_BYTES_MAX], question[DNS_BYTES_MAX];    /* over TCP an answer may be longer */
    const unsigned how = fuzz_u8(&in);
    size_t n = in.left < sizeof bytes ? in.left : sizeof bytes, asked;
    enum tenon_dns_stat stat;

    memset(&query, 0, sizeof query);
    strcpy(query.name, names[how & 3]);
    query.type = how & 4 ? TENON_DNS_AAAA : TENON_DNS_A;
    query.id = 0x1234;
    query.mix = how & 8 ? 0x5A5A5A5A : 0;
    asked = tenon_dns_build(question, &query);
    memcpy(bytes, in.p, n);
    if ((how & 16) && n >= 12) {
        memcpy(bytes, "\x12\x34\x81\x80\0\1\0", 7);
        memcpy(bytes + 12, question + 12, n - 12 < asked - 12 ? n - 12 : asked - 12);
    }
    stat = tenon_dns_parse(&answer, &query, bytes, (tenon_u32)n);
    must((unsigned)stat < TENON_DNS_STAT_COUNT, __LINE__);
    if (stat != 0)
        return 0;
    must(n >= asked, __LINE__);
    must(answer.n <= TENON_DNS_ADDRESSES_MAX && answer.ttl_s <= 86400, __LINE__);
    must((answer.n > 0) == (answer.status == TENON_DNS_OK), __LINE__);
    must(answer.n > 0 || answer.ttl_s <= 10800, __LINE__);
    for (unsigned i = 0; i < answer.n; i++)
        must((how & 4) || tenon_ip_is_v4(&answer.ips[i]), __LINE__);
    must(tenon_dns_parse(&again, &query, bytes, (tenon_u32)n) == 0 && memcmp(&answer, &again, sizeof answer) == 0,
         __LINE__);
    return 0;
}
