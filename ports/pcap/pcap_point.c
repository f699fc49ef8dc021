/* SPDX-License-Identifier: MIT */
/* What is the same in all ports that can be captured. */
#include "../common/port.h"
#include "pcap.h"

void pcap_point_set(struct pcap_point *point, struct pcap_writer *writer, const char *name)
{
    const int number = writer != NULL ? pcap_interface(writer, name, 0, PCAP_ETHERNET) : -1;

    point->writer = number >= 0 ? writer : NULL;
    point->interface = number >= 0 ? (unsigned)number : 0;
}

void pcap_point_write(const struct pcap_point *point, int outgoing, const struct tenon_frame *frames, unsigned n)
{
    const uint64_t ns = port_wall_ns();

    for (unsigned i = 0; i < n; i++)
        pcap_frame(point->writer, point->interface, outgoing, &frames[i], ns, NULL);
}
