# SPDX-License-Identifier: MIT
"""What every kind of port does with the kernel at the other end of its cable."""
import json

from conftest import sha256


def ends(link, version):
    """(Tenon's address, the kernel's), fit for a URL."""
    return (link.t4, link.k4) if version == "ip4" else (f"[{link.t6}]", f"[{link.k6}]")


def fetch_both_ways(link, version, files, folder, peer, size, between=lambda: None):
    """A file of Tenon's server, and with ping before it; then the same of the kernel's. `between` the two."""
    path, got = files.get(size), folder / "got"
    tenon, kernel = ends(link, version)
    server = link.tenon("serve", path.parent)
    link.net.run("ping", "-c2", "-i0.2", "-W5", "-s", 3000, tenon.strip("[]"))
    link.net.run("curl", "-sS", "-m", 60, "-o", got, f"http://{tenon}/{path.name}")
    assert sha256(got) == files.hash(size)
    server.stop()
    between()
    peer.start("http", kernel.strip("[]"), 80, path.parent)
    link.run_tenon("get", "-o", got, f"http://{kernel}/{path.name}")
    assert sha256(got) == files.hash(size)


def echo_datagrams(link, version, peer):
    link.tenon("echo")
    done = peer.run("udp", ends(link, version)[0].strip("[]"), 7, 10, 16, 1472, 1473, 9000, 65000)
    assert json.loads(done.stdout) == {"sent": 50, "echoed": 50, "wrong": 0}


def fetch_with_capture(link, files, folder, tshark, *options):
    path = files.get(3_000_003)
    server = link.tenon("serve", *options, "--pcap", folder / "all.pcapng", "--stats", path.parent)
    link.net.run("curl", "-sS", "-m", 60, "-o", folder / "got", f"http://{link.t4}/{path.name}")
    said = server.stop()
    assert sha256(folder / "got") == files.hash(3_000_003)
    tshark.judge_clean(folder / "all.pcapng", said)
