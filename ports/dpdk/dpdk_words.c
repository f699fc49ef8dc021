/* SPDX-License-Identifier: MIT */
/* What DPDK says, and what to do about it. */
#include "../common/ear.h"
#include "dpdk_internal.h"

/* One that ends with = is followed by the number of huge pages that are wanted. */
static const struct port_hint hints[] = {
    { "Cannot get hugepage information",
      "; 'eal=--no-huge ...' takes ordinary memory, as we do by ourselves. Huge pages need --in-memory or a mount "
      "('mount -t hugetlbfs none /dev/hugepages'), and, as root: sysctl vm.nr_hugepages=" },
    { "Is another primary process", "; 'eal=--file-prefix=NAME ...' with another name than that process's" },
    { "Unable to create TAP", "; that needs root, or CAP_NET_ADMIN ('setcap cap_net_admin=ep PROGRAM'), and a name "
      "that no other kind of interface has" },
    { "AF_PACKET socket", "; that needs root, or CAP_NET_RAW ('setcap cap_net_raw=ep PROGRAM')" },
    { "have permission", "; that needs root, or CAP_NET_RAW ('setcap cap_net_raw=ep PROGRAM')" },
    { "memif_connect_client", "; nobody listens there: start the end with role=server first" },
    { "Address already in use", "; one that nobody listens at any more, as its server was killed, has to be removed" },
    { "connect error", "; nobody listens there: start the end that makes the socket first (net_vhost, QEMU)" },
    { "failed to parse", "; devices are NICs, 0000:01:00.0 ('dpdk-devbind.py --status' lists them), or made with "
      "arguments in braces: dpdk:{net_tap0,iface=dt0}. For an interface of the kernel's take packet:NAME or xdp:NAME" },
    { "Cannot find device", "; 'dpdk-devbind.py --status' lists those that there are" },
    { "Driver cannot attach", "; a driver of DPDK's has to have it: 'dpdk-devbind.py -b vfio-pci 0000:01:00.0'" },
    { NULL, "" },
};

static struct ear ear;

void dpdk_listen(void)
{
    (void)rte_openlog_stream(port_ear_open(&ear));
}

const char *dpdk_said(int status)
{
    static char answer[600];
    const char *said = port_ear_line(&ear), *hint;

    (void)rte_openlog_stream(stderr);
    said = said[0] != 0 ? said : status < -1 ? strerror(-status) : "DPDK does not say why";
    hint = port_hint(hints, said);
    snprintf(answer, sizeof answer, "%s%s%.0zu", said, hint, strstr(hint, "hugepages=") != NULL ? dpdk_pages : 0);
    return answer;
}
