# SPDX-License-Identifier: MIT
"""Answers that tenon get may have, from a tenon listen at the other end of a cable of datagrams."""
import os
import pathlib
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TENON = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release")) / "tenon"


@pytest.fixture
def get(tmp_path):
    """get(ANSWER, MORE...) is what tenon get has made of it."""
    def run(answer, *argv, quiet="-q"):
        there, here = tmp_path / "there", tmp_path / "here"
        with subprocess.Popen([TENON, "listen", "-q", "--port", f"dgram:{there},peer={here}", "--address",
                               "10.9.0.1/24", "80"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as server:
            try:
                server.stdin.write(answer)
                server.stdin.close()
                while not there.exists() and server.poll() is None:
                    time.sleep(0.01)
                return subprocess.run([TENON, "get", quiet, "--port", f"dgram:{here},peer={there}", "--address",
                                       "10.9.0.2/24", *argv, "http://10.9.0.1/"], capture_output=True, timeout=20,
                                      check=False)
            finally:
                server.kill()
    return run


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5 \t \r\n\r\nhello",    # RFC 9110 5.5: what stands around is no part of it
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding:chunked \r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\t;a=b\r\nhello\r\n0\r\n\r\n",    # RFC 9112 7.1.1: BWS
    # RFC 9112 5.2: a line that goes on; 2.2: one that goes on with none
    b"HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n A: b\r\nContent-Length: 5\r\nB: c\r\n Content-Length: 6\r\n\r\nhello",
    b"HTTP/1.0 200 OK\n\nhello"])
def test_good_answers(get, answer):
    done = get(answer)
    assert done.returncode == 0 and done.stdout == b"hello", done


@pytest.mark.parametrize("answer, words", [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\nhello", b"Content-Length makes no sense"),
    (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello", b"Content-Length makes no sense"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", b"after 5 of 6 bytes"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n 0\r\n\r\nhello", b"Content-Length makes no sense"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n , gzip\r\n\r\n0\r\n\r\n", b"other than chunked"),
    # RFC 9110 5.5: no end, but a blank, or nothing that could be understood
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\x006\r\n\r\nhello", b"Content-Length makes no sense"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\0, gzip\r\n\r\n", b"other than chunked"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\0\r\nhello\r\n0\r\n\r\n", b"size of a chunk"),
    (b"HTTP/1.1 2005 OK\r\nContent-Length: 5\r\n\r\nhello", b"not HTTP/1.1"),    # RFC 9112 4
    (b"HTTP/1.1_200 OK\r\nContent-Length: 5\r\n\r\nhello", b"not HTTP/1.1"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", b"other than chunked"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello", b"in the middle"),
    (b"", b"without an answer")])
def test_bad_answers(get, answer, words):
    done = get(answer)
    assert done.returncode == 1 and words in done.stderr, done


def test_a_server_does_not_control_the_terminal(get):
    done = get(b"HTTP/1.1 404 \x1b]0;title\x07\xc2\x9b31m\r\nContent-Length: 0\r\n\r\n")
    assert done.returncode == 1
    assert done.stderr == b'tenon get: the server says: "HTTP/1.1 404 \\u001b]0;title\\u0007\\u009b31m"\n'


def test_nor_does_its_head(get):
    """That is shown as it came, but for what controls; and a CR alone is a blank (RFC 9110 5.5)."""
    done = get(b"HTTP/1.1 200 \x1b[31mOK\r\nA: \x1b]0;t\x07\xc2\x9b\x7f.\r\nB: \t\xc3\xbc\rc\r\n\r\n", "-I")
    assert done.returncode == 0 and done.stdout == b"HTTP/1.1 200 ?[31mOK\nA: ?]0;t????.\nB: \t\xc3\xbc c\n", done


def test_a_range_that_the_server_does_not_know_is_said(get):
    """RFC 9110 14.2: it may ignore it, and many do."""
    words = b"The server does not know ranges"
    whole = get(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "-r", "1-2", quiet="-v")
    assert whole.returncode == 0 and whole.stdout == b"hello" and words in whole.stderr, whole
    part = get(b"HTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\n\r\nel", "-r", "1-2", quiet="-v")
    assert part.returncode == 0 and part.stdout == b"el" and words not in part.stderr, part
