# SPDX-License-Identifier: MIT
"""What TCP has to reach, on some paths of the map. Virtual time: the same numbers on every machine."""
import pytest

DELAYED_ACK_MS = 40    # the core's default

# RTT in ms, Mbit/s: from a rack to a satellite.
CLEAN = [(0.1, 1000), (1, 100), (10, 10), (10, 1000), (50, 10), (50, 100), (100, 100), (300, 10), (600, 1)]


def wide(controls):
    return [name for name in controls if name != "dctcp"]


@pytest.mark.parametrize("buffer", [1, 4])
@pytest.mark.parametrize("rtt,rate", CLEAN)
def test_clean_path_is_full(cell, controls, rtt, rate, buffer):
    # BBR empties the path every five seconds, for a round trip at least: of long round trips that is more than 3 %.
    for cc in [name for name in ("cubic", "bbr") if name in controls and (name == "cubic" or rtt <= 100)]:
        result = cell(f"cc={cc} rtt={rtt} rate={rate} buffer={buffer}")
        assert result["rounds"] >= 60    # the second half begins well after 20 of them
        assert result["share_late"] >= 0.97, result


@pytest.mark.parametrize("rtt,rate", [(10, 100), (50, 10), (50, 100), (100, 100)])
def test_reordering_is_no_loss(cell, controls, rtt, rate):
    for cc in wide(controls):
        result = cell(f"cc={cc} rtt={rtt} rate={rate} reorder=5")
        assert result["again_pct"] <= 1, result


@pytest.mark.parametrize("size", [1000, 14480, 100000])
@pytest.mark.parametrize("rtt", [1, 10, 50, 100, 300])
def test_lost_tail_is_probed(cell, controls, rtt, size):
    for cc in wide(controls):
        result = cell(f"kind=tail cc={cc} rtt={rtt} rate=1000 n=5 drop=1 size={size}")
        assert result["rtos"] == 0, result
        # From the acknowledgement before it. 2 %: the round trip is not quite that of an empty path.
        assert result["probe_ms"] <= 2.02 * rtt + DELAYED_ACK_MS + 1, result


@pytest.mark.parametrize("rtt,rate", [(10, 100), (50, 10), (50, 100), (100, 100)])
def test_burst_of_losses_is_repaired_without_timeout(cell, controls, rtt, rate):
    for cc in wide(controls):
        without = cell(f"kind=burst cc={cc} rtt={rtt} rate={rate}")
        result = cell(f"kind=burst cc={cc} rtt={rtt} rate={rate} drop=10")
        assert result["dropped"] == 10
        assert result["rtos"] <= without["rtos"], result
        # A round trip with a full queue is two of an empty path; the repair needs one, and the reordering window.
        assert result["repair_rtt"] <= 4, result


def test_lossy_path_of_the_peers(cell, controls):
    if "bbr" in controls:
        assert cell("cc=bbr rtt=50 rate=10 loss=1")["share_late"] >= 0.9
