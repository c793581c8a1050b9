"""Nodes that talk only to who has a certificate of their authority."""

from __future__ import annotations

import socket
import ssl
import threading
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from quorate.cli.authority import make_authority, sign
from quorate.client import Client, InvalidError, Tls, UnavailableError
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.waiting import PATIENCE_S, until

from tests.support.beside import beside

pytestmark = pytest.mark.ci

#: Fewer than the certificates' replacement takes, by far.
_MOST_WRITES = 100_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), tls=True) as cluster:
        yield cluster.ready()


def test_only_who_has_a_certificate_is_served(cluster: Cluster, tmp_path: Path) -> None:
    with Client(cluster.endpoints, tls=cluster.tls) as client:
        client.kv.put("a", b"1")
        for node in cluster.nodes.values():
            # Through each node, which forwards it to the leader.
            assert client.at(node.name) is not None
        found = client.kv.get("a")
        assert found is not None
        assert found.value == b"1"

    make_authority(tmp_path)
    sign(tmp_path, "client", ["client"])
    ca = cluster.certificates / "ca.pem"
    strangers = (
        None,
        Tls(ca=ca),
        Tls(ca=tmp_path / "ca.pem"),
        Tls(ca=ca, cert=tmp_path / "client.pem", key=tmp_path / "client.key"),
    )
    for tls in strangers:
        with (
            Client(cluster.endpoints, tls=tls, timeout_s=2) as client,
            pytest.raises(UnavailableError),
        ):
            client.kv.get("a")


def test_what_each_node_forwards_is_encrypted_too(cluster: Cluster) -> None:
    for number, node in enumerate(cluster.nodes.values()):
        with Client(node.address, tls=cluster.tls) as client:
            client.kv.put(f"from/{node.name}", b"%d" % number)
    with Client(cluster.endpoints, tls=cluster.tls) as client:
        assert [pair.value for pair in client.kv.list("from/")] == [b"0", b"1", b"2"]


def test_probes_are_encrypted(cluster: Cluster) -> None:
    trusting = ssl.create_default_context(cafile=str(cluster.certificates / "ca.pem"))
    for node in cluster.nodes.values():
        url = f"https://{node.http_address}/readyz"
        with urllib.request.urlopen(url, context=trusting, timeout=10) as answer:
            assert answer.read() == b"ready\n"


def test_no_older_tls_is_spoken(cluster: Cluster) -> None:
    node = cluster.leader()
    for address in (node.address, node.http_address):
        old = ssl.create_default_context(cafile=str(cluster.certificates / "ca.pem"))
        old.set_alpn_protocols(["h2"])
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        host, port = address.split(":")
        with (
            socket.create_connection((host, int(port)), 10) as stream,
            pytest.raises(OSError),  # noqa: PT011 - each port refuses in its own way
        ):
            old.wrap_socket(stream, server_hostname=node.name)


def test_certificates_are_replaced_without_a_failed_call(cluster: Cluster) -> None:
    written: list[int] = []

    def write(over: threading.Event) -> None:
        with Client(cluster.endpoints, tls=cluster.tls, timeout_s=PATIENCE_S) as client:
            for number in range(_MOST_WRITES):
                if over.is_set():
                    return
                client.kv.put(f"rolled/{number:05}", b"here")
                written.append(number)

    with beside(write) as writing:
        writing.until(lambda: written or None)
        for name in ("client", *cluster.nodes):
            sign(cluster.certificates, name, [name, "127.0.0.1"])
        for node in cluster.nodes.values():
            until(partial(_has_replaced, node))
        # Whoever connects now needs the new ones: a leader's successor is among them.
        leader = cluster.leader()
        leader.stop()
        leader.start()
        cluster.ready()
        last = len(written)
        writing.until(lambda: len(written) > last or None)
    with Client(cluster.endpoints, tls=cluster.tls) as client:
        found = client.kv.get_many([f"rolled/{number:05}" for number in written[-100:]])
        assert len(written) == written[-1] + 1
        assert all(pair is not None for pair in found)


def _has_replaced(node: NodeProcess) -> bool | None:
    return f"the certificates of {node.name} were replaced" in node.said or None


def test_a_file_that_is_not_there_is_named(cluster: Cluster, tmp_path: Path) -> None:
    with (
        Client(cluster.endpoints, tls=Tls(ca=tmp_path / "none.pem")) as client,
        pytest.raises(InvalidError, match=r"none.pem cannot be read: No such file"),
    ):
        client.kv.get("a")
