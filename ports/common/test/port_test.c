/* SPDX-License-Identifier: MIT */
/* What can be written behind --port. */
#include "../../../tests/unit/unit.h"
#include "../port.h"

static const struct port_setting no_settings[] = { { NULL, 0, NULL, NULL } };
static const struct port_setting own_settings[] = {
    { "mode", PORT_CHOICE, "copy|zerocopy", "how" },
    { "args", PORT_WORDS, "{...}", "more" },
    { "count", PORT_NUMBER, "N", "how many" },
    { NULL, 0, NULL, NULL },
};
static const struct port_type plain = { .kind = "plain", .name = "NAME", .settings = no_settings, .queues_max = 1 };
static const struct port_type rich = {
    .kind = "rich", .name = "DEVICE", .settings = own_settings, .queues_max = 4, .memory = 5 << 20,
};
static const struct port_type *const types[] = { &plain, &rich, NULL };

static char error[600];

static int read_port(struct port_choice *choice, const char *written)
{
    error[0] = 0;
    return port_read(choice, types, written, error, sizeof error);
}

UNIT_TEST(name_alone_takes_defaults)
{
    struct port_choice choice;

    CHECK_EQ_I(read_port(&choice, "plain:eth0"), 0);
    CHECK(choice.type == &plain);
    CHECK_EQ_S(choice.conf.name, "eth0");
    CHECK_EQ_I(choice.conf.offload, 1);
    CHECK_EQ_U(choice.conf.mtu, 0);
    CHECK_EQ_U(choice.conf.queues, 0);
    CHECK_EQ_U(choice.conf.queue, 0);
    CHECK(choice.conf.settings[0] == NULL);
}

UNIT_TEST(settings_go_where_they_belong)
{
    struct port_choice choice;

    CHECK_EQ_I(read_port(&choice, "rich:a:b,args={x=1,y={2,3}},mtu=9000,queue=3,queues=4,offload=off,mode=copy"), 0);
    CHECK(choice.type == &rich);
    CHECK_EQ_S(choice.conf.name, "a:b");
    CHECK_EQ_U(choice.conf.mtu, 9000);
    CHECK_EQ_U(choice.conf.queues, 4);
    CHECK_EQ_U(choice.conf.queue, 3);
    CHECK_EQ_I(choice.conf.offload, 0);
    CHECK_EQ_S(choice.conf.settings[0], "copy");
    CHECK_EQ_S(choice.conf.settings[1], "x=1,y={2,3}");
    CHECK_EQ_U(choice.conf.values[0], 0);
    CHECK_EQ_I(read_port(&choice, "rich:a,count=77,mode=zerocopy,memory=3"), 0);
    CHECK_EQ_U(choice.conf.values[0], 1);
    CHECK_EQ_U(choice.conf.values[2], 77);
    CHECK_EQ_U(choice.conf.buffer_bytes_max, 3 << 20);
}

UNIT_TEST(name_in_braces_may_have_commas)
{
    struct port_choice choice;

    CHECK_EQ_I(read_port(&choice, "rich:{net_tap0,iface=a},offload=on"), 0);
    CHECK_EQ_S(choice.conf.name, "net_tap0,iface=a");
    CHECK_EQ_I(choice.conf.offload, 1);
    CHECK_EQ_I(read_port(&choice, "rich:a},args={b}"), 0); /* one that closes nothing is a character as others */
    CHECK_EQ_S(choice.conf.name, "a}");
    CHECK_EQ_S(choice.conf.settings[1], "b");
}

/* What is wrong is named, and what would be right. */
UNIT_TEST(what_is_wrong_is_said)
{
    static const struct {
        const char *written, *words;
    } rows[] = {
        { "", "does not begin with a kind of port that there is here (plain:NAME, rich:DEVICE)" },
        { "eth0", "does not begin with a kind" },
        { "plain", "does not begin with a kind" },
        { "ric:eth0", "does not begin with a kind" },
        { "richer:eth0", "does not begin with a kind" },
        { "wire:x", "(plain:NAME, rich:DEVICE); wire joins instances of one process" },
        { "ns3:x", "; ns3 is for nodes of the simulator ns-3" },
        { "dpdk:x", "-DTENON_DPDK=ON" },
        { "rich:{x,y", "a brace is not closed in \"rich:{x,y\"" },
        { "plain:a,mtu={1500", "a brace is not closed" },
        { "rich:{x,{y},mtu=1500", "a brace is not closed" },
        { "rich:", "has no name behind the colon (write rich:DEVICE)" },
        { "rich:,mtu=1500", "has no name behind the colon" },
        { "rich:a,", "is no setting" },
        { "rich:a,mtu", "\"mtu\" is no setting: write NAME=VALUE" },
        { "rich:a,mtu=", "is no setting" },
        { "rich:a,=5", "is no setting" },
        { "rich:a,mtu=575", "mtu=575 is not a number from 576 to 65535" },
        { "rich:a,mtu=1500x", "is not a number" },
        { "rich:a,mtu=-1", "is not a number" },
        { "rich:a,mtu=99999999999999999999", "is not a number" },
        { "rich:a,queues=5", "queues=5 is not a number from 1 to 4" },
        { "rich:a,queue=1", "there is no queue 1 of 1" },
        { "rich:a,queues=2,queue=2", "there is no queue 2 of 2" },
        { "rich:a,offload=yes", "is neither on nor off" },
        { "rich:a,speed=10", "has no setting \"speed\" (there are mtu=BYTES, offload=on|off, queues=N, queue=N, "
                             "memory=MB, mode=copy|zerocopy, args={...}, count=N); a name with commas needs braces, "
                             "rich:{NAME,MORE}" },
        { "rich:a,mode=zero", "mode=zero is none of copy|zerocopy" },
        { "rich:a,mode=copy|zerocopy", "is none of copy|zerocopy" },
        { "rich:a,count=0", "count=0 is not a number from 1 to 1000000" },
        { "rich:a,memory=0", "memory=0 is not a number from 1 to " },
        { "plain:a,memory=1", "has no setting \"memory\"" },
        { "plain:a,queues=1", "has no setting \"queues\" (there are mtu=BYTES, offload=on|off)" },
    };

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct port_choice choice;

        CHECK_EQ_I(read_port(&choice, rows[i].written), -1);
        CHECK(strstr(error, rows[i].words) != NULL);
    }
}

/* 4 GB and one MB, which a size_t of 32 bits does not hold. */
UNIT_TEST(memory_is_what_was_said_or_refused)
{
    struct port_choice choice;

    if (read_port(&choice, "rich:a,memory=4097") == 0)
        CHECK_EQ_U(choice.conf.buffer_bytes_max >> 20, 4097);
    else
        CHECK(strstr(error, "memory=4097 is not a number from 1 to 4095") != NULL);
}

UNIT_TEST(long_text_is_refused)
{
    struct port_choice choice;
    char written[2 * PORT_TEXT_MAX];

    memset(written, 'a', sizeof written);
    memcpy(written, "rich:", 5);
    written[5 + PORT_TEXT_MAX] = 0;
    CHECK_EQ_I(read_port(&choice, written), -1);
    CHECK(strstr(error, "longer than 255 characters") != NULL);
    written[5 + PORT_TEXT_MAX - 1] = 0;
    CHECK_EQ_I(read_port(&choice, written), 0);
    CHECK_EQ_U(strlen(choice.conf.name), PORT_TEXT_MAX - 1);
}

/* ---- opening ------------------------------------------------------------------------------------- */

struct fake {
    struct port port;
    int opened;
};

static unsigned closed, refuses;
static size_t wanted;

static int fake_open(struct port *port, const struct port_conf *conf, char *words, size_t size)
{
    struct fake *fake = (struct fake *)port;

    CHECK_EQ_I(fake->opened, 0);
    CHECK_EQ_I(port->fd, -1);
    CHECK_EQ_U(conf->queues, 1);
    wanted = conf->buffer_bytes_max;
    fake->opened = 1;
    port->netif.mtu = 1234;
    port->stats.rx_frames = 10;
    return refuses ? port_explain(words, size, "no '%s' today", conf->name) : 0;
}

static void fake_close(struct port *port)
{
    closed += (unsigned)((const struct fake *)port)->opened;
}

static void fake_stats(struct port *port, struct port_stats *stats)
{
    (void)port;
    stats->rx_frames += 5;
}

static const struct port_type fake_type = {
    .kind = "fake",
    .name = "NAME",
    .settings = no_settings,
    .queues_max = 1,
    .memory = 7000,
    .bytes = sizeof(struct fake),
    .open = fake_open,
    .close = fake_close,
    .stats = fake_stats,
};

UNIT_TEST(open_port_is_complete)
{
    struct port_conf conf = { .name = "a" };
    struct tenon_netif_conf netif;
    struct port_stats stats;
    struct port *port = port_open(&fake_type, &conf, NULL, 0);

    if (!CHECK(port != NULL))
        return;
    CHECK(port->type == &fake_type);
    CHECK_EQ_S(port->name, "a");
    CHECK_EQ_U(wanted, 7000);
    CHECK_EQ_I(port_fd(port), -1);
    port_netif_conf(port, &netif);
    CHECK_EQ_U(netif.mtu, 1234);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.rx_frames, 15);
    port_close(port);
    CHECK_EQ_U(closed, 1);
    conf.buffer_bytes_max = 8000;
    port_close(port_open(&fake_type, &conf, NULL, 0));
    CHECK_EQ_U(wanted, 8000);
    CHECK_EQ_U(closed, 2);
    if (sizeof(size_t) < 8)
        return; /* all that can be said may be less than half of the machine's memory */
    conf.buffer_bytes_max = (size_t)-1 / 2;
    CHECK(port_open(&fake_type, &conf, error, sizeof error) == NULL);
    CHECK(strstr(error, "is more than half of this machine's") != NULL);
    CHECK_EQ_U(closed, 2); /* it has never been open */
}

UNIT_TEST(what_fails_to_open_is_closed)
{
    const struct port_conf conf = { .name = "b" };

    closed = 0;
    refuses = 1;
    CHECK(port_open(&fake_type, &conf, error, sizeof error) == NULL);
    CHECK_EQ_S(error, "no 'b' today");
    CHECK_EQ_U(closed, 1);
}

int main(void)
{
    UNIT_RUN(open_port_is_complete);
    UNIT_RUN(what_fails_to_open_is_closed);
    UNIT_RUN(name_alone_takes_defaults);
    UNIT_RUN(settings_go_where_they_belong);
    UNIT_RUN(name_in_braces_may_have_commas);
    UNIT_RUN(what_is_wrong_is_said);
    UNIT_RUN(memory_is_what_was_said_or_refused);
    UNIT_RUN(long_text_is_refused);
    return unit_end();
}
