# SPDX-License-Identifier: MIT
"""The port that docs/porting.md begins with, from the command line, as anybody: every packet comes back."""
import contextlib
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release"))

MIRROR = ["--port", "null:mirror"]


def test_pings_are_answered(tenon):
    for address in ("10.9.0.1", "fd00:9::1"):
        done = tenon("ping", *MIRROR, "-c", "2", "-i", "0.1", "-s", "3000", address)
        assert done.returncode == 0 and "2 received" in done.stdout, done.stdout + done.stderr


def test_a_small_mtu_has_no_default_address_of_ipv6(tenon):
    done = tenon("ping", *MIRROR, "--mtu", "1279", "-c", "1", "10.9.0.1")
    assert done.returncode == 0 and "1 received" in done.stdout, done.stdout + done.stderr


def test_what_is_said_is_heard(tenon):
    said = "".join(f"line {i}\n" for i in range(20_000))
    for argv, words in ((["10.9.0.1", "7"], said), (["-u", "fd00:9::1", "7"], "a word")):
        done = subprocess.run([BUILD / "tenon", "connect", "-q", *MIRROR, *argv], input=words, text=True,
                              capture_output=True, timeout=30, check=False)
        assert done.returncode == 0 and done.stdout == words, done.stderr


def test_a_trace_begins_when_its_first_connection_does(tenon, tmp_path):
    """And not at 0 of the clock, of which the stack hears only when it is called."""
    done = tenon("connect", "-q", *MIRROR, "--trace", tmp_path / "t", "10.9.0.1", "7")
    assert done.returncode == 0, done.stderr
    lines = tenon("trace", "--json", tmp_path / "t").stdout.splitlines()
    assert json.loads(lines[0])["state"] == "SYN-SENT" and json.loads(lines[-1])["time_us"] < 30_000_000, lines


def shell(line, *argv, **more):
    """The program as $0, the arguments as $@, run by a shell that has done something to its streams."""
    return subprocess.run(["sh", "-c", line, BUILD / "tenon", *argv], capture_output=True, timeout=10, check=False,
                          **more)


def test_a_stdin_that_is_closed_is_at_its_end():
    done = shell('exec "$0" "$@" <&-', "connect", "-q", *MIRROR, "10.9.0.1", "7")
    assert done.returncode == 0 and done.stdout == b"", done


@pytest.mark.parametrize("udp", [[], ["-u"]], ids=["tcp", "udp"])
def test_a_stdin_that_cannot_be_read_is_no_end(udp):
    done = shell('exec "$0" "$@" </', "connect", "-q", *MIRROR, *udp, "10.9.0.1", "7")
    assert done.returncode == 1 and done.stderr == b"tenon connect: stdin: Is a directory\n", done


@pytest.mark.parametrize("udp", [[], ["-u"]], ids=["tcp", "udp"])
def test_what_is_heard_and_cannot_be_written_is_said(udp):
    done = shell('echo a word | "$0" "$@" >/dev/full', "connect", "-q", *MIRROR, *udp, "10.9.0.1", "7")
    assert done.returncode == 1 and done.stderr == b"tenon connect: stdout: No space left on device\n", done


@pytest.mark.parametrize("stdout", [">&-", ">/dev/full"])
@pytest.mark.parametrize("argv", [["version"], ["help"], ["ping", "-c", "1", *MIRROR, "10.9.0.1"]])
def test_what_cannot_be_written_has_failed(stdout, argv):
    done = shell(f'exec "$0" "$@" {stdout}', *argv)
    assert done.returncode == 1 and b"stdout: " in done.stderr, done


@pytest.mark.parametrize("argv", [["selftest", "--trace"], ["ping", "-q", "-c", "1", *MIRROR, "10.9.0.1", "--trace"],
                                  ["ping", "-q", "-c", "1", *MIRROR, "10.9.0.1", "--pcap"]], ids=lambda argv: argv[-1])
def test_a_record_that_is_incomplete_is_a_failure(tenon, argv):
    """The disk is full: what was asked for is not there, and who asked hears of it."""
    done = tenon(*argv, "/dev/full")
    assert done.returncode == 1 and "/dev/full" in done.stderr and "No space left" in done.stderr, done


@pytest.mark.parametrize("option", ["--pcap", "--trace"])
def test_who_waits_for_a_reader_can_be_ended(tmp_path, option):
    """The file may be a pipe at whose other end nobody is yet."""
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen([BUILD / "tenon", "echo", "-q", *MIRROR, option, tmp_path / "pipe"]) as echo:
        try:
            time.sleep(0.5)
            assert echo.poll() is None
            echo.terminate()
            assert echo.wait(10) == -signal.SIGTERM
        finally:
            echo.kill()


def test_pings_end_when_nobody_reads_of_them():
    with subprocess.Popen([BUILD / "tenon", "ping", "-i", "0.05", *MIRROR, "10.9.0.1"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as ping:
        assert ping.stdout.readline().startswith(b"PING")
        ping.stdout.close()
        try:
            assert ping.wait(10) == 1
        finally:
            ping.kill()


def wait_for_socket(folder):
    """That of the program that has this folder to itself."""
    for _ in range(200):
        for path in folder.glob("tenon/*.sock"):
            return path
        time.sleep(0.05)
    raise AssertionError("no socket")


def signalled(number, folder, ignored=""):
    """The status of a program that gets a signal when it runs, and what is left of its socket."""
    env = {"XDG_RUNTIME_DIR": str(folder)}
    argv = ["sh", "-c", ignored + 'exec "$@"', "sh", BUILD / "tenon", "echo", "-q", *MIRROR]
    with subprocess.Popen(argv, env=env) as echo:
        try:
            wait_for_socket(folder)
            echo.send_signal(number)
            return echo.wait(1 if ignored else 10), list(folder.glob("tenon/*"))
        finally:
            echo.kill()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_in_order(tmp_path, number):
    assert signalled(number, tmp_path) == (0, [])


@pytest.mark.parametrize("asked", [["--dns", "10.9.0.1"], []], ids=["server", "router"])
def test_a_signal_while_a_name_is_looked_up_is_no_success(tmp_path, asked):
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    with subprocess.Popen([BUILD / "tenon", "resolve", "-q", *MIRROR, *asked, "a.example"], env=env) as resolve:
        try:
            wait_for_socket(tmp_path)
            time.sleep(0.2)
            resolve.terminate()
            assert resolve.wait(10) == 128 + signal.SIGTERM
        finally:
            resolve.kill()


def test_it_outlives_its_terminal_if_it_shall(tmp_path):
    with pytest.raises(subprocess.TimeoutExpired):
        signalled(signal.SIGHUP, tmp_path, 'trap "" HUP; ')


def processor_seconds(pid):
    user, system = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_without_a_descriptor_for_a_reader_it_waits(tmp_path):
    """Who asks for a snapshot is in the queue of the socket, which is readable all the time: no reason to spin."""
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    with subprocess.Popen([BUILD / "tenon", "echo", "-q", *MIRROR], env=env) as echo:
        try:
            path = wait_for_socket(tmp_path)
            limits = resource.prlimit(echo.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(echo.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
            with socket.socket(socket.AF_UNIX) as reader:
                reader.settimeout(10)
                reader.connect(str(path))
                before = processor_seconds(echo.pid)
                time.sleep(2)
                used = processor_seconds(echo.pid) - before
                resource.prlimit(echo.pid, resource.RLIMIT_NOFILE, limits)
                assert reader.recv(1) == b"{"
        finally:
            echo.terminate()
    assert used < 0.5


def snapshot(name, folder):
    """What tenon top says of a program whose port has this name."""
    env = {"XDG_RUNTIME_DIR": str(folder)}
    with subprocess.Popen([BUILD / "tenon", "echo", "-q", "--port", b"null:" + name], env=env) as echo:
        try:
            for _ in range(50):
                done = subprocess.run([BUILD / "tenon", "top", "--once", "--json", str(echo.pid)], env=env,
                                      capture_output=True, timeout=10, check=False)
                if done.returncode == 0:
                    break
                time.sleep(0.1)
        finally:
            echo.terminate()
    assert done.returncode == 0, done
    return json.loads(done.stdout.decode())


@pytest.mark.parametrize("name, shown", [(b'a"b\\c', 'a"b\\c'), ("süd".encode(), "süd"), (b"s\xfcd", "s\ufffdd"),
                                         (b"\xed\xa0\x80", "\ufffd" * 3), (b"\xc2\x9bx\x7f", "\x9bx\x7f")])
def test_a_snapshot_is_json_whatever_the_port_is_called(tmp_path, name, shown):
    assert snapshot(name, tmp_path)["interfaces"][0]["name"] == "null:" + shown


def test_a_folder_whose_name_is_too_long_is_not_cut(tmp_path):
    folder = tmp_path / ("n" * 100)
    folder.mkdir()
    assert snapshot(b"mirror", folder)["command"] == "echo"
    assert list(tmp_path.iterdir()) == [folder] and list(folder.iterdir()) == []


def test_of_several_programs_all_are_named(tenon, tmp_path):
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    echoes = [subprocess.Popen([BUILD / "tenon", "echo", "-q", *MIRROR], env=env) for _ in range(3)]
    try:
        end = time.monotonic() + 10
        while len(list(tmp_path.glob("tenon/*.sock"))) < 3 and time.monotonic() < end:
            time.sleep(0.05)
        done = tenon("top", "--once", env=env)
    finally:
        for echo in echoes:
            echo.terminate()
            echo.wait()
    assert done.returncode == 1 and "say which" in done.stderr
    assert sorted(map(int, done.stderr.split("PID\n")[1].split())) == sorted(echo.pid for echo in echoes)


def answering(path, said, times):
    """A thread in which somebody at this socket says it so often."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def answer():
        with server:
            for _ in range(times):
                with server.accept()[0] as reader, contextlib.suppress(BrokenPipeError):
                    reader.sendall(said)

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


@pytest.mark.parametrize("said, shown", [
    (b'{"command":"\\u001b[31m\xc2\x9b1m\\u007f","uptime_us":1}', "tenon ?[31m??1m?  pid 0"),
    (b'{"counters":[1],"tcp":{"states":[1],"list":[{"waited_us":[1]}]},"uptime_us":1}', "0 connections"),
])
def test_a_program_of_somebody_else_does_no_harm(tenon, tmp_path, said, shown):
    """His socket may say anything: nothing controls the terminal, and what is no snapshot is none."""
    thread = answering(tmp_path / "s", said, 3)    # whether it is there, and two snapshots
    done = tenon("top", "--once", tmp_path / "s")
    thread.join()
    assert done.returncode == 0 and shown in done.stdout and not set(done.stdout) & {"\x1b", "\x9b", "\x7f"}, done


def test_nor_does_what_is_shown_as_it_is(tenon, tmp_path):
    said = b'{"a":"\x1b[31m\xc2\x9b1m\x7f\xc3\xbc",\n"b":1}\n'
    thread = answering(tmp_path / "s", said, 2)
    done = tenon("top", "--json", tmp_path / "s")
    thread.join()
    assert done.returncode == 0 and done.stdout == '{"a":"?[31m??1m?\xfc",\n"b":1}\n', done
