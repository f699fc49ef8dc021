# SPDX-License-Identifier: MIT
"""A thousand connections at once."""
import json

import pytest


@pytest.mark.parametrize("version", ["ip4", "ip6"])
def test_1000_connections_at_once(link, peer, version):
    tenon = link.tenon("echo", "--stats")
    done = peer.run("many", link.t4 if version == "ip4" else link.t6, 7, 1000, 3000)
    print(json.loads(done.stdout))
    said = tenon.stop()
    assert "Counters" in said


def test_1000_connections_one_after_the_other(link, peer):
    """Ports and TIME-WAIT records come back into use."""
    link.tenon("echo")
    for _ in range(10):
        peer.run("many", link.t4, 7, 100, 10)
