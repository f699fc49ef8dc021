/* SPDX-License-Identifier: MIT */
/* Devices: found or made, configured by the first port, closed by the last one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_lcore.h>
#include <tenon/flow.h>

#include "dpdk_internal.h"

enum { DESCRIPTORS = 1024, ROOM_MIN = 2048, MEMORY_MB = 32, LINK_TRIES = 20, LINK_US = 5000, STOP_US = 200 };

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
    { "net_ring", DPDK_ANY_MTU | DPDK_OWN_MAC },
    { "net_memif", DPDK_ONE_PIECE | DPDK_STAYS }, /* the socket that a server listens on */
    { "net_vhost", DPDK_COPIES | DPDK_ANY_MTU | DPDK_NO_WAKE },
    { "net_tap", DPDK_COPIES | DPDK_OWN_MAC | DPDK_BAD_SUMS },
    { "net_af_packet", DPDK_COPIES | DPDK_OWN_MAC },
    { "net_pcap", DPDK_COPIES | DPDK_OWN_MAC },
    { "net_null", DPDK_COPIES | DPDK_ANY_MTU | DPDK_OWN_MAC },
};

/* Ports may be opened in several threads; devices are the process's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dpdk_devices devices;

/* ---- a device ---------------------------------------------------------------------------------------------- */

int dpdk_is_down(const struct dpdk_device *device)
{
    struct rte_eth_link link = { 0 };

    return rte_eth_link_get_nowait(device->id, &link) == 0 && link.link_status == RTE_ETH_LINK_DOWN;
}

/* By its name, or made by its name and arguments. */
static int find_device(struct dpdk_device *device, const char *written, char *error, size_t size)
{
    struct rte_eth_dev_info *info = &device->info;
    unsigned most;

    if (rte_eth_dev_get_port_by_name(device->name, &device->id) != 0) {
        device->made = rte_dev_probe(written) == 0;
        if (!device->made || rte_eth_dev_get_port_by_name(device->name, &device->id) != 0)
            return port_explain(error, size,
                                "DPDK has no device '%s' and cannot make one: %s (write what its guide calls it, "
                                "0000:01:00.0 or net_tap0, with arguments in braces: dpdk:{net_tap0,iface=dt0})",
                                device->name, dpdk_said());
    }
    if (rte_eth_dev_info_get(device->id, info) != 0)
        return port_explain(error, size, "'%s' does not say what it is: %s", device->name, dpdk_said());
    for (unsigned i = 0; i < RTE_DIM(drivers); i++)
        if (strcmp(drivers[i].driver, info->driver_name) == 0)
            device->traits = drivers[i].traits;
    if ((device->traits & DPDK_STAYS) != 0)
        dpdk_eal.leaves_memory = 1;
    most = RTE_MIN((unsigned)info->max_rx_queues, (unsigned)info->max_tx_queues);
    if (device->queues <= most)
        return 0;
    return port_explain(error, size, "'%s' has %u queue%s, and not %u (for some virtual ones they are an argument: "
                                     "queues=%u)",
                        device->name, most, most == 1 ? "" : "s", device->queues, device->queues);
}

static int configure(struct dpdk_device *device, int interrupts)
{
    static tenon_u8 key[TENON_FLOW_KEY_BYTES]; /* so that an instance can choose its ports (tenon/flow.h) */
    const struct rte_eth_dev_info *info = &device->info;
    struct rte_eth_conf *conf = &device->conf;
    uint64_t rx = RTE_ETH_RX_OFFLOAD_SCATTER, tx = 0;

    if (device->offload)
        rx |= RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_TCP_LRO;
    if (device->offload && (device->traits & DPDK_BAD_SUMS) == 0)
        tx |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
              RTE_ETH_TX_OFFLOAD_TCP_TSO;
    if ((device->traits & DPDK_ONE_PIECE) == 0)
        tx |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    memset(conf, 0, sizeof *conf);
    conf->intr_conf.rxq = interrupts ? 1 : 0;
    conf->rxmode.mtu = device->traits & DPDK_ANY_MTU ? 0 : device->mtu;
    if (device->queues > 1 && info->flow_type_rss_offloads != 0) {
        rx |= device->offload ? RTE_ETH_RX_OFFLOAD_RSS_HASH : 0;
        conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf->rx_adv_conf.rss_conf.rss_hf =
            (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP) & info->flow_type_rss_offloads;
    }
    if (info->hash_key_size == sizeof key) {
        memcpy(key, tenon_flow_key_symmetric, sizeof key);
        conf->rx_adv_conf.rss_conf.rss_key = key;
        conf->rx_adv_conf.rss_conf.rss_key_len = sizeof key;
    }
    conf->rxmode.offloads = rx & info->rx_offload_capa;
    conf->txmode.offloads = tx & info->tx_offload_capa;
    return rte_eth_dev_configure(device->id, (uint16_t)device->queues, (uint16_t)device->queues, conf);
}

/* @return 0, or a negative errno: it takes no such MTU */
static int set_mtu(struct dpdk_device *device)
{
    uint16_t now = RTE_ETHER_MTU;
    int status = 0;

    (void)rte_eth_dev_get_mtu(device->id, &now);
    if (device->mtu == 0)
        device->mtu = now;
    if (device->mtu != now && (device->traits & DPDK_ANY_MTU) == 0)
        status = rte_eth_dev_set_mtu(device->id, (uint16_t)device->mtu);
    return status == -ENOTSUP && device->mtu < now ? 0 : status;
}

/* Mbufs have room for a packet as large as the MTU, unless packets may lie in several. */
static int set_up_queues(struct dpdk_device *device, size_t bytes)
{
    const int pieces = (device->conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0 &&
                       (device->conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    const unsigned socket = (unsigned)rte_eth_dev_socket_id(device->id);
    uint16_t rx = DESCRIPTORS, tx = DESCRIPTORS;
    int status = rte_eth_dev_adjust_nb_rx_tx_desc(device->id, &rx, &tx);

    device->room = ROOM_MIN;
    if (!pieces && (device->traits & DPDK_ANY_MTU) == 0)
        device->room = RTE_MAX(device->room, RTE_MIN(device->mtu + 64, 65535u - RTE_PKTMBUF_HEADROOM));
    for (uint16_t i = 0; i < device->queues && status == 0; i++) {
        device->memory[i] = dpdk_memory_get(device->room, bytes);
        if (device->memory[i] == NULL)
            return -ENOMEM;
        status = rte_eth_rx_queue_setup(device->id, i, rx, socket, NULL, device->memory[i]->rx);
        if (status == 0)
            status = rte_eth_tx_queue_setup(device->id, i, tx, socket, NULL);
    }
    return status == 0 ? rte_eth_dev_start(device->id) : status;
}

static int start_device(struct dpdk_device *device, int interrupts, size_t bytes, char *error, size_t size)
{
    struct rte_ether_addr mac = { { 0 } };
    int status = interrupts && (device->traits & DPDK_NO_WAKE) == 0 ? configure(device, 1) : -ENOTSUP;

    if (status != 0)
        status = configure(device, 0);
    if (status == 0)
        status = set_mtu(device);
    if (status != 0 && device->mtu != 0)
        return port_explain(error, size, "'%s' takes no MTU of %u: %s", device->name, device->mtu, dpdk_said());
    if (status == 0)
        status = set_up_queues(device, bytes);
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
    for (int i = 0; i < LINK_TRIES && dpdk_is_down(device); i++) /* what is sent before is lost */
        rte_delay_us_sleep(LINK_US);
    return 0;
}

/* Done by the thread that serves interrupts. One of this device's, that comes now, would find it gone: a virtio_user
 * that sleeps crashes so. And a memif takes its rings away in that thread when the other end goes. */
static void stop_device(void *arg)
{
    struct dpdk_device *device = arg;
    struct rte_mbuf *mbufs[PORT_BURST];
    unsigned n;

    for (uint16_t i = 0; i < device->queues && device->ports > 0; i++) /* what waits in a ring may be others' */
        while ((n = rte_eth_rx_burst(device->id, i, mbufs, PORT_BURST)) > 0)
            rte_pktmbuf_free_bulk(mbufs, n);
    (void)rte_eth_dev_stop(device->id);
    if (device->made) {
        (void)rte_eth_dev_close(device->id);
        (void)rte_dev_remove(device->info.device);
    }
    atomic_store(&device->stopped, 1);
}

static void close_device(struct dpdk_device *device)
{
    if (device->info.device == NULL || rte_eal_alarm_set(1, stop_device, device) != 0)
        device->stopped = 1; /* there is none, or it cannot be */
    while (!atomic_load(&device->stopped))
        rte_delay_us_sleep(STOP_US);
    for (unsigned i = 0; i < device->queues; i++)
        dpdk_memory_put(device->memory[i]);
    LIST_REMOVE(device, next);
    free(device);
}

/* What DPDK says in between is for messages of ours. */
static void enter(void)
{
    pthread_mutex_lock(&lock);
    dpdk_listen();
}

static void leave(void)
{
    (void)dpdk_said();
    pthread_mutex_unlock(&lock);
}

/* ---- a port ------------------------------------------------------------------------------------------------- */

/* The one that another port has configured, or a new one. @return NULL: it cannot be this one's too, or opened */
static struct dpdk_device *open_device(const struct port_conf *conf, int interrupts, size_t bytes, char *error,
                                       size_t size)
{
    const struct dpdk_device wanted = { .queues = RTE_MAX(conf->queues, 1u), .mtu = conf->mtu,
                                        .offload = conf->offload };
    const size_t name_bytes = RTE_MIN(strcspn(conf->name, ","), sizeof wanted.name - 1);
    struct dpdk_device *device;

    for (device = LIST_FIRST(&devices); device != NULL; device = LIST_NEXT(device, next))
        if (strlen(device->name) == name_bytes && memcmp(device->name, conf->name, name_bytes) == 0)
            break;
    if (device != NULL) {
        if (device->queues != wanted.queues || device->offload != wanted.offload ||
            (wanted.mtu > 0 && device->mtu != wanted.mtu))
            port_explain(error, size, "all ports of '%s' must have the same queues, mtu and offload", device->name);
        else if (device->port[conf->queue] != NULL)
            port_explain(error, size, "queue %u of '%s' has a port already", conf->queue, device->name);
        else
            return device;
        return NULL;
    }
    device = malloc(sizeof *device);
    if (device == NULL)
        return NULL;
    *device = wanted;
    memcpy(device->name, conf->name, name_bytes);
    LIST_INSERT_HEAD(&devices, device, next);
    if (find_device(device, conf->name, error, size) == 0 && start_device(device, interrupts, bytes, error, size) == 0)
        return device;
    close_device(device);
    return NULL;
}

static int open_epoll(struct dpdk_port *port)
{
    const int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (epoll >= 0 && rte_eth_dev_rx_intr_ctl_q(port->id, port->queue, epoll, RTE_INTR_EVENT_ADD, NULL) == 0) {
        (void)rte_eth_dev_rx_intr_enable(port->id, port->queue); /* who sleeps first shall be woken */
        return epoll;
    }
    if (epoll >= 0)
        close(epoll);
    return -1;
}

static void join_device(struct dpdk_port *port, struct dpdk_device *device, unsigned queue, int tso_forced)
{
    const uint64_t tx = device->conf.txmode.offloads;
    const uint64_t sums = RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
    const struct rte_eth_desc_lim *limits = &device->info.tx_desc_lim;
    struct tenon_netif_conf *conf = &port->conf;

    device->ports++;
    device->port[queue] = port;
    port->device = device;
    port->memory = device->memory[queue];
    port->id = device->id;
    port->queue = (uint16_t)queue;
    rte_mbuf_ext_refcnt_set(&port->lent, 1); /* ours, for ever: nobody frees what is lent */
    memcpy(conf->mac, device->mac, sizeof conf->mac);
    conf->mtu = (tenon_u16)device->mtu;
    conf->gather_max = 1;
    if ((tx & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0)
        conf->gather_max = DPDK_GATHER_MAX;
    if (limits->nb_mtu_seg_max > 0 && limits->nb_mtu_seg_max < conf->gather_max)
        conf->gather_max = limits->nb_mtu_seg_max;
    if ((tx & sums) == sums)
        conf->caps = TENON_CAP_TX_CSUM;
    if (conf->caps != 0 && (tx & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0 &&
        ((tx & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0 || tso_forced))
        conf->caps |= TENON_CAP_TSO4 | TENON_CAP_TSO6;
    if ((device->traits & DPDK_COPIES) == 0 && limits->nb_seg_max > 2 && limits->nb_seg_max < DPDK_GATHER_MAX)
        conf->tso_bytes_max = RTE_MIN(65535u, (limits->nb_seg_max - 2u) * device->room);
}

static int open_port(struct dpdk_port *port, const struct port_conf *conf, char *error, size_t size)
{
    const int never = port_choose(&dpdk_port_type, conf, SETTING_WAKE, error, size);
    const int mb = port_number(&dpdk_port_type, conf, SETTING_MEMORY, (int)(conf->buffer_bytes_max >> 20), error, size);
    const size_t bytes = (size_t)(mb > 0 ? mb : MEMORY_MB) << 20, all = bytes * RTE_MAX(conf->queues, 1u);
    struct dpdk_device *device;
    int tso_forced;

    port->trusts = port_choose(&dpdk_port_type, conf, SETTING_SUMS, error, size);
    tso_forced = port_choose(&dpdk_port_type, conf, SETTING_TSO, error, size);
    if (port->trusts < 0 || tso_forced < 0 || never < 0 || mb < 0)
        return -1;
    if (all > (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2)
        return port_explain(error, size, "memory=%zu for each of %u queues is more than half of this machine's",
                            bytes >> 20, RTE_MAX(conf->queues, 1u));
    if (dpdk_start_for(conf->name, conf->settings[SETTING_EAL], all, error, size) != 0)
        return -1;
    port->registered = rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;
    device = open_device(conf, !never, bytes, error, size);
    if (device == NULL)
        return -1;
    join_device(port, device, conf->queue, tso_forced);
    if (!never && device->conf.intr_conf.rxq != 0)
        port->epoll = open_epoll(port);
    return 0;
}

void dpdk_close(struct port *base)
{
    struct dpdk_port *port = (struct dpdk_port *)base;
    struct dpdk_device *device = port->device;

    enter();
    if (port->epoll >= 0) {
        (void)rte_eth_dev_rx_intr_disable(port->id, port->queue);
        (void)rte_eth_dev_rx_intr_ctl_q(port->id, port->queue, port->epoll, RTE_INTR_EVENT_DEL, NULL);
        close(port->epoll);
    }
    if (device != NULL) {
        device->port[port->queue] = NULL;
        if (device->ports == 1)
            close_device(device);
        else
            device->ports--;
    }
    if (port->registered)
        rte_thread_unregister();
    leave();
    free(port);
}

struct port *dpdk_open(const struct port_conf *conf, char *error, size_t error_size)
{
    struct dpdk_port *port = calloc(1, sizeof *port);
    int status;

    if (port == NULL)
        return NULL;
    port->port.type = &dpdk_port_type;
    port->epoll = -1;
    enter();
    status = open_port(port, conf, error, error_size);
    leave();
    if (status == 0)
        return &port->port;
    dpdk_close(&port->port);
    return NULL;
}

int dpdk_start(const char *words, size_t bytes, char *error, size_t error_size)
{
    int status;

    enter();
    status = dpdk_start_for("", words, bytes, error, error_size);
    leave();
    return status;
}
