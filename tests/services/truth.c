/* SPDX-License-Identifier: MIT */
/* What names, files and clocks say if nobody errs: servers tell it, and the machines' programs compare. */
#include "history.h"

enum { LONG_ADDRESSES = 40 };

enum name_kind truth_kind(unsigned number)
{
    static const enum name_kind kinds[] = { NAME_NONE, NAME_EMPTY, NAME_LONG,  NAME_ALIAS, NAME_FAILS,
                                            NAME_PLAIN, NAME_PLAIN, NAME_PLAIN };

    return kinds[wire_mix(number) % TENON_ARRAY_LEN(kinds)];
}

unsigned truth_addresses(unsigned number)
{
    return truth_kind(number) == NAME_LONG ? (unsigned)LONG_ADDRESSES : 1 + (unsigned)(wire_mix(number + 1000) % 8);
}

struct tenon_ip truth_address(unsigned number, enum tenon_dns_type type, unsigned i)
{
    return type == TENON_DNS_AAAA ? tenon_ip6(0xFD000000UL, 0, number, i + 1)
                                  : tenon_ip4((tenon_u32)(0x0A000001UL + 256 * number + i));
}

uint32_t truth_file_bytes(unsigned number)
{
    return (uint32_t)(wire_mix(number + 2000) % (number % 5 == 0 ? 20000 : 3000));
}

tenon_u8 truth_file_byte(unsigned number, uint32_t at)
{
    return (tenon_u8)(wire_mix((uint64_t)number << 32 | at / 8) >> at % 8 * 8);
}

/* It is 2036 soon, when NTP's seconds wrap (RFC 4330 3). */
uint64_t truth_time_us(const struct history *h)
{
    return (UINT64_C(2085978496) - 600 + h->plan.seed % 1200) * SECOND + wire_now(h->wire);
}
