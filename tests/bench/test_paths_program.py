# SPDX-License-Identifier: MIT
"""tenon-paths measures what it says: against arithmetic, and against itself."""
import re
import subprocess

import pytest


def test_same_seed_same_numbers(cell, program):
    settings = "cc=newreno rtt=20 rate=20 loss=1 reorder=1 flows=3"
    first = cell(settings)
    again = cell(settings + " seed=1")
    other = cell(settings + " seed=2")
    for result in (first, again, other):
        del result["cpu_s"]
    assert first == again
    assert (first["lost"], first["goodput_mbit"]) != (other["lost"], other["goodput_mbit"])


def test_full_path_has_the_share_of_the_payload(cell):
    result = cell("cc=newreno rtt=10 rate=10 buffer=4")
    assert result["share_late"] == pytest.approx(1, abs=0.005)
    # 1448 of 1514 bytes; the window is never below the path's, so only the start is lost.
    assert 9.3 < result["goodput_mbit"] < 10 * 1448 / 1514


@pytest.mark.parametrize("buffer", [1, 2])
def test_queue_is_bounded_by_the_buffer(cell, buffer):
    result = cell(f"cc=newreno rtt=100 rate=10 buffer={buffer}")
    assert 0.2 * buffer * 100 < result["queue_ms"] < buffer * 100 + 3


def test_losses_are_as_many_as_asked_for(cell):
    result = cell("cc=newreno rtt=10 rate=10 loss=2")
    assert result["lost"] == pytest.approx(result["frames"] * 0.02, rel=0.3)
    # What is lost is sent again, whatever loses it.
    again = result["again_pct"] / 100 * result["frames"]
    assert again >= 0.97 * (result["lost"] + result["overflowed"])


def test_reordered_are_as_many_as_asked_for(cell):
    result = cell("cc=newreno rtt=10 rate=10 reorder=5")
    assert result["reordered"] == pytest.approx(result["frames"] * 0.05, rel=0.3)
    assert result["lost"] == 0


def test_shares_of_many_flows_add_up(cell):
    result = cell("cc=newreno rtt=20 rate=100 flows=8")
    assert len(result["shares"]) == 8
    assert sum(result["shares"]) == pytest.approx(result["share_late"], abs=0.001)
    squares = sum(share * share for share in result["shares"])
    assert result["jain"] == pytest.approx(sum(result["shares"]) ** 2 / (8 * squares), abs=0.001)
    assert result["share_late"] <= 1.01


def test_flows_take_turns_with_the_controls(cell):
    result = cell("cc=cubic,newreno rtt=20 rate=20 flows=2")
    assert result["cc"] == "cubic,newreno"
    assert min(result["shares"]) > 0.05


def test_short_flow_takes_its_round_trips(cell):
    # Ten segments are the first window: one round trip for the SYN, half of one for all the data.
    result = cell("kind=short cc=newreno rtt=100 rate=1000 size=10000")
    assert result["mean_ms"] == pytest.approx(150, abs=1)
    # 40,000 bytes are 28 segments, in two windows at least.
    result = cell("kind=short cc=newreno rtt=100 rate=1000 size=40000")
    assert 250 < result["mean_ms"] < 460


def test_short_flows_wait_for_the_line(cell):
    result = cell("kind=short cc=newreno rtt=1 rate=1 size=100000 buffer=1000")
    assert result["mean_ms"] == pytest.approx(100000 * 8 * 1514 / 1448 / 1000, rel=0.02)
    assert result["best_ms"] <= result["mean_ms"]


def test_burst_is_lost_once_and_repaired(cell):
    result = cell("kind=burst cc=newreno rtt=50 rate=20 drop=5")
    assert result["dropped"] == 5
    assert 0.9 <= result["noticed_rtt"] and 1 <= result["repair_rtt"] <= 40
    assert result["full_rtt"] >= result["repair_rtt"]


@pytest.mark.parametrize("drop,size", [(1, 1000), (1, 100000), (3, 100000), (2, 14480)])
def test_tail_is_lost_once(cell, drop, size):
    result = cell(f"kind=tail cc=newreno rtt=20 rate=100 size={size} drop={drop} n=3")
    assert result["dropped"] == 3 * drop and result["unfinished"] == 0
    assert result["extra_ms"] >= 20


def test_trace_is_written(cell, tmp_path):
    cell(f"kind=short cc=newreno rtt=10 size=50000 trace={tmp_path}/trace")
    lines = (tmp_path / "trace").read_text().splitlines()
    assert any(" sent " in line for line in lines) and any(" acked " in line for line in lines)


@pytest.mark.parametrize("wrong", ["cc=none", "rtt=0", "rtt=fast", "colour=blue", "flows=1000", "loss=101", "rate",
                                   "=5", "kind=long", "n="])
def test_wrong_settings_are_refused(program, wrong):
    done = subprocess.run([program, wrong], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("tenon-paths: ")


def test_help_names_every_setting(program):
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    named = set(re.findall(r"\w+", done.stdout))
    for setting in ("kind", "cc", "rtt", "rate", "loss", "reorder", "buffer", "mark", "seconds", "flows", "mtu", "tso",
                    "n", "drop", "size", "seed", "trace"):
        assert setting in named
