# SPDX-License-Identifier: MIT
"""Seeds that are none: another history than the one that was asked for would be believed to be that."""
import subprocess

import pytest


@pytest.mark.parametrize("argv", [["--seeds", "1..18446744073709551616"], ["--seeds", "5..1"], ["--seeds", "0..1"],
                                  ["--seeds", "-2..-1"], ["--seeds", "1..2x"], ["--seed", "99999999999999999999"],
                                  ["--seed", "-1"]], ids=" ".join)
def test_seeds_that_are_none(simulator, argv):
    done = subprocess.run([simulator, *argv], capture_output=True, text=True, timeout=10, check=False)
    assert done.returncode == 2 and argv[1] in done.stderr, done
