"""Clusters of real node processes: their files, and that nothing of them stays."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from quorate.testing.cluster import Cluster


def test_every_node_has_a_file_with_what_the_test_wants(tmp_path: Path) -> None:
    cluster = Cluster(
        tmp_path,
        plugins=["greeting"],
        settings={"timing": {"heartbeat_ms": 50}, "plugins": {"greeting": {"salutation": "Hi"}}},
    )
    added = cluster.add("node4")
    files = {name: tomllib.loads(node.file.read_text()) for name, node in cluster.nodes.items()}
    first = {name: cluster.nodes[name].address for name in ("node1", "node2", "node3")}
    cluster.__exit__(None, None, None)

    assert added.name == "node4"
    assert files["node1"]["cluster"] == {"token": "test", "initial_members": first}
    assert files["node4"]["cluster"] == {"token": "test", "join": first}
    for name, file in files.items():
        assert file["timing"] == {"heartbeat_ms": 50}
        assert file["plugins"] == {"enabled": ["greeting"], "greeting": {"salutation": "Hi"}}
        assert file["node"]["name"] == name
    ports = [file["node"][key] for file in files.values() for key in ("port", "http_port")]
    assert len(set(ports)) == 8
    assert cluster.endpoints.split(",")[:3] == list(first.values())


def test_nothing_stays_behind_whatever_happened(tmp_path: Path) -> None:
    class Wrong(Exception):
        pass

    cluster = Cluster(tmp_path, 2)

    def go_wrong() -> None:
        with cluster:
            cluster.nodes["node1"].pause()
            raise Wrong

    with pytest.raises(Wrong):
        go_wrong()
    for pid in (node.pid for node in cluster.nodes.values()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.ci
def test_a_node_that_ends_before_it_is_ready_says_why(tmp_path: Path) -> None:
    wrong = Cluster(tmp_path, 1, settings={"timing": {"heartbeat_ms": 0}})
    with wrong, pytest.raises(AssertionError, match=r"node1 ended .*heartbeat_ms: must be"):
        wrong.ready()
