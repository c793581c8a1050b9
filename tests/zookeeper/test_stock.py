"""A stock server of ZooKeeper answers the same, and its tree is copied."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import astuple
from pathlib import Path
from random import Random

import pytest
from quorate.testing.cli import Cli
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Op
from quorate_zookeeper.wire.jute import Record

from tests.support import maven
from tests.support.zookeeper import kafka
from tests.support.zookeeper.peers import (
    OPEN,
    Door,
    Event,
    Peer,
    Stat,
    acl,
    begin,
    create,
    delete,
    multi,
    read,
    set_data,
)
from tests.support.zookeeper.stock import ZooKeeper

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

STEPS = 600
PATHS = ("/a", "/b", "/a/c", "/a/d", "/a/c/e", "/b/", "/none/x", "/a//b", "/zookeeper", "/")
LISTS = (
    OPEN,
    OPEN,
    OPEN,
    ((1, "world", "anyone"),),
    ((31, "digest", "no:body"),),
    (),
    ((1, "x", ""),),
)
#: What follows the path or the data in an answer.
WITH_STAT = {Op.EXISTS, Op.GET_DATA, Op.GET_CHILDREN2, Op.GET_ACL, Op.SET_DATA, Op.SET_ACL}


@pytest.fixture(autouse=True, scope="session")
def _stock_parts() -> None:
    if why := maven.missing(kafka.PROJECT):
        pytest.skip(why)


@pytest.fixture
async def stock(tmp_path: Path) -> AsyncIterator[ZooKeeper]:
    with ZooKeeper(tmp_path / "stock") as server:
        yield server


def shown(stat: Stat) -> tuple[object, ...]:
    """Return what two servers agree on: which zxids are equal, and whether it has an owner."""
    czxid, mzxid, _, _, version, cversion, aversion, owner, length, children, pzxid = astuple(stat)
    same = (czxid == mzxid, czxid == pzxid)
    return *same, version, cversion, aversion, bool(owner), length, children


def normal(op: int, error: int, record: Record) -> tuple[object, ...]:
    """Return what two servers must agree on."""
    if error:
        return (error,)
    found: list[object] = []
    if op in (Op.CREATE, Op.CREATE2, Op.CREATE_CONTAINER, Op.CREATE_TTL):
        found.append(record.text())
    if op == Op.GET_DATA:
        found.append(record.buffer())
    if op in (Op.GET_CHILDREN, Op.GET_CHILDREN2):
        found.append(sorted(record.vector(record.text)))
    if op == Op.GET_ACL:
        count = record.int32()
        found.append([(record.int32(), record.text(), record.text()) for _ in range(count)])
    if op in (Op.CREATE2, Op.CREATE_CONTAINER, Op.CREATE_TTL) or op in WITH_STAT:
        found.append(shown(Stat.of(record)))
    if op == Op.COUNT_DESCENDANTS:
        found.append(record.int32())
    if op == Op.GET_EPHEMERALS:
        found.append(sorted(record.vector(record.text)))
    if op == Op.MULTI:
        while True:
            type_, ended, failed = record.int32(), record.boolean(), record.int32()
            if ended:
                break
            if type_ == -1:
                assert record.int32() == failed
                found.append(failed)
            else:
                found.append((type_, *normal(type_, 0, record)))
    return tuple(found)


def drawn(rng: Random, *, within: bool = False) -> tuple[int, bytes]:
    """Draw a request."""
    path, version = rng.choice(PATHS), rng.choice((-1, -1, 0, 1))
    data = rng.choice((None, b"", b"1", b"22"))
    watch = rng.random() < 0.5
    flags = rng.choice((0, 0, 0, 1, 2, 3))
    if flags in (2, 3) and rng.random() < 0.5:
        path = path.rstrip("/") + "/"
    made = create(path, data, flags=flags, entries=rng.choice(LISTS))
    writes = [
        (Op.CREATE, made),
        (Op.CREATE, made),
        (Op.CREATE2, made),
        (Op.CREATE_CONTAINER, create(path, data, flags=4)),
        (Op.CREATE_TTL, create(path, data, flags=5) + jute.int64(rng.choice((0, 1_000_000)))),
        (Op.DELETE, delete(path, version)),
        (Op.SET_DATA, set_data(path, data, version)),
    ]
    if within:
        return rng.choice([*writes, (Op.CHECK, delete(path, version))])
    some = [drawn(rng, within=True) for _ in range(rng.randint(0, 4))]
    others = [rng.choice(PATHS[:5]) for _ in range(rng.randint(2, 6))]
    sets = [(Op.SET_DATA, set_data(each, data, rng.choice((-1, -1, -1, 1)))) for each in others]
    list_ = jute.text(path) + acl(*rng.choice(LISTS)) + jute.int32(version)
    return rng.choice(
        [
            *writes,
            (Op.MULTI, multi(*some)),
            (Op.MULTI, multi(*some)),
            (Op.MULTI, multi(*sets)),
            (Op.MULTI, multi(*sets, *some)),
            (Op.SET_ACL, list_),
            (Op.GET_ACL, jute.text(path)),
            (Op.EXISTS, read(path, watch=watch)),
            (Op.GET_DATA, read(path, watch=watch)),
            (Op.GET_CHILDREN, read(path, watch=watch)),
            (Op.GET_CHILDREN2, read(path, watch=watch)),
            (Op.COUNT_DESCENDANTS, jute.text(path)),
            (Op.GET_EPHEMERALS, jute.text(path)),
        ]
    )


@pytest.mark.parametrize("seed", range(4))
async def test_both_answer_the_same(stock: ZooKeeper, door: Door, seed: int) -> None:
    rng = Random(seed)
    both: list[list[Peer]] = []
    for port in (stock.port, door.port):
        peers = [Peer(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(2)]
        for peer in peers:
            await begin(peer, timeout_ms=40_000)
        both.append(peers)
    for step in range(STEPS):
        who, (op, body) = rng.randrange(2), drawn(rng)
        answers = []
        for peers in both:
            reply = await peers[who].ask(op, body)
            for peer in peers:
                await peer.ask(Op.EXISTS, read("/"))
            events = [
                [(each.type, each.path) for each in peer.seen if isinstance(each, Event)]
                for peer in peers
            ]
            record = reply.record
            answers.append((normal(op, reply.error, record), record.rest, events))
            for peer in peers:
                peer.seen.clear()
        assert answers[0] == answers[1], (step, Op(op).name, body)
    for peer in (*both[0], *both[1]):
        peer.writer.close()


async def test_a_tree_is_taken_from_a_stock_server_and_given_back(
    stock: ZooKeeper, door: Door
) -> None:
    peer = Peer(*await asyncio.open_connection("127.0.0.1", stock.port))
    await begin(peer)
    for path, data in (("/a", b"1"), ("/a/b", None), ("/c", b"3")):
        await peer.ask(Op.CREATE, create(path, data))
    await peer.ask(Op.CREATE, create("/e", flags=1))

    def run(*arguments: str) -> dict[str, object]:
        with Cli(door.node) as cli:
            ran = cli.run("zookeeper", *arguments, "--at", f"127.0.0.1:{door.port}")
        assert ran.exit_code == 0, ran.output
        return dict(ran.rows[0])

    found = await asyncio.to_thread(run, "import", stock.address)
    # The root is one of them.
    assert (found["copied"], found["ephemeral"]) == (4, 1)
    here = await door.connect()
    assert await here.children("/") == ["a", "c", "zookeeper"]
    assert (await here.ask(Op.GET_DATA, read("/a/b"))).record.buffer() is None
    await here.ask(Op.DELETE, delete("/c"))
    await here.ask(Op.SET_DATA, set_data("/a", b"2"))
    assert (await asyncio.to_thread(run, "export", stock.address, "--delete"))["deleted"] == 1
    assert await peer.children("/") == ["a", "e", "zookeeper"]
    assert (await peer.ask(Op.GET_DATA, read("/a"))).record.buffer() == b"2"
    peer.writer.close()
