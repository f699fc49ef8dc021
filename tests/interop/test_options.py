# SPDX-License-Identifier: MIT
"""A kernel that does without timestamps, selective acknowledgements or window scaling."""
import pytest

from conftest import sha256

SIZE = 8_000_003
SYSCTLS = ["net.ipv4.tcp_timestamps", "net.ipv4.tcp_sack", "net.ipv4.tcp_window_scaling"]
SETS = {"no-timestamps": SYSCTLS[:1], "no-sack": SYSCTLS[1:2], "no-scaling": SYSCTLS[2:], "none": SYSCTLS}


@pytest.fixture(params=list(SETS))
def plain_kernel(request, net):
    for name in SETS[request.param]:
        net.run("sysctl", "-qw", f"{name}=0")
    yield SETS[request.param]
    for name in SYSCTLS:
        net.run("sysctl", "-qw", f"{name}=1")


def test_kernel_is_client(plain_kernel, link, files, tmp_path):
    path = files.get(SIZE)
    link.tenon("serve", path.parent)
    link.net.run("curl", "-sS", "-m", 60, "-o", tmp_path / "got", f"http://{link.t4}/{path.name}")
    assert sha256(tmp_path / "got") == files.hash(SIZE)


def test_kernel_is_server(plain_kernel, link, files, tmp_path, peer):
    path = files.get(SIZE)
    peer.start("http", link.k4, 80, path.parent)
    link.run_tenon("get", "-o", tmp_path / "got", f"http://{link.k4}/{path.name}")
    assert sha256(tmp_path / "got") == files.hash(SIZE)


def test_echo_through_a_bad_cable(plain_kernel, make_link, files, tmp_path):
    link = make_link(relay=["--loss", 1, "--dup", 1, "--reorder", 1, "--delay", 1, "--seed", 9])
    link.tenon("echo")
    with open(files.get(1_000_003), "rb") as i, open(tmp_path / "got", "wb") as o:
        nc = link.net.start("nc", "-N", link.t4, 7, stdin=i, stdout=o)
        assert nc.wait(120) == 0
    assert sha256(tmp_path / "got") == files.hash(1_000_003)
