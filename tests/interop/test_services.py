# SPDX-License-Identifier: MIT
"""DHCP and names against dnsmasq."""
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

pytestmark = pytest.mark.skipif(shutil.which("dnsmasq") is None, reason="needs dnsmasq (dnsmasq-base)")


class Dnsmasq:
    """dnsmasq on the kernel's side of a link, in the foreground, with its leases in a file."""

    def __init__(self, link, *options):
        self.link = link
        self.log = link.folder / "dnsmasq.log"
        with open(self.log, "ab") as log:
            self.process = link.net.start(
                "dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--log-queries",
                "--log-dhcp", "--user=root", "--group=root", f"--interface={link.kernel_side}", "--bind-interfaces",
                "--except-interface=lo", f"--dhcp-leasefile={link.folder / 'leases'}",
                f"--pid-file={link.folder / 'pid'}",
                *options, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.wait(" started")

    def text(self):
        return self.log.read_text(errors="replace")

    def wait(self, what, seconds=10):
        wait_for(lambda: what in self.text(), seconds, self.text)

    def stop(self):
        self.link.net.stop(self.process)


def wait_for(what, seconds, said):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, said()
        time.sleep(0.05)


@pytest.fixture
def serve(link):
    """A function that starts a dnsmasq on the link."""
    made = []

    def start(*options):
        made.append(Dnsmasq(link, *options))
        return made[-1]

    yield start
    for one in made:
        one.stop()


def dhcp_range(link, lease="1h"):
    first, last = (re.sub(r"\d+$", str(host), link.k4) for host in (50, 60))
    return f"--dhcp-range={first},{last},255.255.255.0,{lease}"


def start_tenon(link, command, *arguments):
    """Without addresses on the command line."""
    process = link.tenon(command, "--dhcp", *arguments, ready=False)
    wait_for(lambda: "by DHCP from" in process.text(), 15, process.text)
    return process, re.search(r"Address (\S+)/(\d+) by DHCP from (\S+), next hop (\S+), for (\d+) s", process.text())


def interrupted(link, command, *words):
    """The status of a program that gets a Ctrl-C when it runs, and has its socket for tenon top; it waits by then, if
    the machine is not slow."""
    process = link.net.start(*link.argv(command), *words, env={**os.environ, "XDG_RUNTIME_DIR": str(link.folder)})
    wait_for(lambda: list(link.folder.glob("tenon/*.sock")), 20, lambda: "it does not begin")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    return process.wait(20)


@pytest.fixture(autouse=True)
def no_addresses(link):
    """Tenon's addresses are left out of its command line."""
    argv = link.argv

    def without(command, *arguments):
        given = argv(command, *arguments)
        while "--address" in given:
            at = given.index("--address")
            del given[at:at + 2]
        return given

    link.argv = without


def test_dhcp_serve(link, serve):
    """An address, a page from there, and the address given back."""
    server = serve(dhcp_range(link), "--dhcp-option=26,1400")
    (link.folder / "www").mkdir()
    (link.folder / "www" / "page").write_text("a page\n")
    process, got = start_tenon(link, "serve", str(link.folder / "www"))
    assert got, process.text()
    address, bits, by, hop, seconds = got.groups()
    assert (bits, by, hop, seconds) == ("24", link.k4, link.k4, "3600")
    assert address in (link.folder / "leases").read_text()
    done = link.net.run("curl", "-sS", "--max-time", "10", f"http://{address}/page")
    assert done.stdout == "a page\n"
    assert f"DHCPACK({link.kernel_side}) {address}" in server.text()
    process.stop()
    server.wait(f"DHCPRELEASE({link.kernel_side}) {address}")


def test_dhcp_probes_first(link, serve):
    """With --dad an address that somebody has already is declined, and another one asked for."""
    server = serve(dhcp_range(link), "--no-ping")
    first, got = start_tenon(link, "echo")
    address = got.group(1)
    link.net.run("ping", "-c1", "-W10", address)    # it resolves the server: else that would not hear of the end
    first.stop()
    server.wait("DHCPRELEASE")
    link.net.run("ip", "address", "add", f"{address}/32", "dev", link.kernel_side)
    process = link.tenon("echo", "--dhcp", "--dad", ready=False)
    server.wait(f"DHCPDECLINE({link.kernel_side}) {address}", 20)
    wait_for(lambda: "by DHCP from" in process.text(), 40, process.text)
    assert f"Address {address}/" not in process.text()


def test_dhcp_no_server(link, serve):
    """A link-local address, which the kernel can reach; and that of a server when there is one."""
    process = link.tenon("echo", "--dhcp", ready=False)
    wait_for(lambda: "Link-local address" in process.text(), 30, process.text)
    address = re.search(r"Link-local address (\S+)", process.text()).group(1)
    assert address.startswith("169.254.")
    link.net.run("ip", "address", "add", "169.254.0.1/16", "dev", link.kernel_side)
    link.net.run("ping", "-c1", "-W10", address)
    serve(dhcp_range(link))
    wait_for(lambda: "by DHCP from" in process.text(), 40, process.text)
    assert link.net.run("ping", "-c1", "-W2", address, check=False).returncode != 0


def test_resolve(link, serve):
    """Addresses of both versions, an alias, a name that is not there; the server by DHCP, and given."""
    serve(dhcp_range(link), "--address=/www.example/192.0.2.80", "--address=/www.example/2001:db8::80",
          "--host-record=real.example,192.0.2.81", "--cname=alias.example,real.example", "--local=/example/",
          "--txt-record=empty.example,words")
    done = link.run_tenon("resolve", "--dhcp", "www.example", "alias.example")
    assert sorted(done.stdout.splitlines()[-3:]) == ["alias.example 192.0.2.81", "www.example 192.0.2.80",
                                                     "www.example 2001:db8::80"], done.stdout + done.stderr
    options = ["--address", f"{link.t4}/24", "--dns", link.k4]
    done = link.net.run(*link.argv("resolve"), *options, "nothing.example", check=False)
    assert done.returncode == 1 and done.stderr.count("no such name") == 1, done.stderr
    done = link.net.run(*link.argv("resolve"), *options, "empty.example", check=False)
    assert done.returncode == 1 and done.stderr.count("empty.example: the name has no address") == 1, done.stderr
    done = link.net.run(*link.argv("resolve"), *options, "empty.example", "real.example")
    assert "real.example 192.0.2.81" in done.stdout and "empty.example: the name has no address" in done.stderr
    done = link.net.run(*link.argv("resolve"), *options, "REAL.example")
    assert done.stdout.splitlines()[-1] == "real.example 192.0.2.81"


def test_resolve_long(link, serve):
    """Sixty addresses do not fit a datagram: they come over TCP. Several names at a time."""
    hosts = link.folder / "many"
    hosts.write_text("".join(f"192.0.2.{host} {name}.example\n" for name in ("many", "more") for host in range(60)))
    serve(f"--addn-hosts={hosts}", "--host-record=one.example,192.0.2.81")
    options = ["--address", f"{link.t4}/24", "--dns", link.k4]
    done = link.net.run(*link.argv("resolve"), *options, "many.example", "one.example", "more.example")
    for name, addresses in ("many", 8), ("more", 8), ("one", 1):
        assert len(set(re.findall(rf"^{name}.example (192\.0\.2\.\d+)$", done.stdout, re.M))) == addresses, \
            done.stdout + done.stderr


def routers_word(link, *servers):
    """The kernel's side is a router of the link's prefix for IPv6, which names these servers."""
    prefix = link.k6.rsplit("::", 1)[0] + "::"
    return ["--enable-ra", f"--dhcp-range={prefix},ra-only", "--ra-param=*,10",
            "--dhcp-option=option6:dns-server," + ",".join(f"[{server}]" for server in servers)]


def test_get_by_router(link, serve, peer, tmp_path):
    """IPv6 alone, and nothing on the command line: address and server for names are those of a router (RFC 8106)."""
    serve(*routers_word(link, link.k6), f"--host-record=only.example,{link.k6}")
    (tmp_path / "page").write_text("a page\n")
    peer.start("http", link.k6, 8080, tmp_path)
    done = link.run_tenon("get", "http://only.example:8080/page")
    assert done.stdout == "a page\n", done.stderr


def test_resolve_link_local_server(link, serve):
    """A router's link-local address as the server, and one given: the question leaves by our interface."""
    own = re.search(r"inet6 (fe80::\S+)/", link.net.run("ip", "address", "show", "dev", link.kernel_side).stdout)
    if own is None:    # a TAP interface has one when somebody uses it
        link.net.run("ip", "address", "add", "fe80::53/64", "dev", link.kernel_side, "nodad")
    serve(*routers_word(link, own.group(1) if own else "fe80::53"), "--host-record=real.example,192.0.2.81")
    done = link.run_tenon("resolve", "real.example")
    assert done.stdout.splitlines()[-1] == "real.example 192.0.2.81", done.stderr
    done = link.run_tenon("resolve", "--dns", own.group(1) if own else "fe80::53", "real.example")
    assert done.stdout.splitlines()[-1] == "real.example 192.0.2.81", done.stderr


def test_resolve_dhcp_and_router(link, serve):
    """DHCP's server comes first (RFC 8106 5.3.1): a router's, where nobody answers, is not asked."""
    server = serve(dhcp_range(link), *routers_word(link, link.k6 + ":53"), "--host-record=real.example,192.0.2.81")
    done = link.run_tenon("resolve", "--dhcp", "real.example")
    assert done.stdout.splitlines()[-1] == "real.example 192.0.2.81", done.stderr
    assert f"query[A] real.example from {link.k4.rsplit('.', 1)[0]}." in server.text()


def test_resolve_nobody_told(link):
    """Neither router nor DHCP: after some seconds it says so; Ctrl-C ends the waiting."""
    began = time.monotonic()
    done = link.run_tenon("resolve", "a.example", check=False)
    assert done.returncode == 1 and "no router has told of a server" in done.stderr and "--dns" in done.stderr
    assert time.monotonic() - began > 5
    assert interrupted(link, "ping", "a.example") == 130


def test_resolve_dead_server(link, serve):
    """The server's port is closed: after each ICMP error it is the next one's turn at once, here the same one's, three
    times in all. Who waited for answers would take 14 seconds."""
    serve("--port=5353", "--no-dhcp-interface=" + link.kernel_side)
    began = time.monotonic()
    options = ["--address", f"{link.t4}/24", "--dns", link.k4]
    done = link.net.run(*link.argv("resolve"), *options, "a.example", check=False)
    assert done.returncode == 1 and "no server answers" in done.stderr
    assert time.monotonic() - began < 10


def test_get_by_name(link, serve, peer, tmp_path):
    """Of several addresses one that can be reached; the next one when a server refuses; a server that DHCP has told of;
    and a name that is not there."""
    serve(dhcp_range(link), f"--address=/far.example/{link.k6}", "--address=/far.example/192.0.2.80",
          f"--host-record=both.example,{link.k4},{link.k6}", "--local=/example/")
    (tmp_path / "page").write_text("a page\n")
    peer.start("http", link.k6, 8080, tmp_path)
    peer.start("http", link.k4, 8081, tmp_path)
    given = ["--address", f"{link.t4}/24", "--address", f"{link.t6}/64", "--dns", link.k4]
    done = link.net.run(*link.argv("get"), *given, "http://far.example:8080/page", "http://both.example:8080/page")
    assert done.stdout == "a page\na page\n"
    assert done.stderr.count("no connection to ") == 1 and f"no connection to {link.k4}:8080" in done.stderr
    done = link.run_tenon("get", "--dhcp", "http://BOTH.example:8081/page")
    assert done.stdout == "a page\n"
    done = link.net.run(*link.argv("get"), *given, "http://nothing.example/", check=False)
    assert done.returncode == 1 and "nothing.example: no such name" in done.stderr


def test_ping_by_name(link, serve):
    """The address that RFC 6724 puts first (IPv4 before unique local ones); an unknown name; a question that nobody
    answers, given up by Ctrl-C."""
    serve(f"--host-record=both.example,{link.k4},{link.k6}", "--local=/example/")
    given = ["--address", f"{link.t4}/24", "--address", f"{link.t6}/64", "--dns"]
    done = link.net.run(*link.argv("ping"), *given, link.k4, "-c2", "-i0.05", "both.example")
    assert f"PING {link.k4}:" in done.stdout and "2 received" in done.stdout
    done = link.net.run(*link.argv("ping"), *given, link.k4, "-c1", "nothing.example", check=False)
    assert done.returncode == 1 and "nothing.example: no such name" in done.stderr
    assert interrupted(link, "ping", *given, link.k4.rsplit(".", 1)[0] + ".77", "both.example") == 130


def test_connect_by_name(link, serve, peer):
    """The first address of the name refuses, the second one answers; both refuse; there is no such name."""
    serve(f"--host-record=both.example,{link.k4},{link.k6}", "--local=/example/")
    given = ["--address", f"{link.t4}/24", "--address", f"{link.t6}/64", "--dns", link.k4]
    peer.start("echo", link.k6, 9000)
    done = link.net.run(*link.argv("connect"), *given, "both.example", 9000, input="to and fro\n")
    assert done.stdout == "to and fro\n"
    assert done.stderr.count("no connection to ") == 1 and f"no connection to {link.k4}:9000: " in done.stderr
    done = link.net.run(*link.argv("connect"), *given, "both.example", 9001, input="nobody", check=False)
    assert done.returncode == 1 and done.stderr.count("no connection to ") == 2
    done = link.net.run(*link.argv("connect"), *given, "nothing.example", 9000, input="", check=False)
    assert done.returncode == 1 and "nothing.example: no such name" in done.stderr
