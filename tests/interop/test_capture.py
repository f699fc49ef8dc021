# SPDX-License-Identifier: MIT
"""What Tenon sends, judged by tshark: nothing malformed, no wrong checksum, and on a good cable nothing
sent twice."""
import json
import subprocess
import time

import pytest

from conftest import find_tenon

pytestmark = pytest.mark.alone

SIZE = 8_000_003


@pytest.fixture(autouse=True)
def patient_kernel(net):
    """No tail loss probes: they go by the clock, and a program that is not scheduled for some
    milliseconds would be told of "retransmissions"."""
    net.run("sysctl", "-qw", "net.ipv4.tcp_early_retrans=0")
    yield
    net.run("sysctl", "-qw", "net.ipv4.tcp_early_retrans=3")


@pytest.fixture(params=["ip4", "ip6"])
def ends(request, link):
    return (link.t4, link.k4) if request.param == "ip4" else (link.t6, link.k6)


@pytest.fixture(params=["offload", "plain"])
def options(request, tmp_path):
    always = ["--stats", "--pcap", str(tmp_path / "capture.pcapng")]
    return always + ([] if request.param == "offload" else ["--no-offload"])


def url(address):
    return f"http://[{address}]" if ":" in address else f"http://{address}"


def wait_for_fins(link, tenon):
    end = time.monotonic() + 20
    while json.loads(link.net.run(find_tenon(), "top", "--json", tenon.process.pid).stdout)["tcp"]["connections"] > 0:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_sending(link, ends, options, files, tmp_path, tshark):
    path = files.get(SIZE)
    tenon = link.tenon("serve", *options, path.parent)
    link.net.run("curl", "-sS", "-o", "/dev/null", f"{url(ends[0])}/{path.name}")
    wait_for_fins(link, tenon)
    said = tenon.stop()
    capture = tmp_path / "capture.pcapng"
    tshark.judge_clean(capture, said)
    assert tshark.count(capture, "tcp.flags.syn == 1") == 2
    assert tshark.count(capture, "tcp.flags.fin == 1") == 2
    assert tshark.count(capture, "tcp.srcport == 80 && tcp.len > 0") >= SIZE // 1460


def test_receiving(link, ends, options, files, tmp_path, tshark, peer):
    path = files.get(SIZE)
    peer.start("http", ends[1], 80, path.parent)
    done = link.run_tenon("get", *options, "-o", "/dev/null", f"{url(ends[1])}/{path.name}")
    capture = tmp_path / "capture.pcapng"
    tshark.judge_clean(capture, done.stderr)
    assert tshark.count(capture, "tcp.srcport == 80 && tcp.len > 0") >= SIZE // 1460


def test_both_ways(link, ends, options, files, tmp_path, tshark):
    with open(files.get(SIZE), "rb") as source, open("/dev/null", "wb") as out:
        tenon = link.tenon("listen", *options, 5001, stdin=source, stdout=out)
        with open(files.get(SIZE), "rb") as data:
            nc = link.net.start("nc", "-N", ends[0], 5001, stdin=data, stdout=subprocess.DEVNULL)
            assert nc.wait(60) == 0
        assert tenon.wait() == 0
    tshark.judge_clean(tmp_path / "capture.pcapng", tenon.text())


def test_datagrams_and_pings(link, ends, options, tmp_path, tshark, peer):
    tenon = link.tenon("echo", *options)
    peer.run("udp", ends[0], 7, 3, 0, 1, 1000, 3000, 9000)
    link.net.run("ping", "-c3", "-i0.05", "-s", 9000, ends[0])
    tenon.stop()
    capture = tmp_path / "capture.pcapng"
    tshark.judge(capture)
    assert tshark.count(capture, "udp.srcport == 7") >= 15
    assert tshark.count(capture, "icmp.type == 0 || icmpv6.type == 129") >= 3


def test_many_connections(link, ends, options, tmp_path, tshark, peer):
    tenon = link.tenon("echo", *options)
    peer.run("many", ends[0], 7, 100, 5000)
    tshark.judge_clean(tmp_path / "capture.pcapng", tenon.stop())


def test_bad_cable(make_link, files, tmp_path, tshark):
    """Retransmissions are right here; malformed packets are not."""
    capture = tmp_path / "capture.pcapng"
    link = make_link(relay=["--loss", 2, "--dup", 1, "--reorder", 2, "--delay", 1, "--seed", 8])
    path = files.get(2_000_003)
    tenon = link.tenon("serve", "--pcap", capture, path.parent)
    link.net.run("curl", "-sS", "-o", "/dev/null", f"http://{link.t4}/{path.name}")
    tenon.stop()
    tshark.judge(capture, clean=False)
    assert tshark.count(capture, "tcp.analysis.retransmission || tcp.analysis.fast_retransmission") > 0


def test_comments_come_from_the_trace(link, files, tmp_path, tshark):
    capture = tmp_path / "capture.pcapng"
    path = files.get(100_003)
    tenon = link.tenon("serve", "--pcap", capture, path.parent)
    link.net.run("curl", "-sS", "-o", "/dev/null", f"http://{link.t4}/{path.name}")
    tenon.stop()
    assert "ESTABLISHED" in tshark.run(capture, "-T", "fields", "-e", "frame.comment")
