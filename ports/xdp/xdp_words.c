/* SPDX-License-Identifier: MIT */
/* What people are told. */
#include "xdp_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Why it cannot be opened, as far as errno and the step say, and what to do. */
const char *xdp_reason(enum xdp_step step, enum xdp_mode mode, int why)
{
    if (why == EPERM || why == EACCES)
        return "not permitted: run as root, or once as root 'setcap cap_net_admin,cap_net_raw,cap_bpf=ep PROGRAM' "
               "(root of a user namespace is not enough)";
    if (why == EMFILE)
        return "this process has as many files open as it may: raise that with 'ulimit -n'";
    if (step == XDP_STEP_ATTACH && (why == EBUSY || why == EEXIST))
        return "it has an XDP program already: end the program that has attached it (one process serves all queues), "
               "or remove what was left there with 'ip link set dev INTERFACE xdp off'";
    if (why == EXDEV)
        return "another port of this process there, or with the same memory, has another mode";
    if (step == XDP_STEP_ATTACH && mode != XDP_MODE_GENERIC)
        return "its driver takes no XDP program: mode=generic does without the driver";
    if (step == XDP_STEP_SOCKET && why == EAFNOSUPPORT)
        return "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS)";
    if (step == XDP_STEP_MEMORY && why == ENOBUFS)
        return "more memory that is not swapped out than is allowed (RLIMIT_MEMLOCK): run as root, raise it with "
               "'ulimit -l', or take less with memory=MB";
    if (step == XDP_STEP_BIND && why == EBUSY)
        return "another AF_XDP socket has this queue: end that program, or take another queue";
    if (step == XDP_STEP_BIND && mode == XDP_MODE_ZEROCOPY)
        return "its driver has no zero-copy, or not for this MTU: leave mode=zerocopy away, and the kernel copies";
    if (step == XDP_STEP_BIND)
        return "it has no such queue, or no frames in several pieces (Linux 6.6), which an MTU over 3818 needs";
    return "AF_XDP cannot be used (Linux 5.18 or later is needed)";
}

static const char *const mode_texts[XDP_MODES] = {
    "zero-copy: the driver puts frames into our memory",
    "copy: the kernel copies frames from the driver's memory into ours",
    "generic: without help of the driver; slow",
};

int xdp_advice(const struct port *base, char *text, size_t size)
{
    const struct xdp_port *port = (const void *)base;
    const char *const name = port->interface.name;
    const int is_veth = strcmp(port->driver, "veth") == 0;
    char state[250] = "", queues[200] = "";

    port_interface_advice(&port->interface, 1, state, sizeof state);
    if (port->queues_wanted < port->queues)
        snprintf(queues, sizeof queues,
                 "\nIt has %u queues and %u served: what comes to the others goes to the kernel. "
                 "Open a port for each, or: ethtool -L %s %s %u",
                 port->queues, port->queues_wanted, name, is_veth ? "rx" : "combined", port->queues_wanted);
    port_explain(text, size, "%s, queue %u: %s%s%s%s%s%s", name, port->queue, mode_texts[port->info.mode],
                 state[0] != 0 ? "\n" : "", state, queues,
                 port->info.mode == XDP_MODE_GENERIC
                     ? "\nNobody may join frames before we get them: ethtool -K INTERFACE gro off lro off" : "",
                 is_veth && port->hints ? "\nIt is a veth: what the kernel at its peer sends has no checksums, and is "
                                          "dropped. There: ethtool -K PEER tx off; or here: sums=trust"
                                        : "");
    return 1;
}
