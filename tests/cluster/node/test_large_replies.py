"""Commands with large replies: each is answered apart, and none is told otherwise than it went."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.client import (
    AsyncClient,
    ChangeKind,
    OutcomeUnknownError,
    QuorateError,
    RejectedError,
)
from quorate.client.vocabulary import Vocabulary
from quorate.testing.cluster import Cluster

#: A command is `name=size`: it writes a row under its name, and answers so many bytes.
PLUGIN: Final = """
from google.protobuf.wrappers_pb2 import StringValue
from quorate.plugin import ColumnFamily, Command, RaftGroup, hookimpl
from quorate.plugin.advanced import constant_key

def answer(txn, command):
    name, _, size = command.value.partition("=")
    txn.put("large.done", name.encode(), b"")
    return StringValue(value="x" * int(size))

COMMAND = Command(message=StringValue, group="large", apply=answer, shard_key=constant_key,
                  public=True, examples=(StringValue(value="a=1"),))

@hookimpl
def quorate_declarations():
    family = ColumnFamily(name="large.done", group="large", row=StringValue)
    return [RaftGroup(name="large"), family, COMMAND]
"""
TIMING: Final = {"heartbeat_ms": 100, "election_min_ms": 1_000, "election_max_ms": 2_000}
MOST: Final = 20 << 20
USUAL: Final = 60_000
AT_ONCE: Final = 1_500

Ended = StringValue | QuorateError

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    site = tmp_path_factory.mktemp("site")
    (site / "quorate_large.py").write_text(PLUGIN)
    about = site / "quorate_large-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: quorate-large\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[quorate]\nlarge = quorate_large\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
        settings = {"timing": TIMING, "limits": {"reply_bytes": MOST}}
        directory = tmp_path_factory.mktemp("large")
        with Cluster(directory, plugins=["large"], settings=settings) as cluster:
            cluster.ready().leader("large/0")
            yield cluster


def client(cluster: Cluster, *, exactly_once: bool = False) -> AsyncClient:
    vocabulary: Vocabulary = {StringValue: import_module("quorate_large").COMMAND}
    return AsyncClient(
        cluster.endpoints, timeout_s=60.0, exactly_once=exactly_once, vocabulary=vocabulary
    )


async def ended(q: AsyncClient, sizes: Mapping[str, int]) -> dict[str, Ended]:
    """Carry out all of them at a time, and return how each ended."""

    async def one(name: str, size: int) -> Ended:
        try:
            return await q.execute(StringValue(value=f"{name}={size}"), StringValue)
        except QuorateError as error:
            return error

    found = await asyncio.gather(*(one(name, size) for name, size in sizes.items()))
    return dict(zip(sizes, found, strict=True))


async def done(q: AsyncClient) -> set[str]:
    """Return the names of the commands that were carried out."""
    names = set()
    async for change in q.watch("large.done", marks=True):
        if change.kind is ChangeKind.LISTED:
            break
        names.add(change.key.decode())
    return names


def answered(outcomes: Mapping[str, Ended], sizes: Mapping[str, int]) -> set[str]:
    """Return who was answered, with the reply that it was to have."""
    replies = {name: each for name, each in outcomes.items() if isinstance(each, StringValue)}
    assert {name for name, each in replies.items() if len(each.value) != sizes[name]} == set()
    return set(replies)


@pytest.mark.parametrize("exactly_once", [False, True])
async def test_each_command_has_its_own_reply(cluster: Cluster, exactly_once: bool) -> None:
    sizes = {f"each-{exactly_once}-{number}": USUAL for number in range(AT_ONCE)}
    async with client(cluster, exactly_once=exactly_once) as q:
        outcomes = await ended(q, sizes)
        assert answered(outcomes, sizes) == sizes.keys()
        assert sizes.keys() <= await done(q)


@pytest.mark.parametrize("exactly_once", [False, True])
async def test_a_reply_of_many_megabytes_concerns_its_command_alone(
    cluster: Cluster, exactly_once: bool
) -> None:
    sizes = {f"beside-{exactly_once}-{number}": USUAL for number in range(AT_ONCE)}
    names = list(sizes)
    # It fits; no message has room for it; it is more than any reply may be.
    fits, roomless, excessive = names[100], names[500], names[900]
    sizes |= {fits: 12 << 20, roomless: 18 << 20, excessive: 21 << 20}
    async with client(cluster, exactly_once=exactly_once) as q:
        outcomes = await ended(q, sizes)
        unsaid = outcomes.pop(roomless)
        assert answered(outcomes, sizes) == sizes.keys() - {roomless, excessive}
        if exactly_once:
            # It was asked for again, and is known to have been carried out; its reply is not kept.
            assert unsaid == StringValue()
        else:
            assert isinstance(unsaid, OutcomeUnknownError)
        refusal = outcomes[excessive]
        assert isinstance(refusal, RejectedError)
        assert "limits.reply_bytes" in str(refusal)
        assert "nothing was written" in str(refusal)
        assert sizes.keys() - await done(q) == {excessive}


async def test_what_is_refused_while_leaders_change_was_not_carried_out(cluster: Cluster) -> None:
    sizes = {f"moved-{number}": USUAL for number in range(AT_ONCE)}
    async with client(cluster) as q:
        running = asyncio.create_task(ended(q, sizes))
        leader = await asyncio.to_thread(cluster.leader, "large/0")
        heir = next(name for name in cluster.nodes if name != leader.name)
        await asyncio.to_thread(leader.transfer, "large/0", heir)
        outcomes = await running
        replied, carried_out = answered(outcomes, sizes), await done(q)
        assert replied <= carried_out
        refused = {
            name
            for name in sizes.keys() - replied
            if not isinstance(outcomes[name], OutcomeUnknownError)
        }
        assert not refused & carried_out
