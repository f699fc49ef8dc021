# SPDX-License-Identifier: MIT
"""The drivers of other stacks: each is built as `make bench` builds it, and does one short cell of each kind. What it
is made of comes from package registries: without the tool, or without a way to the registry, it is skipped and says
so. The programs stay in build/speed, where `make bench` finds them."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from speed import stacks    # noqa: E402

TOOLS = {"lwip": "cargo", "smoltcp": "cargo", "gvisor": "go"}
UNREACHABLE = r"download|failed to get|failed to query|resolve|dial tcp|lookup|connect|offline|proxy|timed out"
SHORT = "segments=1 segment_ms=3"
CELLS = ("ping-pong connections=2", "bulk message=16384 window=65536", "connect connections=4",
         "connect-time", "load connections=4", "udp-ping connections=2")
REFUSED = {("gvisor", "connect-time"), ("gvisor", "load")}    # it has no loop of its own


@pytest.fixture(scope="module", params=sorted(TOOLS))
def peer(request):
    """(name, program)"""
    name = request.param
    if shutil.which(TOOLS[name]) is None:
        pytest.skip(f"{TOOLS[name]} is not installed: {name} is not built")
    folder = ROOT / "build" / "speed"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return name, stacks.MAKERS[name](folder)
    except stacks.Missing as why:
        if re.search(UNREACHABLE, str(why), re.I):
            pytest.skip(f"{name} is not built, its registry is not to be reached: {why}")
        raise


@pytest.mark.parametrize("cell", CELLS)
def test_a_peer_does_a_short_cell(peer, cell):
    name, program = peer
    workload, *words = f"{cell} {SHORT}".split()
    done = subprocess.run([program, workload, name, *words], capture_output=True, text=True, check=False, timeout=120)
    line = json.loads(done.stdout.splitlines()[-1])
    if (name, workload) in REFUSED:
        assert done.returncode == 3 and line["missing"]
        return
    assert done.returncode == 0, done.stderr
    assert line["stack"] == name and line["workload"] == workload
    assert line["ns"] > 0 and "failed" not in line
    assert line.get("units", 1) > 0 and line.get("p50_ns", 0) <= line.get("p99_ns", 0)


def test_a_peer_says_what_it_has_not(peer):
    name, program = peer
    done = subprocess.run([program, "ping-pong", name, "ip6=1"], capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 3 and json.loads(done.stdout.splitlines()[-1])["missing"]
