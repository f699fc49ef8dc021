# SPDX-License-Identifier: MIT
"""The port that docs/porting.md begins with, from the command line, as anybody: every packet comes back."""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release"))

MIRROR = ["--port", "null:mirror"]


def test_pings_are_answered(tenon):
    for address in ("10.9.0.1", "fd00:9::1"):
        done = tenon("ping", *MIRROR, "-c", "2", "-i", "0.1", "-s", "3000", address)
        assert done.returncode == 0 and "2 received" in done.stdout, done.stdout + done.stderr


def test_what_is_said_is_heard(tenon):
    said = "".join(f"line {i}\n" for i in range(20_000))
    for argv, words in ((["10.9.0.1", "7"], said), (["-u", "fd00:9::1", "7"], "a word")):
        done = subprocess.run([BUILD / "tenon", "connect", "-q", *MIRROR, *argv], input=words, text=True,
                              capture_output=True, timeout=30, check=False)
        assert done.returncode == 0 and done.stdout == words, done.stderr


def shell(line, *argv, **more):
    """The program as $0, the arguments as $@, run by a shell that has done something to its streams."""
    return subprocess.run(["sh", "-c", line, BUILD / "tenon", *argv], capture_output=True, timeout=10, check=False,
                          **more)


def test_a_stdin_that_is_closed_is_at_its_end():
    done = shell('exec "$0" "$@" <&-', "connect", "-q", *MIRROR, "10.9.0.1", "7")
    assert done.returncode == 0 and done.stdout == b"", done


@pytest.mark.parametrize("stdout", [">&-", ">/dev/full"])
@pytest.mark.parametrize("argv", [["version"], ["help"], ["ping", "-c", "1", *MIRROR, "10.9.0.1"]])
def test_what_cannot_be_written_has_failed(stdout, argv):
    done = shell(f'exec "$0" "$@" {stdout}', *argv)
    assert done.returncode == 1 and b"stdout: " in done.stderr, done


def test_pings_end_when_nobody_reads_of_them():
    with subprocess.Popen([BUILD / "tenon", "ping", "-i", "0.05", *MIRROR, "10.9.0.1"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as ping:
        assert ping.stdout.readline().startswith(b"PING")
        ping.stdout.close()
        try:
            assert ping.wait(10) == 1
        finally:
            ping.kill()
