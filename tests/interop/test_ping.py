# SPDX-License-Identifier: MIT
"""Echo requests both ways, fragmented ones too."""
import pytest


@pytest.mark.parametrize("size", [0, 56, 1472, 1473, 9000, 65000])
@pytest.mark.parametrize("version", ["ip4", "ip6"])
def test_kernel_pings_tenon(link, version, size):
    link.tenon("echo")
    done = link.net.run("ping", "-c5", "-i0.05", "-W5", "-s", size, link.t4 if version == "ip4" else link.t6)
    assert " 5 received, 0% packet loss" in done.stdout


@pytest.mark.parametrize("size", [0, 56, 1472, 1473, 9000, 65000])
@pytest.mark.parametrize("version", ["ip4", "ip6"])
def test_tenon_pings_kernel(link, version, size):
    address = link.k4 if version == "ip4" else link.k6
    # The first may be lost: its fragments are more than may wait for a neighbour (neighbour_queue_max).
    count = 5 if size < 9000 else 6
    done = link.run_tenon("ping", "-c", count, "-i", "0.05", "-s", size, address)
    assert " 5 received" in done.stdout or f" {count} received" in done.stdout


def test_nobody_answers_tenon(link):
    done = link.run_tenon("ping", "-c", 1, "-W", 1, link.k4.rsplit(".", 1)[0] + ".77", check=False)
    assert done.returncode == 1


def test_kernel_pings_all_nodes(link):
    """Tenon has made itself a link-local address, and answers from it."""
    link.tenon("echo")
    own = link.net.run("ip", "-6", "-o", "address", "show", "dev", link.kernel_side, "scope", "link").stdout
    own = own.split()[3].split("/")[0]
    for _ in range(10):    # the kernel's own address is not ready at once
        done = link.net.run("ping", "-c2", "-W1", f"ff02::1%{link.kernel_side}", check=False)
        others = [line for line in done.stdout.splitlines() if "bytes from fe80" in line and own not in line]
        if others:
            return
    raise AssertionError(f"only {own} answers:\n{done.stdout}")


def test_jumbo_frames(make_link):
    link = make_link(mtu=9000)
    link.tenon("echo")
    for address in (link.t4, link.t6):
        done = link.net.run("ping", "-c3", "-i0.05", "-W5", "-M", "do", "-s", 8900, address)
        assert " 3 received, 0% packet loss" in done.stdout
