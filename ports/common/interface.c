/* SPDX-License-Identifier: MIT */
#include "interface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if_arp.h>

#include "port.h"

/* @return 0; -1: errno says why */
static int ask(const char *name, unsigned long what, struct ifreq *answer)
{
    int result, code, control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memset(answer, 0, sizeof *answer);
    memcpy(answer->ifr_name, name, IFNAMSIZ);
    if (control < 0)
        return -1;
    result = ioctl(control, what, answer);
    code = errno;
    close(control);
    errno = code;
    return result;
}

static int set_mtu(struct interface *out, int has, unsigned wanted, char *error, size_t size)
{
    const unsigned most = has > 65535 ? 65535 : (unsigned)has;

    out->mtu = wanted == 0 ? most : wanted;
    if (out->mtu > most)
        return port_explain(error, size, "'%s' carries packets of %u bytes and not of %u: 'ip link set %s mtu %u'",
                            out->name, most, wanted, out->name, wanted);
    if (out->mtu < 576)
        return port_explain(error, size, "an MTU of %u bytes is not possible: it is 576 to 65535", out->mtu);
    return 0;
}

int port_interface_read(struct interface *out, const char *name, unsigned mtu, char *error, size_t error_size)
{
    struct ifreq index, flags, has, address;
    int is_loopback;

    memset(out, 0, sizeof *out);
    if (name == NULL || name[0] == 0 || strlen(name) >= IFNAMSIZ || strpbrk(name, "/: \t\n") != NULL)
        return port_explain(error, error_size,
                            "'%s' is no name of an interface: those have 1 to %d characters, no slash, colon or space",
                            name != NULL ? name : "", IFNAMSIZ - 1);
    memcpy(out->name, name, strlen(name) + 1);
    if (ask(out->name, SIOCGIFINDEX, &index) != 0 || ask(out->name, SIOCGIFFLAGS, &flags) != 0 ||
        ask(out->name, SIOCGIFMTU, &has) != 0 || ask(out->name, SIOCGIFHWADDR, &address) != 0)
        return port_explain(error, error_size, "cannot use interface '%s': %s ('ip link' lists those that there are)",
                            name, strerror(errno));
    (void)if_indextoname((unsigned)index.ifr_ifindex, out->name); /* it may have been called by another of its names */
    is_loopback = (flags.ifr_flags & IFF_LOOPBACK) != 0;
    if (is_loopback || address.ifr_hwaddr.sa_family != ARPHRD_ETHER)
        return port_explain(error, error_size,
                            "'%s' is %s: take an Ethernet interface, such as eth0 or an end of a veth "
                            "pair",
                            name, is_loopback ? "the loopback interface" : "not Ethernet");
    out->index = index.ifr_ifindex;
    memcpy(out->mac, address.ifr_hwaddr.sa_data, 6);
    return set_mtu(out, has.ifr_mtu, mtu, error, error_size);
}

/* It is asked for by a socket, for which a program without a descriptor has to wait. */
int port_interface_exists(unsigned index)
{
    char name[IF_NAMESIZE];

    return index != 0 && (if_indextoname(index, name) != NULL || errno != ENXIO);
}

unsigned port_interface_queues(const char *name, char *driver, size_t driver_size)
{
    struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
    struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
    struct ifreq request = { .ifr_data = (void *)&info };
    const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    unsigned queues = 0;

    snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
    snprintf(driver, driver_size, "%s", ioctl(control, SIOCETHTOOL, &request) == 0 ? info.driver : "");
    request.ifr_data = (void *)&channels;
    if (ioctl(control, SIOCETHTOOL, &request) == 0)
        queues = channels.rx_count + channels.combined_count;
    close(control);
    return queues;
}

int port_interface_hear_groups(const struct interface *interface, int fd)
{
    const struct packet_mreq groups = { .mr_ifindex = interface->index, .mr_type = PACKET_MR_ALLMULTI };

    return setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &groups, sizeof groups);
}

/* @return the kernel's address in `at` if it is one of this interface that matters; NULL: it is not */
static const void *address_of(const struct ifaddrs *at, const struct interface *interface, int own_mac)
{
    const struct sockaddr_in6 *ip6 = (const void *)at->ifa_addr;
    const struct sockaddr_in *ip4 = (const void *)at->ifa_addr;
    const size_t n = strlen(interface->name);

    if (at->ifa_addr == NULL || strncmp(at->ifa_name, interface->name, n) != 0 ||
        (at->ifa_name[n] != 0 && at->ifa_name[n] != ':')) /* a label of the address: eth0:1 */
        return NULL;
    if (at->ifa_addr->sa_family == AF_INET)
        return &ip4->sin_addr;
    if (at->ifa_addr->sa_family != AF_INET6 || (own_mac && IN6_IS_ADDR_LINKLOCAL(&ip6->sin6_addr)))
        return NULL;
    return &ip6->sin6_addr;
}

static int kernels_address(const struct interface *interface, int own_mac, char *text, socklen_t size)
{
    struct ifaddrs *all;
    int found = 0;

    if (getifaddrs(&all) != 0)
        return 0;
    for (struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next) {
        const void *ip = address_of(at, interface, own_mac);

        found = ip != NULL && inet_ntop(at->ifa_addr->sa_family, ip, text, size) != NULL;
    }
    freeifaddrs(all);
    return found;
}

int port_interface_advice(const struct interface *interface, int own_mac, char *text, size_t text_size)
{
    const char *name = interface->name;
    char address[INET6_ADDRSTRLEN];
    struct ifreq flags;

    if (ask(name, SIOCGIFFLAGS, &flags) != 0)
        return 0;
    if ((flags.ifr_flags & IFF_UP) == 0)
        port_explain(text, text_size, "%s is down, so nothing will arrive: 'ip link set %s up'", name, name);
    else if ((flags.ifr_flags & IFF_RUNNING) == 0)
        port_explain(text, text_size, "%s has no link: there is no cable, or its other end is down", name);
    else if (kernels_address(interface, own_mac, address, sizeof address))
        port_explain(text, text_size,
                     "the kernel has the address %s at %s and answers for it: Tenon must have another one, and the two "
                     "do not hear each other ('ip address flush dev %s' takes it away)",
                     address, name, name);
    else
        return 0;
    return 1;
}
