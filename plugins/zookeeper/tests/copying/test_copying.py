"""Trees are copied from one server to another, and what changes follows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from quorate_zookeeper.copying.client import AnswerError, Client
from quorate_zookeeper.copying.copying import Copied, Copy
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Op

from tests.support.zookeeper.peers import (
    EPHEMERAL,
    Door,
    acl,
    create,
    delete,
    read,
    set_data,
)

READABLE = ((1, "world", "anyone"),)


@pytest.fixture
async def doors(open_door: Callable[..., Awaitable[Door]]) -> list[Door]:
    return [await open_door(), await open_door()]


async def clients(doors: list[Door], *, digest: str = "") -> tuple[Client, Client]:
    source, target = [
        await Client.connect(f"127.0.0.1:{door.port}", digest=digest) for door in doors
    ]
    return source, target


async def tree(door: Door) -> dict[str, tuple[bytes | None, bytes]]:
    """Return the data and the access control list of every znode."""
    found: dict[str, tuple[bytes | None, bytes]] = {}
    peer, paths = await door.connect(), ["/"]
    while paths:
        path = paths.pop()
        data = (await peer.ask(Op.GET_DATA, read(path))).record.buffer()
        found[path] = data, (await peer.ask(Op.GET_ACL, jute.text(path))).body[:-68]
        names = await peer.children(path)
        paths += [path.rstrip("/") + "/" + name for name in names if name != "zookeeper"]
    return found


async def test_a_copy_has_paths_data_and_lists(doors: list[Door]) -> None:
    peer = await doors[0].connect()
    for path, data in (("/a", b"1"), ("/a/b", None), ("/a/b/c", b""), ("/d", b"\xff")):
        await peer.ask(Op.CREATE, create(path, data))
    await peer.ask(Op.CREATE, create("/a/e", flags=EPHEMERAL))
    await peer.ask(Op.SET_DATA, set_data("/d", b"2"))
    await peer.ask(Op.SET_ACL, jute.text("/d") + acl(*READABLE) + jute.int32(-1))
    there = await doors[1].connect()
    await there.ask(Op.CREATE, create("/a", b"other"))
    await there.ask(Op.CREATE, create("/a/old"))
    await there.ask(Op.CREATE, create("/a/old/older"))

    source, target = await clients(doors)
    copy = Copy(source, target, "/", deletes=True)
    await copy.copy()
    wanted = await tree(doors[0])
    del wanted["/a/e"]
    assert await tree(doors[1]) == wanted
    assert copy.done == Copied(copied=5, ephemeral=1, deleted=2, versioned=1)
    again = Copy(source, target, "/", deletes=True)
    await again.copy()
    # The znode that nobody may change any more is as it should be.
    assert again.done == Copied(copied=5, ephemeral=1, versioned=1)
    for client in (source, target):
        await client.close()


async def test_a_part_of_a_tree_is_copied_with_its_parents(doors: list[Door]) -> None:
    peer = await doors[0].connect()
    for path in ("/a", "/a/b", "/a/b/c", "/a/x"):
        await peer.ask(Op.CREATE, create(path, b"1"))
    source, target = await clients(doors)
    await Copy(source, target, "/a/b", deletes=False).copy()
    assert {*await tree(doors[1])} == {"/", "/a", "/a/b", "/a/b/c"}
    for client in (source, target):
        await client.close()


async def test_changes_are_followed(doors: list[Door]) -> None:
    peer = await doors[0].connect()
    await peer.ask(Op.CREATE, create("/a"))
    source, target = await clients(doors)
    copy = Copy(source, target, "/", deletes=False)
    await copy.watch()
    await copy.copy()
    following = asyncio.create_task(copy.follow(lambda _: None))
    await peer.ask(Op.CREATE, create("/a/b", b"1"))
    await peer.ask(Op.SET_DATA, set_data("/a/b", b"2"))
    await peer.ask(Op.CREATE, create("/gone"))
    await peer.ask(Op.CREATE, create("/gone/soon"))
    await peer.ask(Op.DELETE, delete("/gone/soon"))
    await peer.ask(Op.DELETE, delete("/gone"))
    async with asyncio.timeout(20):
        while await tree(doors[1]) != await tree(doors[0]):
            await asyncio.sleep(0.01)
    await source.close()
    await following
    await target.close()


async def test_what_may_not_be_read_is_told(doors: list[Door]) -> None:
    owner = await Client.connect(f"127.0.0.1:{doors[0].port}", digest="ann:secret")
    await owner.ask(Op.CREATE, create("/own", b"1", entries=((31, "auth", ""),)))
    await owner.close()
    source, target = await clients(doors)
    copy = Copy(source, target, "/", deletes=False)
    await copy.copy()
    assert copy.done.refused == {"/own": -102}
    for client in (source, target):
        await client.close()
    source, target = await clients(doors, digest="ann:secret")
    await Copy(source, target, "/", deletes=False).copy()
    with pytest.raises(AnswerError, match="-101"):
        await target.ask(Op.GET_DATA, read("/none"))
    assert (await target.ask(Op.GET_DATA, read("/own"))).buffer() == b"1"
    for client in (source, target):
        await client.close()
