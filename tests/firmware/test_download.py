# SPDX-License-Identifier: MIT
"""ports/boards/apps/download.c, and Tenon as the server: at the other end of a cable, without privileges."""
import os
import subprocess
import zlib

import pytest

from conftest import BOARDS, udp_pair

every_board = pytest.mark.parametrize("board", BOARDS)


class Server:
    """tenon serve at 10.0.2.2."""

    def __init__(self, tenon, folder, here, there):
        self.process = subprocess.Popen(
            [tenon, "serve", "--port", f"dgram:127.0.0.1:{here},peer=127.0.0.1:{there}", "--address", "10.0.2.2/24",
             str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self):
        self.process.terminate()
        self.process.wait(10)


@every_board
def test_image(firmware, tenon, tmp_path, board):
    """The image is fetched whole; the first attempts meet a server without it, and one that is not there."""
    its, ours, socket_ = udp_pair()
    socket_.close()
    running = firmware(board, "download", "--network", f"dgram:{its},{ours}").ready()
    server = Server(tenon, tmp_path, ours, its)
    try:
        running.wait_for("no image: status 404")
        server.end()
        image = os.urandom(200003)
        (tmp_path / "image.bin").write_bytes(image)
        server = Server(tenon, tmp_path, ours, its)
        line = running.wait_for("image ", 90)
    finally:
        server.end()
    assert line == f"image {len(image)} bytes, CRC-32 {zlib.crc32(image):08x}"
    running.quit()
