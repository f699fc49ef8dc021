# SPDX-License-Identifier: MIT
"""bench/speed/small: where a copy becomes dearer than one more span."""
import importlib.machinery
import importlib.util
import pathlib

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bench" / "speed" / "small"
loader = importlib.machinery.SourceFileLoader("speed_small", str(PROGRAM))
small = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(small)


@pytest.mark.parametrize("rows, best", [
    ([], 0),
    ([(16, 110, 100), (32, 90, 100)], 0),                       # dearer from the first on
    ([(16, 90, 100), (32, 100, 100), (64, 102, 100)], 32),
    ([(16, 90, 100), (32, 101, 100), (64, 120, 100)], 32),      # 1 % is no difference
    ([(16, 90, 100), (32, 120, 100), (64, 90, 100)], 16),       # what is better again later does not count
    ([(16, 90, 100), (2048, 95, 100)], 2048)])
def test_the_crossing_is_the_last_size_before_a_copy_is_dearer(rows, best):
    assert small.crossing(rows) == best


def test_each_size_is_the_best_of_its_rounds(monkeypatch):
    """In turns, copied and referred to, all in one segment."""
    asked = []

    def measure(_, workload, words):
        assert workload == "udp-ping"
        settings = dict(word.split("=") for word in words)
        assert int(settings["message"]) + 52 <= int(settings["mtu"])
        asked.append(settings)
        return len(asked)
    monkeypatch.setattr(small, "measure", measure)
    rows = small.table("program", "udp-ping", 1, 32, 2)
    assert [size for size, _, _ in rows] == list(small.SIZES)
    assert rows[0] == (small.SIZES[0], 1, 2) and len(asked) == 4 * len(small.SIZES)
    assert {settings["small"] for settings in asked} == {str(small.COPIED), str(small.REFERRED)}
