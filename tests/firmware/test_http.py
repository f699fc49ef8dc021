# SPDX-License-Identifier: MIT
"""ports/boards/apps/http.c, asked by curl."""
import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from conftest import BOARDS, DMA, REQUESTS, held

every_board = pytest.mark.parametrize("board", BOARDS)


@every_board
def test_page_and_numbers(firmware, curl, board):
    running = firmware(board, "http").ready()
    url = f"http://127.0.0.1:{running.port()}"
    page = curl("-i", url + "/")
    assert page.startswith("HTTP/1.1 200 OK") and "Transfer-Encoding: chunked" in page
    assert board in page and page.rstrip().endswith("</script>")
    assert "<tr><td>tcp_established<td>" in page
    numbers = json.loads(curl(url + "/status.json"))
    assert numbers["board"] == board
    assert numbers["tcp_established"] >= 2
    assert any(doing == "is answered" for doing in numbers.values())
    assert 0 < numbers["stack_most"] < numbers["stack"]
    assert numbers["ram_fixed"] < numbers["ram"]
    again = json.loads(curl(url + "/status.json"))
    rise = {name: again[name] - numbers[name] for name in ("copied", "device_copied", "sent", "tx_bytes", "rx_bytes")}
    assert rise["copied"] == 0    # before, DHCP has copied its messages
    if board in DMA:    # headers of what was sent, and nothing else
        assert 0 < rise["device_copied"] <= rise["tx_bytes"] - rise["sent"]
    else:               # each frame once; the numbers are not of the same moment
        assert abs(rise["device_copied"] - rise["tx_bytes"] - rise["rx_bytes"]) <= 200
    assert curl(url + "/rows").startswith("<tr><td>" + board)
    running.quit()


@every_board
def test_other_requests(firmware, curl, board):
    running = firmware(board, "http").ready()
    url = f"http://127.0.0.1:{running.port()}"
    status = lambda *words: int(curl("-o", os.devnull, "-w", "%{http_code}", *words))
    assert "Content-Length: 0" in curl("-I", url + "/nothing")
    assert curl("-I", url + "/").startswith("HTTP/1.1 200 OK")
    assert status(url + "/nothing") == 404
    assert status("-X", "DELETE", url + "/") == 405
    assert status(url + "/" + 100 * "x") == 414
    assert status("-H", "Transfer-Encoding: chunked", url + "/") == 411
    assert status("-H", "X: " + 9000 * "x", url + "/") == 431
    assert status("-d", "x=1", url + "/") == 405
    old = curl("-0", "-i", url + "/")
    assert "chunked" not in old and old.rstrip().endswith("</script>")
    # Several requests over one connection: --next makes curl keep it.
    assert curl(url + "/status.json", url + "/status.json", "-w", "%{num_connects}").count("}\n") == 2
    running.quit()


HOST = "Host: x\r\n"
WRONG = [    # what stands in front of the empty line, and the answer: RFC 9112 3, 5, 6
    ("GET / HTTP/1.1\r\n" + HOST, 200),
    ("GET / HTTP/1.1\r\n", 400),
    ("GET / HTTP/1.1\r\nX: y\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + "host: y\r\n", 400),
    ("GET / HTTP/1.0\r\n", 200),
    ("GET / HTTP/1.0\r\n" + HOST + HOST, 400),
    ("HEAD /nothing HTTP/1.1\r\n" + HOST, 404),
    ("GET /nothing HTTP/1.1\r\n", 400),
    ("BREW / HTTP/1.1\r\n" + HOST, 501),
    ("get / HTTP/1.1\r\n" + HOST, 501),
    ("GETS / HTTP/1.1\r\n" + HOST, 501),
    (60 * "X" + " / HTTP/1.1\r\n" + HOST, 501),
    ("OPTIONS * HTTP/1.1\r\n" + HOST, 405),
    ("\r\nGET / HTTP/1.1\r\n" + HOST, 200),
    ("GET http://x/rows HTTP/1.1\r\n" + HOST, 200),
    ("GET HTTP://x:80?y HTTP/1.1\r\n" + HOST, 200),
    ("GET http://x/nothing HTTP/1.1\r\n" + HOST, 404),
    ("GET\r\n" + HOST, 400),
    ("GET  HTTP/1.1\r\n" + HOST, 404),
    ("GET / HTTP/1.9\r\n" + HOST, 200),
    ("GET / HTTP/1.\r\n" + HOST, 400),
    ("GET / HTTP/1.12\r\n" + HOST, 400),
    ("GET / HTTP/1.1 junk\r\n" + HOST, 400),
    ("GET / HTTP/2.0\r\n" + HOST, 400),
    ("GET / x HTTP/1.1\r\n" + HOST, 400),
    ("GET /\tx HTTP/1.1\r\n" + HOST, 400),
    ("GET /?" + 32 * "x" + " HTTP/1.1\r\n" + HOST, 200),
    ("GET /?" + 33 * "x" + " HTTP/1.1\r\n" + HOST, 414),
    ("GET /\r HTTP/1.1\r\n" + HOST, 400),
    ("GET / HTTP/1.1\0\r\n" + HOST, 400),
    ("GET / HTTP/1.1\r\n" + "Host: x\ry\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length: 0\0" + "5\r\n", 400),
    ("GET /\r\n" + HOST, 400),
    ("GET /" + 60 * "x" + " HTTP/1.1\r\n" + HOST, 414),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length: 0\r\n", 200),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length:\t00 \r\n", 200),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length: " + 31 * "0" + "\r\n", 200),
    ("GET / HTTP/1.1\r\n" + HOST + 47 * "x" + "\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length: 5\r\n", 413),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length: 05\r\n", 413),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length: " + 40 * "0" + "5\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length: 0x5\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length: -5\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length:\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + "Content-Length : 5\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + " folded\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + "nothing\r\n", 400),
    ("GET / HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n", 411),
]


@every_board
def test_wrong_requests(firmware, board):
    running = firmware(board, "http").ready()
    for ask, status in WRONG:
        with socket.create_connection(("127.0.0.1", running.port()), timeout=20) as s, s.makefile("rb") as answer:
            s.sendall(ask.encode() + b"\r\n")
            assert answer.readline().split()[1] == str(status).encode(), ask
    with socket.create_connection(("127.0.0.1", running.port()), timeout=20) as s:    # content is no second request
        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 037\r\n\r\nGET /rows HTTP/1.1\r\nHost: x\r\n\r\n")
        assert read_all(s).count(b"HTTP/1.1 ") == 1
    running.quit()


def test_last_request(firmware):
    """Who says, in whatever words, that it was the last one gets the end with his answer: RFC 9112 9.6."""
    running = firmware("lm3s6965evb", "http").ready()
    for words in ("close", "CLOSE ", "TE, close", "TE ,\tclose, x", "Upgrade, HTTP2-Settings, keep-alive, close"):
        with socket.create_connection(("127.0.0.1", running.port()), timeout=20) as s:
            s.sendall(f"GET /rows HTTP/1.1\r\nHost: x\r\nConnection: {words}\r\n\r\n".encode())
            assert b"\r\nConnection: close\r\n" in read_all(s), words
    for words in ("keep-alive", "closed", "x-close", "disclose"):
        with socket.create_connection(("127.0.0.1", running.port()), timeout=20) as s:
            s.sendall(f"HEAD /rows HTTP/1.1\r\nHost: x\r\nConnection: {words}\r\n\r\n".encode())
            assert b"close" not in s.recv(4096), words
    running.quit()


def test_page_of_a_dead_board(firmware, curl):
    """The page's script, with a fetch() that fails."""
    if shutil.which("node") is None:
        pytest.skip("needs node")
    running = firmware("lm3s6965evb", "http").ready()
    script = re.search("<script>(.*)</script>", curl(f"http://127.0.0.1:{running.port()}/"))[1]
    around = """
        const t = {}, document = {getElementById: () => t};
        let answer = () => Promise.resolve({text: () => 'rows'}), tick;
        const fetch = () => answer(), setInterval = f => tick = f;
        %s
        const wait = () => new Promise(done => setTimeout(done, 10));
        (async () => {
            tick(); await wait(); console.log(t.innerHTML);
            answer = () => Promise.reject('dead'); tick(); await wait(); console.log(t.innerHTML);
        })();"""
    done = subprocess.run(["node", "-e", around % script], capture_output=True, text=True, check=False)
    assert done.stdout == "rows\n<tr><td>no answer\n", done.stderr
    running.quit()


def read_all(s):
    data = b""
    while piece := s.recv(4096):
        data += piece
    return data


@every_board
def test_pipelined_in_pieces(firmware, board):
    """Three requests at once, then one octet by octet: each gets its answer, in order."""
    running = firmware(board, "http").ready()
    with socket.create_connection(("127.0.0.1", running.port()), timeout=20) as s:
        ask = b"HEAD /%s HTTP/1.1\r\nHost: x\r\n\r\n"
        s.sendall(ask % b"" + ask % b"nothing" + ask % b"rows")
        for octet in b"\r\nGET /status.json HTTP/1.1\r\nHost: x\r\nConnection: CLOSE\r\n\r\n":
            s.sendall(bytes([octet]))
        answers = read_all(s).split(b"HTTP/1.1 ")[1:]
    assert [a[:3] for a in answers] == [b"200", b"404", b"200", b"200"]
    assert b"Connection: close" in answers[3] and answers[3].endswith(b"0\r\n\r\n")
    running.quit()


def settled(running):
    """Its state when connections have ended: what is left are the records of TIME-WAIT, which have a limit."""
    for _ in range(50):
        before = running.status()
        time.sleep(0.2)
        after = running.status()
        if held(before) == held(after):
            return after
    raise AssertionError(f"it does not come to rest: {before} {after}")


def ask_again_and_again(curl, url, requests, prefix):
    """In runs of 100, each request over a connection of its own."""
    done = 0
    while done < requests:
        n = min(100, requests - done)
        out = curl("-H", "Connection: close", "-w", "%{num_connects}\n", f"{url}status.json?[1-{n}]",
                   prefix=prefix, timeout=300)
        assert out.count("}\n1\n") == n
        done += n


@every_board
@pytest.mark.parametrize("host", ["10.0.2.15", "[fd00:10::15]"])
def test_again_and_again(firmware, curl, space, board, host):
    """TENON_FIRMWARE_REQUESTS requests, each over its own connection, by Linux; then nothing is held that was not
    before."""
    running = firmware(board, "http", "--network", "tap:t0", prefix=space).ready()
    ask_again_and_again(curl, f"http://{host}/", 8, space)
    # Linux looks for a neighbour that it has not heard of for a while from its link-local address: one more neighbour.
    subprocess.run([*space, "ping", "-6", "-c", "1", "-W", "20", "-I", "fe80::2%t0", "fd00:10::15"], check=True,
                   stdout=subprocess.DEVNULL)
    before = settled(running)
    ask_again_and_again(curl, f"http://{host}/", REQUESTS, space)
    after = settled(running)
    assert held(after) == held(before)
    # of each connection at least SYN, question and FIN came, and the answers to them went
    assert min(after[frames] - before[frames] for frames in ("rx_frames", "tx_frames")) >= 3 * REQUESTS
    assert after["memory_top"] < 0.9 * after["memory_bytes"]    # one after the other they do not get near what there is
    running.quit()


def four_ask(requests, prefix):
    limit = str(120 + requests // 10)
    curls = [subprocess.Popen([*prefix, "curl", "-sS", "-H", "Connection: close", "--max-time", limit,
                               f"http://10.0.2.15/?[1-{max(1, requests // 4)}]"], stdout=subprocess.PIPE, text=True)
             for _ in range(4)]
    pages = [c.communicate(timeout=200 + requests // 10)[0] for c in curls]
    assert [c.returncode for c in curls] == [0, 0, 0, 0]
    assert [p.count("</script>") for p in pages] == [max(1, requests // 4)] * 4


@every_board
def test_four_at_a_time(firmware, space, board):
    """And afterwards nothing is held that was not before."""
    running = firmware(board, "http", "--network", "tap:t0", prefix=space).ready()
    four_ask(32, space)
    before = settled(running)
    four_ask(REQUESTS, space)
    assert held(settled(running)) == held(before)
    running.quit()


def ask(connection, path=b"/status.json"):
    """A request over a connection that stays, and its answer; b"" if it has been closed."""
    connection.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = b""
    while not answer.endswith(b"\r\n0\r\n\r\n"):
        piece = connection.recv(4096)
        if not piece:
            return b""
        answer += piece
    return answer


def test_who_has_not_asked_yet_stays(firmware):
    """There are fewer rings than clients: an idle client that has one makes room, not one that never had any."""
    running = firmware("lm3s6965evb", "http").ready()
    connect = lambda: socket.create_connection(("127.0.0.1", running.port()), timeout=20)
    first = connect()
    time.sleep(0.3)
    keep = [connect() for _ in range(6)]
    assert all(ask(connection) for connection in keep)
    assert ask(first)
    for connection in [first, *keep]:
        connection.close()
    running.quit()


def read_all_of(s):
    """An answer, and that it was the last; the connection stays half open."""
    answer = read_all(s)
    assert answer.endswith(b"}\n"), answer[-50:]


def test_rings_of_who_does_not_close(firmware):
    """Each ring has a client who got his answer and does not close: the next one is answered when they have to leave,
    though nothing else happens then."""
    running = firmware("lm3s6965evb", "http").ready()
    connect = lambda: socket.create_connection(("127.0.0.1", running.port()), timeout=20)
    keep = [connect() for _ in range(5)]
    last = connect()
    for connection in keep:
        connection.sendall(b"GET /status.json HTTP/1.0\r\n\r\n")
    for connection in keep:
        read_all_of(connection)
    assert ask(last)
    for connection in [last, *keep]:
        connection.close()
    running.quit()


def is_sent_away(running, connection, seconds):
    """Whether a client who sends an octet each second is."""
    try:
        for _ in range(seconds):
            connection.sendall(b"x")
            time.sleep(0.1)
            running.pass_time(1)
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_slow_clients_do_not_stay(firmware):
    """Neither one whose request does not end, nor one who has his answer and goes on."""
    running = firmware("lm3s6965evb", "http").ready()
    connect = lambda: socket.create_connection(("127.0.0.1", running.port()), timeout=20)
    with connect() as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert is_sent_away(running, slow, 20)
    with connect() as slow:
        slow.sendall(b"GET /status.json HTTP/1.0\r\n\r\n")
        read_all_of(slow)
        assert is_sent_away(running, slow, 6)
    running.quit()


def test_who_comes_after_an_idle_client(firmware):
    """His time begins with him, not with the one whose place he has got."""
    running = firmware("lm3s6965evb", "http").ready()
    connect = lambda: socket.create_connection(("127.0.0.1", running.port()), timeout=20)
    with connect():
        time.sleep(0.2)
        running.pass_time(14)
    with connect() as connection:
        time.sleep(0.2)
        running.pass_time(3)
        assert ask(connection)
    running.quit()


def test_smallest_segments(firmware, space):
    """Each piece of the page has room in a segment, with timestamps, however small the client says that its are."""
    running = firmware("lm3s6965evb", "http", "--network", "tap:t0", prefix=space).ready()
    one = ("import socket\n"
           "s = socket.socket()\n"
           "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 100)\n"
           "s.settimeout(20)\n"
           "s.connect(('10.0.2.15', 80))\n"
           "s.sendall(b'GET /status.json HTTP/1.0\\r\\n\\r\\n')\n"
           "while piece := s.recv(4096):\n"
           "    print(piece.decode(), end='')\n")
    done = subprocess.run([*space, "python3", "-c", one], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("HTTP/1.1 200 OK") and done.stdout.endswith("}\n")
    running.quit()


def test_idle_clients_give_way(firmware, space, curl):
    """As many clients as the small board serves, all of which keep their connection: the next gets its turn."""
    running = firmware("lm3s6965evb", "http", "--network", "tap:t0", prefix=space).ready()
    many = ("import socket, time\n"
            "idle = [socket.create_connection(('10.0.2.15', 80), timeout=30) for _ in range(8)]\n"
            "print('there', flush=True)\n"
            "time.sleep(60)\n")
    with subprocess.Popen([*space, "python3", "-c", many], stdout=subprocess.PIPE, text=True) as clients:
        assert clients.stdout.readline() == "there\n"
        try:
            assert "</script>" in curl("http://10.0.2.15/", prefix=space, timeout=20)
        finally:
            clients.kill()
    running.quit()


def test_fifty_at_once(firmware, space):
    """Memory is for a few of them: the others get cookies, which come again with their questions until there is room,
    and take it from nobody whose handshake is under way."""
    running = firmware("lm3s6965evb", "http", "--network", "tap:t0", prefix=space).ready()
    many = ("import socket, threading\n"
            "def ask():\n"
            "    with socket.create_connection(('10.0.2.15', 80), timeout=30) as s:\n"
            "        s.sendall(b'GET /status.json HTTP/1.0\\r\\n\\r\\n')\n"
            "        answer = b''\n"
            "        while piece := s.recv(4096):\n"
            "            answer += piece\n"
            "    print(answer[-2:], flush=True)\n"
            "for _ in range(50):\n"
            "    threading.Thread(target=ask).start()\n")
    done = subprocess.run([*space, "python3", "-c", many], capture_output=True, text=True, check=False)
    assert done.stdout.count("b'}\\n'") == 50, done.stderr[-500:]
    running.quit()
