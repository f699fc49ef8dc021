# SPDX-License-Identifier: MIT
"""tools/board run: who ends it ends QEMU, too."""
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
