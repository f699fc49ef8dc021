/* SPDX-License-Identifier: MIT */
/* A bad cable in user space: carries Ethernet frames between two interfaces and loses, delays, reorders,
 * duplicates, corrupts and marks (RFC 3168) some of them, as a seed says.
 *
 *     relay [options] tap:k0 dev:t0
 *
 * "tap:NAME" is the far end of a TAP interface: the kernel's traffic on NAME. "dev:NAME" is an interface
 * seen from the kernel's side, through a packet socket: what a program that has opened the TAP interface
 * NAME sends and receives. That interface must have no address of its own. With "@PID" behind it the
 * interface is one of the network namespace of that process.
 *
 * Options are for both directions; those after "--there" are for the way from the first end to the second
 * only, those after "--back" for the other one, those after "--both" for both again.
 *
 * Prints "ready" when it carries, and on SIGTERM or SIGINT one line of counters as JSON. Among them, for
 * each direction: "late_us", how much later than due frames were delivered because the machine had other
 * things to do; and "tcp", what the newest TCP connection over IPv4 has sent, and sent again. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>

enum {
    FRAME_MAX = 65536 + 64,
    BURST = 64,
    WAITING_MAX = 65536, /* frames on the way, per direction */
    LATE_NS = 1000000,
    IGNORE_OUTGOING = 23 /* PACKET_IGNORE_OUTGOING: Linux 4.20 */
};

struct plan {
    double loss, dup, reorder, corrupt; /* probabilities, 0 to 1 */
    double burst; /* that this frame is the first of a row that is lost */
    unsigned burst_frames; /* so many, on average */
    double ce; /* that an ECN-capable packet is marked "congestion experienced" */
    double late; /* overtaken by what follows, for up to late_ns */
    uint64_t delay_ns, jitter_ns, late_ns;
    uint64_t rate_bps; /* 0: as fast as it goes */
    unsigned queue; /* frames that may wait for the rate */
    uint64_t seed;
};

struct frame {
    uint64_t due, order;
    uint32_t bytes;
    unsigned char *data;
};

struct counts {
    unsigned long frames, lost, duplicated, reordered, corrupted, marked, overflowed, errors;
    unsigned long delivered, delivered_bytes;
    uint64_t late_ns, late_ns_max; /* the sum over all that was delivered; the worst */
    unsigned long late_frames; /* by more than LATE_NS */
};

/* What a TCP sender has put on the line, before anything of it is lost. */
struct meter {
    uint32_t next; /* behind the highest byte seen */
    unsigned long segments, resent, bytes, resent_bytes;
};

/* One direction. `waiting` is a heap, the frame that is due first on top. */
struct way {
    struct plan plan;
    int from, to;
    struct frame *waiting;
    unsigned n, burst_left;
    uint64_t order, busy_until, random;
    struct counts counts;
    struct meter meter;
};

static volatile sig_atomic_t stopped;

static void on_signal(int signal)
{
    (void)signal;
    stopped = 1;
}

__attribute__((noreturn)) static void die(const char *what, const char *name)
{
    fprintf(stderr, "relay: %s %s: %s\n", what, name, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static int happens(struct way *way, double probability)
{
    double r = (double)(next_random(&way->random) >> 11) / 9007199254740992.0;

    return r < probability;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static int before(const struct frame *a, const struct frame *b)
{
    return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static void push(struct way *way, struct frame frame)
{
    unsigned i = way->n++;

    while (i > 0 && before(&frame, &way->waiting[(i - 1) / 2])) {
        way->waiting[i] = way->waiting[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    way->waiting[i] = frame;
}

static struct frame pop(struct way *way)
{
    struct frame top = way->waiting[0], last = way->waiting[--way->n];
    unsigned i = 0;

    for (;;) {
        unsigned child = 2 * i + 1;

        if (child + 1 < way->n && before(&way->waiting[child + 1], &way->waiting[child]))
            child++;
        if (child >= way->n || !before(&way->waiting[child], &last))
            break;
        way->waiting[i] = way->waiting[child];
        i = child;
    }
    way->waiting[i] = last;
    return top;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static int open_tap(const char *name)
{
    struct ifreq request = { 0 };
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        die("open", "/dev/net/tun");
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(fd, TUNSETIFF, &request) != 0)
        die("TAP interface", name);
    return fd;
}

static int open_device(const char *name)
{
    struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
    int one = 1, buffer = 64 << 20;
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        die("packet socket for", name);
    address.sll_ifindex = (int)if_nametoindex(name);
    if (address.sll_ifindex == 0)
        die("interface", name);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
    if (setsockopt(fd, SOL_PACKET, IGNORE_OUTGOING, &one, sizeof one) != 0)
        die("PACKET_IGNORE_OUTGOING on", name);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("bind to", name);
    return fd;
}

static int open_here(const char *text)
{
    if (strncmp(text, "tap:", 4) == 0)
        return open_tap(text + 4);
    if (strncmp(text, "dev:", 4) == 0)
        return open_device(text + 4);
    fprintf(stderr, "relay: an end is tap:NAME or dev:NAME, not '%s'\n", text);
    exit(2);
}

static int open_namespace(const char *pid)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die("open", path);
    return fd;
}

/* A TAP or a packet socket stays in the namespace in which it was opened. */
static int open_end(const char *text)
{
    const char *at = strchr(text, '@');
    char name[64];
    int fd, here, there;

    if (at == NULL)
        return open_here(text);
    snprintf(name, sizeof name, "%.*s", (int)(at - text), text);
    here = open_namespace("self");
    there = open_namespace(at + 1);
    if (setns(there, CLONE_NEWNET) != 0)
        die("namespace of", at + 1);
    fd = open_here(name);
    if (setns(here, CLONE_NEWNET) != 0)
        die("back from the namespace of", at + 1);
    close(here);
    close(there);
    return fd;
}

/* ---- what TCP sends ------------------------------------------------------------------------------ */

static uint32_t big_endian(const unsigned char *bytes, int n)
{
    uint32_t value = 0;

    for (int i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void meter_segment(struct meter *meter, uint32_t seq, uint32_t payload, int syn)
{
    int32_t fresh;

    if (syn) {
        memset(meter, 0, sizeof *meter);
        meter->next = seq + 1;
        return;
    }
    if (payload == 0)
        return;
    fresh = (int32_t)(seq + payload - meter->next);
    if (fresh > (int32_t)payload)
        fresh = (int32_t)payload;
    meter->segments++;
    meter->bytes += payload;
    if (fresh < (int32_t)payload) {
        meter->resent++;
        meter->resent_bytes += payload - (uint32_t)(fresh > 0 ? fresh : 0);
    }
    if (fresh > 0)
        meter->next = seq + payload;
}

/* Ethernet, IPv4, TCP; the padding of a short frame is not payload. */
static void meter_frame(struct meter *meter, const unsigned char *frame, size_t bytes)
{
    const unsigned char *ip = frame + 14, *tcp;
    uint32_t ip_bytes, header;

    if (bytes < 14 + 40 || big_endian(frame + 12, 2) != ETHERTYPE_IP || ip[9] != IPPROTO_TCP)
        return;
    header = (ip[0] & 15u) * 4;
    ip_bytes = big_endian(ip + 2, 2);
    tcp = ip + header;
    if (bytes < 14 + (size_t)ip_bytes || ip_bytes < header + 20)
        return;
    header += (tcp[12] >> 4) * 4u;
    if (ip_bytes >= header)
        meter_segment(meter, big_endian(tcp + 4, 4), ip_bytes - header, tcp[13] & 2);
}

/* ---- carrying -------------------------------------------------------------------------------- */

static void enqueue(struct way *way, const unsigned char *data, size_t bytes, uint64_t due)
{
    struct frame frame = { due, way->order++, (uint32_t)bytes, NULL };

    if (way->n == WAITING_MAX || (frame.data = malloc(bytes)) == NULL) {
        way->counts.overflowed++;
        return;
    }
    memcpy(frame.data, data, bytes);
    push(way, frame);
}

/* When does the last bit of a frame that comes now leave a line of this rate? 0: the queue is full. */
static uint64_t line_time(struct way *way, const struct plan *plan, size_t bytes, uint64_t now)
{
    uint64_t takes;

    if (plan->rate_bps == 0)
        return now;
    takes = (uint64_t)bytes * 8 * 1000000000 / plan->rate_bps;
    if (way->busy_until < now)
        way->busy_until = now;
    if (way->busy_until - now > plan->queue * (uint64_t)1514 * 8 * 1000000000 / plan->rate_bps)
        return 0;
    return way->busy_until += takes;
}

static int is_lost(struct way *way, const struct plan *plan)
{
    if (way->burst_left == 0 && happens(way, plan->burst))
        way->burst_left = 1 + (unsigned)(next_random(&way->random) % (2 * plan->burst_frames - 1));
    if (way->burst_left > 0) {
        way->burst_left--;
        return 1;
    }
    return happens(way, plan->loss);
}

static void sum_ip4_header(unsigned char *ip)
{
    unsigned i, header = (ip[0] & 15u) * 4;
    uint32_t sum = 0;

    ip[10] = ip[11] = 0;
    for (i = 0; i < header; i += 2)
        sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = ~((sum & 0xFFFF) + (sum >> 16)) & 0xFFFF;
    ip[10] = (unsigned char)(sum >> 8);
    ip[11] = (unsigned char)sum;
}

/* What a router with active queue management does to a packet that says ECT (RFC 3168 5). */
static void mark(struct way *way, unsigned char *data, size_t bytes)
{
    unsigned char *ip = data + 14;

    if (bytes < 14 + 40)
        return;
    if (data[12] == 0x08 && data[13] == 0x00 && (ip[0] & 15u) >= 5 && 14 + (ip[0] & 15u) * 4 <= bytes && ip[1] & 3) {
        ip[1] |= 3;
        sum_ip4_header(ip);
        way->counts.marked++;
    } else if (data[12] == 0x86 && data[13] == 0xDD && ip[1] & 0x30) {
        ip[1] |= 0x30;
        way->counts.marked++;
    }
}

static void take_frame(struct way *way, unsigned char *data, size_t bytes)
{
    const struct plan *plan = &way->plan;
    uint64_t now = now_ns(), due;

    way->counts.frames++;
    meter_frame(&way->meter, data, bytes);
    if (is_lost(way, plan)) {
        way->counts.lost++;
        return;
    }
    due = line_time(way, plan, bytes, now);
    if (due == 0) {
        way->counts.overflowed++;
        return;
    }
    if (happens(way, plan->ce))
        mark(way, data, bytes);
    if (happens(way, plan->corrupt)) {
        uint64_t bit = next_random(&way->random) % (bytes * 8);

        way->counts.corrupted++;
        data[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    due += plan->delay_ns;
    if (plan->jitter_ns > 0)
        due += next_random(&way->random) % plan->jitter_ns;
    if (happens(way, plan->dup)) {
        way->counts.duplicated++;
        enqueue(way, data, bytes, due);
    }
    if (happens(way, plan->reorder)) { /* it overtakes those of the last half delay */
        way->counts.reordered++;
        due -= plan->delay_ns / 2;
    }
    if (plan->late_ns > 0 && happens(way, plan->late)) { /* it is overtaken */
        way->counts.reordered++;
        due += next_random(&way->random) % plan->late_ns;
    }
    enqueue(way, data, bytes, due);
}

/* @return whether there was something */
static int receive(struct way *way)
{
    static unsigned char data[FRAME_MAX];
    int some = 0;

    for (int i = 0; i < BURST; i++) {
        ssize_t n = read(way->from, data, sizeof data);

        if (n <= 0)
            break;
        take_frame(way, data, (size_t)n);
        some = 1;
    }
    return some;
}

static int deliver(struct way *way)
{
    uint64_t now = now_ns();
    int some = 0;

    while (way->n > 0 && way->waiting[0].due <= now) {
        struct frame frame = pop(way);
        uint64_t late = now - frame.due;

        if (write(way->to, frame.data, frame.bytes) < 0)
            way->counts.errors++;
        way->counts.delivered++;
        way->counts.delivered_bytes += frame.bytes;
        way->counts.late_ns += late;
        way->counts.late_frames += late > LATE_NS;
        if (late > way->counts.late_ns_max)
            way->counts.late_ns_max = late;
        free(frame.data);
        some = 1;
    }
    return some;
}

static void wait_for_something(const struct way ways[2])
{
    struct pollfd fds[2] = { { ways[0].from, POLLIN, 0 }, { ways[1].from, POLLIN, 0 } };
    uint64_t now = now_ns(), until = now + 1000000000;
    struct timespec wait;

    for (int i = 0; i < 2; i++) {
        if (ways[i].n > 0 && ways[i].waiting[0].due < until)
            until = ways[i].waiting[0].due;
    }
    if (until <= now)
        return;
    wait.tv_sec = (time_t)((until - now) / 1000000000);
    wait.tv_nsec = (long)((until - now) % 1000000000);
    ppoll(fds, 2, &wait, NULL);
}

static void print_counts(const char *name, const struct way *way)
{
    const struct counts *c = &way->counts;
    const struct meter *m = &way->meter;

    printf("\"%s\": {\"frames\": %lu, \"lost\": %lu, \"duplicated\": %lu, \"reordered\": %lu, \"corrupted\": %lu, "
           "\"marked\": %lu, \"overflowed\": %lu, \"errors\": %lu, \"delivered\": %lu, \"delivered_bytes\": %lu, ",
           name, c->frames, c->lost, c->duplicated, c->reordered, c->corrupted, c->marked, c->overflowed, c->errors,
           c->delivered, c->delivered_bytes);
    printf("\"late_us\": {\"mean\": %.1f, \"max\": %.1f, \"frames_over_1ms\": %lu}, ",
           c->delivered > 0 ? (double)c->late_ns / 1e3 / (double)c->delivered : 0.0, (double)c->late_ns_max / 1e3,
           c->late_frames);
    printf("\"tcp\": {\"segments\": %lu, \"resent\": %lu, \"bytes\": %lu, \"resent_bytes\": %lu}}", m->segments,
           m->resent, m->bytes, m->resent_bytes);
}

/* ---- the command line ------------------------------------------------------------------------ */

static const char usage[] = "Usage: relay [options] END END    (END: tap:NAME or dev:NAME, or with @PID behind it)\n"
                            "  --loss PERCENT  --dup PERCENT  --reorder PERCENT  --corrupt PERCENT\n"
                            "  --burst PERCENT  --burst-frames N  --ce PERCENT\n"
                            "  --late PERCENT  --late-by MS  --delay MS  --jitter MS\n"
                            "  --rate MBIT  --queue FRAMES  --seed N  --there  --back  --both\n";

static double number(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != 0 || !(value >= 0) || value > 1e9) {
        fprintf(stderr, "relay: '%s' is not a number\n", text);
        exit(2);
    }
    return value;
}

static void set_option(struct plan *plan, int option, double value)
{
    switch (option) {
    case 'l':
        plan->loss = value / 100;
        break;
    case 'd':
        plan->dup = value / 100;
        break;
    case 'r':
        plan->reorder = value / 100;
        break;
    case 'c':
        plan->corrupt = value / 100;
        break;
    case 'b':
        plan->burst = value / 100;
        break;
    case 'n':
        plan->burst_frames = value >= 1 ? (unsigned)value : 1;
        break;
    case 'e':
        plan->ce = value / 100;
        break;
    case 'o':
        plan->late = value / 100;
        break;
    case 'O':
        plan->late_ns = (uint64_t)(value * 1e6);
        break;
    case 'D':
        plan->delay_ns = (uint64_t)(value * 1e6);
        break;
    case 'j':
        plan->jitter_ns = (uint64_t)(value * 1e6);
        break;
    case 'R':
        plan->rate_bps = (uint64_t)(value * 1e6);
        break;
    case 'q':
        plan->queue = (unsigned)value;
        break;
    case 's':
        plan->seed = (uint64_t)value;
        break;
    default:
        fputs(usage, stderr);
        exit(2);
    }
}

/* "--there" and "--back" say which directions the options behind them are for. */
static void read_options(struct way ways[2], int argc, char **argv)
{
    static const struct option options[] = {
        { "loss", 1, NULL, 'l' },
        { "dup", 1, NULL, 'd' },
        { "reorder", 1, NULL, 'r' },
        { "corrupt", 1, NULL, 'c' },
        { "burst", 1, NULL, 'b' },
        { "burst-frames", 1, NULL, 'n' },
        { "ce", 1, NULL, 'e' },
        { "late", 1, NULL, 'o' },
        { "late-by", 1, NULL, 'O' },
        { "delay", 1, NULL, 'D' },
        { "jitter", 1, NULL, 'j' },
        { "rate", 1, NULL, 'R' },
        { "queue", 1, NULL, 'q' },
        { "seed", 1, NULL, 's' },
        { "there", 0, NULL, '1' },
        { "back", 0, NULL, '2' },
        { "both", 0, NULL, '3' },
        { NULL, 0, NULL, 0 }
    };
    int option, which = 3;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option >= '1' && option <= '3') {
            which = option - '0';
            continue;
        }
        for (int i = 0; i < 2; i++) {
            if (which & 1 << i)
                set_option(&ways[i].plan, option, optarg != NULL ? number(optarg) : 0);
        }
    }
    if (argc - optind != 2) {
        fputs(usage, stderr);
        exit(2);
    }
}

static void open_ways(struct way ways[2], char **names)
{
    int ends[2] = { open_end(names[0]), open_end(names[1]) };

    for (int i = 0; i < 2; i++) {
        ways[i].from = ends[i];
        ways[i].to = ends[1 - i];
        ways[i].random = ways[i].plan.seed * 2 + (uint64_t)i;
        ways[i].waiting = malloc(sizeof(struct frame) * WAITING_MAX);
        if (ways[i].waiting == NULL)
            die("no memory for", names[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct plan plan = { .burst_frames = 4, .queue = 1000, .seed = 1 };
    struct way ways[2] = { { .plan = plan }, { .plan = plan } };

    read_options(ways, argc, argv);
    open_ways(ways, argv + optind);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    prctl(PR_SET_TIMERSLACK, 1000);
    puts("ready");
    fflush(stdout);
    while (!stopped) {
        int busy = receive(&ways[0]);

        busy |= receive(&ways[1]);
        busy |= deliver(&ways[0]);
        busy |= deliver(&ways[1]);
        if (!busy)
            wait_for_something(ways);
    }
    printf("{");
    print_counts("there", &ways[0]);
    printf(", ");
    print_counts("back", &ways[1]);
    printf("}\n");
    free(ways[0].waiting);
    free(ways[1].waiting);
    return 0;
}
