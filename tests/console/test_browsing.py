"""Keys and znodes in the console: level by level, with names of strangers, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_acl, make_digest_acl
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.ports import free_ports
from quorate.testing.waiting import until

from tests.console.browser import DESKTOP, Browser

pytestmark = [pytest.mark.ci, pytest.mark.timeout(300)]

NAMES = ["<script>alert(1)<|script>", '"><b onclick="alert(1)">', "x" * 3_000]
DEEP = "".join(f"/{number}" for number in range(900))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The console of a node with znodes and pairs."""
    [port] = free_ports(0)
    directory = tmp_path_factory.mktemp("browsing")
    settings = {"plugins": {"zookeeper": {"port": port}}}
    with Cluster(
        directory, nodes=1, plugins=["zookeeper"], settings=settings, tls=False
    ) as cluster:
        cluster.ready()
        kazoo = KazooClient(f"127.0.0.1:{port}", timeout=30)
        kazoo.start(60)
        try:
            fill(kazoo)
            with Client(cluster.endpoints) as q:
                for key in ("app", "app/a", "app/a/x", "app/b/<i>", f"app/{'k' * 4_000}"):
                    q.kv.put(key, b"value")
                for number in range(230):
                    q.kv.put(f"wide/{number:03}/{number}", b"v")
            yield f"http://{cluster.nodes['node1'].http_address}/console"
        finally:
            kazoo.stop()
            kazoo.close()


def fill(kazoo: KazooClient) -> None:
    kazoo.create("/app", b"the data")
    for name in NAMES:
        kazoo.create(f"/app/{name}", b"<i>data</i>")
    for number in range(230):
        kazoo.create_async(f"/app/child-{number:03}", b"")
    kazoo.create("/app/short-lived", b"", ephemeral=True)
    everybody = make_acl("world", "anyone", admin=True, delete=True)
    kazoo.create("/locked", b"secret", acl=[make_digest_acl("ada", "pw", all=True), everybody])
    kazoo.create(f"{DEEP}/{'y' * 600}", b"", makepath=True)


def page(address: str) -> str:
    with urlopen(address, timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def test_znodes_are_browsed_down_and_up(root: str, chromium: Browser) -> None:
    chromium.size(*DESKTOP)
    chromium.open(root)
    chromium.follow("Znodes")
    chromium.shows("/zookeeper")
    chromium.follow("/app")
    chromium.shows("the data")
    assert "world:anyone:cdrwa" in chromium.text
    chromium.follow("/app/child-007")
    chromium.shows("/app/child-007\t0\t0")
    chromium.follow("/app")
    chromium.shows("the data")
    chromium.follow("/")
    chromium.shows("/locked")
    assert "secret" not in chromium.text
    assert chromium.logged() == []


def test_children_are_counted_and_shown_page_by_page(root: str, chromium: Browser) -> None:
    chromium.open(f"{root}/pages/zookeeper?path=/app")
    chromium.shows("/app\t234\t8\t")
    seen = 0
    while True:
        seen += chromium.text.count("/app/child-")
        if "More" not in chromium.text.splitlines():
            break
        chromium.follow("More")
        chromium.shows("Only rows with")
    assert seen == 230
    chromium.shows("/app/short-lived")


def test_a_znode_that_is_locked_is_shown_without_what_is_in_it(root: str) -> None:
    shown = page(f"{root}/pages/zookeeper?path=/locked")

    assert "keeps its children from others" in shown
    assert "secret" not in shown
    assert "ada" not in shown


@pytest.mark.parametrize("path", ["/pages/zookeeper?path=/app", "/pairs?prefix=app/b/"])
def test_names_of_strangers_are_text(root: str, path: str) -> None:
    shown = page(f"{root}{path}")

    assert "<script>alert" not in shown
    assert "<b onclick" not in shown
    assert "<i>" not in shown
    assert "&lt;i&gt;" in shown or "&lt;script&gt;" in shown


@pytest.mark.parametrize("name", NAMES)
def test_a_znode_with_a_strange_name_has_a_page(root: str, name: str) -> None:
    shown = page(f"{root}/pages/zookeeper?path={quote(f'/app/{name}')}")

    assert "&lt;i&gt;data&lt;/i&gt;" in shown
    assert "<i>data" not in shown
    assert "There is nothing here" not in shown


def test_a_path_of_4_kib_is_browsed(root: str, chromium: Browser) -> None:
    path = f"{DEEP}/{'y' * 600}"
    assert len(path) > 4_000
    chromium.open(f"{root}/pages/zookeeper?path={path}")
    chromium.shows("persistent")
    assert chromium.run("return document.documentElement.scrollWidth") <= DESKTOP[0]


def test_keys_are_browsed_down_and_up(root: str, chromium: Browser) -> None:
    chromium.size(*DESKTOP)
    chromium.open(root)
    chromium.follow("Pairs")
    chromium.shows("app/\t4")
    chromium.follow("app/")
    chromium.shows("app/b/\t1")
    chromium.follow("app/b/")
    chromium.shows("app/b/<i>")
    chromium.follow("app/")
    chromium.shows("app/a\t\tvalue")
    chromium.follow("all pairs")
    chromium.follow("wide/")
    chromium.shows("wide/099/")
    assert "wide/100/" not in chromium.text
    chromium.follow("More")
    chromium.shows("wide/100/")


@pytest.mark.parametrize(
    "path",
    [
        "/pages/zookeeper",
        "/pages/zookeeper?path=/app",
        f"/pages/zookeeper?path={DEEP}",
        "/pairs",
        "/pairs?prefix=app/",
    ],
)
def test_the_pages_can_be_used_by_everybody(
    root: str, chromium: Browser, axe: Path, path: str
) -> None:
    chromium.usable(f"{root}{path}", axe)


def test_pages_are_read_and_browsed_without_scripts(root: str, chromium: Browser) -> None:
    def says(xpath: str, text: str) -> None:
        until(lambda: text in chromium.said(xpath) or None)

    chromium.size(*DESKTOP)
    with chromium.without_scripts():
        chromium.open(root)
        for link in ("Znodes", "/app", "/app/child-000"):
            chromium.follow(link)
        # A driver runs scripts of its own all the same: it is asked for the text of elements.
        says("//main", "/app/child-000")
        says("//main", "without scripts it is not renewed")
        chromium.follow("Pairs")
        chromium.follow("wide/")
        chromium.write("find", "wide/05")
        chromium.click("//button[text()='Find']")
        says("//main", "10 rows")
        says("//tbody", "wide/059/")
        assert "wide/060/" not in chromium.said("//tbody")
