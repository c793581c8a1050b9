"""Nodes that ask their callers who they are: by token, by certificate, and on every node alike."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from quorate.builtin.auth.plugin import BINDING, TOKEN, USER
from quorate.client import Client, RejectedError
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import PATIENCE_S, until
from quorate.v1 import auth_pb2 as pb

pytestmark = pytest.mark.ci

ROOT = "the-root-token-of-this-cluster-is-long-enough"


class Site:
    """A cluster that asks its callers, whose own certificate is that of a reader."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        with self.client() as client:
            made = client.call(
                "/quorate.v1.AuthService/Enable", pb.EnableAuth(administrator="ada"), pb.NewToken
            )
        self.admin = made.text
        self.make("client", "reader")

    def client(self, token: str | None = None, node: str = "") -> Client:
        """Return a client of all nodes, or of one."""
        nodes = self.cluster.nodes
        endpoints = nodes[node].address if node else self.cluster.endpoints
        # A node that has just been started may take longer than a user waits.
        return Client(endpoints, tls=self.cluster.tls, token=token, connect_timeout_s=30.0)

    def make(self, user: str, role: str) -> str:
        """Make a user with a role; return a token of it."""
        with self.client(self.admin) as client:
            client.records(USER).create(pb.User(name=user))
            client.records(BINDING).put(pb.Binding(user=user, role=role))
            return client.call(
                "/quorate.v1.TokenService/Issue", pb.IssueToken(user=user), pb.NewToken
            ).text

    def on_every_node(self, act: Callable[[Client], object], token: str | None = None) -> None:
        """Wait until every node lets somebody do something."""
        for name in self.cluster.nodes:
            with self.client(token, name) as client:
                until(partial(_let, act, client))


def refused(act: Callable[[], object]) -> str:
    """Return the code that something is refused with; "": it is not."""
    try:
        act()
    except RejectedError as error:
        return error.code
    return ""


def _refused(act: Callable[[], object]) -> str | None:
    return refused(act) or None


def _let(act: Callable[[Client], object], client: Client) -> bool | None:
    return None if refused(partial(act, client)) else True


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("auth")
    root = directory / "root"
    root.write_text(ROOT)
    settings = {"auth": {"root_token_file": str(root)}}
    with Cluster(directory / "cluster", tls=True, settings=settings) as cluster:
        yield Site(cluster.ready())


def test_a_certificate_is_its_users(site: Site) -> None:
    site.on_every_node(lambda client: client.kv.get("a"))
    for name in site.cluster.nodes:
        with site.client(node=name) as client:
            assert refused(partial(client.kv.put, "a", b"1")) == "PERMISSION_DENIED"


def test_a_writer_writes_through_every_node(site: Site) -> None:
    token = site.make("writer", "loader")

    site.on_every_node(lambda client: client.kv.put("a", b"1"), token)


def test_a_revoked_token_and_role_are_without_effect_on_every_node(site: Site) -> None:
    token, roleless = site.make("eve", "loader"), site.make("bob", "loader")
    for each in (token, roleless):
        site.on_every_node(lambda client: client.kv.put("a", b"1"), each)
    watched: list[str] = []
    begun = threading.Event()

    def follow(client: Client) -> None:
        for _ in client.watch("kv.pairs"):
            begun.set()

    def watch() -> None:
        with site.client(token) as client:
            watched.append(refused(lambda: follow(client)))

    watching = threading.Thread(target=watch)
    watching.start()
    assert begun.wait(PATIENCE_S)
    with site.client(site.admin) as client:
        [revoked] = [each for each in client.records(TOKEN).list() if each.user == "eve"]
        client.records(TOKEN).delete((revoked.user, revoked.id))
        client.records(BINDING).delete(("bob", "loader"))

    for each, code in ((token, "UNAUTHENTICATED"), (roleless, "PERMISSION_DENIED")):
        for name in site.cluster.nodes:
            with site.client(each, name) as client:
                until(partial(_refused, partial(client.kv.get, "a")))
                assert refused(partial(client.kv.get, "a")) == code
                assert refused(partial(client.kv.put, "a", b"2")) == code
    watching.join(PATIENCE_S)
    assert watched == ["UNAUTHENTICATED"]


def test_the_root_token_opens_when_nothing_else_does(site: Site) -> None:
    with site.client(ROOT) as client:
        assert client.records(USER).get("ada") is not None
    with site.client(ROOT[:-1]) as client:
        assert refused(lambda: client.records(USER).get("ada")) == "UNAUTHENTICATED"


def test_a_token_in_a_file_is_read_again(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(site.admin + "\n")
    cluster = site.cluster
    with Client(cluster.endpoints, tls=cluster.tls, token=file) as client:
        assert client.records(USER).get("ada") is not None
        file.write_text("quorate_0_0")
        until(lambda: refused(lambda: client.records(USER).get("ada")) or None)


def test_a_node_that_starts_again_asks_at_once(site: Site) -> None:
    node = site.cluster.followers()[0]
    node.stop()
    node.start()

    with site.client("quorate_0_0", node.name) as client:
        assert until(lambda: refused(lambda: client.kv.get("a")) or None) == "UNAUTHENTICATED"
    node.ready()
