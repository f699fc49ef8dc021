/* SPDX-License-Identifier: MIT */
/* Starts the stack in one arena, gets it addresses, runs the program, and listens to the serial line:
 *
 *      s    a line with the state of memory, stack, device
 *      t    a second passes at once: what has a limit in time need not be waited for
 *      q    stop: everything has to come back to the arena, or the exit status is 1 */
#include "app.h"
#include "text.h"

struct tenon_socks *socks;
static tenon_u8 arena[BOARD_ARENA];
static struct tenon_dhcp dhcp;
static unsigned headers;    /* buffers for them, all of which have to come back */

enum { CABLE_US = 1000000 };
static struct {
    tenon_u32 looked_us;
    int is_up;
} cable = { 0, 1 };

/* ---- the serial line -------------------------------------------------------------------------------- */

static void say_value(const char *name, tenon_u32 value)
{
    say(" ");
    say(name);
    say("=");
    say_number(value);
}

static void say_status(const char *what)
{
    struct tenon_sock_counts counts;
    const struct tenon *stack = tenon_sock_stack(socks);

    tenon_sock_count(socks, &counts);
    say(what);
    say_value("memory", (tenon_u32)counts.memory_used);
    say_value("memory_top", (tenon_u32)counts.memory_top);
    say_value("memory_bytes", (tenon_u32)counts.memory_bytes);
    say_value("blocks", counts.blocks_free);
    say_value("blocks_low", counts.blocks_low);
    say_value("headers", counts.headers_free);
    say_value("headers_low", counts.headers_low);
    say_value("no_block", counts.no_block);
    say_value("too_long", counts.too_long);
    say_value("stack", board_stack_used());
    say_value("stack_bytes", board_stack_bytes());
    say_value("static", board_static_bytes());
    say_value("asleep_ms", board_counts.asleep_ms);
    say_value("sleeps", board_counts.sleeps);
    say_value("us", board_now_us());
    say_value("interrupts", board_counts.interrupts);
    say_value("rx_dropped", board_counts.rx_dropped);
    say_value("moved", counts.device_bytes + board_counts.moved_bytes);
    say_value("copied", counts.copied_bytes + tenon_stat(stack, TENON_STAT_COPIED_BYTES));
    say_value("rx_frames", tenon_stat(stack, TENON_STAT_RX_FRAMES));
    say_value("tx_frames", tenon_stat(stack, TENON_STAT_TX_FRAMES));
    say("\n");
}

/* ---- start and stop ----------------------------------------------------------------------------------- */

/* Says it where a person or a test reads it. */
static void address_changed(struct tenon_dhcp *client, void *unused)
{
    static const char *const from[] = {"", " by DHCP\n", " fixed\n", " link-local\n"};
    const struct tenon_ip *ip = &client->lease.ip;
    char words[TENON_IP_TEXT_MAX];

    (void)unused;
    if (client->source == TENON_DHCP_NONE) {
        say("no address\n");
        return;
    }
    if (client->source != TENON_DHCP_LEASE)
        ip = client->source == TENON_DHCP_STATIC ? &client->conf.address : &client->ll.ip;
    (void)tenon_ip_format(words, ip);
    say("address ");
    say(words);
    say(from[client->source]);
}

int board_has_address(void)
{
    return dhcp.source != TENON_DHCP_NONE;
}

const struct tenon_dhcp_offer *board_lease(void)
{
    return dhcp.source == TENON_DHCP_LEASE ? &dhcp.lease : NULL;
}

/* IPv6: one that is fixed, and those that the core makes by itself. IPv4: from a DHCP server; when none has
 * answered for a second a fixed or a link-local one, as the build says, until one does. */
static int get_addresses(struct tenon *stack)
{
    const struct tenon_ip us6 = tenon_ip6(0xFD000010U, 0, 0, 0x15);
    struct tenon_dhcp_conf conf;
    int error = tenon_addr_add(stack, 1, &us6, 64);

    if (error != TENON_OK)
        return error;
    tenon_dhcp_conf_default(&conf, 1);
    conf.delay_ms = 0;
    conf.hostname = board.name;
    conf.fallback = BOARD_FALLBACK;
    conf.fallback_ms = 1000;
    conf.address = tenon_ip4_bytes(BOARD_ADDRESS);
    conf.prefix = BOARD_PREFIX;
    conf.router = tenon_ip4_bytes(BOARD_ROUTER);
    conf.changed = address_changed;
    return tenon_dhcp_start(&dhcp, stack, &conf, board_now_us());
}

static int start(void)
{
    struct tenon_sock_conf conf;
    int error;

    __builtin_memset(&conf, 0, sizeof(conf));
    conf.socks = BOARD_SOCKS;
    conf.conns = BOARD_SOCKS;
    conf.blocks = BOARD_BLOCKS;
    conf.block_bytes = BOARD_MRU != 0 ? BOARD_MRU + BOARD_BLOCK_MORE : BOARD_BLOCK_BYTES;
    conf.headers = BOARD_HEADERS;
    conf.window = BOARD_WINDOW;
    conf.memory = BOARD_MEMORY;
    conf.stack.tcp_syncookies = 1;
    conf.stack.checksum = board_sum;
    conf.stack.tcp_orphans_max = BOARD_SPARE;    /* peers that do not finish do not keep the memory */
    conf.event = app.event;
    board_ethernet(&conf.device);
    (void)board_link();    /* that there was none before does not count */
    conf.device.netif.mru = BOARD_MRU;
    conf.device.netif.flags = BOARD_DAD ? 0 : TENON_NETIF_NO_DAD;
    if (app.configure != NULL)
        app.configure(&conf);
    headers = conf.headers;
    error = tenon_sock_start(&socks, arena, sizeof(arena), &conf);
    if (error == TENON_ENOMEM) {
        say("the arena has to have ");
        say_number((tenon_u32)tenon_sock_arena_bytes(&conf));
        say(" bytes\n");
    }
    if (error == TENON_OK)
        error = get_addresses(tenon_sock_stack(socks));
    return error == TENON_OK ? app.start(socks) : error;
}

/* @return 0: everything came back */
static int stop(void)
{
    struct tenon_sock_counts counts;
    int lost;

    tenon_dhcp_stop(&dhcp, board_now_us());
    (void)tenon_sock_poll(socks, board_now_us());
    board_ethernet_stop();
    tenon_sock_stop(socks);
    say_status("stopped");
    tenon_sock_count(socks, &counts);
    lost = counts.memory_used != 0 || counts.blocks_free != BOARD_BLOCKS || counts.headers_free != headers;
    say(lost ? "exit 1\n" : "exit 0\n");
    return lost;
}

/* ---- turns -------------------------------------------------------------------------------------------- */

static tenon_u32 sooner(tenon_u32 a, tenon_u32 b)
{
    return a < b ? a : b;
}

/* A cable that is pulled out and put in may lead to another network: addresses are looked for again, and the DHCP
 * server is asked whether the lease is good there (RFC 2131 3.7). @return microseconds until it is looked at again */
static tenon_u32 watch_cable(tenon_u32 now_us)
{
    const tenon_u32 since = now_us - cable.looked_us;
    int is_up;

    if (since < CABLE_US)
        return CABLE_US - since;
    cable.looked_us = now_us;
    is_up = board_link();
    if (is_up != cable.is_up)
        say(is_up ? "link up\n" : "link down\n");
    cable.is_up = is_up;
    (void)tenon_netif_link(tenon_sock_stack(socks), 1, is_up);
    return CABLE_US;
}

/* Everything that is due. @return microseconds until something will be */
static tenon_u32 work(void)
{
    tenon_u32 wait = watch_cable(board_now_us());

    wait = sooner(wait, tenon_sock_poll(socks, board_now_us()));
    wait = sooner(wait, tenon_dhcp_poll(&dhcp, board_now_us()));
    if (app.turn != NULL)
        wait = sooner(wait, app.turn(socks, board_now_us()));
    return wait;
}

static void pass_a_second(void)
{
    board_ahead_us += 1000000;
    (void)work();
}

/* @return 1: go on */
static int obey(void)
{
    int key;

    while ((key = board_key()) >= 0) {
        if (app.key != NULL && app.key(key))
            continue;
        if (key == 's')
            say_status("status");
        if (key == 't')
            pass_a_second();
        if (key == 'q')
            return 0;
    }
    return 1;
}

int board_main(void)
{
    int error;

    board_start();
    say("Tenon on ");
    say(board.name);
    say(": ");
    say(app.name);
    say("\n");
    error = start();
    if (error != TENON_OK) {
        say(error == TENON_EINVAL ? "no start: a limit, or no source of randomness\n" : tenon_error_text(error));
        say("\n");
        return 2;
    }
    say("ready\n");
    while (obey())
        board_sleep(board_ethernet_wait(work()));
    return stop();
}
