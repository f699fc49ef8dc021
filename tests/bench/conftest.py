# SPDX-License-Identifier: MIT
"""The map of behaviour: its modules, and the program of $TENON_BUILD or of build/release."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATHS = ROOT / "bench" / "paths"
sys.path.insert(0, str(PATHS))


@pytest.fixture(scope="session")
def program():
    path = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release")) / "tenon-paths"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


@pytest.fixture(scope="session")
def controls(program):
    return subprocess.run([program, "--controls"], capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="session")
def cell(program):
    """cell("cc=cubic rtt=50") is what tenon-paths has measured; asked for once only."""
    known = {}

    def run(settings):
        if settings not in known:
            done = subprocess.run([program, *settings.split()], capture_output=True, text=True, check=False,
                                  timeout=300)
            assert done.returncode == 0, f"{settings}: {done.stdout}{done.stderr}"
            known[settings] = json.loads(done.stdout)
        return known[settings]
    return run
