# SPDX-License-Identifier: MIT
"""A flood of forged SYNs at the real program, from beyond a router and from the link itself, while honest clients
come and go, and one that was there before stays."""
import json
import subprocess
import time

import pytest

from conftest import rates, sha256

pytestmark = pytest.mark.alone

SMALL, LARGE = 100_003, 3_000_017
RATE, FORGED = 20_000, 100_000
MEMORY = 16 << 20    # how much more the program may hold than before


def sources(link, version, where):
    """Addresses that answer nothing: the kernel forwards nothing, and nobody has those on the link."""
    if where == "far":
        return "198.18.0.0/16" if version == "ip4" else "2001:db8::/64"
    return f"{link.k4.rsplit('.', 1)[0]}.0/24" if version == "ip4" else f"{link.k6.split('::')[0]}::/64"


def memory(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return sum(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon:"))


@pytest.mark.parametrize("where", ["far", "near"])
@pytest.mark.parametrize("version", ["ip4", "ip6"])
def test_honest_clients_go_on(link, files, tmp_path, flood_program, version, where):
    small, large = files.get(SMALL), files.get(LARGE)
    tenon = link.tenon("serve", "--gateway", link.k4, "--gateway", link.k6, "--stats", small.parent)
    address = link.t4 if version == "ip4" else link.t6
    url = f"http://{address}" if version == "ip4" else f"http://[{address}]"
    before = memory(tenon.process)
    old = link.net.start("curl", "-sS", "-m", 120, "--limit-rate", "400k", "-o", tmp_path / "old",
                         f"{url}/{large.name}")
    while not (tmp_path / "old").exists() or (tmp_path / "old").stat().st_size == 0:
        assert old.poll() is None
        time.sleep(0.05)
    flood = link.net.start(flood_program, sources(link, version, where), address, 80, RATE, FORGED,
                           stdout=subprocess.PIPE, text=True)
    assert flood.stdout.readline() == "ready\n"
    took = []
    while flood.poll() is None:
        started = time.monotonic()
        link.net.run("curl", "-sS", "-m", 60, "-o", tmp_path / "new", f"{url}/{small.name}", timeout=90)
        took.append(time.monotonic() - started)
        assert sha256(tmp_path / "new") == files.hash(SMALL)
    result = json.loads(flood.stdout.read())
    assert result["sent"] == FORGED
    assert memory(tenon.process) - before < MEMORY
    assert old.wait(120) == 0
    assert sha256(tmp_path / "old") == files.hash(LARGE)
    rates.append({"what": f"{len(took)} clients in a flood, {where}, {version}, slowest {max(took):.2f} s",
                  "mbytes": len(took) * SMALL / 1e6, "seconds": sum(took),
                  "gbits": len(took) * SMALL * 8e-9 / sum(took)})
    print(result, tenon.stop())
