# SPDX-License-Identifier: MIT
"""The other side, for the tests of this folder: small clients and servers on the kernel's sockets.

    peer.py many ADDR PORT COUNT BYTES       COUNT connections at once to an echo server
    peer.py late-readers ADDR PORT COUNT N   COUNT connections at once to an echo server, which read nothing before it
                                             takes no more, or N bytes of each; prints JSON
    peer.py capitals ADDR PORT COUNT N       COUNT connections at once, N questions on each, answered in capital letters
    peer.py floods ADDR PORT COUNT           COUNT connections at once that send and do not read, until they are reset
    peer.py udp ADDR PORT COUNT SIZE...      datagrams to an echo server; prints JSON
    peer.py uso ADDR PORT BYTES SEGMENT      one send() that the kernel hands over as one super-frame
    peer.py answer ADDR PORT FILE            server: reads all, then answers with its SHA-256 and FILE
    peer.py echo ADDR PORT                   server: sends back what it gets
    peer.py http ADDR PORT FOLDER            an HTTP server
    peer.py fastopen HOW ADDR PORT COUNT PATH    requests with TCP Fast Open (HOW: sendto or connect), one after
                                             the other; prints JSON for each
    peer.py http-fastopen ADDR PORT FOLDER   an HTTP server with TCP Fast Open; ?new-key changes its key
    peer.py open ADDR PORT CC FILE           sends FILE with congestion control CC, reads to the end meanwhile; prints
    peer.py await ADDR PORT CC FILE          JSON: what came, and what TCP_INFO says; the second is a server
Servers print "ready" when they listen.
"""
import concurrent.futures
import contextlib
import functools
import hashlib
import http.server
import json
import random
import resource
import selectors
import socket
import socketserver
import struct
import sys
import threading
import time


TCP_FASTOPEN_CONNECT, TCP_FASTOPEN_KEY = 30, 33    # linux/tcp.h; the module socket does not know them


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def many(address, port, count, size):
    """All connections are open before the first byte is sent; each gets back its own bytes."""
    count, size = int(count), int(size)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    selector = selectors.DefaultSelector()
    started = time.monotonic()
    for n in range(count):
        s = socket.socket(family(address), socket.SOCK_STREAM)
        s.setblocking(False)
        error = s.connect_ex((address, int(port)))
        assert error in (0, 115), error
        data = random.Random(n).randbytes(size)
        selector.register(s, selectors.EVENT_WRITE, {"data": data, "sent": 0, "got": bytearray(), "open": False})
    waiting = count
    while waiting:
        events = selector.select(30)
        assert events, f"{waiting} of {count} connections did not open"
        for key, _ in events:
            error = key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            assert error == 0, f"connect: error {error}, {waiting} of {count} not open yet"
            key.data["open"] = True
            waiting -= 1
            selector.modify(key.fileobj, selectors.EVENT_READ, key.data)
    opened = time.monotonic() - started
    for key in list(selector.get_map().values()):
        selector.modify(key.fileobj, selectors.EVENT_READ | selectors.EVENT_WRITE, key.data)
    left = count
    while left:
        events = selector.select(30)
        assert events, f"{left} of {count} connections are not finished"
        for key, mask in events:
            state = key.data
            if mask & selectors.EVENT_WRITE:
                state["sent"] += key.fileobj.send(state["data"][state["sent"]:])
                if state["sent"] == size:
                    key.fileobj.shutdown(socket.SHUT_WR)
                    selector.modify(key.fileobj, selectors.EVENT_READ, state)
            if mask & selectors.EVENT_READ:
                data = key.fileobj.recv(65536)
                state["got"] += data
                if not data:
                    assert state["got"] == state["data"], "not what was sent"
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                    left -= 1
    print(json.dumps({"opened_s": round(opened, 3), "all_s": round(time.monotonic() - started, 3)}))


def late_readers(address, port, count, size):
    """Pieces of a few bytes, each in a segment of its own, and of many. One who reads at once is served meanwhile. None
    of them by BBR, some machines' default: after what was dropped it goes on at two segments in half a second."""
    data = [random.Random(n).randbytes(int(size)) for n in range(int(count))]
    conns = []
    for _ in data:
        s = socket.socket(family(address), socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        s.settimeout(20)
        s.connect((address, int(port)))
        s.setblocking(False)
        conns.append(s)
    sent, quiet = [0] * len(conns), 0
    while quiet < 0.5:
        before = sum(sent)
        for n, s in enumerate(conns):
            for piece in (50, 1400, 50, 30_000):
                with contextlib.suppress(BlockingIOError):
                    sent[n] += s.send(data[n][sent[n]:sent[n] + piece])
        if sum(sent) == before:
            time.sleep(0.25)
        quiet = quiet + 0.25 if sum(sent) == before else 0
    with socket.create_connection((address, int(port)), 20) as other:
        other.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        for _ in range(20):
            other.sendall(bytes(1000))
            assert other.recv(1000, socket.MSG_WAITALL) == bytes(1000), "others are not served"
    began, waiting = time.monotonic(), selectors.DefaultSelector()
    for n, s in enumerate(conns):
        s.shutdown(socket.SHUT_WR)
        waiting.register(s, selectors.EVENT_READ, [data[n][:sent[n]], bytearray()])
    while waiting.get_map():
        ready = waiting.select(60)
        assert ready, f"{len(waiting.get_map())} of {count} are not answered"
        for key, _ in ready:
            more = key.fileobj.recv(1 << 18)
            key.data[1].extend(more)
            if not more:
                assert key.data[0] == bytes(key.data[1]), "not what was sent"
                waiting.unregister(key.fileobj)
    print(json.dumps({"sent": sum(sent), "seconds": round(time.monotonic() - began, 1)}))


def capitals(address, port, count, questions):
    conns = [socket.create_connection((address, int(port)), 20) for _ in range(int(count))]
    for number in range(int(questions)):
        said = [f"question {number} of {i}, ".encode() * (1 + (number + i) % 50) for i in range(len(conns))]
        for s, words in zip(conns, said):
            s.sendall(words)
        for s, words in zip(conns, said):
            assert s.recv(len(words), socket.MSG_WAITALL) == words.upper()
    for s in conns:
        s.shutdown(socket.SHUT_WR)
        assert s.recv(1) == b""


def floods(address, port, count):
    def flood(_):
        with socket.create_connection((address, int(port)), 20) as s, contextlib.suppress(ConnectionResetError,
                                                                                          BrokenPipeError):
            while True:
                s.sendall(bytes(1 << 16))
    with concurrent.futures.ThreadPoolExecutor(int(count)) as pool:
        list(pool.map(flood, range(int(count))))


def udp(address, port, count, *sizes):
    """Every datagram of every size is sent, and awaited for a while. What comes must be one that was sent:
    it may be late or doubled. `wrong` counts those that are not."""
    s = socket.socket(family(address), socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    s.connect((address, int(port)))
    sent, echoed, wrong = [], set(), 0
    for size in map(int, sizes):
        for n in range(int(count)):
            data = random.Random(size * 1000 + n).randbytes(size)
            sent.append(data)
            s.send(data)
            s.settimeout(1 if not echoed else 0.2)
            try:
                while (answer := s.recv(70000)) != data:
                    wrong += answer not in sent
                    echoed.add(answer)
                echoed.add(answer)
            except TimeoutError:
                pass
    once = {bytes(d) for d in sent}
    print(json.dumps({"sent": len(once), "echoed": len(once & echoed), "wrong": wrong}))


def uso(address, port, size, segment):
    """UDP_SEGMENT: with USO on the interface it arrives as one frame that stands for many datagrams."""
    udp_segment = 103
    s = socket.socket(family(address), socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    s.connect((address, int(port)))
    s.send(b"first")
    s.settimeout(10)
    assert s.recv(100) == b"first"
    s.setsockopt(socket.IPPROTO_UDP, udp_segment, int(segment))
    data = random.Random(1).randbytes(int(size))
    s.send(data)
    got = []
    try:
        while sum(map(len, got)) < len(data):
            got.append(s.recv(70000))
    except TimeoutError:
        pass
    print(json.dumps({"datagrams": len(got), "whole": b"".join(got) == data}))


def listen(address, port):
    s = socket.socket(family(address), socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, int(port)))
    s.listen(16)
    print("ready", flush=True)
    return s


def answer(address, port, path):
    """Half-closed transfers: the peer has finished long before the answer has."""
    listener = listen(address, port)
    with open(path, "rb") as f:
        payload = f.read()
    while True:
        s = listener.accept()[0]
        digest = hashlib.sha256()
        while data := s.recv(1 << 16):
            digest.update(data)
        s.sendall(digest.hexdigest().encode() + payload)
        s.close()


def echo(address, port):
    class Server(socketserver.ThreadingTCPServer):
        address_family = family(address)
        request_queue_size = 4096
        daemon_threads = True

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            while data := self.request.recv(1 << 16):
                self.request.sendall(data)

    with Server((address, int(port)), Handler) as server:
        print("ready", flush=True)
        server.serve_forever()


def serve_http(address, port, folder, fastopen=False):
    class Server(http.server.ThreadingHTTPServer):
        address_family = family(address)

        def server_bind(self):    # without looking up the name of the address: there is no DNS
            socketserver.TCPServer.server_bind(self)
            self.server_name, self.server_port = address, port
            if fastopen:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            pass

        def do_GET(self):
            if self.path.endswith("?new-key"):
                self.server.socket.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_KEY, random.randbytes(16))
            super().do_GET()

        def copyfile(self, source, out):
            self.connection.sendfile(source)

    address = address.strip("[]")
    with Server((address, int(port)), functools.partial(Handler, directory=folder)) as server:
        print("ready", flush=True)
        server.serve_forever()


def fastopen(how, address, port, count, path):
    """An option in TCP_INFO says whether the data was acknowledged with the SYN."""
    results = []
    address = address.strip("[]")
    host = f"[{address}]" if ":" in address else address
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    for _ in range(int(count)):
        s = socket.socket(family(address), socket.SOCK_STREAM)
        if how == "sendto":
            assert s.sendto(request, socket.MSG_FASTOPEN, (address, int(port))) == len(request)
        else:
            s.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
            s.connect((address, int(port)))
            s.sendall(request)
        answer = bytearray()
        while data := s.recv(1 << 18):
            answer += data
        body = bytes(answer).partition(b"\r\n\r\n")[2]
        results.append({"sha256": hashlib.sha256(body).hexdigest(), "syn_data": tcp_info(s)["syn_data"]})
        s.close()
    print(json.dumps(results))


def fetch_late(address, port, path, seconds):
    """Ask, have little room for the answer, and read it only after so long."""
    s = socket.socket(family(address), socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect((address, int(port)))
    s.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    time.sleep(float(seconds))
    answer = bytearray()
    while data := s.recv(1 << 18):
        answer += data
    print(hashlib.sha256(bytes(answer).partition(b"\r\n\r\n")[2]).hexdigest())


def tcp_info(s):
    """Linux, struct tcp_info. Older kernels know less of it: then the last fields are 0."""
    raw = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232).ljust(232, b"\0")
    words = {"snd_mss": 16, "rcv_mss": 20, "unacked": 24, "total_retrans": 100, "delivered_ce": 196, "dsack_dups": 216}
    longs = {"bytes_acked": 120, "bytes_sent": 200, "bytes_retrans": 208}
    options = {"timestamps": 1, "sack": 2, "ecn": 8, "syn_data": 32}
    info = {name: bool(raw[5] & bit) for name, bit in options.items()}
    info.update({name: struct.unpack_from("=I", raw, at)[0] for name, at in words.items()})
    info.update({name: struct.unpack_from("=Q", raw, at)[0] for name, at in longs.items()})
    return info


def exchange(s, path):
    """Send the file, and read to the end meanwhile."""
    def send():
        with open(path, "rb") as f:
            s.sendfile(f)
        s.shutdown(socket.SHUT_WR)

    negotiated = tcp_info(s)
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    digest, count = hashlib.sha256(), 0
    while data := s.recv(1 << 18):
        digest.update(data)
        count += len(data)
    sender.join()
    patience = time.monotonic() + 2    # the last ACK may be lost, and its sender have ended
    while (info := tcp_info(s))["unacked"] > 0 and time.monotonic() < patience:
        time.sleep(0.01)
    info.update({name: negotiated[name] for name in ("timestamps", "sack", "ecn")})
    print(json.dumps({"bytes": count, "sha256": digest.hexdigest(), "info": info}))


def transfer_open(address, port, cc, path):
    s = socket.socket(family(address), socket.SOCK_STREAM)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    s.connect((address, int(port)))
    exchange(s, path)


def transfer_await(address, port, cc, path):
    s = listen(address, port).accept()[0]
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    exchange(s, path)


if __name__ == "__main__":
    commands = {"many": many, "capitals": capitals, "floods": floods, "udp": udp, "uso": uso, "answer": answer,
                "echo": echo, "http": serve_http, "open": transfer_open, "await": transfer_await,
                "fastopen": fastopen, "late": fetch_late, "late-readers": late_readers,
                "http-fastopen": functools.partial(serve_http, fastopen=True)}
    commands[sys.argv[1]](*sys.argv[2:])
