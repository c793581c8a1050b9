"""Connects that are asked for in one turn of the loop share commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from quorate.client import (
    AsyncClient,
    InvalidError,
    OutcomeUnknownError,
    QuorateError,
    Records,
    RejectedError,
    UnavailableError,
)
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal
from quorate_mqtt.client.sessions import Sessions
from quorate_mqtt.v1.sessions_pb2 import ConnectReply, ConnectSessions, SessionConnect


def done(command: ConnectSessions) -> BatchReply:
    """Answer each client with the length of its name as the generation."""
    replies = [
        ConnectReply(generation=len(each.client_id)).SerializeToString()
        for each in command.connections
    ]
    return BatchReply(items=len(replies), replies=replies)


class Cluster:
    """Stands in for a client: keeps the commands that it is given, and answers them."""

    def __init__(self, answer: Callable[[ConnectSessions], BatchReply] = done) -> None:
        self.answer = answer
        self.commands: list[ConnectSessions] = []

    def records(self, resource: Any) -> Records[Any]:
        return Records(cast(AsyncClient, self), resource)

    def likely_shard(self, group: str, shard_key: bytes) -> str:
        return f"{group}/{b'far' in shard_key:d}"

    async def execute(self, command: Message, reply: type[Message], **_: object) -> Message:
        assert isinstance(command, ConnectSessions)
        self.commands.append(command)
        await asyncio.sleep(0)
        return self.answer(command)

    def sent(self) -> list[tuple[str, list[str]]]:
        return [
            (each.broker, [one.client_id for one in each.connections]) for each in self.commands
        ]


def client(name: str, tenant: str = "acme", **more: Any) -> SessionConnect:
    return SessionConnect(tenant=tenant, client_id=name, **more)


async def connected(
    cluster: Cluster, *arrivals: tuple[str, SessionConnect]
) -> list[ConnectReply | QuorateError]:
    sessions = Sessions(cast(AsyncClient, cluster))
    coming = (sessions.connect(broker, 7, arrival) for broker, arrival in arrivals)
    found = await asyncio.gather(*coming, return_exceptions=True)
    return [each for each in found if isinstance(each, ConnectReply | QuorateError)]


async def test_connects_of_one_turn_share_a_command_of_their_broker_tenant_and_shard() -> None:
    cluster = Cluster()

    replies = await connected(
        cluster,
        ("b1", client("a")),
        ("b2", client("bb")),
        ("b1", client("ccc")),
        ("b1", client("far")),
        ("b1", client("other", tenant="umbra")),
    )

    assert cluster.sent() == [
        ("b1", ["a", "ccc"]),
        ("b2", ["bb"]),
        ("b1", ["far"]),
        ("b1", ["other"]),
    ]
    assert {each.broker_epoch for each in cluster.commands} == {7}
    assert replies == [ConnectReply(generation=each) for each in (1, 2, 3, 3, 5)]


async def test_connects_of_one_client_follow_each_other() -> None:
    cluster = Cluster()
    coming = [("b1", client("a", connection_id=each)) for each in (1, 2, 3)]

    await connected(cluster, *coming, ("b1", client("b")))

    assert cluster.sent() == [("b1", ["a", "b"]), ("b1", ["a"]), ("b1", ["a"])]
    assert [each.connections[0].connection_id for each in cluster.commands] == [1, 2, 3]


async def test_a_refused_client_hides_no_other() -> None:
    codes = {"b": "NOT_FOUND", "c": "UNAVAILABLE", "d": "OUTCOME_UNKNOWN"}

    def answer(command: ConnectSessions) -> BatchReply:
        reply = done(command)
        for place, each in enumerate(command.connections):
            if each.client_id in codes:
                reply.refusals.add(item=place, code=codes[each.client_id], message="why")
        return reply

    cluster = Cluster(answer)
    found = await connected(cluster, *(("b1", client(each)) for each in "abcd"))

    assert found[0] == ConnectReply(generation=1)
    assert list(map(type, found[1:])) == [RejectedError, UnavailableError, OutcomeUnknownError]
    assert len(cluster.commands) == 1


@pytest.mark.parametrize("whole", [True, False])
async def test_a_wrong_client_is_sent_alone_for_the_error_that_a_command_of_its_own_has(
    *, whole: bool
) -> None:
    def answer(command: ConnectSessions) -> BatchReply:
        names = [each.client_id for each in command.connections]
        reply = done(command)
        if "wrong" in names and (whole or names == ["wrong"]):
            raise InvalidError(f"connections[{names.index('wrong')}].client_id", "is no name")
        if "wrong" in names:
            reply.refusals.append(ItemRefusal(item=1, code="INVALID_ARGUMENT", message="x"))
        return reply

    good, bad = await connected(Cluster(answer), ("b1", client("good")), ("b1", client("wrong")))

    assert good == ConnectReply(generation=4)
    assert isinstance(bad, InvalidError)
    assert (bad.field, bad.reason) == ("client_id", "is no name")


async def test_a_bug_that_one_client_meets_hides_no_other() -> None:
    def answer(command: ConnectSessions) -> BatchReply:
        if "bug" in [each.client_id for each in command.connections]:
            raise RejectedError("INTERNAL", "failed")
        return done(command)

    good, bad = await connected(Cluster(answer), ("b1", client("good")), ("b1", client("bug")))

    assert good == ConnectReply(generation=4)
    assert isinstance(bad, RejectedError)


async def test_a_failure_of_all_is_told_to_each_and_nothing_is_sent_again() -> None:
    def answer(command: ConnectSessions) -> BatchReply:
        raise RejectedError("FENCED", "the registration has ended")

    cluster = Cluster(answer)
    found = await connected(cluster, ("b1", client("a")), ("b1", client("b")))

    assert [each.code for each in found if isinstance(each, RejectedError)] == ["FENCED"] * 2
    assert len(cluster.commands) == 1


async def test_who_left_before_anything_was_sent_is_not_connected() -> None:
    cluster = Cluster()
    sessions = Sessions(cast(AsyncClient, cluster))
    leaving = asyncio.create_task(sessions.connect("b1", 7, client("a")))
    asyncio.get_running_loop().call_soon(leaving.cancel)
    staying = asyncio.create_task(sessions.connect("b1", 7, client("b")))
    await staying

    assert leaving.cancelled()
    assert [name for _, names in cluster.sent() for name in names] == ["b"]
