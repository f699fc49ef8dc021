/* SPDX-License-Identifier: MIT */
/* The TFTP client against a server that the test plays. Datagrams are words: of those that leave the port that they go
 * to stands first, so that "69 RRQ" asks the server, and "3000 ACK 1" its end of a transfer. */
#include "bench.h"
#include "services/tftp.h"

#define SERVER 0xC0000245U    /* 192.0.2.69 */
#define OTHER 0xC0000207U     /* 192.0.2.7 */
enum { TID = 3000, MORE = 4000, NOT_YET = 99, SAID_MAX = 1000 };

static struct {
    struct tenon_tftp tftp;
    struct tenon_tftp_conf conf;
    char said[SAID_MAX];                 /* by the client, since says() or run() */
    tenon_u8 packet[200];                /* ... the last one, from its IP header on */
    unsigned port, ports;                /* from which; how many different ones in a row */
    unsigned from;                       /* the host that speaks ... */
    const char *to;                      /* ... and to whom */
    size_t cut;                          /* where its frames are cut in two; 0: nowhere */
    tenon_u32 base;                      /* of block 1 in the file */
    tenon_u32 refuse_at;                 /* data() does not want the file from here on; 0: all of it */
    unsigned wrong, pieces, ends;
    enum tenon_tftp_status status;
} t;

static tenon_u8 file_byte(tenon_u32 i)
{
    return (tenon_u8)(i * 7 + (i >> 9));
}

static int data(struct tenon_tftp *tftp, void *app, const tenon_u8 *bytes, tenon_u32 n)
{
    HN_CHECK(tftp == &t.tftp && app == &t && n > 0);
    if (t.refuse_at > 0 && tftp->got >= t.refuse_at)
        return 1;
    t.pieces++;
    for (tenon_u32 i = 0; i < n; i++)
        t.wrong += bytes[i] != file_byte(tftp->got + i);
    return 0;
}

static void done(struct tenon_tftp *tftp, void *app, enum tenon_tftp_status status)
{
    HN_CHECK(tftp == &t.tftp && app == &t);
    t.ends++;
    t.status = status;
}

/* ---- datagrams as words --------------------------------------------------------------------------- */

static void write_words(const struct sv_dgram *in)
{
    static const char *const names[] = { "0", "RRQ", "WRQ", "DATA", "ACK", "ERROR", "OACK" };
    const unsigned opcode = in->n >= 2 ? hn_get16(in->bytes) : 0;
    size_t at = strlen(t.said);

    at += (size_t)snprintf(t.said + at, SAID_MAX - at, "%s%u %s", at > 0 ? ", " : "", in->dport,
                           opcode < TENON_ARRAY_LEN(names) ? names[opcode] : "?");
    if (opcode == 4 || opcode == 5) {
        HN_EQUAL(in->n, opcode);    /* an error has no words, but their 0 */
        (void)snprintf(t.said + at, SAID_MAX - at, " %u", hn_get16(in->bytes + 2));
        return;
    }
    HN_EQUAL(in->bytes[in->n - 1], 0);
    for (size_t i = 2; i < in->n; i += strlen((const char *)in->bytes + i) + 1)
        at += (size_t)snprintf(t.said + at, SAID_MAX - at, " %s", (const char *)in->bytes + i);
}

static void heard(const struct hn_sent *sent)
{
    struct sv_dgram in;

    sv_answer_arp(sent, SERVER);
    sv_answer_arp(sent, OTHER);
    if (!sv_read(&in, sent))
        return;
    HN_CHECK(in.dst == SERVER || in.dst == OTHER);
    HN_CHECK(in.sport >= 1024);
    t.ports += in.sport != t.port;
    t.port = in.sport;
    memcpy(t.packet, sent->bytes + 14, sent->len - 14 < sizeof t.packet ? sent->len - 14 : sizeof t.packet);
    write_words(&in);
}

static size_t block(tenon_u8 *bytes, unsigned number, size_t n)
{
    const tenon_u32 begin = t.base + (number - 1) * t.tftp.block_bytes;

    hn_put16(bytes, 3);
    hn_put16(bytes + 2, number);
    for (size_t i = 0; i < n; i++)
        bytes[4 + i] = file_byte(begin + (tenon_u32)i);
    return 4 + n;
}

/* "DATA number bytes", "ERROR number", "OACK words...", or the number of an opcode and another one. */
static size_t read_words(tenon_u8 *bytes, const char *words)
{
    unsigned a = 0, b = 0;
    size_t n = 2;

    if (sscanf(words, "DATA %u %u", &a, &b) == 2)
        return block(bytes, a, b);
    hn_put16(bytes, 6);
    if (strncmp(words, "OACK ", 5) == 0) {
        for (words += 5; *words != '\0'; words++)
            bytes[n++] = (tenon_u8)(*words == ' ' ? 0 : *words);
        bytes[n++] = 0;
        return n;
    }
    a = 5;
    if (sscanf(words, "ERROR %u", &b) != 1)
        HN_EQUAL(sscanf(words, "%u %u", &a, &b), 2);
    hn_put16(bytes, a);
    hn_put16(bytes + 2, b);
    bytes[4] = 0;
    return 5;
}

static void speak(unsigned port, const tenon_u8 *bytes, size_t n)
{
    tenon_u8 frame[2100], payload[2000];
    struct hn_packet packet;

    hn_put16(payload, port);
    hn_put16(payload + 2, t.port);
    hn_put16(payload + 4, (unsigned)(8 + n));
    memcpy(payload + 8, bytes, n);
    memset(&packet, 0, sizeof packet);
    hn_mac(packet.from, 1, t.from & 0xFF);
    packet.src = tenon_ip4(t.from);
    packet.dst = hn_ip(t.to);
    packet.proto = 17;
    packet.ttl = 64;
    packet.sum_at = 6;
    packet.payload = payload;
    packet.len = 8 + n;
    t.said[0] = '\0';
    hn_inject_cut(&sv.hn, sv.netif, frame, hn_build(frame, sv.netif, &packet), t.cut);
    sv_run(0);
}

/* A datagram from this port; what the client says to it is in t.said. */
static void says(unsigned port, const char *words)
{
    tenon_u8 bytes[2000];

    speak(port, bytes, read_words(bytes, words));
}

static void run(tenon_u32 ms)
{
    t.said[0] = '\0';
    sv_run(ms);
}

#define SAID(text) HN_CHECK(hn_said(text))
static int hn_said(const char *text)
{
    if (strcmp(t.said, text) == 0)
        return 1;
    fprintf(stderr, "the client said \"%s\", not \"%s\"\n", t.said, text);
    return 0;
}

static unsigned stat(enum tenon_tftp_stat which)
{
    return (unsigned)t.tftp.stats[which];
}

/* ---- a transfer ----------------------------------------------------------------------------------- */

static tenon_u32 poll_tftp(tenon_u32 now_us)
{
    return tenon_tftp_poll(&t.tftp, now_us);
}

static void prepare(void)
{
    const struct tenon_ip us = hn_ip("192.0.2.10");

    sv_open(TENON_NETIF_NO_DAD);
    memset(&t, 0, sizeof t);
    sv.poll = poll_tftp;
    sv.heard = heard;
    t.from = SERVER;
    t.to = "192.0.2.10";
    t.status = (enum tenon_tftp_status)NOT_YET;
    t.conf.server.ip = tenon_ip4(SERVER);
    t.conf.name = "image";
    t.conf.data = data;
    t.conf.done = done;
    t.conf.app = &t;
    HN_EQUAL(tenon_addr_add(sv.hn.stack, sv.netif, &us, 24), TENON_OK);
}

static void begin(void)
{
    HN_EQUAL(tenon_tftp_start(&t.tftp, sv.hn.stack, &t.conf, sv.hn.now_us), TENON_OK);
    run(0);
}

/* Without options. */
static void open(void)
{
    prepare();
    t.conf.plain = 1;
    begin();
    SAID("69 RRQ image octet");
}

static void ended(enum tenon_tftp_status status, tenon_u32 got)
{
    HN_EQUAL(t.ends, 1);
    HN_EQUAL(t.status, status);
    HN_EQUAL(t.tftp.got, got);
    HN_EQUAL(t.wrong, 0);
}

static void close_all(void)
{
    tenon_tftp_stop(&t.tftp);
    sv_run(0);
    sv_close();
}

/* ---- what is usual -------------------------------------------------------------------------------- */

static void plain_to_its_end(void)
{
    open();
    says(TID, "DATA 1 512");
    SAID("3000 ACK 1");
    says(TID, "DATA 2 512");
    SAID("3000 ACK 2");
    HN_EQUAL(t.ends, 0);
    says(TID, "DATA 3 100");
    SAID("3000 ACK 3");
    ended(TENON_TFTP_OK, 1124);
    HN_EQUAL(stat(TENON_TFTP_STAT_BLOCKS), 3);
    HN_EQUAL(t.ports, 1);
    close_all();
}

/* RFC 1350 6: a block of nothing ends what fills its last block. */
static void plain_whole_blocks(void)
{
    open();
    says(TID, "DATA 1 512");
    says(TID, "DATA 2 0");
    SAID("3000 ACK 2");
    ended(TENON_TFTP_OK, 512);
    close_all();
    open();
    says(TID, "DATA 1 0");
    SAID("3000 ACK 1");
    ended(TENON_TFTP_OK, 0);
    HN_EQUAL(t.pieces, 0);
    close_all();
}

/* Begun while there is no address yet, nothing can leave. What leaves then asks for blocks as large as packets. */
static void begun_early(void)
{
    const struct tenon_ip us = hn_ip("192.0.2.10");

    prepare();
    HN_EQUAL(tenon_addr_remove(sv.hn.stack, sv.netif, &us), TENON_OK);
    begin();
    SAID("");
    run(3500);
    SAID("");
    HN_CHECK(stat(TENON_TFTP_STAT_NOT_SENT) > 5 && stat(TENON_TFTP_STAT_NOT_SENT) < 32);
    HN_EQUAL(tenon_addr_add(sv.hn.stack, sv.netif, &us, 24), TENON_OK);
    run(250);
    SAID("69 RRQ image octet blksize 1428 tsize 0");
    close_all();
}

/* What cannot leave for want of buffers leaves soon after there are some, and nothing is sent again for that. */
static void no_buffer(void)
{
    open();
    sv_lack_buffers(1);
    says(TID, "DATA 1 512");
    run(900);
    SAID("");
    HN_CHECK(stat(TENON_TFTP_STAT_NOT_SENT) > 5 && stat(TENON_TFTP_STAT_NOT_SENT) < 12);
    sv_lack_buffers(0);
    run(250);
    SAID("3000 ACK 1");
    run(999 - 250);
    SAID("");
    sv_lack_buffers(1);
    says(TID, "DATA 2 100");
    ended(TENON_TFTP_OK, 612);
    run(500);
    SAID("");
    sv_lack_buffers(0);
    run(250);
    SAID("3000 ACK 2");
    HN_EQUAL(stat(TENON_TFTP_STAT_AGAIN), 0);
    run(2740);
    says(TID, "DATA 2 100");
    SAID("3000 ACK 2");
    close_all();
}

/* It comes to its end, as late as if the server were silent; so does the rest after the last block. */
static void no_buffer_for_good(void)
{
    open();
    sv_lack_buffers(1);
    says(TID, "DATA 1 512");
    run(46000);
    HN_EQUAL(t.ends, 0);
    run(2000);
    ended(TENON_TFTP_TIMEOUT, 512);
    HN_EQUAL(stat(TENON_TFTP_STAT_AGAIN), 0);
    HN_CHECK(stat(TENON_TFTP_STAT_NOT_SENT) < 4 * 47 + 6 * 6);
    close_all();
    open();
    sv_lack_buffers(1);
    says(TID, "DATA 1 100");
    run(10000);
    ended(TENON_TFTP_OK, 100);
    HN_EQUAL(tenon_tftp_poll(&t.tftp, sv.hn.now_us), TENON_SVC_WAIT_MAX_US);
    close_all();
}

static void options_agreed(void)
{
    prepare();
    t.conf.server_s = 3;
    begin();
    SAID("69 RRQ image octet blksize 1428 tsize 0 timeout 3");
    says(TID, "OACK BlkSize 1024 TSIZE 1500 timeout 3");
    SAID("3000 ACK 0");
    HN_EQUAL(t.tftp.size_known, 1);
    HN_EQUAL(t.tftp.size, 1500);
    says(TID, "DATA 1 1024");
    SAID("3000 ACK 1");
    says(TID, "DATA 2 476");
    SAID("3000 ACK 2");
    ended(TENON_TFTP_OK, 1500);
    close_all();
}

/* Who takes smaller packets than the link has asks for blocks that they hold. */
static void options_for_small_packets(void)
{
    struct tenon_netif_conf other;

    prepare();
    memset(&other, 0, sizeof other);
    hn_mac(other.mac, 0, 9);
    other.mtu = 1500;
    other.mru = 600;
    other.flags = TENON_NETIF_NO_IP6;
    HN_EQUAL(tenon_netif_add(sv.hn.stack, &other), 2);
    hn_mac(other.mac, 0, 10);
    other.mru = 1400;
    HN_EQUAL(tenon_netif_add(sv.hn.stack, &other), 3);    /* the one that takes least may be the one */
    begin();
    SAID("69 RRQ image octet blksize 568 tsize 0");
    close_all();
}

/* The header of IPv6 is longer. */
static void options_for_small_packets6(void)
{
    const struct tenon_ip us = hn_ip("fd00::10");
    struct tenon_netif_conf other;

    prepare();
    memset(&other, 0, sizeof other);
    hn_mac(other.mac, 0, 9);
    other.mtu = 1500;
    other.mru = 1300;
    other.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    HN_EQUAL(tenon_netif_add(sv.hn.stack, &other), 2);
    HN_EQUAL(tenon_addr_add(sv.hn.stack, 2, &us, 64), TENON_OK);
    t.conf.server.ip = hn_ip("fd00::69");
    begin();
    HN_EQUAL(t.tftp.asked_bytes, 1300 - 48 - 4);
    close_all();
}

/* RFC 2347: a server that knows none begins at once, with what RFC 1350 knows. */
static void options_ignored(void)
{
    prepare();
    begin();
    says(TID, "DATA 1 512");
    SAID("3000 ACK 1");
    says(TID, "DATA 2 1");
    ended(TENON_TFTP_OK, 513);
    HN_EQUAL(t.tftp.size_known, 0);
    close_all();
}

/* ... and one that will not have them is asked without, from another port. */
static void options_refused(void)
{
    prepare();
    begin();
    says(TID, "ERROR 8");
    SAID("69 RRQ image octet");
    HN_EQUAL(t.ports, 2);
    HN_EQUAL(stat(TENON_TFTP_STAT_WITHOUT_OPTIONS), 1);
    says(TID + 1, "ERROR 8");
    SAID("");
    ended(TENON_TFTP_REFUSED, 0);
    HN_EQUAL(t.tftp.code, TENON_TFTP_CODE_OPTION);
    close_all();
}

static void options_as_wanted(void)
{
    static const struct {
        tenon_u16 block_bytes;
        const char *request, *agreement;
        tenon_u16 agreed;
    } rows[] = {
        { 512, "69 RRQ image octet tsize 0", "OACK tsize 1", 512 },
        { 8, "69 RRQ image octet blksize 8 tsize 0", "OACK blksize 8", 8 },
        { 65464, "69 RRQ image octet blksize 65464 tsize 0", "OACK tsize 1 blksize 8192", 8192 },
        { 1000, "69 RRQ image octet blksize 1000 tsize 0", "OACK tsize 1", 512 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        hn_row = rows[i].request;
        prepare();
        t.conf.block_bytes = rows[i].block_bytes;
        begin();
        SAID(rows[i].request);
        says(TID, rows[i].agreement);
        SAID("3000 ACK 0");
        HN_EQUAL(t.tftp.block_bytes, rows[i].agreed);
        close_all();
    }
    hn_row = "";
}

/* RFC 2347: what nobody asked for is an error; so is more than was asked for (RFC 2348, 2349). */
static void options_not_ours(void)
{
    static const char *const rows[] = {
        "OACK blksize 1001", "OACK blksize 7",    "OACK blksize x",    "OACK blksize",
        "OACK timeout 4",    "OACK windowsize 4", "OACK tsize 9 x 1",  "OACK  ",
        "OACK timeout 259",  "OACK blksiz 512",   "OACK blksizes 512", "OACK blksize 65537",
        "OACK blksize 51:",  "OACK blksize 600x", "OACK timeout 3x",   "OACK blksize "
    };
    static const tenon_u8 unfinished[] = { 0, 6, 't', 's', 'i', 'z', 'e', 0, '9' };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        hn_row = rows[i];
        prepare();
        t.conf.server_s = 3;
        t.conf.block_bytes = 1000;
        begin();
        says(TID, rows[i]);
        SAID("3000 ERROR 8");
        ended(TENON_TFTP_BAD_OPTION, 0);
        close_all();
    }
    hn_row = "";
    prepare();
    begin();
    speak(TID, unfinished, sizeof unfinished);    /* a number without its end */
    SAID("3000 ERROR 8");
    close_all();
    prepare();
    t.conf.block_bytes = 512;
    begin();
    says(TID, "OACK blksize 512");    /* not even what it is */
    SAID("3000 ERROR 8");
    close_all();
    prepare();
    begin();
    says(TID, "OACK timeout 0");
    SAID("3000 ERROR 8");
    close_all();
}

static void sizes(void)
{
    static const struct {
        const char *agreement;
        tenon_u8 known;
        tenon_u32 size;
        enum tenon_tftp_status status;    /* of a file of a hundred bytes */
    } rows[] = {
        { "OACK tsize 100", 1, 100, TENON_TFTP_OK },
        { "OACK tsize 99", 1, 99, TENON_TFTP_OTHER_SIZE },
        { "OACK tsize 101", 1, 101, TENON_TFTP_OTHER_SIZE },
        { "OACK tsize 4294967295", 1, 4294967295U, TENON_TFTP_OTHER_SIZE },
        { "OACK tsize 4294967296", 0, 0, TENON_TFTP_OK },    /* nobody counts so far: not known */
        { "OACK tsize many", 0, 0, TENON_TFTP_OK },
        { "OACK tsize ", 0, 0, TENON_TFTP_OK },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        hn_row = rows[i].agreement;
        prepare();
        begin();
        says(TID, rows[i].agreement);
        SAID("3000 ACK 0");
        HN_EQUAL(t.tftp.size_known, rows[i].known);
        HN_EQUAL(t.tftp.size, rows[i].size);
        says(TID, "DATA 1 100");
        ended(rows[i].status, 100);
        close_all();
    }
    hn_row = "";
}

/* Block 0 follows 65,535. */
static void numbers_wrap(void)
{
    prepare();
    t.conf.block_bytes = 8;
    begin();
    says(TID, "OACK blksize 8");
    for (unsigned i = 1; i < 0x10003; i++) {
        char words[30], answer[30];

        t.base = i > 0xFFFF ? 8 * 0x10000 : 0;
        (void)snprintf(words, sizeof words, "DATA %u 8", i & 0xFFFF);
        (void)snprintf(answer, sizeof answer, "3000 ACK %u", i & 0xFFFF);
        says(TID, words);
        SAID(answer);
    }
    says(TID, "DATA 2 8");    /* the last one once more: nobody takes it for another */
    SAID("3000 ACK 2");
    says(TID, "DATA 3 7");
    ended(TENON_TFTP_OK, 8 * 0x10002 + 7);
    HN_EQUAL(stat(TENON_TFTP_STAT_DUPLICATES), 1);
    close_all();
}

/* A frame that comes in two pieces, cut anywhere. */
static void cut_in_two(void)
{
    for (size_t at = 14 + 20 + 8; at < 14 + 20 + 8 + 10; at++) {
        open();
        t.cut = at;
        says(TID, "DATA 1 6");
        SAID("3000 ACK 1");
        ended(TENON_TFTP_OK, 6);
        close_all();
    }
}

/* ---- what is lost, late, or there twice ------------------------------------------------------------ */

/* RFC 1123 4.2.3.2: each time twice as long. */
static void silence(void)
{
    static const tenon_u32 after_ms[] = { 1000, 2000, 4000, 8000, 16000 };

    open();
    for (size_t i = 0; i < TENON_ARRAY_LEN(after_ms); i++) {
        run(after_ms[i] - 1);
        SAID("");
        run(1);
        SAID("69 RRQ image octet");
    }
    run(15999);
    HN_EQUAL(t.ends, 0);
    run(1);
    SAID("");
    ended(TENON_TFTP_TIMEOUT, 0);
    HN_EQUAL(t.ports, 1);
    HN_EQUAL(stat(TENON_TFTP_STAT_AGAIN), 5);
    close_all();
}

static void silence_in_the_middle(void)
{
    open();
    says(TID, "DATA 1 512");
    run(1000);
    SAID("3000 ACK 1");
    run(1999);
    SAID("");
    run(1);
    SAID("3000 ACK 1");
    says(TID, "DATA 2 512");    /* then it begins with a second again */
    SAID("3000 ACK 2");
    run(999);
    SAID("");
    run(1);
    SAID("3000 ACK 2");
    run(60000);
    ended(TENON_TFTP_TIMEOUT, 1024);
    HN_EQUAL(stat(TENON_TFTP_STAT_AGAIN), 2 + 5);
    close_all();
}

static void silence_as_configured(void)
{
    prepare();
    t.conf.plain = 1;
    t.conf.timeout_ms = 100;
    t.conf.tries = 2;
    begin();
    run(100);
    SAID("69 RRQ image octet");
    run(199);
    HN_EQUAL(t.ends, 0);
    run(1);
    ended(TENON_TFTP_TIMEOUT, 0);
    close_all();
}

/* The request is repeated as it was, for the answer to one may come after the other. */
static void request_again_with_options(void)
{
    prepare();
    begin();
    SAID("69 RRQ image octet blksize 1428 tsize 0");
    HN_EQUAL(tenon_netif_mtu(sv.hn.stack, sv.netif, 1000), TENON_OK);    /* whatever happens meanwhile */
    run(1000);
    SAID("69 RRQ image octet blksize 1428 tsize 0");
    says(TID, "OACK blksize 1428");
    SAID("3000 ACK 0");
    run(1000);
    SAID("3000 ACK 0");
    says(TID, "DATA 1 1");
    ended(TENON_TFTP_OK, 1);
    close_all();
}

/* RFC 1123 4.2.3.1: the last block is acknowledged again, for that may have been lost; those before it are not, or
 * each would bring another copy of all that follows. */
static void sorcerers_apprentice(void)
{
    open();
    says(TID, "DATA 1 512");
    says(TID, "DATA 1 512");
    SAID("3000 ACK 1");
    says(TID, "DATA 2 512");
    says(TID, "DATA 1 512");
    SAID("");
    says(TID, "DATA 2 512");
    SAID("3000 ACK 2");
    says(TID, "DATA 4 512");    /* none can be there yet */
    SAID("");
    HN_EQUAL(stat(TENON_TFTP_STAT_DUPLICATES), 2);
    HN_EQUAL(stat(TENON_TFTP_STAT_OTHER_BLOCK), 2);
    says(TID, "DATA 3 0");
    ended(TENON_TFTP_OK, 1024);
    close_all();
}

/* Neither progress nor its timer's beginning. */
static void duplicates_are_no_progress(void)
{
    open();
    says(TID, "DATA 1 512");
    for (unsigned i = 0; i < 3; i++) {
        run(300);
        says(TID, "DATA 1 512");
    }
    run(100);
    SAID("3000 ACK 1");
    close_all();
}

static void agreement_twice(void)
{
    prepare();
    begin();
    says(TID, "OACK tsize 513");
    says(TID, "OACK tsize 9 blksize 9");    /* the first one holds */
    SAID("3000 ACK 0");
    HN_EQUAL(stat(TENON_TFTP_STAT_DUPLICATES), 1);
    HN_EQUAL(t.tftp.block_bytes, 512);
    says(TID, "DATA 0 512");
    SAID("");
    says(TID, "DATA 1 512");
    says(TID, "OACK tsize 513");
    SAID("");
    HN_EQUAL(stat(TENON_TFTP_STAT_BAD_OPCODE), 1);
    says(TID, "DATA 2 1");
    ended(TENON_TFTP_OK, 513);
    close_all();
}

/* RFC 1350 6: the server may not have heard the last acknowledgement. */
static void last_block_again(void)
{
    open();
    says(TID, "DATA 1 5");
    ended(TENON_TFTP_OK, 5);
    run(2900);
    says(TID, "DATA 1 5");
    SAID("3000 ACK 1");
    says(TID, "DATA 2 5");
    SAID("");
    says(TID, "ERROR 1");
    run(100);
    says(TID, "DATA 1 5");    /* nobody is there any more */
    SAID("");
    ended(TENON_TFTP_OK, 5);
    close_all();
}

/* ---- what is wrong -------------------------------------------------------------------------------- */

/* RFC 1350 4: the server's second answer to a request that was there twice, and others. */
static void strangers(void)
{
    open();
    t.from = OTHER;
    says(TID, "DATA 1 512");
    SAID("3000 ERROR 5");
    t.from = SERVER;
    says(TID, "DATA 1 512");
    SAID("3000 ACK 1");
    says(MORE, "DATA 1 512");
    SAID("4000 ERROR 5");
    says(MORE, "ERROR 5");    /* never an error for an error */
    SAID("");
    t.from = OTHER;
    says(TID, "DATA 2 1");
    SAID("3000 ERROR 5");
    t.to = "192.0.2.255";
    says(TID, "DATA 2 1");    /* to everybody: many would answer */
    SAID("");
    t.to = "192.0.2.10";
    t.from = SERVER;
    HN_EQUAL(stat(TENON_TFTP_STAT_STRANGERS), 5);
    HN_EQUAL(t.ends, 0);
    says(TID, "DATA 2 1");
    SAID("3000 ACK 2");
    ended(TENON_TFTP_OK, 513);
    says(MORE, "DATA 1 512");    /* after the end as before */
    SAID("4000 ERROR 5");
    close_all();
}

static void server_refuses(void)
{
    open();
    says(TID, "ERROR 1");
    SAID("");
    ended(TENON_TFTP_REFUSED, 0);
    HN_EQUAL(t.tftp.code, TENON_TFTP_CODE_NO_FILE);
    close_all();
    open();
    says(TID, "DATA 1 512");
    says(TID, "ERROR 0");
    SAID("");
    ended(TENON_TFTP_REFUSED, 512);
    close_all();
    prepare();
    begin();
    says(TID, "OACK blksize 1428");
    says(TID, "DATA 1 1428");
    says(TID, "ERROR 8");    /* too late for that: it has agreed */
    SAID("");
    ended(TENON_TFTP_REFUSED, 1428);
    close_all();
}

/* ICMP: that port is unreachable to which the client has sent last. */
static void unreachable(void)
{
    struct hn_packet packet;
    tenon_u8 icmp[36] = { 3, 3 };

    memcpy(icmp + 8, t.packet, 28);
    memset(&packet, 0, sizeof packet);
    hn_mac(packet.from, 1, SERVER & 0xFF);
    packet.src = tenon_ip4(SERVER);
    packet.dst = hn_ip("192.0.2.10");
    packet.proto = 1;
    packet.ttl = 64;
    hn_put16(icmp + 2, ~hn_sum(0, icmp, sizeof icmp) & 0xFFFF);
    packet.payload = icmp;
    packet.len = sizeof icmp;
    hn_packet(&sv.hn, sv.netif, &packet);
    run(0);
}

static void nobody_there(void)
{
    open();
    unreachable();
    ended(TENON_TFTP_UNREACHED, 0);
    HN_EQUAL(stat(TENON_TFTP_STAT_UNREACHED), 1);
    close_all();
}

/* A stranger who has gone, and a server that has for a moment: the transfer goes on. */
static void somebody_else_not_there(void)
{
    open();
    t.from = OTHER;
    says(TID, "DATA 1 512");
    SAID("3000 ERROR 5");
    unreachable();
    HN_EQUAL(stat(TENON_TFTP_STAT_UNREACHED), 0);
    t.from = SERVER;
    says(TID, "DATA 1 512");
    SAID("3000 ACK 1");
    unreachable();
    HN_EQUAL(stat(TENON_TFTP_STAT_UNREACHED), 1);
    HN_EQUAL(t.ends, 0);
    says(TID, "DATA 2 1");
    ended(TENON_TFTP_OK, 513);
    close_all();
}

static void nobody_to_tell(void)
{
    prepare();
    t.conf.done = NULL;
    begin();
    says(TID, "DATA 1 1");
    SAID("3000 ACK 1");
    HN_EQUAL(t.tftp.got, 1);
    close_all();
}

static void messages_of_no_server(void)
{
    tenon_u8 bytes[600] = { 0 };

    open();
    speak(TID, bytes, 3);
    SAID("");
    HN_EQUAL(stat(TENON_TFTP_STAT_BAD_LENGTH), 1);
    says(TID, "DATA 1 513");
    SAID("");
    HN_EQUAL(stat(TENON_TFTP_STAT_BAD_LENGTH), 2);
    says(TID, "DATA 2 512");
    SAID("");
    says(TID, "4 0");
    says(TID, "1 0");
    says(TID, "7 0");
    says(TID, "OACK tsize 1");    /* nobody has asked for options */
    SAID("");
    HN_EQUAL(stat(TENON_TFTP_STAT_BAD_OPCODE), 4);
    HN_EQUAL(t.ends, 0);
    says(TID, "DATA 1 1");
    ended(TENON_TFTP_OK, 1);
    close_all();
    prepare();
    begin();
    bytes[1] = 6;
    speak(TID, bytes, 200);
    HN_EQUAL(stat(TENON_TFTP_STAT_BAD_LENGTH), 1);
    HN_EQUAL(t.ends, 0);
    close_all();
}

static void not_taken(void)
{
    open();
    t.refuse_at = 512;
    says(TID, "DATA 1 512");
    says(TID, "DATA 2 512");
    SAID("3000 ERROR 3");
    ended(TENON_TFTP_NOT_TAKEN, 512);
    close_all();
}

/* ---- beginning and end ------------------------------------------------------------------------------ */

static void stopped(void)
{
    open();
    says(TID, "DATA 1 512");
    t.said[0] = '\0';
    tenon_tftp_stop(&t.tftp);
    sv_run(0);
    SAID("3000 ERROR 0");
    tenon_tftp_stop(&t.tftp);
    run(60000);
    SAID("");
    HN_EQUAL(t.ends, 0);
    close_all();
    open();
    t.said[0] = '\0';
    tenon_tftp_stop(&t.tftp);    /* before there was an answer: to nobody */
    sv_run(0);
    SAID("");
    close_all();
}

static void one_after_the_other(void)
{
    open();
    HN_EQUAL(tenon_tftp_start(&t.tftp, sv.hn.stack, &t.conf, sv.hn.now_us), TENON_EINVAL);
    says(TID, "DATA 1 512");
    HN_EQUAL(tenon_tftp_start(&t.tftp, sv.hn.stack, &t.conf, sv.hn.now_us), TENON_EINVAL);
    says(TID, "DATA 2 1");
    ended(TENON_TFTP_OK, 513);
    t.ends = 0;
    t.conf.name = "another";
    t.conf.server.port = 6969;
    begin();
    SAID("6969 RRQ another octet");
    HN_EQUAL(t.ports, 2);
    says(TID, "DATA 1 1");
    ended(TENON_TFTP_OK, 1);
    close_all();
}

/* The next one begins while the last one rests: what that had is given back. */
static void many_in_a_row(void)
{
    open();
    for (unsigned i = 0; i < 5000; i++) {    /* there are not so many sockets */
        says(TID, "DATA 1 0");
        if (!HN_CHECK(t.ends == i + 1 && t.status == TENON_TFTP_OK))
            break;
        begin();
    }
    close_all();
}

static void values_that_cannot_be(void)
{
    char name[TENON_TFTP_NAME_MAX + 2];
    struct tenon_tftp_conf conf;

    prepare();
    memset(name, 'a', sizeof name);
    name[TENON_TFTP_NAME_MAX + 1] = '\0';
    for (unsigned i = 0; i < 7; i++) {
        conf = t.conf;
        switch (i) {
        case 0: conf.name = ""; break;
        case 1: conf.name = name; break;
        case 2: conf.server.ip = tenon_ip_any(); break;
        case 3: conf.data = NULL; break;
        case 4: conf.block_bytes = 7; break;
        case 5: conf.block_bytes = 65465; break;
        default: conf.timeout_ms = 16001; break;
        }
        HN_EQUAL(tenon_tftp_start(&t.tftp, sv.hn.stack, &conf, sv.hn.now_us), TENON_EINVAL);
    }
    name[TENON_TFTP_NAME_MAX] = '\0';
    t.conf.name = name;
    t.conf.block_bytes = 65464;
    t.conf.timeout_ms = 16000;
    t.conf.server_s = 255;
    begin();
    HN_EQUAL(strlen(t.said), strlen("69 RRQ  octet blksize 65464 tsize 0 timeout 255") + TENON_TFTP_NAME_MAX);
    close_all();
}

static void words_of_ends_and_counters(void)
{
    HN_CHECK(strcmp(tenon_tftp_status_text(TENON_TFTP_TIMEOUT), "no answer") == 0);
    HN_CHECK(tenon_tftp_status_text(TENON_TFTP_NOT_TAKEN) != NULL);
    HN_CHECK(tenon_tftp_status_text((enum tenon_tftp_status)(TENON_TFTP_NOT_TAKEN + 1)) == NULL);
    HN_CHECK(strcmp(tenon_tftp_stat_name(TENON_TFTP_STAT_SENT), "sent") == 0);
    HN_CHECK(tenon_tftp_stat_name(TENON_TFTP_STAT_COUNT) == NULL);
}

static const struct hn_test tests[] = {
    { "plain_to_its_end", "TFTP-1", plain_to_its_end },
    { "plain_whole_blocks", "TFTP-1", plain_whole_blocks },
    { "begun_early", "TFTP-5", begun_early },
    { "options_agreed", "TFTP-5", options_agreed },
    { "options_for_small_packets", "TFTP-5", options_for_small_packets },
    { "options_for_small_packets6", "TFTP-5", options_for_small_packets6 },
    { "options_ignored", "TFTP-5", options_ignored },
    { "options_refused", "TFTP-5", options_refused },
    { "options_as_wanted", "TFTP-5", options_as_wanted },
    { "options_not_ours", "TFTP-5", options_not_ours },
    { "sizes", "TFTP-5", sizes },
    { "numbers_wrap", "TFTP-1", numbers_wrap },
    { "cut_in_two", "TFTP-1", cut_in_two },
    { "silence", "TFTP-4", silence },
    { "silence_in_the_middle", "TFTP-4", silence_in_the_middle },
    { "no_buffer", "TFTP-4", no_buffer },
    { "no_buffer_for_good", "TFTP-4", no_buffer_for_good },
    { "silence_as_configured", "TFTP-4", silence_as_configured },
    { "request_again_with_options", "TFTP-4", request_again_with_options },
    { "sorcerers_apprentice", "TFTP-3", sorcerers_apprentice },
    { "duplicates_are_no_progress", "TFTP-4", duplicates_are_no_progress },
    { "agreement_twice", "TFTP-5", agreement_twice },
    { "last_block_again", "TFTP-1", last_block_again },
    { "strangers", "TFTP-2", strangers },
    { "server_refuses", "TFTP-1", server_refuses },
    { "nobody_there", "TFTP-4", nobody_there },
    { "somebody_else_not_there", "TFTP-4", somebody_else_not_there },
    { "nobody_to_tell", "", nobody_to_tell },
    { "messages_of_no_server", "TFTP-1", messages_of_no_server },
    { "not_taken", "TFTP-1", not_taken },
    { "stopped", "TFTP-1", stopped },
    { "one_after_the_other", "TFTP-2", one_after_the_other },
    { "many_in_a_row", "TFTP-2", many_in_a_row },
    { "values_that_cannot_be", "", values_that_cannot_be },
    { "words_of_ends_and_counters", "", words_of_ends_and_counters },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
