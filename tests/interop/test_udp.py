# SPDX-License-Identifier: MIT
"""UDP echo: small and large datagrams, fragmented ones, and super-frames."""
import json

import pytest


@pytest.mark.parametrize("options", [[], ["--no-offload"]], ids=["offload", "plain"])
@pytest.mark.parametrize("version", ["ip4", "ip6"])
def test_udp_echo(link, peer, version, options):
    link.tenon("echo", *options)
    address, largest = (link.t4, 65507) if version == "ip4" else (link.t6, 65527)
    done = peer.run("udp", address, 7, 20, 16, 512, 1472, 1473, 9000, 30001, largest)
    assert json.loads(done.stdout) == {"sent": 140, "echoed": 140, "wrong": 0}
    done = peer.run("udp", address, 7, 1, 0, 1)
    assert json.loads(done.stdout) == {"sent": 2, "echoed": 2, "wrong": 0}


@pytest.mark.parametrize("version", ["ip4", "ip6"])
def test_super_frames_arrive_as_datagrams(link, peer, version):
    link.tenon("echo")
    done = peer.run("uso", link.t4 if version == "ip4" else link.t6, 7, 20001, 1000)
    assert json.loads(done.stdout) == {"datagrams": 21, "whole": True}


@pytest.mark.parametrize("version", ["ip4", "ip6"])
def test_closed_port_is_told(link, version):
    """The kernel's socket hears of it: an ICMP error came, with the right datagram in it."""
    link.tenon("echo")
    address = link.t4 if version == "ip4" else link.t6
    code = ("import socket,sys\n"
            "s=socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)\n"
            "s.connect((sys.argv[1], 9)); s.settimeout(20); s.send(b'x')\n"
            "try: s.recv(10)\n"
            "except ConnectionRefusedError: print('refused')\n")
    assert link.net.run("python3", "-c", code, address).stdout == "refused\n"
