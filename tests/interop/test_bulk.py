# SPDX-License-Identifier: MIT
"""A gigabyte in each direction, hash compared. The rates are printed at the end, not judged."""
import time

import pytest

from conftest import BULK_BYTES, rates, sha256

pytestmark = pytest.mark.alone

CASES = [
    # direction, IP version, offload, share of BULK_BYTES
    ("send", "ip4", True, 1),
    ("receive", "ip4", True, 1),
    ("send", "ip6", True, 4),
    ("receive", "ip6", True, 4),
    ("send", "ip4", False, 8),
    ("receive", "ip4", False, 8),
    ("send", "ip6", False, 16),
    ("receive", "ip6", False, 16),
]


def fetch(link, url, options, out, direction, timeout):
    """Fetch a file with curl, or with Tenon. @return seconds"""
    if direction == "send":
        return float(link.net.run("curl", "-sS", "-o", out, "-w", "%{time_total}", url, timeout=timeout).stdout)
    started = time.monotonic()
    link.run_tenon("get", *options, "-o", out, url, timeout=timeout)
    return time.monotonic() - started


@pytest.mark.parametrize("direction,version,offload,share", CASES,
                         ids=[f"{c[0]}-{c[1]}-{'offload' if c[2] else 'plain'}" for c in CASES])
def test_bulk(link, files, peer, scratch, direction, version, offload, share):
    size = max(BULK_BYTES // share, 1 << 20)
    path = files.get(size)
    got = scratch / "bulk-got"
    tenon, kernel = (link.t4, link.k4) if version == "ip4" else (f"[{link.t6}]", f"[{link.k6}]")
    options = [] if offload else ["--no-offload"]
    timeout = 60 + size / 10e6
    if direction == "send":
        link.tenon("serve", *options, path.parent)
    else:
        peer.start("http", kernel.strip("[]"), 80, path.parent)
    url = f"http://{tenon if direction == 'send' else kernel}/{path.name}"
    fetch(link, url, options, got, direction, timeout)
    assert got.stat().st_size == size
    assert sha256(got) == files.hash(size)
    got.unlink()
    # Once more for the rate, without the cost of keeping it.
    seconds = fetch(link, url, options, "/dev/null", direction, timeout)
    rates.append({"what": f"Tenon {direction}s, {version}, {'offload' if offload else 'no offload'}",
                  "mbytes": size / 1e6, "seconds": seconds, "gbits": size * 8e-9 / seconds})
