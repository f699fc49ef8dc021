# SPDX-License-Identifier: MIT
"""The services in firmware, with servers that are there: an image by the name of its host (dnsmasq, over datagrams and
over TCP), and samples with the time of day (a server of NTP that DHCP has told of)."""
import http.server
import os
import re
import shutil
import socket
import socketserver
import struct
import subprocess
import sys
import time
import zlib

import pytest

from conftest import BOARDS
from test_logger import SAMPLE, check

every_board = pytest.mark.parametrize("board", BOARDS)
NTP_EPOCH = 2208988800      # 1970 in NTP's seconds
AHEAD = 1_000_000_000       # the server's time is another one than this machine's, after 2036


def within(what, argument):
    """What runs in the namespace: this file as a program."""
    if what == "http":
        os.chdir(argument)
        # not HTTPServer, which asks for its own name at the start
        with socketserver.TCPServer(("10.0.2.2", 8080), http.server.SimpleHTTPRequestHandler) as server:
            print("http is here", flush=True)
            server.serve_forever()
    if what == "read":
        with socket.create_connection((argument, 7100), timeout=60) as s:
            while data := s.recv(65536):
                sys.stdout.buffer.write(data)
                sys.stdout.flush()
    ntp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ntp.bind(("10.0.2.2", 123))
    print("ntp is here", flush=True)
    while True:
        asked, who = ntp.recvfrom(100)
        now = time.time() + int(argument) + NTP_EPOCH
        stamp = struct.pack(">II", int(now) % 2 ** 32, int(now % 1 * 2 ** 32))
        # RFC 5905 7.3: no leap second, version 4, a server; stratum 2; the request's time comes back
        ntp.sendto(struct.pack(">BBbbII4s", 0x24, 2, 6, -20, 0, 0, b"test") + stamp + asked[40:48] + stamp + stamp, who)


@pytest.fixture
def servers(space, tmp_path):
    """servers(OPTION...): dnsmasq on t0, whose log is returned; servers.run(WHAT, ARGUMENT): within()."""
    if shutil.which("dnsmasq") is None:
        pytest.skip("needs dnsmasq (dnsmasq-base)")
    started = []
    log = tmp_path / "dnsmasq.log"

    def run(*words):
        started.append(subprocess.Popen([*space, *words], stdin=subprocess.DEVNULL, stdout=open(log, "ab"),
                                        stderr=subprocess.STDOUT))

    def wait_for(words):
        end = time.monotonic() + 30
        while words not in log.read_text():
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.02)

    def start(*options):
        run("dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--log-queries",
            "--log-dhcp", "--user=root", "--group=root", "--interface=t0", "--bind-interfaces", "--except-interface=lo",
            "--no-ping", "--dhcp-range=10.0.2.50,10.0.2.60,255.255.255.0,1h", f"--dhcp-leasefile={tmp_path / 'leases'}",
            f"--pid-file={tmp_path / 'pid'}", *options)
        wait_for(" started")
        return log

    def start_own(what, argument):
        run(sys.executable, __file__, what, str(argument))
        wait_for(f"{what} is here")

    start.run = start_own
    yield start
    for one in started:
        one.terminate()
    for one in started:
        one.wait(10)


def start_on_tap(firmware, space, board, app):
    running = firmware(board, app, "--network", "tap:t0", prefix=space)
    running.wait_for("ready")
    while "by DHCP" not in running.wait_for("address"):
        pass
    return running


@every_board
def test_image_by_name(firmware, space, servers, tmp_path, board):
    """Names that are not there, that need TCP, that are; addresses of both versions; what is no URL."""
    long = [f"{'x' * 60}.{'y' * 60}.{'z' * 60}{n}.test" for n in range(3)]    # three aliases of 190 bytes: no datagram
    aliases = [f"--cname={a},{b}" for a, b in zip(["far.test", *long], long)]
    log = servers("--local=/test/", "--host-record=files.test,10.0.2.2", f"--host-record={long[2]},10.0.2.2", *aliases)
    (tmp_path / "www").mkdir()
    image = os.urandom(30011)
    (tmp_path / "www" / "new.bin").write_bytes(image)
    servers.run("http", tmp_path / "www")
    running = start_on_tap(firmware, space, board, "download")
    whole = f"image {len(image)} bytes, CRC-32 {zlib.crc32(image):08x}"
    for url, answer in (("http://files.test:8080/new.bin", whole),
                        ("http://nothing.test/", "no address of nothing.test: no such name"),
                        ("http://files.test:8080/old.bin", "no image: status 404"),
                        ("http://far.test:8080/new.bin", whole),
                        ("https://files.test/", "no URL"),
                        ("http://[10.0.2.2:8080/", "no URL"),
                        ("http://files.test:80800/", "no URL"),
                        ("http://a..b/", "no address: that cannot be a name"),
                        ("http://10.0.2.2:8080/new.bin", whole)):
        running.key(f"u{url}\n")
        line = running.wait_for(answer.split()[0] + " " + answer.split()[1], 60)
        assert line.startswith(answer), (url, line)
    running.quit()
    assert "far.test" in log.read_text()


@every_board
def test_image_by_routers_word(firmware, space, servers, tmp_path, board):
    """Where DHCP tells of no server for names a router does, here of itself by its link-local address; where both do,
    DHCP's is the first to be asked."""
    router = ("--local=/test/", "--host-record=files.test,10.0.2.2", "--enable-ra", "--dhcp-range=fd00:10::,ra-only",
              "--dhcp-option=option6:dns-server,[fe80::]")
    log = servers("--dhcp-option=option:dns-server", *router)
    image = os.urandom(3001)
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "new.bin").write_bytes(image)
    servers.run("http", tmp_path / "www")
    running = start_on_tap(firmware, space, board, "download")
    answer = "no server is known"
    end = time.monotonic() + 60
    while "no server is known" in answer:       # the router's word comes at its own time, asked for or not
        assert time.monotonic() < end, log.read_text()
        running.key("uhttp://files.test:8080/new.bin\n")
        answer = running.wait_for(("image ", "no address of "), 60)
    assert answer == f"image {len(image)} bytes, CRC-32 {zlib.crc32(image):08x}"
    running.quit()
    assert set(re.findall(r"query\[A\] files.test from (\S+?):", log.read_text() + ":")) <= {"fe80"}
    assert "query[A] files.test from fe80:" in log.read_text()


@every_board
def test_dhcps_word_before_routers(firmware, space, servers, tmp_path, board):
    log = servers("--local=/test/", "--host-record=files.test,10.0.2.2", "--enable-ra",
                  "--dhcp-range=fd00:10::,ra-only")
    servers.run("http", tmp_path)
    running = start_on_tap(firmware, space, board, "download")
    running.key("uhttp://files.test:8080/none.bin\n")
    running.wait_for("no image: status 404", 60)
    running.quit()
    assert re.search(r"query\[A\] files.test from 10\.0\.2\.", log.read_text())
    assert not re.search(r"query\[A\] files.test from f", log.read_text())


@every_board
def test_image_by_tftp(firmware, space, servers, tmp_path, board):
    """Over both IP versions, with the blocks that one packet carries; a file that is not there."""
    (tmp_path / "www").mkdir()
    image = os.urandom(60011)
    (tmp_path / "www" / "new.bin").write_bytes(image)
    (tmp_path / "www" / "blocks.bin").write_bytes(image[:1428 * 3])
    log = servers("--local=/test/", "--host-record=files.test,10.0.2.2", "--enable-tftp",
                  f"--tftp-root={tmp_path / 'www'}")
    running = start_on_tap(firmware, space, board, "download")

    def whole(data):
        return f"image {len(data)} bytes, CRC-32 {zlib.crc32(data):08x}"

    for url, answer in (("tftp://files.test/new.bin", whole(image)),
                        ("tftp://10.0.2.2/old.bin", "no image: TFTP error 1, bytes 0"),
                        ("tftp://10.0.2.2:70/new.bin", "no image: nobody is there, bytes 0"),
                        ("tftp://10.0.2.2/", "no URL"),
                        ("tftp://10.0.2.2/blocks.bin", whole(image[:1428 * 3])),
                        ("tftp://[fd00:10::2]/new.bin", whole(image))):
        running.key(f"u{url}\n")
        line = running.wait_for(answer.split()[0] + " " + answer.split()[1], 90)
        assert line.startswith(answer), (url, line)
    running.quit()
    assert log.read_text().count("dnsmasq-tftp: sent ") == 3, log.read_text()


@pytest.mark.parametrize("board", BOARDS[:1])
def test_image_by_tftp_without_larger_blocks(firmware, space, servers, tmp_path, board):
    """A server that does not take the option: blocks of 512, as RFC 1350 has them."""
    image = os.urandom(512 * 20)
    (tmp_path / "new.bin").write_bytes(image)
    servers("--enable-tftp", f"--tftp-root={tmp_path}", "--tftp-no-blocksize")
    running = start_on_tap(firmware, space, board, "download")
    running.key("utftp://10.0.2.2/new.bin\n")
    assert running.wait_for("image ", 60) == f"image {len(image)} bytes, CRC-32 {zlib.crc32(image):08x}"
    running.quit()


@every_board
def test_time(firmware, space, servers, board):
    """Samples have the time of the server that DHCP has told of, which is not that of this machine."""
    servers("--port=0", "--dhcp-option=42,10.0.2.2")
    servers.run("ntp", AHEAD)
    running = start_on_tap(firmware, space, board, "logger")
    address = running.seen[-1].split()[1]
    told = int(running.wait_for("time ", 90).split()[1])
    assert abs(told - AHEAD - time.time()) < 60
    with subprocess.Popen([*space, sys.executable, __file__, "read", address], stdout=subprocess.PIPE) as reader:
        rows = list(SAMPLE.iter_unpack(reader.stdout.read(1000 * SAMPLE.size)))
        now = time.time() + AHEAD
        check(rows)
        assert told <= rows[0][1] <= rows[-1][1] <= now + 2
        assert all(row[2] < 1_000_000 for row in rows)
        reader.terminate()
    running.quit()


if __name__ == "__main__":
    within(sys.argv[1], sys.argv[2])
