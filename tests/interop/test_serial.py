# SPDX-License-Identifier: MIT
"""examples/serial.c, TCP in SLIP on a serial line, against the kernel: with the whole library, and with the smallest
build ("tiny" of tests/trim/combinations), as a program that links it alone has it."""
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest

from conftest import HERE, ROOT, find_tenon

OWN, PEER, PORT = "192.168.7.2", "192.168.7.1", 7
SERVER = """
import socket, sys
with socket.create_server((sys.argv[1], int(sys.argv[2]))) as server:
    print("listens", flush=True)
    server.settimeout(60)
    conn = server.accept()[0]
    print("accepted", flush=True)
    come = b""
    while piece := conn.recv(65536):
        come += piece
    conn.sendall(come)
    conn.shutdown(socket.SHUT_WR)
    conn.recv(1)
"""


def tiny_switches():
    for line in (ROOT / "tests" / "trim" / "combinations").read_text().splitlines():
        if line.startswith("tiny "):
            return line.split()[1:]
    raise AssertionError("tests/trim/combinations has no tiny")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """{build: program}"""
    folder = tmp_path_factory.mktemp("serial")
    without = [f"-DTENON_WITH_{name}=0" for name in tiny_switches()]
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]
    cc = shutil.which("cc") or shutil.which("gcc")
    subprocess.run([cc, "-std=c89", "-Os", *strict, *without, "-DTENON_UNITY=1", "-c", ROOT / "src" / "tenon_all.c",
                    "-o", folder / "tenon.o"], check=True)
    subprocess.run([cc, "-std=gnu11", "-Os", *strict, *without, ROOT / "examples" / "serial.c", folder / "tenon.o",
                    ROOT / "src" / "base" / "panic.c", "-o", folder / "serial"], check=True)
    whole = pathlib.Path(find_tenon()).parent / "examples" / "serial"
    if not whole.exists():
        pytest.skip("examples/serial is not built")
    return {"whole": whole, "tiny": folder / "serial"}


@pytest.fixture
def line(net, request):
    """Start a line that loses one packet of so many. @return its terminal"""
    started = []

    def start(lose):
        process = net.start(sys.executable, HERE / "serial_line.py", "sl7", OWN, PEER, lose, stdout=subprocess.PIPE,
                            text=True)
        started.append(process)
        return process.stdout.readline().strip()
    yield start
    for process in started:
        net.stop(process)
        process.stdout.close()


@pytest.fixture
def serve(net):
    """Let the kernel listen, where there is a line already. @return the process, which says when it has accepted"""
    started = []

    def start():
        process = net.start(sys.executable, "-c", SERVER, PEER, PORT, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "listens\n"
        return process
    yield start
    for process in started:
        net.stop(process)
        process.stdout.close()


def talk(net, program, terminal, given, port=PORT, **more):
    """@return what subprocess.run() does, of the program on the terminal"""
    with open(terminal, "r+b", buffering=0) as end:
        return net.run(program, end.fileno(), OWN, PEER, port, input=given, text=False, pass_fds=[end.fileno()], **more)


@pytest.mark.parametrize("build, size, lose", [("whole", 2_000_003, 0), ("tiny", 60_001, 0), ("tiny", 20_011, 17)])
def test_bytes_come_back(net, line, serve, programs, build, size, lose):
    """There and back, with a FIN in each direction; SLIP's own two bytes are among them."""
    given = random.Random(size).randbytes(size)
    terminal = line(lose)
    serve()
    done = talk(net, programs[build], terminal, given, timeout=120)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(given).digest(), (len(done.stdout), done.stderr)
    assert done.stderr == b""


def test_ping(net, line, serve, programs):
    """The smallest one answers echo requests (RFC 1122 3.2.2.6), and a segment for nobody with a reset."""
    terminal = line(0)
    server = serve()
    with open(terminal, "r+b", buffering=0) as end:
        process = net.start(programs["tiny"], end.fileno(), OWN, PEER, PORT, stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, pass_fds=[end.fileno()])
        try:
            assert server.stdout.readline() == "accepted\n"    # until then the terminal may still echo what comes
            assert "2 received" in net.run("ping", "-c2", "-i0.2", "-s900", "-W5", OWN).stdout
            refused = net.run(sys.executable, "-c", f"import socket; socket.create_connection(('{OWN}', 99), 5)",
                              check=False)
            assert "ConnectionRefusedError" in refused.stderr
        finally:
            process.stdin.close()
            net.stop(process)


@pytest.mark.parametrize("build", ["whole", "tiny"])
def test_refused(net, line, programs, build):
    done = talk(net, programs[build], line(0), b"", port=9, check=False)
    assert done.returncode == 1 and b"the connection has ended: connection refused" in done.stderr, done.stderr


@pytest.mark.parametrize("build", ["whole", "tiny"])
def test_output_is_full(net, line, serve, programs, build):
    """What cannot be written is no success, however little it is."""
    terminal = line(0)
    serve()
    words = f"printf few | {programs[build]} 3 {OWN} {PEER} {PORT} 3<>{terminal} >/dev/full"
    done = net.run("sh", "-c", words, check=False)
    assert done.returncode == 1 and "standard output takes no more" in done.stderr


def test_input_cannot_be_read(net, line, serve, programs):
    """A folder as standard input: the peer must not take it for the end."""
    terminal = line(0)
    serve()
    done = net.run("sh", "-c", f"{programs['tiny']} 3 {OWN} {PEER} {PORT} 3<>{terminal} </", check=False)
    assert done.returncode == 1 and "standard input cannot be read" in done.stderr


def test_line_is_gone(net, line, programs):
    terminal = line(0)
    done = net.run("sh", "-c", f"exec {programs['tiny']} 3 {OWN} {PEER} {PORT} 3</dev/null", check=False)
    assert os.path.exists(terminal) and done.returncode == 1 and "the line is gone" in done.stderr


@pytest.mark.parametrize("words, what", [(["3"], "four arguments"), (["99", OWN, PEER, "7"], "no descriptor"),
                                         (["0", "here", PEER, "7"], "are addresses"),
                                         (["line", OWN, PEER, "7"], "no descriptor"),
                                         (["0", OWN, PEER, "echo"], "PORT is"), (["0", OWN, PEER, "65543"], "PORT is"),
                                         (["0", "0.0.0.0", PEER, "7"], "cannot be ours")])
def test_usage(net, programs, words, what):
    done = net.run(programs["tiny"], *words, check=False)
    assert done.returncode == 2 and what in done.stderr and "usage: serial" in done.stderr
