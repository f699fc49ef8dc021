/* SPDX-License-Identifier: MIT */
/* Devices: found or made, configured by the first port, closed by the last one. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_interrupts.h>
#include <tenon/flow.h>

#include "dpdk_internal.h"

enum { DESCRIPTORS = 1024, ROOM_MIN = 2048, MEMORY_MB = 32, MTU_DEFAULT = 1500, LINK_TRIES = 20 };

enum setting { SETTING_SUMS, SETTING_TSO, SETTING_WAKE, SETTING_MEMORY, SETTING_EAL };

const struct port_setting dpdk_settings[] = {
    { "sums", "check|trust",
      "trust: do not look at checksums that the device knows nothing of; in one machine" },
    { "tso", "auto|force",
      "force: send large frames to a device that does not say it takes them (net_vhost)" },
    { "wake", "auto|never", "never: no interrupts, always look" },
    { "memory", "MB", "packet memory of a queue; default 32" },
    { "eal", "WORDS",
      "arguments for DPDK's EAL with blanks between them, instead of ours; for a program's first port" },
    { NULL, NULL, NULL },
};

static const struct {
    const char *driver;
    unsigned traits;
} drivers[] = {
    { "net_ring", DPDK_REFERS | DPDK_ANY_MTU | DPDK_OWN_MAC }, { "net_memif", DPDK_REFERS | DPDK_ONE_PIECE },
    { "net_vhost", DPDK_REFERS | DPDK_ANY_MTU | DPDK_NO_WAKE },
    { "net_tap", DPDK_REFERS | DPDK_OWN_MAC | DPDK_NO_TSO },
    { "net_af_packet", DPDK_REFERS | DPDK_OWN_MAC },
    { "net_pcap", DPDK_REFERS | DPDK_OWN_MAC },
    { "net_null", DPDK_REFERS | DPDK_ANY_MTU | DPDK_OWN_MAC },
};

/* Ports may be opened in several threads; devices are the process's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dpdk_device *devices;

/* ---- a device ---------------------------------------------------------------------------------------------- */

static int device_removed(uint16_t id, enum rte_eth_event_type event, void *arg, void *more)
{
    struct dpdk_device *device = arg;

    (void)id;
    (void)event;
    (void)more;
    atomic_store(&device->gone, 1);
    return 0;
}

static unsigned traits_of(const struct dpdk_device *device)
{
    const struct rte_devargs *args = rte_dev_devargs(device->info.device);

    if (args != NULL && args->args != NULL && strstr(args->args, "zero-copy=yes") != NULL)
        return DPDK_ONE_PIECE; /* memif: the other process reaches DPDK's memory only */
    for (unsigned i = 0; i < RTE_DIM(drivers); i++)
        if (strcmp(drivers[i].driver, device->info.driver_name) == 0)
            return drivers[i].traits;
    return 0;
}

/* By its name, or made by its name and arguments. */
static int find_device(struct dpdk_device *device, const char *written, char *error, size_t size)
{
    int status = rte_eth_dev_get_port_by_name(device->name, &device->id);

    if (status != 0) {
        dpdk_listen();
        status = rte_dev_probe(written);
        device->made = status == 0;
        if (status == 0)
            status = rte_eth_dev_get_port_by_name(device->name, &device->id);
        if (status != 0)
            return port_explain(error, size,
                                "DPDK has no device '%s' and cannot make one: %s (write what its guide calls it, "
                                "0000:01:00.0 or net_tap0, with arguments in braces: dpdk:{net_tap0,iface=dt0})",
                                device->name, dpdk_said());
        (void)dpdk_said();
    }
    if (rte_eth_dev_info_get(device->id, &device->info) != 0)
        return port_explain(error, size, "'%s' does not say what it is", device->name);
    device->traits = traits_of(device);
    return 0;
}

static int check_queues(const struct dpdk_device *device, char *error, size_t size)
{
    const unsigned rx = device->info.max_rx_queues, tx = device->info.max_tx_queues, most = rx < tx ? rx : tx;

    if (device->queues <= most)
        return 0;
    return port_explain(error, size, "'%s' has %u queue%s, and not %u (for some virtual ones they are an argument: "
                                     "queues=%u)",
                        device->name, most, most == 1 ? "" : "s", device->queues, device->queues);
}

static uint64_t wanted(const struct dpdk_device *device, uint64_t offloads, uint64_t capable)
{
    return device->offload ? offloads & capable : 0;
}

static int configure(struct dpdk_device *device, int interrupts)
{
    const struct rte_eth_dev_info *info = &device->info;
    struct rte_eth_conf conf = { .rxmode = { .mtu = device->traits & DPDK_ANY_MTU ? 0 : device->mtu } };
    tenon_u8 key[TENON_FLOW_KEY_BYTES];

    device->rx_on = wanted(device, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM |
                                       RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_LRO |
                                       RTE_ETH_RX_OFFLOAD_RSS_HASH, info->rx_offload_capa);
    device->rx_on |= RTE_ETH_RX_OFFLOAD_SCATTER & info->rx_offload_capa;
    device->tx_on = wanted(device,
                           RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                               RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO,
                           info->tx_offload_capa);
    if ((device->traits & DPDK_ONE_PIECE) == 0)
        device->tx_on |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS & info->tx_offload_capa;
    if ((device->traits & DPDK_NO_TSO) != 0)
        device->tx_on &= ~RTE_ETH_TX_OFFLOAD_TCP_TSO;
    conf.rxmode.offloads = device->rx_on;
    conf.txmode.offloads = device->tx_on;
    conf.intr_conf.rxq = interrupts ? 1 : 0;
    if (device->queues > 1 && info->flow_type_rss_offloads != 0) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf =
            (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP) & info->flow_type_rss_offloads;
        if (info->hash_key_size == sizeof key) { /* so that an instance can choose its ports (tenon/flow.h) */
            memcpy(key, tenon_flow_key_symmetric, sizeof key);
            conf.rx_adv_conf.rss_conf.rss_key = key;
            conf.rx_adv_conf.rss_conf.rss_key_len = sizeof key;
        }
    } else {
        conf.rxmode.offloads = device->rx_on &= ~RTE_ETH_RX_OFFLOAD_RSS_HASH;
    }
    return rte_eth_dev_configure(device->id, (uint16_t)device->queues, (uint16_t)device->queues, &conf);
}

static int set_mtu(struct dpdk_device *device, char *error, size_t size)
{
    uint16_t now = MTU_DEFAULT;
    int status;

    (void)rte_eth_dev_get_mtu(device->id, &now);
    if (device->mtu == 0)
        device->mtu = now;
    if (device->mtu == now || (device->traits & DPDK_ANY_MTU) != 0)
        return 0;
    status = rte_eth_dev_set_mtu(device->id, (uint16_t)device->mtu);
    if (status == 0 || (status == -ENOTSUP && device->mtu < now))
        return 0;
    return port_explain(error, size, "'%s' takes no MTU of %u: %s", device->name, device->mtu, strerror(-status));
}

/* Mbufs have room for a packet as large as the MTU, unless packets may lie in several. */
static int set_up_queues(struct dpdk_device *device, size_t bytes)
{
    uint16_t rx = DESCRIPTORS, tx = DESCRIPTORS;
    const unsigned socket = (unsigned)rte_eth_dev_socket_id(device->id);
    int status = rte_eth_dev_adjust_nb_rx_tx_desc(device->id, &rx, &tx);

    device->room = ROOM_MIN;
    if ((device->traits & DPDK_ANY_MTU) == 0 && ((device->rx_on & RTE_ETH_RX_OFFLOAD_SCATTER) == 0 ||
                                                 (device->tx_on & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) == 0))
        device->room = RTE_MAX(device->room, RTE_MIN(device->mtu + 64, 65535u - RTE_PKTMBUF_HEADROOM));
    for (uint16_t i = 0; i < device->queues && status == 0; i++) {
        device->memory[i] = dpdk_memory_get(device->room, bytes);
        if (device->memory[i] == NULL)
            return -ENOMEM;
        status = rte_eth_rx_queue_setup(device->id, i, rx, socket, NULL, device->memory[i]->rx);
        if (status == 0)
            status = rte_eth_tx_queue_setup(device->id, i, tx, socket, NULL);
    }
    return status;
}

/* Those who connect to somebody need a moment; what is sent before is lost. */
static void wait_for_link(const struct dpdk_device *device)
{
    const struct timespec moment = { 0, 5000000 };
    struct rte_eth_link link = { 0 };

    for (int i = 0; i < LINK_TRIES; i++) {
        if (rte_eth_link_get_nowait(device->id, &link) != 0 || link.link_status == RTE_ETH_LINK_UP)
            return;
        nanosleep(&moment, NULL);
    }
}

static int start_device(struct dpdk_device *device, int interrupts, size_t bytes, char *error, size_t size)
{
    const unsigned mtu = device->mtu;
    struct rte_ether_addr mac = { { 0 } };
    int status;

    dpdk_listen();
    interrupts = interrupts && (device->traits & DPDK_NO_WAKE) == 0;
    status = configure(device, interrupts);
    if (status != 0 && interrupts)
        status = configure(device, 0);
    if (status == -EINVAL && mtu > 0)
        return port_explain(error, size, "'%s' takes no MTU of %u: %s", device->name, mtu, dpdk_said());
    if (status == 0 && set_mtu(device, error, size) != 0)
        return -1;
    if (status == 0)
        status = set_up_queues(device, bytes);
    if (status == 0)
        status = rte_eth_dev_start(device->id);
    if (status == -ENOMEM)
        return port_explain(error, size,
                            "no memory for %u queue%s of %zu MB: smaller with memory=MB, or more free huge "
                            "pages (sysctl vm.nr_hugepages=N)",
                            device->queues, device->queues == 1 ? "" : "s", bytes >> 20);
    if (status != 0)
        return port_explain(error, size, "'%s' cannot be started: %s (%s)", device->name, strerror(-status),
                            dpdk_said());
    (void)rte_eth_macaddr_get(device->id, &mac);
    memcpy(device->mac, mac.addr_bytes, sizeof device->mac);
    if ((device->traits & DPDK_OWN_MAC) != 0)
        port_derive_mac(device->mac, device->name, mac.addr_bytes);
    if (rte_eth_allmulticast_enable(device->id) != 0 || (device->traits & DPDK_OWN_MAC) != 0)
        (void)rte_eth_promiscuous_enable(device->id);
    (void)rte_eth_dev_callback_register(device->id, RTE_ETH_EVENT_INTR_RMV, device_removed, device);
    wait_for_link(device);
    (void)dpdk_said();
    return 0;
}

/* Done by the thread that serves interrupts. One of this device's, that comes now, would find it gone: a virtio_user
 * that sleeps crashes so. */
static void stop_device(void *arg)
{
    struct dpdk_device *device = arg;

    (void)rte_eth_dev_callback_unregister(device->id, RTE_ETH_EVENT_INTR_RMV, device_removed, device);
    (void)rte_eth_dev_stop(device->id);
    if (device->made) {
        (void)rte_eth_dev_close(device->id);
        (void)rte_dev_remove(device->info.device);
    }
}

static void close_device(struct dpdk_device *device)
{
    struct rte_mbuf *mbufs[PORT_BURST];
    unsigned n;

    dpdk_listen();
    for (uint16_t i = 0; i < device->queues && device->ports > 0; i++) /* what waits in a ring may be others' */
        while ((n = rte_eth_rx_burst(device->id, i, mbufs, PORT_BURST)) > 0)
            rte_pktmbuf_free_bulk(mbufs, n);
    if (device->info.device != NULL)
        dpdk_errand(stop_device, device);
    for (unsigned i = 0; i < device->queues; i++)
        dpdk_memory_put(device->memory[i]);
    (void)dpdk_said();
    for (struct dpdk_device **at = &devices; *at != NULL; at = &(*at)->next) {
        if (*at == device) {
            *at = device->next;
            break;
        }
    }
    free(device);
}

/* ---- a port ------------------------------------------------------------------------------------------------- */

static size_t bytes_wanted(const struct port_conf *conf, int megabytes)
{
    if (megabytes > 0)
        return (size_t)megabytes << 20;
    return conf->buffer_bytes_max > 0 ? conf->buffer_bytes_max : (size_t)MEMORY_MB << 20;
}

static struct dpdk_device *open_device(const struct port_conf *conf, int interrupts, size_t bytes, char *error,
                                       size_t size)
{
    struct dpdk_device *device = calloc(1, sizeof *device);

    if (device == NULL) {
        port_explain(error, size, "out of memory");
        return NULL;
    }
    snprintf(device->name, sizeof device->name, "%.*s", (int)strcspn(conf->name, ","), conf->name);
    device->queues = conf->queues > 1 ? conf->queues : 1;
    device->mtu = conf->mtu;
    device->offload = conf->offload;
    if (find_device(device, conf->name, error, size) != 0 || check_queues(device, error, size) != 0 ||
        start_device(device, interrupts, bytes, error, size) != 0) {
        close_device(device);
        return NULL;
    }
    device->next = devices;
    devices = device;
    return device;
}

/* The device that another port has configured. @return 0; -1: it cannot be this one's too */
static int join_device(const struct dpdk_device *device, const struct port_conf *conf, char *error, size_t size)
{
    if (device->queues != (conf->queues > 1 ? conf->queues : 1) || device->offload != conf->offload ||
        (conf->mtu > 0 && device->mtu != conf->mtu))
        return port_explain(error, size, "all ports of '%s' must have the same queues, mtu and offload", device->name);
    if (device->port[conf->queue] != NULL)
        return port_explain(error, size, "queue %u of '%s' has a port already", conf->queue, device->name);
    return 0;
}

static void close_epoll(struct dpdk_port *port)
{
    if (port->epoll >= 0)
        close(port->epoll);
    if (port->more >= 0)
        close(port->more);
    port->epoll = port->more = -1;
}

static void open_epoll(struct dpdk_port *port)
{
    const uint16_t id = port->device->id;

    if ((port->device->traits & DPDK_NO_WAKE) != 0)
        return;
    dpdk_listen();
    port->epoll = epoll_create1(EPOLL_CLOEXEC);
    port->more = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    port->more_event.epdata.event = EPOLLIN;
    if (port->epoll < 0 || port->more < 0 ||
        rte_epoll_ctl(port->epoll, EPOLL_CTL_ADD, port->more, &port->more_event) != 0 ||
        rte_eth_dev_rx_intr_ctl_q(id, port->queue, port->epoll, RTE_INTR_EVENT_ADD, NULL) != 0)
        close_epoll(port);
    else
        (void)rte_eth_dev_rx_intr_enable(id, port->queue); /* who sleeps first shall be woken */
    (void)dpdk_said();
}

static void describe(struct dpdk_port *port)
{
    const struct dpdk_device *device = port->device;
    const uint64_t sums = RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
    struct dpdk_port_info *info = &port->info;

    info->device = device->id;
    info->queue = port->queue;
    info->driver = device->info.driver_name;
    info->huge = dpdk_huge();
    info->refers = (device->traits & DPDK_REFERS) != 0;
    info->gathers = (device->tx_on & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    info->completes_sums = (device->tx_on & sums) == sums;
    info->cuts = info->completes_sums && info->gathers &&
                 ((device->tx_on & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0 || port->tso_forced);
    info->knows_sums = (device->rx_on & (RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM)) != 0;
    info->joins = (device->rx_on & RTE_ETH_RX_OFFLOAD_TCP_LRO) != 0;
    info->scatters = (device->rx_on & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
}

static int open_port(struct dpdk_port *port, const struct port_conf *conf, char *error, size_t size)
{
    const int trusts = port_choose(&dpdk_port_type, conf, SETTING_SUMS, error, size);
    const int tso = port_choose(&dpdk_port_type, conf, SETTING_TSO, error, size);
    const int never = port_choose(&dpdk_port_type, conf, SETTING_WAKE, error, size);
    const int megabytes = port_number(&dpdk_port_type, conf, SETTING_MEMORY, 0, error, size);
    const size_t name_bytes = strcspn(conf->name, ",");
    const unsigned nqueues = conf->queues > 1 ? conf->queues : 1;
    struct dpdk_device *device = devices;
    size_t bytes;

    if (trusts < 0 || tso < 0 || never < 0 || megabytes < 0)
        return -1;
    bytes = bytes_wanted(conf, megabytes);
    if (bytes > (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2 / nqueues)
        return port_explain(error, size, "memory=%zu for each of %u queues is more than half of this machine's",
                            bytes >> 20, nqueues);
    if (dpdk_start(conf->name, conf->settings[SETTING_EAL], bytes * nqueues,
                   error, size) != 0)
        return -1;
    dpdk_thread_begin();
    while (device != NULL && (strlen(device->name) != name_bytes || memcmp(device->name, conf->name, name_bytes) != 0))
        device = device->next;
    if (device != NULL && join_device(device, conf, error, size) != 0)
        return -1;
    if (device == NULL)
        device = open_device(conf, !never, bytes, error, size);
    if (device == NULL)
        return -1;
    device->ports++;
    device->port[conf->queue] = port;
    port->device = device;
    port->queue = (uint16_t)conf->queue;
    port->memory = device->memory[port->queue];
    port->trusts = trusts;
    port->tso_forced = tso;
    describe(port);
    if (!never)
        open_epoll(port);
    return 0;
}

void dpdk_close(struct port *base)
{
    struct dpdk_port *port = TENON_CONTAINER(base, struct dpdk_port, port);
    struct dpdk_device *device = port->device;

    pthread_mutex_lock(&lock);
    if (port->epoll >= 0) {
        (void)rte_eth_dev_rx_intr_disable(device->id, port->queue);
        (void)rte_eth_dev_rx_intr_ctl_q(device->id, port->queue, port->epoll, RTE_INTR_EVENT_DEL, NULL);
    }
    close_epoll(port);
    if (device != NULL) {
        dpdk_memory_end(port->memory);
        device->port[port->queue] = NULL;
        if (device->ports == 1)
            close_device(device);
        else
            device->ports--;
    }
    dpdk_thread_end();
    pthread_mutex_unlock(&lock);
    free(port);
}

struct port *dpdk_open(const struct port_conf *conf, char *error, size_t error_size)
{
    struct dpdk_port *port = calloc(1, sizeof *port);
    int status;

    if (port == NULL) {
        port_explain(error, error_size, "out of memory");
        return NULL;
    }
    port->port.type = &dpdk_port_type;
    port->epoll = port->more = -1;
    pthread_mutex_lock(&lock);
    status = open_port(port, conf, error, error_size);
    pthread_mutex_unlock(&lock);
    if (status == 0)
        return &port->port;
    dpdk_close(&port->port);
    return NULL;
}

/* ---- a cable in memory ---------------------------------------------------------------------------------------- */

int dpdk_pair(const char *const names[2], unsigned queues, const char *eal, char *error, size_t error_size)
{
    struct rte_ring *ring[2][DPDK_QUEUES_MAX];
    char name[RTE_RING_NAMESIZE];
    int status = queues > 0 && queues <= DPDK_QUEUES_MAX ? 0 : -1;

    pthread_mutex_lock(&lock);
    if (status == 0)
        status = dpdk_start(names[0], eal, (size_t)MEMORY_MB << 20, error, error_size);
    for (unsigned i = 0; i < 2 * queues && status == 0; i++) {
        snprintf(name, sizeof name, "%.16s.%u", names[i / queues], i % queues);
        ring[i / queues][i % queues] =
            rte_ring_create(name, DESCRIPTORS, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
        if (ring[i / queues][i % queues] == NULL)
            status = port_explain(error, error_size, "'%s': %s", names[i / queues], rte_strerror(rte_errno));
    }
    for (unsigned i = 0; i < 2 && status == 0; i++)
        if (rte_eth_from_rings(names[i], ring[i], queues, ring[!i], queues, 0) < 0)
            status = port_explain(error, error_size, "'%s': %s", names[i], rte_strerror(rte_errno));
    pthread_mutex_unlock(&lock);
    return status == 0 ? 0 : -1;
}
