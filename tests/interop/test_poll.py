# SPDX-License-Identifier: MIT
"""Sleeping until there is a packet, and looking all the time (--poll), on each kind of port."""
import os
import time

import pytest

from conftest import INSIDE, sha256

TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture(params=["tap", "packet", "xdp"])
def link(make_link, request):
    if request.param == "xdp" and os.environ.get(INSIDE):
        pytest.skip("needs root: the kernel lets nobody else attach XDP programs")
    return make_link(kind=request.param)


def processor_time(pid):
    """Seconds that a process has been running."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def share(process, seconds):
    """Of one processor, while nothing happens."""
    began, before = time.monotonic(), processor_time(process.process.pid)
    time.sleep(seconds)
    return (processor_time(process.process.pid) - before) / (time.monotonic() - began)


def test_a_sleeping_server_takes_nothing(link):
    server = link.tenon("serve", link.folder)
    assert share(server, 2.5) < 0.01


def test_a_polling_server_looks_all_the_time(link, files, tmp_path):
    path = files.get(3_000_003)
    server = link.tenon("serve", "--poll", path.parent)
    assert share(server, 0.5) > 0.05    # of a processor that others want too
    link.net.run("ping", "-c3", "-i0.2", "-W5", link.t4)
    link.net.run("curl", "-sS", "-m", "60", "-o", tmp_path / "got", f"http://{link.t4}/{path.name}")
    assert sha256(tmp_path / "got") == files.hash(3_000_003)
    server.stop()
