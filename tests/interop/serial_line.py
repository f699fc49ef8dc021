# SPDX-License-Identifier: MIT
"""A serial line to the kernel: a pseudo terminal at one end, a TUN interface at the other, IP packets in SLIP (RFC
1055) between them.

    serial_line.py TUN OWN PEER LOSE    prints its name; one of LOSE packets in each direction is lost, 0: none"""
import errno
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys

END, ESC, ESC_END, ESC_ESC = 0xC0, 0xDB, 0xDC, 0xDD
MTU = 1006


def encode(packet):
    packet = packet.replace(bytes([ESC]), bytes([ESC, ESC_ESC])).replace(bytes([END]), bytes([ESC, ESC_END]))
    return bytes([END]) + packet + bytes([END])


def decode(packet):
    return packet.replace(bytes([ESC, ESC_END]), bytes([END])).replace(bytes([ESC, ESC_ESC]), bytes([ESC]))


def open_tun(name, own, peer):
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))    # TUNSETIFF: IFF_TUN | IFF_NO_PI
    for words in (f"link set {name} up mtu {MTU}", f"address add {peer} peer {own} dev {name}"):
        subprocess.run(["ip", *words.split()], check=True)
    return tun


def put(tun, packet):
    """The kernel refuses what is no packet: noise, as of a terminal that echoes until its program has set it up."""
    try:
        os.write(tun, packet)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def main():
    name, own, peer, lose = *sys.argv[1:4], int(sys.argv[4])
    tun = open_tun(name, own, peer)
    line, terminal = pty.openpty()
    os.set_blocking(line, False)
    print(os.ttyname(terminal), flush=True)
    counts, come, goes = {tun: 0, line: 0}, b"", b""

    def survives(end):
        counts[end] += 1
        return not lose or counts[end] % lose

    while True:    # who waits to write does not read: the program must find that here somebody always does
        readable, writable, _ = select.select([line] if goes else [line, tun], [line] if goes else [], [])
        if writable:
            goes = goes[os.write(line, goes):]
        if tun in readable:
            packet = os.read(tun, 2 * MTU)
            if packet[0] >> 4 == 4 and survives(tun):
                goes += encode(packet)
        if line in readable:
            *packets, come = (come + os.read(line, 4096)).split(bytes([END]))
            for packet in filter(None, packets):
                if survives(line):
                    put(tun, decode(packet))


main()
