# SPDX-License-Identifier: MIT
"""Requests that tenon serve may get, from a tenon connect at the other end of a cable of datagrams."""
import email.utils
import os
import pathlib
import re
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TENON = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release")) / "tenon"
PAGE = b"hello, world\n"
NEXT = b"GET /page.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def ask():
    """ask(BYTES) is all that the server answers to them."""
    shm = "/dev/shm" if os.path.isdir("/dev/shm") else None    # where files may have any time
    with tempfile.TemporaryDirectory(dir=shm) as name:
        yield from serve(pathlib.Path(name))


def serve(folder):
    there, here, files = folder / "there", folder / "here", folder / "files"
    files.mkdir()
    (files / "page.txt").write_bytes(PAGE)
    os.utime(files / "page.txt", (784111777, 784111777))    # Sun, 06 Nov 1994 08:49:37 GMT
    (files / "old.txt").write_bytes(PAGE)
    os.utime(files / "old.txt", (-1000, -1000))
    (files / "new.txt").write_bytes(PAGE)
    os.utime(files / "new.txt", (4102444800, 4102444800))    # of the year 2100
    (folder / "outside.txt").write_bytes(bytes(1234))
    (files / "odd-times").mkdir()
    for name, when in (("1", 2**62), ("2", 40_000_000_000_000), ("3", -40_000_000_000_000), ("4", -2**61)):
        (files / "odd-times" / name).write_bytes(PAGE)
        os.utime(files / "odd-times" / name, (0, when))
    (files / "links").mkdir()
    for name, target in (("in.txt", "../page.txt"), ("out.txt", "../../outside.txt"), ("folder", ".."),
                         ("away", "../.."), ("nowhere", "nothing")):
        (files / "links" / name).symlink_to(target)

    def run(request):
        done = subprocess.run([TENON, "connect", "-q", "--port", f"dgram:{here},peer={there}", "--address",
                               "10.9.0.2/24", "10.9.0.1", "80"], input=request, capture_output=True, timeout=20,
                              check=False)
        assert done.returncode == 0, done
        return done.stdout

    with subprocess.Popen([TENON, "serve", "-q", "--port", f"dgram:{there},peer={here}", "--address", "10.9.0.1/24",
                           files]) as server:
        try:
            while not there.exists() and server.poll() is None:
                time.sleep(0.01)
            yield run
        finally:
            server.terminate()


def get(ask, *fields, method="GET", path="/page.txt"):
    """(status, fields, body) of one answer."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", *fields, "", ""]
    head, _, body = ask("\r\n".join(lines).encode()).partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in rest), body


@pytest.mark.parametrize("field", [
    "Content-Length: five", "Content-Length:", "Content-Length: -5", "Content-Length: 0, 5",
    "Content-Length: 0\r\nContent-Length: 5", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, gzip"])
def test_a_request_whose_end_is_not_known_is_the_last(ask, field):
    """RFC 9112 6.3: 400, and nothing of what follows is taken for a request."""
    answers = ask(f"GET /page.txt HTTP/1.1\r\nHost: x\r\n{field}\r\n\r\n".encode() + NEXT)
    assert answers.startswith(b"HTTP/1.1 400 ") and answers.count(b"HTTP/1.1 ") == 1 and PAGE not in answers


@pytest.mark.parametrize("host, status", [
    ("", 200), ("x:80", 200), ("x:", 200), ("10.9.0.1:8080", 200), ("[fd00:9::1]", 200), ("[::1]:80", 200),
    ("a%20b", 200), ("a b", 400), ("/etc", 400), ("user@x", 400), ("x:y", 400), ("x:80:80", 400), ("[::1", 400),
    ("::1", 400), ("[::1]x", 400), ("x, y", 400), ('"x"', 400), ("x#y", 400)])
def test_a_host_that_is_none(ask, host, status):
    """RFC 9112 3.2."""
    answer = ask(f"GET /page.txt HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("path", ["http:///page.txt", "http://?x", "http://", "http://:80/page.txt"])
def test_a_target_of_nobody(ask, path):
    """RFC 9110 4.2.1."""
    assert get(ask, "Connection: close", path=path)[0] == 400


def test_close_is_the_last_word(ask):
    """RFC 9112 9.3: in whichever of several lines it stands."""
    for fields in ("close\r\nConnection: keep-alive", "keep-alive\r\nConnection: close", "keep-alive, close"):
        answers = ask(f"GET /page.txt HTTP/1.1\r\nHost: x\r\nConnection: {fields}\r\n\r\n".encode() + NEXT)
        assert answers.count(b"HTTP/1.1 200 ") == 1 and b"\r\nConnection: close\r\n" in answers, fields


@pytest.mark.parametrize("request_", [b"GET /page.txt?\rx HTTP/1.1\r\nHost: x\r\n\r\n",
                                      b"GET /page.txt HTTP/1.1\r\nHost: x\rTransfer-Encoding: chunked\r\n\r\n",
                                      b"GET /page.txt HTTP/1.1\r\nHost: x\r\r\n\r\n"])
def test_a_bare_cr_ends_no_line(ask, request_):
    """RFC 9112 2.2: whoever reads it for another takes it for something else."""
    assert ask(request_).startswith(b"HTTP/1.1 400 ")


def test_lines_may_end_with_lf_alone(ask):
    """RFC 9112 2.2, and empty lines before a request."""
    assert ask(b"\r\n\nGET /page.txt HTTP/1.1\nHost: x\n\n").endswith(PAGE)


def test_a_request_without_a_body_may_say_so(ask):
    answers = ask(b"GET /page.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" + NEXT)
    assert answers.count(b"HTTP/1.1 200 ") == answers.count(PAGE) == 2


@pytest.mark.parametrize("field, words", [("Connection: keep-alive", b"Connection: keep-alive\r\n"),
                                          ("Accept: */*", b"Connection: close\r\n")])
def test_a_client_of_http_1_0_is_told_whether_the_connection_stays(ask, field, words):
    """RFC 9112 C.2.2: without the word it would wait for the end of the connection."""
    assert words in ask(f"GET /page.txt HTTP/1.0\r\n{field}\r\n\r\n".encode())


def test_a_range_is_for_get_only(ask):
    """RFC 9110 14.2."""
    status, fields, body = get(ask, "Range: bytes=0-4", method="HEAD")
    assert (status, fields["Content-Length"], body) == (200, str(len(PAGE)), b"")
    assert "Content-Range" not in fields
    assert get(ask, "Range: bytes=0-4")[::2] == (206, PAGE[:5])


@pytest.mark.parametrize("date", ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                                  "Sun Nov  6 08:49:37 1994"])
def test_dates_have_three_formats(ask, date):
    """RFC 9110 5.6.7."""
    assert get(ask, f"If-Modified-Since: {date}")[0] == 304
    assert get(ask, f"If-Unmodified-Since: {date}")[0] == 200


def test_preconditions_come_in_their_order(ask):
    """RFC 9110 13.2.2: what the client takes for the file, then what it has of it, then a range."""
    tag = get(ask)[1]["ETag"]
    late, early = "Mon, 07 Nov 1994 08:49:37 GMT", "Sat, 05 Nov 1994 08:49:37 GMT"
    for fields, status in [
            ([f"If-Match: {tag}"], 200), ([f'If-Match: "x", {tag}'], 200), (["If-Match: *"], 200),
            (['If-Match: "x"'], 412), ([f"If-Match: W/{tag}"], 412), ([f"If-Match: W/{tag}, {tag}"], 200),
            (['If-Match: "x"', "Range: bytes=0-4"], 412), ([f"If-Match: {tag}", f"If-Unmodified-Since: {early}"], 200),
            ([f"If-Unmodified-Since: {late}"], 200), ([f"If-Unmodified-Since: {early}"], 412),
            (["If-Unmodified-Since: soon"], 200), ([f"If-Match: {tag}", f"If-None-Match: {tag}"], 304),
            ([f"If-None-Match: W/{tag}"], 304), (['If-None-Match: "x"', f"If-Modified-Since: {late}"], 200),
            ([f"If-None-Match: {tag}", "Range: bytes=100-"], 304), (["Range: bytes=100-"], 416),
            ([f"If-Modified-Since: {early}"], 200), (["If-Modified-Since: soon"], 200)]:
        answer = get(ask, *fields)
        assert answer[0] == status, (fields, answer)
        assert (answer[2] == PAGE) == (status == 200), (fields, answer)


def test_what_is_no_date_is_not_later_than_an_old_file(ask):
    assert get(ask, "If-Modified-Since: soon", path="/old.txt")[0] == 200


def date_of(fields, name):
    return email.utils.parsedate_to_datetime(fields[name])


def test_nothing_was_modified_later_than_now(ask):
    """RFC 9110 8.8.2.1."""
    status, fields, body = get(ask, path="/new.txt")
    assert (status, body) == (200, PAGE) and date_of(fields, "Last-Modified") <= date_of(fields, "Date")
    assert get(ask, f"If-Modified-Since: {fields['Last-Modified']}", path="/new.txt")[0] == 200


@pytest.mark.parametrize("name", ["1", "2", "3", "4"])
def test_times_that_no_calendar_has_are_dates_all_the_same(ask, name):
    """And nothing else of the server's memory."""
    status, fields, body = get(ask, path="/odd-times/" + name)
    assert (status, body) == (200, PAGE) and date_of(fields, "Last-Modified") <= date_of(fields, "Date"), fields
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", fields["Last-Modified"])
    assert not re.search(r"<td>-?\d+-\d\d-00 ", get(ask, path="/odd-times/")[2].decode())


def test_a_query_is_no_path(ask):
    """RFC 9112 3.2.2: the absolute form without a path, which is that of the root."""
    assert b"page.txt</a>" in get(ask, path="http://x?next=/page.txt")[2]
    assert get(ask, path="http://x/page.txt?next=/")[2] == PAGE


def test_links_that_lead_out_are_not_listed(ask):
    """Neither served nor told of: size and time of what lies there are nobody's business."""
    page = get(ask, path="/links/")[2].decode()
    assert re.findall(r'href="([^"]*)"', page) == ["../", "./folder/", "./in.txt"]
    assert f">{len(PAGE)} B<" in page and "1.2 KiB" not in page
    assert get(ask, path="/links/in.txt")[2] == PAGE and get(ask, path="/links/out.txt")[0] == 404
