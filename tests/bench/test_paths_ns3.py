# SPDX-License-Identifier: MIT
"""The map of behaviour against another simulator: the same path in ns-3 takes the same time."""
import json
import subprocess

import pytest


@pytest.fixture(scope="module")
def in_ns3(program):
    path = program.with_name("tenon-paths-ns3")
    if not path.exists():
        pytest.skip(f"{path} is not built: ns-3 is not installed")

    def run(settings):
        done = subprocess.run([path, *(f"--{word}" for word in settings.split())], capture_output=True, text=True,
                              check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)
    return run


@pytest.mark.parametrize("path", ["rtt=10 rate=100 size=100000", "rtt=50 rate=10 size=10000",
                                  "rtt=50 rate=10 size=1000000", "rtt=300 rate=10 size=1000000"])
def test_clean_path_takes_as_long_as_on_the_wire(cell, in_ns3, path):
    assert in_ns3("stack=tenon " + path)["mean_ms"] == pytest.approx(cell("kind=short " + path)["mean_ms"], rel=0.01)


def test_losses_cost_as_much_as_on_the_wire(cell, in_ns3):
    path = "rtt=50 rate=10 loss=1 size=100000 n=200"
    wire, ns3 = cell("kind=short " + path), in_ns3("stack=tenon " + path)
    assert ns3["mean_ms"] == pytest.approx(wire["mean_ms"], rel=0.15)
    assert ns3["mean_ms"] > 1.1 * in_ns3("stack=tenon rtt=50 rate=10 size=100000")["mean_ms"]


def test_the_other_tcp_is_another_one(in_ns3):
    """Were both columns of the table the same stack, this would tell."""
    path = "rtt=50 rate=10 loss=1 size=100000 n=50"
    tenon, other = in_ns3("stack=tenon " + path), in_ns3("stack=ns3 " + path)
    assert other["unfinished"] == 0 and other["best_ms"] <= other["median_ms"]
    assert other["median_ms"] != tenon["median_ms"]


def test_what_stack_there_is_not(program):
    path = program.with_name("tenon-paths-ns3")
    if not path.exists():
        pytest.skip(f"{path} is not built: ns-3 is not installed")
    done = subprocess.run([path, "--stack=bsd"], capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 2
    assert "tenon or ns3" in done.stderr
