/* SPDX-License-Identifier: MIT */
/* Reading what kind of port is wanted, and what all of them need of the operating system. */
#include "port.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

int port_explain(char *error, size_t error_size, const char *format, ...)
{
    va_list args;

    if (error == NULL || error_size == 0)
        return -1;
    va_start(args, format);
    vsnprintf(error, error_size, format, args);
    va_end(args);
    return -1;
}

/* ---- what was written -------------------------------------------------------------------------------- */

enum { NUMBER_MAX = 1000000 };

/* Where words go that a message is made of. What does not fit is left out. */
struct words {
    char text[400];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void words_add(struct words *words, const char *format, ...)
{
    size_t room = sizeof words->text - words->n;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(words->text + words->n, room, format, args);
    va_end(args);
    if (n > 0)
        words->n += (size_t)n < room ? (size_t)n : room - 1;
}

const char *port_hint(const struct port_hint *hints, const char *said)
{
    while (hints->words != NULL && strstr(said, hints->words) == NULL)
        hints++;
    return hints->hint;
}

/* Kinds that not every program has. */
static const struct port_hint elsewhere[] = {
    { ":wire:", "; wire joins instances of one process: it is for tests, simulators and benchmarks" },
    { ":ns3:", "; ns3 is for nodes of the simulator ns-3: docs/guide/ns3.md" },
    { ":pcap:", "; pcap captures what passes another port: --pcap FILE" },
    { ":dpdk:", "; dpdk is there where libdpdk was when this was built: -DTENON_DPDK=ON insists on it" },
    { NULL, "" },
};

static int wrong_kind(const struct port_type *const *types, const char *written, char *error, size_t size)
{
    struct words kinds = { "", 0 }, begin = { "", 0 };

    for (unsigned i = 0; types[i] != NULL; i++)
        words_add(&kinds, "%s%s:%s", i > 0 ? ", " : "", types[i]->kind, types[i]->name);
    words_add(&begin, ":%.*s:", (int)strcspn(written, ":"), written);
    return port_explain(error, size, "\"%s\" does not begin with a kind of port that there is here (%s)%s", written,
                        kinds.text, port_hint(elsewhere, begin.text));
}

static int wrong_setting(const struct port_type *type, const char *name, char *error, size_t size)
{
    struct words names = { "", 0 };

    words_add(&names, "mtu=BYTES, offload=on|off");
    if (type->queues_max > 1)
        words_add(&names, ", queues=N, queue=N");
    if (type->memory > 0)
        words_add(&names, ", memory=MB");
    for (unsigned i = 0; type->settings[i].name != NULL; i++)
        words_add(&names, ", %s=%s", type->settings[i].name, type->settings[i].values);
    port_explain(error, size, "a port of the kind %s has no setting \"%s\" (there are %s); a name with commas needs "
                              "braces, %s:{NAME,MORE}",
                 type->kind, name, names.text, type->kind);
    return -1;
}

static int read_number(unsigned *out, const char *name, const char *value, unsigned least, unsigned most, char *error,
                       size_t size)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(value, &end, 10);
    if (value[0] >= '0' && value[0] <= '9' && *end == 0 && errno == 0 && number >= least && number <= most) {
        *out = (unsigned)number;
        return 0;
    }
    port_explain(error, size, "%s=%s is not a number from %u to %u", name, value, least, most);
    return -1;
}

static int read_choice(unsigned *out, const struct port_setting *setting, const char *value, char *error, size_t size)
{
    const char *at = setting->values;

    for (*out = 0; *at != 0; ++*out) {
        const size_t n = strcspn(at, "|");

        if (strlen(value) == n && memcmp(at, value, n) == 0)
            return 0;
        at += n + (at[n] == '|');
    }
    return port_explain(error, size, "%s=%s is none of %s", setting->name, value, setting->values);
}

/* @param name  of one that all ports of the kind have. @return 1: it is none */
static int read_common(struct port_choice *choice, const char *name, const char *value, char *error, size_t size)
{
    const size_t most_mb = SIZE_MAX >> 20 < NUMBER_MAX ? SIZE_MAX >> 20 : NUMBER_MAX;
    const struct port_type *type = choice->type;
    struct port_conf *conf = &choice->conf;
    unsigned mb = 0;
    int status;

    if (strcmp(name, "mtu") == 0)
        return read_number(&conf->mtu, name, value, 576, 65535, error, size);
    if (strcmp(name, "queues") == 0 && type->queues_max > 1)
        return read_number(&conf->queues, name, value, 1, type->queues_max, error, size);
    if (strcmp(name, "queue") == 0 && type->queues_max > 1)
        return read_number(&conf->queue, name, value, 0, type->queues_max - 1, error, size);
    if (strcmp(name, "memory") == 0 && type->memory > 0) {
        status = read_number(&mb, name, value, 1, (unsigned)most_mb, error, size);
        conf->buffer_bytes_max = (size_t)mb << 20;
        return status;
    }
    if (strcmp(name, "offload") != 0)
        return 1;
    conf->offload = strcmp(value, "on") == 0;
    if (conf->offload || strcmp(value, "off") == 0)
        return 0;
    return port_explain(error, size, "offload=%s is neither on nor off", value);
}

static int read_setting(struct port_choice *choice, const char *name, const char *value, char *error, size_t size)
{
    const struct port_setting *own = choice->type->settings;
    const int common = read_common(choice, name, value, error, size);
    unsigned *out = choice->conf.values, i = 0;

    if (common <= 0)
        return common;
    while (own[i].name != NULL && strcmp(own[i].name, name) != 0)
        i++;
    if (own[i].name == NULL)
        return wrong_setting(choice->type, name, error, size);
    choice->conf.settings[i] = value;
    if (own[i].value == PORT_CHOICE)
        return read_choice(&out[i], &own[i], value, error, size);
    return own[i].value == PORT_NUMBER ? read_number(&out[i], name, value, 1, NUMBER_MAX, error, size) : 0;
}

static int is_closed(const char *text)
{
    int depth = 0;

    for (; *text != 0; text++)
        depth += *text == '{' ? 1 : *text == '}' && depth > 0 ? -1 : 0;
    return depth == 0;
}

/* The next part of a list with commas between them; ends it with a 0. In braces, all of which are closed, there may be
 * commas. @return NULL: there is none */
static char *next_part(char **rest)
{
    char *part = *rest, *end;

    if (part == NULL)
        return NULL;
    end = part;
    for (int depth = 0; *end != 0 && (*end != ',' || depth > 0); end++) {
        if (*end == '{')
            depth++;
        else if (*end == '}' && depth > 0)
            depth--;
    }
    *rest = *end == 0 ? NULL : end + 1;
    *end = 0;
    return part;
}

/* "{a,b}" means a,b. */
static char *without_braces(char *part)
{
    size_t n = strlen(part);

    if (n < 2 || part[0] != '{' || part[n - 1] != '}')
        return part;
    part[n - 1] = 0;
    return part + 1;
}

static int read_settings(struct port_choice *choice, char *rest, char *error, size_t size)
{
    for (char *part = next_part(&rest); part != NULL; part = next_part(&rest)) {
        char *equals = strchr(part, '=');

        if (equals == NULL || equals == part || equals[1] == 0) {
            port_explain(error, size, "\"%s\" is no setting: write NAME=VALUE, with commas between them", part);
            return -1;
        }
        *equals = 0;
        if (read_setting(choice, part, without_braces(equals + 1), error, size) != 0)
            return -1;
    }
    if (choice->conf.queue == 0 || choice->conf.queue < choice->conf.queues)
        return 0;
    port_explain(error, size, "there is no queue %u of %u: they are counted from 0", choice->conf.queue,
                 choice->conf.queues > 1 ? choice->conf.queues : 1);
    return -1;
}

int port_read(struct port_choice *choice, const struct port_type *const *types, const char *written, char *error,
              size_t error_size)
{
    const size_t kind_bytes = strcspn(written, ":");
    const char *described = written + kind_bytes + 1;
    char *rest = choice->text;

    memset(choice, 0, sizeof *choice);
    choice->conf.offload = 1;
    for (unsigned i = 0; types[i] != NULL; i++)
        if (strlen(types[i]->kind) == kind_bytes && memcmp(types[i]->kind, written, kind_bytes) == 0)
            choice->type = types[i];
    if (choice->type == NULL || written[kind_bytes] == 0)
        return wrong_kind(types, written, error, error_size);
    if (strlen(described) >= sizeof choice->text) {
        port_explain(error, error_size, "what describes the port is longer than %d characters", PORT_TEXT_MAX - 1);
        return -1;
    }
    if (!is_closed(described))
        return port_explain(error, error_size, "a brace is not closed in \"%s\" (write KIND:{NAME,MORE},SETTING=VALUE)",
                            written);
    strcpy(choice->text, described);
    choice->conf.name = without_braces(next_part(&rest));
    if (choice->conf.name[0] == 0) {
        port_explain(error, error_size, "\"%s\" has no name behind the colon (write %s:%s)", written,
                     choice->type->kind, choice->type->name);
        return -1;
    }
    return read_settings(choice, rest, error, error_size);
}

/* ---- opening and closing --------------------------------------------------------------------------------- */

/* Ports may be opened in several threads; what those of a kind have in common (devices, programs of the kernel's,
 * memory) is the process's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Undone before another has its turn: what is half open must not be found. */
static int open_locked(struct port *port, const struct port_conf *conf, char *error, size_t size)
{
    struct port_conf full = *conf;
    int status;

    if (full.name == NULL)
        full.name = "";
    if (full.buffer_bytes_max == 0)
        full.buffer_bytes_max = port->type->memory;
    if (full.queues == 0)
        full.queues = 1;
    if (full.buffer_bytes_max / ((size_t)sysconf(_SC_PAGESIZE)) > (size_t)sysconf(_SC_PHYS_PAGES) / 2 / full.queues)
        return port_explain(error, size, "memory=%zu for %s%u queue%s is more than half of this machine's",
                            full.buffer_bytes_max >> 20, full.queues == 1 ? "" : "each of ", full.queues,
                            full.queues == 1 ? "" : "s");
    pthread_mutex_lock(&lock);
    status = port->type->open(port, &full, error, size);
    if (status != 0)
        port->type->close(port);
    pthread_mutex_unlock(&lock);
    return status;
}

struct port *port_open(const struct port_type *type, const struct port_conf *conf, char *error, size_t error_size)
{
    struct port *port = calloc(1, type->bytes);

    if (port == NULL) {
        port_explain(error, error_size, "out of memory");
        return NULL;
    }
    port->type = type;
    port->fd = -1;
    snprintf(port->name, sizeof port->name, "%s", conf->name != NULL ? conf->name : "");
    if (open_locked(port, conf, error, error_size) == 0)
        return port;
    free(port);
    return NULL;
}

void port_close(struct port *port)
{
    pthread_mutex_lock(&lock);
    port->type->close(port);
    pthread_mutex_unlock(&lock);
    free(port);
}

/* ---- receiving ------------------------------------------------------------------------------------------- */

void port_give_short(const struct port *port, struct tenon *stack, unsigned netif, const struct tenon_frame *frames,
                     unsigned n, tenon_u32 now_us)
{
    tenon_keep(stack, port->keeps);
    tenon_input(stack, netif, frames, n, now_us);
    tenon_keep(stack, TENON_KEEP_ALL);
}

/* ---- the operating system -------------------------------------------------------------------------------- */

void *port_mem_get(void *host, size_t bytes)
{
    (void)host;
    return malloc(bytes);
}

void port_mem_put(void *host, void *mem, size_t bytes)
{
    (void)host;
    (void)bytes;
    free(mem);
}

int port_entropy(void *host, void *bytes, size_t n)
{
    tenon_u8 *at = bytes;

    (void)host;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

tenon_u32 port_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (tenon_u32)((uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000);
}

uint64_t port_wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* FNV-1a, 64 bits. */
static uint64_t hash_bytes(const void *bytes, size_t n, uint64_t hash)
{
    const tenon_u8 *p = bytes;

    while (n-- > 0)
        hash = (hash ^ *p++) * 0x100000001B3u;
    return hash;
}

void port_derive_mac(tenon_u8 mac[6], const char *interface, const tenon_u8 kernels[6])
{
    uint64_t hash = hash_bytes("tenon", 5, 0xCBF29CE484222325u);

    hash = hash_bytes(interface, strlen(interface), hash);
    hash = hash_bytes(kernels, 6, hash);
    for (int i = 0; i < 6; i++)
        mac[i] = (tenon_u8)(hash >> (8 * i));
    mac[0] = (tenon_u8)((mac[0] & 0xFC) | 0x02);
    if (memcmp(mac, kernels, 6) == 0)
        mac[5] ^= 1;
}
