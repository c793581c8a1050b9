"""The node's face over real replicas: one hop, and leaders that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from google.protobuf.wrappers_pb2 import StringValue
from quorate.apply.entries import LoggedCommand
from quorate.config.sections import LimitsSection
from quorate.plugin.advanced import SessionRef
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError, UnreadableError
from quorate.shards.router import Answer, Router
from quorate.shards.routing.forwarding import ForwardedAnswers, ForwardedQuery
from quorate.shards.routing.proposing import Result
from quorate.topology.commands.routes import ROUTES

if TYPE_CHECKING:
    from core.tests.steered import Cluster, Node


class Hops:
    """Calls other nodes on their own loops."""

    def __init__(self, node: Node, faces: dict[str, Router]) -> None:
        self._node = node
        self._faces = faces

    async def propose(
        self,
        node: str,
        shard: ShardId,
        commands: Sequence[LoggedCommand],
        deadlines: Sequence[float],
    ) -> Sequence[Result]:
        target = self._node.cluster.nodes[node]
        if target.loop.is_closed():
            return [NotProposedError(f"node {node} is not there")] * len(commands)
        answer: asyncio.Future[Sequence[Result]] = self._node.loop.create_future()

        apart_s = target.loop.time() - self._node.loop.time()

        async def accept() -> None:
            there = [deadline + apart_s for deadline in deadlines]
            results = await self._faces[node].accept(shard, commands, there)
            self._node.loop.call_soon_threadsafe(answer.set_result, results)

        target.loop.call_soon(lambda: target.loop.create_task(accept()))
        return await answer

    async def query(self, node: str, request: ForwardedQuery) -> ForwardedAnswers:
        raise UnreadableError("every node has a replica here")


def faces_of(cluster: Cluster) -> dict[str, Router]:
    faces: dict[str, Router] = {}
    for name, node in cluster.nodes.items():
        hops = Hops(node, faces)
        faces[name] = Router(
            name,
            node.catalog,
            node.shards,
            hops,
            loop=node.loop,
            limits=LimitsSection(),
            control=ROUTES,
        )
    return faces


def call(cluster: Cluster, node: Node, work: Any) -> Any:
    task: asyncio.Task[Any] = node.run(lambda: node.loop.create_task(work))
    cluster.until(task.done)
    return task.result()


def test_any_node_takes_a_write_also_while_a_new_leader_is_elected(cluster: Cluster) -> None:
    faces = faces_of(cluster)
    for name, node in cluster.nodes.items():
        answer = call(cluster, node, faces[name].propose(StringValue(value=f"{name}=1")))
        assert isinstance(answer, Answer)
    first = cluster.leader
    one, other = cluster.followers
    first.kill()

    call(cluster, one, faces[one.name].propose(StringValue(value="late=1")))
    call(cluster, other, faces[other.name].propose(StringValue(value="later=1")))

    expected = dict.fromkeys([*"abc", "late", "later"], "1")
    cluster.until(lambda: one.rows() == other.rows() == expected)


def test_a_session_that_is_opened_anywhere_holds_everywhere(cluster: Cluster) -> None:
    faces = faces_of(cluster)
    one, other = cluster.followers
    session = call(cluster, one, faces[one.name].open_session("metadata", b"", ttl_ms=60_000))
    operation = SessionRef(session=session, sequence=1, lowest_unanswered=1)
    command = StringValue(value="a=1")

    first = call(cluster, one, faces[one.name].propose(command, session=operation))
    again = call(cluster, other, faces[other.name].propose(command, session=operation))

    assert (first.reply, first.revisions) == (again.reply, again.revisions)
    cluster.until(lambda: one.rows() == {"a": "1"})
