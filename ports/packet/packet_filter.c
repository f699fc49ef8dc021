/* SPDX-License-Identifier: MIT */
/* The filter of a socket, as a program for the kernel. */
#include "packet_filter.h"

#include <sys/socket.h>

#include <linux/filter.h>
#include <linux/if_packet.h>

/* Where the program goes on; here both ways of a jump are written as lines of the program. */
enum { GROUP_BIT = 5, TO_US = 11, IP4 = 15, IP6 = 24, FOR_ALL = 30, OF_FLOW = 31, REJECT = 34, LINES };

enum { BYTE_AT = BPF_LD | BPF_B | BPF_ABS, HALF_AT = BPF_LD | BPF_H | BPF_ABS, WORD_AT = BPF_LD | BPF_W | BPF_ABS };
enum { IP4_LENGTH = BPF_LDX | BPF_B | BPF_MSH, BYTE_BEHIND = BPF_LD | BPF_B | BPF_IND, RETURN = BPF_RET | BPF_K };
enum { IF_EQUAL = BPF_JMP | BPF_JEQ | BPF_K, IF_BITS = BPF_JMP | BPF_JSET | BPF_K, AND = BPF_ALU | BPF_AND | BPF_K };

int packet_filter(int fd, const tenon_u8 mac[6], unsigned frames)
{
    const unsigned high = (unsigned)mac[0] << 24 | (unsigned)mac[1] << 16 | (unsigned)mac[2] << 8 | mac[3];
    const unsigned low = (unsigned)mac[4] << 8 | mac[5];
    /* The kernel has taken a VLAN tag off before a packet socket sees the frame: what belongs to a VLAN (other than 0,
     * a priority) would look like ours. */
    struct sock_filter lines[LINES] = {
        { BYTE_AT, 0, 0, (unsigned)SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT },
        { IF_EQUAL, GROUP_BIT, 2, 0 },
        { HALF_AT, 0, 0, (unsigned)SKF_AD_OFF + SKF_AD_VLAN_TAG },
        { AND, 0, 0, 0xFFF },
        { IF_EQUAL, GROUP_BIT, REJECT, 0 },
        { BYTE_AT, 0, 0, 0 },    /* GROUP_BIT */
        { IF_BITS, TO_US, 7, 1 },
        { WORD_AT, 0, 0, 0 },
        { IF_EQUAL, 9, REJECT, high },
        { HALF_AT, 0, 0, 4 },
        { IF_EQUAL, TO_US, REJECT, low },
        { HALF_AT, 0, 0, 12 },    /* TO_US */
        { IF_EQUAL, FOR_ALL, 13, 0x0806 },    /* ARP */
        { IF_EQUAL, IP6, 14, 0x86DD },
        { IF_EQUAL, IP4, OF_FLOW, 0x0800 },
        { BYTE_AT, 0, 0, 14 + 9 },    /* IP4: the protocol */
        { IF_EQUAL, FOR_ALL, 17, 2 },    /* IGMP */
        { IF_EQUAL, 18, OF_FLOW, 1 },
        { HALF_AT, 0, 0, 14 + 6 },
        { IF_BITS, OF_FLOW, 20, 0x1FFF },    /* not the first fragment */
        { IP4_LENGTH, 0, 0, 14 },
        { BYTE_BEHIND, 0, 0, 14 },
        { IF_EQUAL, OF_FLOW, 23, 8 },    /* ICMP echo, and its reply */
        { IF_EQUAL, OF_FLOW, FOR_ALL, 0 },
        { BYTE_AT, 0, 0, 14 + 6 },    /* IP6: the next header */
        { IF_EQUAL, FOR_ALL, 26, 0 },    /* hop-by-hop options: multicast listener discovery */
        { IF_EQUAL, 27, OF_FLOW, 58 },
        { BYTE_AT, 0, 0, 14 + 40 },
        { IF_EQUAL, OF_FLOW, 29, 128 },    /* ICMPv6 echo, and its reply */
        { IF_EQUAL, OF_FLOW, FOR_ALL, 129 },
        { RETURN, 0, 0, (frames & PACKET_FOR_ALL) != 0 ? ~0u : 0 },
        { BYTE_AT, 0, 0, (unsigned)SKF_AD_OFF + SKF_AD_PKTTYPE },    /* OF_FLOW */
        { IF_EQUAL, REJECT, 33, PACKET_OUTGOING },    /* a fanout group knows no PACKET_IGNORE_OUTGOING */
        { RETURN, 0, 0, (frames & PACKET_OF_FLOWS) != 0 ? ~0u : 0 },
        { RETURN, 0, 0, 0 }
    };
    const struct sock_fprog program = { LINES, lines };

    for (unsigned i = 0; i < LINES; i++) {    /* the kernel counts from the line behind the jump */
        if (BPF_CLASS(lines[i].code) != BPF_JMP)
            continue;
        lines[i].jt = (unsigned char)(lines[i].jt - i - 1);
        lines[i].jf = (unsigned char)(lines[i].jf - i - 1);
    }
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}
