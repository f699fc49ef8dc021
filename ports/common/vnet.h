/* SPDX-License-Identifier: MIT */
/** @file
 *  The virtio-net header (virtio 1.2, 5.1.6): of a frame it says exactly what struct tenon_frame does. TAP,
 *  AF_PACKET and vhost have it before each frame. */
#ifndef TENON_PORTS_COMMON_VNET_H
#define TENON_PORTS_COMMON_VNET_H

#include <tenon/host.h>

enum { VNET_BYTES = 12 };

/** Of a frame that is sent, in little-endian order. */
void port_vnet_write(tenon_u8 header[VNET_BYTES], const struct tenon_frame *frame);

/** Checksum and segmentation of a frame that was received; the rest of it stays as it is.
 *  @return 0; -1: the header makes no sense */
int port_vnet_read(const tenon_u8 header[VNET_BYTES], struct tenon_frame *frame);

/** From little-endian order into that of this machine, or back: packet sockets know no other. */
void port_vnet_reorder(tenon_u8 header[VNET_BYTES]);

#endif
