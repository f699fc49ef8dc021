# SPDX-License-Identifier: MIT
"""tools/board: who ends it ends QEMU, too, two do not meet in one folder, and what is wrong is said."""
import os
import shutil
import signal
import socket
import subprocess
import time

import board_tool
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


def test_ended_while_it_builds(built, tmp_path):
    """By Ctrl-C, in a line or none."""
    built(BOARD)
    with subprocess.Popen([*tool("run", BOARD, "echo"), "--build", tmp_path], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as board:
        while not (tmp_path / BOARD / "CMakeCache.txt").exists():
            assert board.poll() is None
            time.sleep(0.05)
        os.killpg(board.pid, signal.SIGINT)
        assert "Traceback" not in board.stderr.read()
        assert board.wait(10) == -signal.SIGINT


def test_two_at_once(built, tmp_path):
    """Each waits until the other has built; and the second until the first one's builders have ended, if that was ended
    itself."""
    built(BOARD)
    command = [*tool("build", BOARD), "--build", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as ended:
        while not (tmp_path / BOARD / "build.ninja").exists():
            assert ended.poll() is None
            time.sleep(0.05)
        ended.terminate()
    two = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for one in two:
        said = one.communicate(timeout=300)[1]
        assert one.returncode == 0, said


@pytest.mark.parametrize("what, lacks", [
    ("run", "cmake"), ("run", "ninja"), ("run", "arm-none-eabi-gcc"), ("run", "qemu-system-arm"),
    ("size", "arm-none-eabi-nm"), ("size", "arm-none-eabi-size")])
def test_what_is_not_there(built, tmp_path, what, lacks):
    built(BOARD)
    for program in {"cmake", "ninja", "arm-none-eabi-gcc", "arm-none-eabi-nm", "qemu-system-arm"} - {lacks}:
        (tmp_path / program).symlink_to(shutil.which(program))
    done = subprocess.run(tool(what, BOARD, "echo"), env={**os.environ, "PATH": str(tmp_path)}, capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 1 and done.stderr.startswith(f"board: {lacks} is not there; on Debian: apt-get install")


@pytest.mark.parametrize("options, said", [
    (("--network", "bridge"), "--network is user, tap:NAME or dgram:HERE,THERE"),
    (("--network", "user:x"), "--network is"), (("--network", "tap"), "--network is"),
    (("--network", "dgram:5001"), "--network is"), (("--network", "dgram:5001,70000"), "a number up to 65535"),
    (("--network", "tap:nobodys"), 'no interface "nobodys" is there and up'),
    (("--network", "tap:a-name-that-is-too-long"), "is there and up"), (("--port", 70000), "a number up to 65535"),
    (("--port", -1), "a number up to 65535"), (("--port", 1, "--network", "dgram:5001,5002"), "--port is for"),
    (("--network", "dgram:5001,5001"), "two ports"), (("download", "--port", 8080), "--port is for programs that")])
def test_network_that_cannot_be(built, options, said):
    built(BOARD)
    options = options if options[0] == "download" else ("echo", *options)
    done = subprocess.run(tool("run", BOARD, *options), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 1 and done.stderr.startswith("board: ") and said in done.stderr and done.stdout == ""


@pytest.mark.parametrize("app, settings, where", [
    ("http", (), "http://10.0.2.15/ and http://[fd00:10::15]/"),
    ("http", ("BOARD_ADDRESS=10.0.2.3/24", "BOARD_ADDRESS=192.0.2.7/24"),
     "http://192.0.2.7/ and http://[fd00:10::15]/"),
    ("http", ("BOARD_FALLBACK=none",), "http://[fd00:10::15]/"),
    ("echo", (), "10.0.2.15 and fd00:10::15, TCP port 7"),
    ("logger", ("BOARD_FALLBACK=link-local", "BOARD_ADDRESS=192.0.2.7/24"), "fd00:10::15, TCP port 7100")])
def test_where_it_is(app, settings, where):
    options = [word for setting in settings for word in ("--set", setting)]
    args = board_tool.module.arguments(["run", BOARD, app, "--network", "dgram:5001,5002", *options])
    assert board_tool.module.command_of(args)[1] == where


def test_capture_with_a_comma(firmware, tmp_path):
    """What separates QEMU's options stands in a name, too."""
    firmware(BOARD, "echo", "--pcap", tmp_path / "a,b.pcap").ready().quit()
    assert (tmp_path / "a,b.pcap").stat().st_size > 24


def test_port_in_use(built):
    built(BOARD)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = subprocess.run(tool("run", BOARD, "echo", "--port", port), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=60)
    assert done.returncode == 1 and done.stderr == f"board: port {port} of 127.0.0.1: Address already in use\n"


@pytest.mark.parametrize("setting, said", [
    ("BOARD_IMAGE=ftp://10.0.2.2/image.bin", 'BOARD_IMAGE is "ftp://10.0.2.2/image.bin"'),
    (f"BOARD_IMAGE=http://10.0.2.2/{79 * 'p'}", "up to 79 characters each"),
    (f"BOARD_IMAGE=http://[{80 * 'a'}]:80/p", "up to 79 characters each"),
    ("BOARD_TIME=tomorrow", 'BOARD_TIME is "tomorrow"'), ("BOARD_TIME=192.0.2.256", "has to be an address"),
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
