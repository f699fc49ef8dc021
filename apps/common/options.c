/* SPDX-License-Identifier: MIT */
/* The common options: what they are, what they say in --help, and what is wrong with a bad one. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "ports/common/built.h"
#include "text.h"

enum option_key {
    KEY_PORT = 0x100,
    KEY_ADDRESS,
    KEY_GATEWAY,
    KEY_NO_OFFLOAD,
    KEY_MTU,
    KEY_PCAP,
    KEY_TRACE,
    KEY_STATS,
    KEY_CC,
    KEY_NO_TIMESTAMPS,
    KEY_NO_SACK,
    KEY_ECN,
    KEY_FASTOPEN,
    KEY_DAD,
    KEY_POLL,
    KEY_DHCP,
    KEY_DNS
};

static const char port_default[] = "tap:tenon0";

static const struct argp_option option_list[] = {
    { "port", KEY_PORT, "KIND:NAME", 0,
      "Packets go through this port; default tap:tenon0. \"?\" lists the kinds", 0 },
    { "address", KEY_ADDRESS, "ADDR/BITS", 0,
      "An address of ours and the length of its prefix; may be repeated. Default 10.9.0.2/24 and fd00:9::2/64",
      0 },
    { "dhcp", KEY_DHCP, NULL, 0,
      "Ask a DHCP server for an IPv4 address, the next hop and the MTU; without one, use a link-local address",
      0 },
    { "gateway", KEY_GATEWAY, "ADDR", 0, "Next hop for what is not on the link; one for IPv4, one for IPv6",
      0 },
    { "dns", KEY_DNS, "ADDR", 0,
      "Ask this server for names; up to three. Default: those that --dhcp and IPv6 routers have told of", 0 },
    { "mtu", KEY_MTU, "BYTES", 0, "Largest IP packet; default: what the interface says", 0 },
    { "no-offload", KEY_NO_OFFLOAD, NULL, 0, "Make checksums and segments ourselves, one frame per packet",
      0 },
    { "poll", KEY_POLL, NULL, 0,
      "Look for packets all the time instead of sleeping: less latency, a whole processor", 0 },
    { "dad", KEY_DAD, NULL, 0, "Probe our addresses for duplicates before using them (takes seconds)", 0 },
    { "cc", KEY_CC, "NAME", 0, "Congestion control: cubic (the default), newreno, highspeed, bbr, dctcp", 0 },
    { "no-timestamps", KEY_NO_TIMESTAMPS, NULL, 0, "Neither offer nor accept TCP timestamps", 0 },
    { "no-sack", KEY_NO_SACK, NULL, 0, "Neither offer nor accept selective acknowledgements", 0 },
    { "ecn", KEY_ECN, "off|ask|accept", 0, "Explicit congestion notification (RFC 3168); default accept", 0 },
    { "fastopen", KEY_FASTOPEN, NULL, 0, "Data with the SYN, where the peer's cookie is known (RFC 7413)",
      0 },
    { "pcap", KEY_PCAP, "FILE", 0, "Write every frame to FILE (pcapng, for Wireshark)", 0 },
    { "trace", KEY_TRACE, "FILE", 0, "Write every TCP event to FILE (for \"tenon trace\")", 0 },
    { "stats", KEY_STATS, NULL, 0, "At the end, print all counters that are not 0", 0 },
    { "quiet", 'q', NULL, 0, "Say errors only", 0 },
    { "verbose", 'v', NULL, 0, "Say more; twice: everything", 0 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

void options_default(struct options *options)
{
    memset(options, 0, sizeof *options);
    options->offload = 1;
    options->timestamps = options->sack = 1;
    options->ecn = 2;
    options->level = LOG_NORMAL;
}

void options_bad_value(const struct argp_state *state, const char *option, const char *value, const char *wrong)
{
    argp_error(state, "%s: \"%s\" %s", option, value, wrong);
}

uint64_t options_number(const struct argp_state *state, const char *option, const char *value, uint64_t min,
                        uint64_t max)
{
    uint64_t number = min;
    const char *wrong = text_read_number(value, min, max, &number);

    if (wrong != NULL)
        options_bad_value(state, option, value, wrong);
    return number;
}

double options_seconds(const struct argp_state *state, const char *option, const char *value)
{
    double seconds = 1;
    const char *wrong = text_read_seconds(value, 0.001, 1e6, &seconds);

    if (wrong != NULL)
        options_bad_value(state, option, value, wrong);
    return seconds;
}

static void list_ports(const struct argp_state *state)
{
    for (unsigned i = 0; ports_built[i] != NULL; i++) {
        const struct port_type *type = ports_built[i];

        fprintf(state->out_stream, "%s:%s  %s\n", type->kind, type->name, type->text);
        fprintf(state->out_stream, "    mtu=BYTES, offload=on|off%s",
                type->queues_max > 1 ? ", queues=N, queue=N" : "");
        if (type->memory > 0)
            fprintf(state->out_stream, ", memory=MB (packet memory; default %zu)", type->memory >> 20);
        fprintf(state->out_stream, "\n");
        for (const struct port_setting *setting = type->settings; setting->name != NULL; setting++)
            fprintf(state->out_stream, "    %s=%s  %s\n", setting->name, setting->values, setting->text);
    }
    exit(0);
}

static void read_port(struct options *options, const char *value, const struct argp_state *state)
{
    char error[600];

    if (strcmp(value, "?") == 0)
        list_ports(state);
    options->port_name = value;
    if (port_read(&options->port, ports_built, value, error, sizeof error) != 0)
        argp_error(state, "--port: %s", error);
}

static void read_address(struct options *options, const char *value, const struct argp_state *state)
{
    struct tenon_ip ip = tenon_ip_any();
    unsigned prefix = 0;
    const char *wrong = text_read_prefix(value, &ip, &prefix);

    if (wrong != NULL)
        options_bad_value(state, "--address", value, wrong);
    if (options->naddresses == OPTIONS_ADDRESSES_MAX)
        argp_error(state, "--address: at most %d addresses", OPTIONS_ADDRESSES_MAX);
    options->addresses[options->naddresses].ip = ip;
    options->addresses[options->naddresses].prefix = prefix;
    options->naddresses++;
}

static void read_gateway(struct options *options, const char *value, const struct argp_state *state)
{
    struct tenon_ip ip = tenon_ip_any();
    const char *wrong = text_read_ip(value, &ip);

    if (wrong == NULL && !tenon_ip_is_any(&options->gateways[!tenon_ip_is_v4(&ip)]))
        wrong = "is the second gateway of its IP version";
    if (wrong != NULL)
        options_bad_value(state, "--gateway", value, wrong);
    options->gateways[!tenon_ip_is_v4(&ip)] = ip;
}

static void read_dns(struct options *options, const char *value, const struct argp_state *state)
{
    const char *wrong = options->ndns == TENON_DNS_SERVERS_MAX ? "is one server too many" : NULL;

    if (wrong == NULL)
        wrong = text_read_ip(value, &options->dns[options->ndns]);
    if (wrong != NULL)
        options_bad_value(state, "--dns", value, wrong);
    options->ndns++;
}

static void default_addresses(struct options *options)
{
    if (options->naddresses > 0 || options->dhcp)
        return;
    options->addresses[0].ip = tenon_ip4_bytes(10, 9, 0, 2);
    options->addresses[0].prefix = 24;
    options->addresses[1].ip = tenon_ip6(0xfd000009UL, 0, 0, 2);
    options->addresses[1].prefix = 64;
    options->naddresses = 2;
    options->default_addresses = 1;
}

static void read_cc(struct options *options, const char *value, const struct argp_state *state)
{
    options->cc = tenon_cc_find(value);
    if (options->cc == NULL)
        options_bad_value(state, "--cc", value,
                          "is not a congestion control (there are newreno, cubic, highspeed, bbr, dctcp)");
}

static void read_ecn(struct options *options, const char *value, const struct argp_state *state)
{
    static const char *const names[] = { "off", "ask", "accept" };    /* in the order of TENON_TCP_ECN */

    for (options->ecn = 0; options->ecn < 3; options->ecn++) {
        if (strcmp(value, names[options->ecn]) == 0)
            return;
    }
    options_bad_value(state, "--ecn", value, "is neither off nor ask nor accept");
}

/* What is said for any port goes before what was written behind its name. */
static void complete_port(struct options *options, const struct argp_state *state)
{
    if (options->port.type == NULL)
        read_port(options, port_default, state);
    if (options->mtu != 0)
        options->port.conf.mtu = options->mtu;
    if (!options->offload)
        options->port.conf.offload = 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_PORT:
        read_port(options, value, state);
        return 0;
    case KEY_ADDRESS:
        read_address(options, value, state);
        return 0;
    case KEY_GATEWAY:
        read_gateway(options, value, state);
        return 0;
    case KEY_DNS:
        read_dns(options, value, state);
        return 0;
    case KEY_MTU:
        options->mtu = (unsigned)options_number(state, "--mtu", value, 576, 65535);
        return 0;
    case KEY_CC:
        read_cc(options, value, state);
        return 0;
    case KEY_NO_TIMESTAMPS:
        options->timestamps = 0;
        return 0;
    case KEY_NO_SACK:
        options->sack = 0;
        return 0;
    case KEY_ECN:
        read_ecn(options, value, state);
        return 0;
    case KEY_FASTOPEN:
        options->fastopen = 1;
        return 0;
    case KEY_NO_OFFLOAD:
        options->offload = 0;
        return 0;
    case KEY_POLL:
        options->poll = 1;
        return 0;
    case KEY_DAD:
        options->dad = 1;
        return 0;
    case KEY_DHCP:
        options->dhcp = 1;
        return 0;
    case KEY_PCAP:
        options->pcap = value;
        return 0;
    case KEY_TRACE:
        options->trace = value;
        return 0;
    case KEY_STATS:
        options->stats = 1;
        return 0;
    case 'q':
        options->level = LOG_QUIET;
        return 0;
    case 'v':
        if (options->level < LOG_DEBUG)
            options->level = (enum log_level)(options->level + 1);
        return 0;
    case ARGP_KEY_END:
        default_addresses(options);
        complete_port(options, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp options_argp = { option_list, parse_option, NULL, NULL, NULL, NULL, NULL };
