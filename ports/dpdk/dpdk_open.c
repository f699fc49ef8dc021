/* SPDX-License-Identifier: MIT */
/* Devices: found or made, configured by the first port, closed by the last one. */
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <tenon/flow.h>

#include "../common/hugepages.h"
#include "../common/interface.h"
#include "dpdk_internal.h"

#define HASHES (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP)
#define SUMS (RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

enum { DESCRIPTORS = 1024, ROOM_MIN = 2048, LINK_TRIES = 20, LINK_US = 5000, STOP_US = 200 };

enum setting { SETTING_SUMS, SETTING_TSO, SETTING_WAKE, SETTING_EAL };

const struct port_setting dpdk_settings[] = {
    { "sums", PORT_CHOICE, "check|trust", "trust: believe checksums of which the device says nothing; in one machine" },
    { "tso", PORT_CHOICE, "auto|force", "force: large frames to a device that does not say it takes them (net_vhost)" },
    { "wake", PORT_CHOICE, "auto|never", "never: no interrupts, always look" },
    { "eal", PORT_WORDS, "WORDS", "arguments for DPDK's EAL instead of ours, with blanks between; for the first port" },
    { NULL, 0, NULL, NULL },
};

static const struct {
    const char *driver;
    unsigned traits;
} drivers[] = {
    { "net_ring", DPDK_ANY_MTU | DPDK_OWN_MAC },
    { "net_memif", DPDK_ONE_PIECE | DPDK_STAYS }, /* the socket that a server listens on */
    { "net_vhost", DPDK_COPIES | DPDK_ANY_MTU | DPDK_NO_WAKE | DPDK_HOST },
    { "net_virtio_user", DPDK_GUEST },
    { "net_tap", DPDK_COPIES | DPDK_OWN_MAC | DPDK_BAD_SUMS },
    { "net_af_packet", DPDK_COPIES | DPDK_OWN_MAC },
    { "net_pcap", DPDK_COPIES | DPDK_OWN_MAC },
    { "net_null", DPDK_COPIES | DPDK_ANY_MTU | DPDK_OWN_MAC },
};

static struct dpdk_device devices[RTE_MAX_ETHPORTS]; /* the process's, by DPDK's number; ports of 0: not ours */

/* ---- a device ---------------------------------------------------------------------------------------------- */

int dpdk_is_down(const struct dpdk_device *device)
{
    struct rte_eth_link link = { 0 };

    return rte_eth_link_get_nowait(device->id, &link) == 0 && link.link_status == RTE_ETH_LINK_DOWN;
}

static int went(uint16_t id, enum rte_eth_event_type event, void *device, void *more)
{
    (void)id, (void)event, (void)more;
    atomic_store(&((struct dpdk_device *)device)->gone, 1);
    return 0;
}

/* Asks the driver, if it is one that does not tell, and the kernel. */
int dpdk_is_gone(struct dpdk_device *device)
{
    return atomic_load(&device->gone) || rte_eth_dev_is_removed(device->id) == 1 ||
           (device->interface && !port_interface_exists(device->info.if_index));
}

/* By its name, or made by its name and arguments. @return 0; -1: there is none, or it cannot be this port's */
static int find_device(struct dpdk_port *port, const struct port_conf *conf, char *error, size_t size)
{
    const char *name = port->port.name;
    struct dpdk_device *device;
    uint16_t id;
    const int made = rte_eth_dev_get_port_by_name(name, &id) != 0;

    if (made && (rte_dev_probe(conf->name) != 0 || rte_eth_dev_get_port_by_name(name, &id) != 0))
        return port_explain(error, size, "DPDK has no device '%s' and cannot make one: %s", name, dpdk_said(0));
    device = &devices[id];
    if (device->ports == 0)
        *device = (struct dpdk_device){ .id = id, .queues = conf->queues, .mtu = (uint16_t)conf->mtu,
                                        .offload = conf->offload, .bytes = conf->buffer_bytes_max, .made = made };
    else if (device->queues != conf->queues || device->offload != conf->offload ||
             (conf->mtu > 0 && device->mtu != conf->mtu))
        return port_explain(error, size, "all ports of '%s' must have the same queues, mtu and offload", name);
    if ((device->ports & RTE_BIT64(conf->queue)) != 0)
        return port_explain(error, size, "queue %u of '%s' has a port already", conf->queue, name);
    port->device = device;
    return 0;
}

static int configure(struct dpdk_device *device, int interrupts)
{
    const struct rte_eth_dev_info *info = &device->info;
    struct rte_eth_conf *conf = &device->conf;
    uint64_t rx = RTE_ETH_RX_OFFLOAD_SCATTER, tx = 0;

    if (device->offload)
        rx |= RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_TCP_LRO;
    if (device->offload && (device->traits & DPDK_BAD_SUMS) == 0)
        tx |= SUMS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO;
    if ((device->traits & DPDK_ONE_PIECE) == 0)
        tx |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    *conf = (struct rte_eth_conf){ .intr_conf.rxq = interrupts ? 1 : 0,
                                   .rxmode.mtu = device->traits & DPDK_ANY_MTU ? 0 : device->mtu };
    if (device->queues > 1 && info->flow_type_rss_offloads != 0) {
        rx |= device->offload ? RTE_ETH_RX_OFFLOAD_RSS_HASH : 0;
        conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf->rx_adv_conf.rss_conf.rss_hf = HASHES & info->flow_type_rss_offloads;
    }
    if (info->hash_key_size == TENON_FLOW_KEY_BYTES) { /* so that an instance can choose its ports (tenon/flow.h) */
        conf->rx_adv_conf.rss_conf.rss_key = (uint8_t *)(uintptr_t)tenon_flow_key_symmetric; /* which is only read */
        conf->rx_adv_conf.rss_conf.rss_key_len = TENON_FLOW_KEY_BYTES;
    }
    conf->rxmode.offloads = rx & info->rx_offload_capa;
    conf->txmode.offloads = tx & info->tx_offload_capa;
    return rte_eth_dev_configure(device->id, (uint16_t)device->queues, (uint16_t)device->queues, conf);
}

/* Mbufs have room for a packet as large as the MTU, unless packets may lie in several. Before the device is
 * configured: a net_virtio_user that was, and is never started, leaves a descriptor that its end has closed
 * with DPDK's thread for interrupts, which then ends the process. */
static int make_pools(struct dpdk_device *device)
{
    const int pieces = (device->info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) != 0 &&
                       (device->info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;

    device->room = ROOM_MIN;
    if ((!pieces && (device->traits & DPDK_ANY_MTU) == 0) || (device->traits & DPDK_ONE_PIECE) != 0)
        device->room = RTE_MAX(device->room, RTE_MIN(device->mtu + 64u, 65535u - RTE_PKTMBUF_HEADROOM));
    dpdk_pool_put(NULL);
    for (unsigned i = 0; i < device->queues; i++) {
        device->rx[i] = dpdk_pool_get(device->bytes - device->bytes / 4, device->room);
        device->tx[i] = dpdk_pool_get(device->bytes / 4, device->room);
        if (device->rx[i] == NULL || device->tx[i] == NULL)
            return -1;
    }
    return 0;
}

/* A device that has all mbufs of a pool has nothing to receive into, or leaves none to send with. */
static uint16_t descriptors(const struct rte_mempool *pool)
{
    return (uint16_t)RTE_MIN(rte_align32prevpow2(pool->size / 2), (uint32_t)DESCRIPTORS);
}

static int start_queues(struct dpdk_device *device)
{
    const unsigned socket = (unsigned)rte_eth_dev_socket_id(device->id);
    uint16_t rx = descriptors(device->rx[0]), tx = descriptors(device->tx[0]);
    int status = rte_eth_dev_adjust_nb_rx_tx_desc(device->id, &rx, &tx);

    device->rx_descriptors = rx;
    for (uint16_t i = 0; i < device->queues && status == 0; i++) {
        status = rte_eth_rx_queue_setup(device->id, i, rx, socket, NULL, device->rx[i]);
        status = status == 0 ? rte_eth_tx_queue_setup(device->id, i, tx, socket, NULL) : status;
    }
    return status == 0 ? rte_eth_dev_start(device->id) : status;
}

static int start_device(const struct dpdk_port *port, int wakes, char *error, size_t size)
{
    struct dpdk_device *device = port->device;
    struct rte_eth_dev_info *info = &device->info;
    const char *name = port->port.name;
    unsigned most;
    int status;

    if (rte_eth_dev_info_get(device->id, info) != 0)
        return port_explain(error, size, "'%s' does not say what it can do", name);
    most = RTE_MIN((unsigned)info->max_rx_queues, (unsigned)info->max_tx_queues);
    if (device->queues > most)
        return port_explain(error, size, "'%s' has %u queue%s, and not %u (an argument of some: queues=%u)",
                            name, most, most == 1 ? "" : "s", device->queues, device->queues);
    for (unsigned i = 0; i < RTE_DIM(drivers); i++)
        if (strcmp(drivers[i].driver, info->driver_name) == 0)
            device->traits = drivers[i].traits;
    dpdk_traits |= device->traits;
    if ((dpdk_traits & DPDK_ENDS) == DPDK_ENDS)
        dpdk_memory_hold();
    if (make_pools(device) != 0)
        return port_explain(error, size,
                            "no memory for %u queue%s of %zu MB: smaller with memory=MB; more huge pages (as root: "
                            "sysctl vm.nr_hugepages=%zu); of both ends of a vhost in one process, the larger one first",
                            device->queues, device->queues == 1 ? "" : "s", device->bytes >> 20,
                            RTE_MAX(dpdk_pages, port_hugepages_wanted(2 * (device->bytes >> 20) * device->queues)));
    status = configure(device, wakes && (device->traits & DPDK_NO_WAKE) == 0) == 0 ? 0 : configure(device, 0);
    if (status != 0 && device->mtu != 0)
        return port_explain(error, size, "'%s' takes no MTU of %u: %s", name, device->mtu, dpdk_said(status));
    if (status == 0 && device->mtu == 0)
        status = rte_eth_dev_get_mtu(device->id, &device->mtu);
    status = status == 0 ? start_queues(device) : status;
    if (status != 0)
        return port_explain(error, size, "'%s' cannot be started: %s", name, dpdk_said(status));
    device->interface = port_interface_exists(info->if_index);
    (void)rte_eth_dev_callback_register(device->id, RTE_ETH_EVENT_INTR_RMV, went, device);
    if (rte_eth_allmulticast_enable(device->id) != 0 || (device->traits & DPDK_OWN_MAC) != 0)
        (void)rte_eth_promiscuous_enable(device->id);
    for (int i = 0; i < LINK_TRIES && dpdk_is_down(device); i++) /* what is sent before is lost */
        (void)usleep(LINK_US);
    return 0;
}

/* Done by the thread that serves interrupts. One of this device's, that comes now, would find it gone: a virtio_user
 * that sleeps crashes so. And a memif takes its rings away in that thread when the other end goes. */
static void stop_device(void *arg)
{
    struct dpdk_device *device = arg;
    struct rte_mbuf *mbufs[PORT_BURST];

    for (uint16_t i = 0; i < device->queues && device->ports != 0; i++) /* what waits in a ring may be others' */
        for (int n = 1, left = DESCRIPTORS; n > 0 && left > 0; left -= n) { /* a net_null always has more */
            n = rte_eth_rx_burst(device->id, i, mbufs, PORT_BURST);
            rte_pktmbuf_free_bulk(mbufs, (unsigned)n);
        }
    (void)rte_eth_dev_stop(device->id);
    if (device->made) {
        (void)rte_eth_dev_close(device->id);
        (void)rte_dev_remove(device->info.device);
    }
    atomic_store(&device->stopped, 1);
}

/* ---- a port ------------------------------------------------------------------------------------------------- */

static int open_epoll(uint16_t device, uint16_t queue)
{
    const int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (epoll >= 0 && rte_eth_dev_rx_intr_ctl_q(device, queue, epoll, RTE_INTR_EVENT_ADD, NULL) == 0) {
        (void)rte_eth_dev_rx_intr_enable(device, queue); /* who sleeps first shall be woken */
        return epoll;
    }
    close(epoll); /* if there is one */
    return -1;
}

/* So many mbufs may be kept that there are some for each descriptor, and for a burst that is here already. */
static unsigned kept_max(const struct dpdk_port *port)
{
    const unsigned all = port->rx->size, others = port->device->rx_descriptors + 2 * PORT_BURST;

    return RTE_MAX(all / 4, all > others ? all - others : 0);
}

/* What the core is told. */
static void say_conf(struct dpdk_port *port, int tso_forced)
{
    const struct dpdk_device *device = port->device;
    const struct rte_eth_desc_lim *limits = &device->info.tx_desc_lim;
    const uint64_t tx = device->conf.txmode.offloads;
    const int pieces = (tx & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    struct tenon_netif_conf *conf = &port->port.netif;
    struct rte_ether_addr mac = { { 0 } };

    (void)rte_eth_macaddr_get(device->id, &mac);
    memcpy(conf->mac, mac.addr_bytes, sizeof conf->mac);
    if ((device->traits & DPDK_OWN_MAC) != 0)
        port_derive_mac(conf->mac, port->port.name, mac.addr_bytes);
    conf->mtu = device->mtu;
    conf->gather_max = pieces ? DPDK_GATHER_MAX : 1;
    if (limits->nb_mtu_seg_max > 0 && limits->nb_mtu_seg_max < conf->gather_max)
        conf->gather_max = limits->nb_mtu_seg_max;
    if ((tx & SUMS) == SUMS)
        conf->caps = TENON_CAP_TX_CSUM;
    if (conf->caps != 0 && pieces && ((tx & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0 || tso_forced))
        conf->caps |= TENON_CAP_TSO4 | TENON_CAP_TSO6;
    if ((device->traits & DPDK_COPIES) == 0 && limits->nb_seg_max > 2 && limits->nb_seg_max < DPDK_GATHER_MAX)
        conf->tso_bytes_max = RTE_MIN(65535u, (limits->nb_seg_max - 2u) * device->room);
}

/* Of this thread, which DPDK has known since the first. Its pools keep for a thread what that has given back, so it has
 * to be known until the last one is closed. */
static _Thread_local int ports_here;

/* What DPDK says until it is open, or closed again, is for messages of ours. */
int dpdk_open(struct port *base, const struct port_conf *conf, char *error, size_t size)
{
    const int wakes = conf->values[SETTING_WAKE] == 0;
    struct dpdk_port *port = (struct dpdk_port *)base;
    struct dpdk_device *device;

    if (dpdk_start(conf->name, conf->settings[SETTING_EAL], conf->buffer_bytes_max * conf->queues, error, size) != 0)
        return -1;
    dpdk_listen();
    base->name[strcspn(base->name, ",")] = 0;
    port->registered = ports_here > 0 || (rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0);
    ports_here += port->registered;
    if (find_device(port, conf, error, size) != 0 ||
        (port->device->ports == 0 && start_device(port, wakes, error, size) != 0))
        return -1;
    device = port->device;
    device->ports |= RTE_BIT64(conf->queue);
    port->rx = device->rx[conf->queue];
    port->tx = device->tx[conf->queue];
    port->kept_max = kept_max(port);
    port->trusts = conf->values[SETTING_SUMS] == 1;
    port->info = (struct dpdk_port_info){ device->id, (uint16_t)conf->queue, device->info.driver_name,
                                          device->conf.txmode.offloads, device->conf.rxmode.offloads, 0, 0 };
    rte_mbuf_ext_refcnt_set(&port->lent, 1); /* ours, for ever: nobody frees what is lent */
    say_conf(port, conf->values[SETTING_TSO] == 1);
    if (wakes && device->conf.intr_conf.rxq != 0)
        base->fd = open_epoll(port->info.device, port->info.queue);
    (void)dpdk_said(0);
    return 0;
}

static void close_device(struct dpdk_device *device)
{
    if (device->info.device == NULL || rte_eal_alarm_set(1, stop_device, device) != 0)
        device->stopped = 1; /* there is none, or it cannot be */
    while (!atomic_load(&device->stopped))
        (void)usleep(STOP_US);
    (void)rte_eth_dev_callback_unregister(device->id, RTE_ETH_EVENT_INTR_RMV, went, device);
    for (unsigned i = 0; i < device->queues; i++) {
        dpdk_pool_put(device->rx[i]);
        dpdk_pool_put(device->tx[i]);
    }
}

void dpdk_close(struct port *base)
{
    struct dpdk_port *port = (struct dpdk_port *)base;
    struct dpdk_device *device = port->device;

    dpdk_listen();
    if (base->fd >= 0) {
        (void)rte_eth_dev_rx_intr_disable(port->info.device, port->info.queue);
        (void)rte_eth_dev_rx_intr_ctl_q(port->info.device, port->info.queue, base->fd, RTE_INTR_EVENT_DEL, NULL);
        close(base->fd);
    }
    if (device != NULL && (device->ports & ~RTE_BIT64(port->info.queue)) == 0)
        close_device(device);
    if (device != NULL)
        device->ports &= ~RTE_BIT64(port->info.queue);
    if (port->registered && --ports_here == 0)
        rte_thread_unregister();
    (void)dpdk_said(0);
}
