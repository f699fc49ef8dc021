# SPDX-License-Identifier: MIT
"""The program under test: that of $TENON_BUILD, or of build/release. No test here needs privileges."""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build_folder():
    return pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release"))


@pytest.fixture(scope="session", params=["tenon-sim", "tenon-sock-sim", "tenon-service-sim"])
def simulator(request):
    program = build_folder() / request.param
    if not program.exists():
        pytest.skip(f"{program} is not built")
    return str(program)


@pytest.fixture(scope="session")
def tenon():
    """Runs the program: tenon("get", "--help") is a CompletedProcess with text."""
    program = build_folder() / "tenon"
    if not program.exists():
        pytest.skip(f"{program} is not built")

    def run(*arguments, timeout=60, **more):
        return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, **more)
    return run


@pytest.fixture(scope="session", params=["echo", "echo_cpp", "sock_echo"])
def echo_program(request):
    program = build_folder() / "examples" / request.param
    if not program.exists():
        pytest.skip(f"{program} is not built")
    return str(program)
