# SPDX-License-Identifier: MIT
"""tools/board: who ends it ends QEMU, too, and what is set wrongly is said."""
import os
import signal
import subprocess
import time

import pytest

from conftest import tool

BOARD = "lm3s6965evb"


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_ended_by_its_number(built, how):
    built(BOARD)
    with subprocess.Popen(tool("run", BOARD, "echo"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as board:
        while board.stdout.readline() != "ready\n":
            assert board.poll() is None
        board.send_signal(how)
        board.stdout.read()    # comes to its end when nobody has it open any more: QEMU would
        assert board.wait(10) is not None


def test_ended_by_a_shell(built):
    """As docs/guide/firmware.md does it, by a shell without job control."""
    built(BOARD)
    script = 'read go; "$@" & p=$!; echo $p; read go; kill $p; wait $p; echo ended'
    with subprocess.Popen(["sh", "-c", script, "sh", *tool("run", BOARD, "echo")], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, bufsize=1) as shell:
        shell.stdin.write("go\n")
        pid = int(shell.stdout.readline())
        while shell.stdout.readline() != "ready\n":
            assert shell.poll() is None
        shell.stdin.write("go\n")
        assert "ended" in shell.stdout.read()
    for _ in range(50):
        if not is_there(pid):
            return
        time.sleep(0.1)
    raise AssertionError("QEMU runs on")


@pytest.mark.parametrize("setting, said", [
    ("BOARD_DADD=OFF", "there are: BOARD_STRICT, BOARD_IMAGE, BOARD_TIME, BOARD_MRU, BOARD_DAD, BOARD_FALLBACK, "),
    ("BOARD_DAD", "is not NAME=VALUE"), ("BOARD_FALLBACK=dynamic", "BOARD_FALLBACK is one of static;link-local;none"),
    ("BOARD_ADDRESS=10.0.2.300/24", 'BOARD_ADDRESS is "10.0.2.300/24"'),
    ("BOARD_ADDRESS=10.0.2.3", "has to be 192.0.2."),
    ("BOARD_ADDRESS=10.0.2.3/33", "has to be 192.0.2."), ("BOARD_ROUTER=10.0.2", 'BOARD_ROUTER is "10.0.2"'),
    ("BOARD_MRU=1279", 'BOARD_MRU is "1279"'), ("BOARD_MRU=1501", "has to be 1280 to 1500"),
    ("BOARD_MRU=small", 'BOARD_MRU is "small"')])
def test_settings_that_cannot_be(built, tmp_path, setting, said):
    built(BOARD)
    done = subprocess.run([*tool("build", BOARD, "--set", setting), "--build", tmp_path], capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 1 and said in done.stderr
