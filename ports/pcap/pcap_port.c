/* SPDX-License-Identifier: MIT */
/* What is the same in all ports: they can be captured. */
#include "pcap.h"

void port_attach(struct port *port, struct pcap_writer *writer)
{
    const int number = writer != NULL ? pcap_interface(writer, port->name, 0, PCAP_ETHERNET) : -1;

    port->capture = number >= 0 ? writer : NULL;
    port->capture_interface = number >= 0 ? (unsigned)number : 0;
}

void pcap_port_write(const struct port *port, int outgoing, const struct tenon_frame *frames, unsigned n)
{
    const uint64_t ns = port_wall_ns();

    for (unsigned i = 0; i < n; i++)
        pcap_frame(port->capture, port->capture_interface, outgoing, &frames[i], ns, NULL);
}
