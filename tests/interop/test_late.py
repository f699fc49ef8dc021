# SPDX-License-Identifier: MIT
"""Who sends and does not read yet, at a port with little memory for packets. `tenon echo` keeps what came, in the
buffers in which it came, until there is room to send it; it has to hear when there is, in a buffer that nobody may
keep."""
import json
import os
import re

import pytest

KINDS = {    # with large frames another memory runs out first
    "tap": ("tap", ["offload=off"]),
    "tap-large-frames": ("tap", []),
    "packet": ("packet", []),
    "packet-ring": ("packet", ["receive=ring"]),
    "packet-cores": ("packet", []),    # where instances look at frames before they get them
    "xdp": ("xdp", []),
}


@pytest.mark.parametrize("name", list(KINDS))
def test_late_readers_are_answered(make_link, name, peer):
    kind, settings = KINDS[name]
    if kind == "xdp" and os.environ.get("TENON_INTEROP_INSIDE"):
        pytest.skip("needs root: the kernel lets nobody else attach XDP programs")
    link = make_link(kind=kind, settings=[*settings, "memory=1"])
    if kind == "packet":
        link.net.run("ethtool", "-K", link.kernel_side, "tso", "off", "gso", "off")
    tenon = link.tenon("echo", "--stats", *(["--cores", "2", "--steer", "software"] if name == "packet-cores" else []))
    done = json.loads(peer.run("late-readers", link.t4, 7, 12, 4_000_000).stdout)
    assert done["sent"] > 1_000_000
    said = tenon.stop()
    if name == "tap-large-frames":
        assert re.search("lost: [1-9].* without buffer", said)    # or this would say nothing
    else:
        assert "rx_not_kept" in said
