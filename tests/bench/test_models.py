# SPDX-License-Identifier: MIT
"""bench/models/run makes its table and its drawing, and those of the guide; tenon-dpdk tells offloads apart."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release")).absolute()
RUN = ROOT / "bench" / "models" / "run"


@pytest.fixture(scope="module")
def module():
    before = list(sys.path)
    loader = importlib.machinery.SourceFileLoader("models_run", str(RUN))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("models_run", loader))
    loader.exec_module(module)
    sys.path[:] = before
    return module


def test_a_short_run(tmp_path):
    if not (BUILD / "tenon-models").exists():
        pytest.skip("tenon-models is not built")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    words = ["--quick", "--rounds", "1", "--ms", "50", "--models", "core,split", "--work", "0"]
    done = subprocess.run([RUN, *words, "--build", BUILD, "--out", tmp_path], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "models.json").read_text())["results"]["0"]
    assert list(results) == ["core", "split"]
    for cell in (cell for found in results.values() for cell in found):
        assert cell["per_s"] > 1000 and cell["p99_us"] >= cell["p50_us"] > 0
    assert (tmp_path / "models.svg").read_text().count("<polyline") == 2
    assert "split" in (tmp_path / "models.txt").read_text()


FAILS_LATER = """#!/usr/bin/env python3
import json, pathlib, sys
calls = pathlib.Path(sys.argv[0]).with_name("calls")
calls.write_text((calls.read_text() if calls.exists() else "") + "x")
if len(calls.read_text()) == 3:
    sys.exit("it fell over")
print(json.dumps({"median_per_s": 1000, "answered_per_s": 1000, "p50_us": 1, "p99_us": 2}))
"""


def test_a_run_that_fails_is_no_success(tmp_path):
    """Its figures are the median of the others: they are told, and so is that there are fewer of them."""
    program = tmp_path / "tenon-models"
    program.write_text(FAILS_LATER)
    program.chmod(0o755)
    words = ["--quick", "--rounds", "2", "--models", "core", "--work", "0", "--build", tmp_path, "--out", tmp_path]
    done = subprocess.run([RUN, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "it fell over" in done.stderr and "1 runs failed" in done.stderr, done
    assert (tmp_path / "models.txt").exists()


@pytest.mark.parametrize("setting", ["rate=abc", "rate=", "rate=-1", "rate=1k", "rate=99999999999999999999", "cores=0",
                                     "cores=17", "conns=0", "message=0", "message=999999", "handed=101", "ms=0"])
def test_a_setting_that_is_no_number_is_said(setting):
    if not (BUILD / "tenon-models").exists():
        pytest.skip("tenon-models is not built")
    words = [BUILD / "tenon-models", "unified", "ms=1", "cores=1", setting]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    name, _, value = setting.partition("=")
    assert done.returncode == 2 and done.stdout == "", done
    assert re.fullmatch(rf'tenon-models: {name} is a number from \d+ to \d+, not "{value}"\n', done.stderr), done.stderr


def cells(module, most, slow=1.0):
    shares = [*module.SHARES, 100]
    return [{"share": share, "per_s": most * share / 100 * (slow if share == 90 else 1), "p50_us": 0.25,
             "p99_us": 12.34} for share in shares]


def test_the_table_of_the_guide(module):
    results = {0: {"core": cells(module, 20e6), "merge": cells(module, 3e6, 0.8)},
               1000: {"core": cells(module, 1.73e6)}}
    page = module.page_with(module.PAGE.read_text(), results)
    assert re.findall(r"^\| .*M/s \|.*$", page, re.M) == [
        "| nothing | core | 20 M/s | 0.2 / 12 | 0.2 / 12 | 0.2 / 12 |",
        "| | merge | 3 M/s | 0.2 / 12 | 0.2 / 12 | not reached: 2.2 M/s |",
        "| 1 us of the application | core | 1.73 M/s | 0.2 / 12 | 0.2 / 12 | 0.2 / 12 |"]
    with pytest.raises(SystemExit):
        module.page_with("no table", results)


def test_offloads_of_dpdk():
    """Each row is there, and to cut segments oneself costs what it must."""
    if not (BUILD / "tenon-dpdk").exists():
        pytest.skip("tenon-dpdk is not built")
    done = subprocess.run([BUILD / "tenon-dpdk", "offloads"], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    lines = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines()[1:]]
    rows = {words[0]: [float(word) for word in " ".join(words[1:]).split()] for words in lines}
    assert rows["bytes of a message"][-1] == 65536
    assert len(rows) == 7 and all(len(row) == 6 and min(row) > 0 for row in rows.values()), rows
    assert rows["all on"][-1] > 1.3 * rows["no TSO, and so no LRO"][-1], rows
