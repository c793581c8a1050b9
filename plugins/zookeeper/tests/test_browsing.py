"""The tree as operators read it: over gRPC, and by `quorate zookeeper ls` and `stat`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from quorate.client import InvalidError, RejectedError
from quorate.testing import MemoryClient, MemoryNode
from quorate_zookeeper.cli.zookeeper import zookeeper
from quorate_zookeeper.families import CHILDREN, NODES, PARENTS, child_key
from quorate_zookeeper.tree.browsing import list_znodes
from quorate_zookeeper.v1 import commands_pb2 as pb, rows_pb2 as rows, tree_pb2 as tree
from quorate_zookeeper.wire.codes import Op, Perm

from tests.support.zookeeper.peers import EPHEMERAL, create

HTML = "<script>alert(1)</script>".replace("/", "|")
SECRET = ((Perm.READ, "digest", "ada:hash"), (Perm.ADMIN, "world", "anyone"))


class Tree:
    """A tree in memory, and a client of it."""

    def __init__(self, node: MemoryNode) -> None:
        self.node = node
        self.q = MemoryClient(node)
        self.session = 0

    async def open(self) -> None:
        opened = await self.node.propose(pb.OpenSession(timeout_ms=10_000), pb.SessionOpened)
        self.session = opened.session

    async def make(self, path: str, data: bytes = b"", **more: Any) -> None:
        done = await self.node.propose(
            pb.Transact(
                session=self.session,
                connection=self.session,
                type=Op.CREATE,
                request=create(path, data, **more),
            ),
            pb.Transacted,
        )
        assert not done.error

    async def get(self, path: str) -> tree.ZnodeView:
        request = tree.GetZnode(path=path)
        return await self.q.call("/quorate_zookeeper.v1.TreeService/Get", request, tree.ZnodeView)

    async def list(self, path: str, after: str = "", most: int = 0) -> tree.ListZnodesResponse:
        return await self.q.call(
            "/quorate_zookeeper.v1.TreeService/List",
            tree.ListZnodes(path=path, after=after, page_size=most),
            tree.ListZnodesResponse,
        )


@pytest.fixture
async def at() -> AsyncIterator[Tree]:
    async with MemoryNode(["zookeeper"], at_ms=1_000_000) as node:
        found = Tree(node)
        await found.open()
        yield found


async def test_a_znode_is_shown_with_its_data_and_its_children(at: Tree) -> None:
    await at.make("/a", b"data")
    await at.make("/a/b", b"12345")
    await at.make("/a/e", flags=EPHEMERAL)

    found = await at.get("/a")
    assert (found.znode.data, found.data_bytes, found.children.count) == (b"data", 4, 2)
    below = await at.list("/a")
    assert [(each.path, each.data_bytes) for each in below.znodes] == [("/a/b", 5), ("/a/e", 0)]
    assert not any(each.znode.HasField("data") for each in below.znodes)
    assert below.znodes[1].znode.ephemeral_owner == at.session
    assert below.next_after == ""


async def test_children_are_shown_page_by_page_with_the_built_in_ones(at: Tree) -> None:
    for name in ("a", "zoo", "zookeepers"):
        await at.make(f"/{name}")

    found, after = [], ""
    while True:
        page = await at.list("/", after, 1)
        found += [each.path for each in page.znodes]
        after = page.next_after
        if not after:
            break
    assert found == ["/a", "/zoo", "/zookeeper", "/zookeepers"]
    assert [each.path for each in (await at.list("/")).znodes] == found
    quota = await at.list("/zookeeper")
    assert [each.path for each in quota.znodes] == ["/zookeeper/config", "/zookeeper/quota"]


async def test_an_access_control_list_holds_for_operators(at: Tree) -> None:
    await at.make("/locked", b"secret", entries=SECRET)

    found = await at.get("/locked")
    assert (found.withheld, found.data_bytes) == (True, 6)
    assert b"secret" not in found.SerializeToString()
    assert b"ada" not in found.SerializeToString()
    below = await at.list("/locked")
    assert (below.withheld, list(below.znodes)) == (True, [])
    [listed] = [each for each in (await at.list("/")).znodes if each.path == "/locked"]
    assert listed.withheld
    # Hashes are for those who may change a list, whom a password proves.
    await at.make("/open", entries=((Perm.READ, "world", "anyone"), (Perm.WRITE, "digest", "a:h")))
    assert [each.id for each in (await at.get("/open")).znode.acl] == ["anyone", "a:x"]


async def test_what_is_not_there_and_what_cannot_be_is_refused(at: Tree) -> None:
    for path, text in (
        ("/none", "there is no znode /none"),
        ("none", "is no path of a znode"),
        ("/a//b", "is no path of a znode"),
        ("/" + "x" * 9_000, "there is no znode"),
    ):
        for ask in (at.get, at.list):
            with pytest.raises((RejectedError, InvalidError)) as raised:
                await ask(path)
            assert text in str(raised.value), path
            assert len(str(raised.value)) < 400


class Counted:
    """A reader of a tree whose root has a million children, and what it was asked for."""

    revision = 0

    def __init__(self, size: int) -> None:
        self.row = rows.Znode(data=b"d" * size).SerializeToString()
        self.read = 0

    def get(self, family: str, key: bytes) -> bytes | None:
        if family == PARENTS:
            count = 1_000_000 if key == b"/" else 0
            return rows.Children(count=count).SerializeToString()
        self.read += 1
        return self.row if family == NODES else None

    def get_values(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        return [self.get(family, each) for each in keys]

    def scan(self, family: str, start: bytes, end: bytes, *, limit: int) -> Iterator[Any]:
        assert family == CHILDREN
        self.read += limit
        for number in range(limit):
            yield SimpleNamespace(key=child_key("/", f"{number:07}"), value=b"")


@pytest.mark.parametrize(("size", "shown"), [(10, 100), (1 << 20, 10)])
def test_of_a_million_children_a_page_is_read(size: int, shown: int) -> None:
    reader: Any = Counted(size)
    [page] = list_znodes(reader, tree.ListZnodes(path="/"))

    assert (len(page.znodes), page.next_after) == (shown, f"{shown - 1:07}")
    assert reader.read < 1_000


class Console:
    """Stands in for the host's console."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []
        self.rows: list[Any] = []

    def client(self) -> Any:
        return self

    def call(self, _: str, request: Any, reply: Any, **__: Any) -> Any:
        self.asked.append(type(request).FromString(request.SerializeToString()))
        return self.answers.pop(0)

    def print(self, rows: Any) -> None:
        self.rows = list(rows)


def run(console: Console, *words: str) -> Any:
    return CliRunner().invoke(zookeeper, words, obj=console)


def test_ls_lists_all_pages_up_to_its_limit() -> None:
    views = [tree.ZnodeView(path=f"/a/{HTML}{number}") for number in range(3)]
    first = tree.ListZnodesResponse(znodes=views[:2], next_after="n")
    console = Console(first, tree.ListZnodesResponse(znodes=views[2:]))
    ran = run(console, "ls", "/a", "--limit", "2", "--after", "/a/m")

    assert ran.exit_code == 0, ran.output
    assert [each["path"] for each in console.rows] == [views[0].path, views[1].path]
    assert "there are more than 2" in ran.output
    assert [each.after for each in console.asked] == ["m", "n"]


def test_ls_says_that_names_are_withheld() -> None:
    ran = run(Console(tree.ListZnodesResponse(withheld=True)), "ls", "/a")

    assert ran.exit_code == 1
    assert "keeps its children from others" in ran.output


def test_stat_shows_a_znode_and_the_paths_above_it() -> None:
    node = rows.Znode(data=b"d", ephemeral_owner=17, czxid=4, modified_at_ms=1_000)
    node.acl.add(perms=Perm.ALL, scheme="digest", id="ada:x")
    view = tree.ZnodeView(path="/a/b/c", znode=node, data_bytes=1)
    console = Console(view)
    ran = run(console, "stat", "--above", "/a/b/c")

    assert ran.exit_code == 0, ran.output
    *above, shown = console.rows
    assert above == [{"path": "/"}, {"path": "/a"}, {"path": "/a/b"}]
    assert (shown["data"], shown["session"], shown["kind"]) == (b"d", "0x11", "ephemeral")
    assert (shown["acl"], shown["pzxid"]) == ("digest:ada:x:cdrwa", 4)
    assert json.dumps({**shown, "data": "d"})
    console = Console(tree.ZnodeView(path="/"))
    run(console, "stat", "--above", "/")
    assert len(console.rows) == 1


def test_of_a_path_of_4_kib_the_nearest_znodes_above_are_shown() -> None:
    path = "/a" * 2_048
    console = Console(tree.ZnodeView(path=path))
    run(console, "stat", "--above", path)

    assert len(console.rows) == 33
    assert console.rows[-2]["path"] == "/a" * 2_047
