/* SPDX-License-Identifier: MIT */
/* What is the same in all ports: they can be captured. */
#include "pcap.h"

static void write_frames(const struct port *port, int outgoing, const struct tenon_frame *frames, unsigned n)
{
    const uint64_t ns = port_wall_ns();

    for (unsigned i = 0; i < n; i++)
        pcap_frame(port->capture_writer, port->capture_interface, outgoing, &frames[i], ns, NULL);
}

void port_attach(struct port *port, struct pcap_writer *writer)
{
    const int number = writer != NULL ? pcap_interface(writer, port->name, 0, PCAP_ETHERNET) : -1;

    port->capture = number >= 0 ? write_frames : NULL;
    port->capture_writer = writer;
    port->capture_interface = number >= 0 ? (unsigned)number : 0;
}
