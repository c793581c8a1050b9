"""The node as its plugins see it: implements `quorate.plugin.NodeApi`."""

# Methods are documented at their port, `NodeApi`.
# ruff: noqa: D102

from __future__ import annotations

import ssl
from asyncio import Future, get_running_loop
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeVar, cast

from google.protobuf.message import Message
from pydantic import BaseModel

from quorate.config import Settings
from quorate.node.plugin_metrics import PluginMetrics
from quorate.node.ports import Ports
from quorate.node.standpoint import Standpoint
from quorate.plugin import (
    Access,
    CacheView,
    Caller,
    Consistency,
    Fence,
    Invalid,
    Rejected,
    ShardRef,
)
from quorate.plugin.access import Authority, is_reserved
from quorate.plugin.advanced import (
    Answers,
    ClusterStatus,
    OpenPort,
    OrderedCommands,
    ServicePort,
    SessionRef,
    ShardAnswers,
    ShardStatus,
    UndeclaredFamilyError,
    WatchedEvent,
)
from quorate.plugin.catalog import Catalog
from quorate.plugin.needs import readable
from quorate.plugin.node import NODE
from quorate.plugin.shard_id import ShardId
from quorate.plugin.singles import batch_of, of_item, only_reply
from quorate.rpc import callers, deadline
from quorate.shards.refusals import NotProposedError
from quorate.shards.router import Answer, Proposal, Router
from quorate.shards.routing import routes
from quorate.shards.routing.forwarding import Asked
from quorate.shards.routing.queries import ReadOptions
from quorate.shards.shard.shard import Shard
from quorate.shards.watching.caches import CacheKeeper
from quorate.shards.watching.watch import Watch
from quorate.v1 import command_pb2 as pb

R = TypeVar("R", bound=Message)
A = TypeVar("A", bound=Message | bytes)
T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=BaseModel)
CacheT = TypeVar("CacheT", bound=CacheView)

#: Opens a watch of a family under a prefix, after a token or from its rows on.
OpenWatch = Callable[[str, bytes, bytes], Awaitable[Watch]]


class _Ordered:
    """A plugin's stream of ordered commands."""

    def __init__(self, node: PluginNode, catalog: Catalog, router: Router) -> None:
        self._node: Final = node
        self._catalog: Final = catalog
        self._router: Final = router
        self._stream: Final = router.ordered(caller=node.caller())
        self._halted = False

    def propose(self, command: Message, reply: type[R]) -> Future[R]:
        future: Future[R] = get_running_loop().create_future()
        batch = batch_of(self._catalog.singles, command)

        def answered(answer: Answer | Exception) -> None:
            if isinstance(answer, Exception) and not isinstance(answer, Rejected | Invalid):
                self._halt(answer)
            if future.done():
                return
            try:
                future.set_result(
                    self._node._parsed(command, answer, reply, single=batch is not None)
                )
            except Exception as error:  # noqa: BLE001 - it is the answer
                future.set_exception(error)

        proposal = Proposal(batch or command, self._router.deadline(deadline.remaining_s()))
        self._stream.put(proposal, answered)
        return future

    def _halt(self, why: Exception) -> None:
        if not self._halted:
            self._halted = True
            after = f"an earlier command of its stream failed, and this was not proposed: {why}"
            self._stream.halt(NotProposedError(after))

    async def close(self) -> None:
        await self._stream.close()


@dataclass(eq=False, repr=False)
class PluginNode:
    """The node as its plugins see it; all of them share one.

    Within a call the deadline of the caller bounds commands and queries, otherwise the node's own
    timeout. A command also raises what `Router.propose` does; if its session has not kept its
    answer, it is answered with an empty `reply`.
    """

    _settings: Settings
    _catalog: Catalog
    _router: Router
    _caches: Sequence[CacheKeeper]
    _metrics: PluginMetrics
    _open_watch: OpenWatch
    _replica: Callable[[ShardId], Shard | None]
    _authority: Authority
    _ports: Ports = field(default_factory=Ports)
    _standpoint: Standpoint | None = None
    _level: Callable[[str], int] = lambda plugin: 1
    _is_reserved: Callable[[str], bool] = is_reserved
    #: Acts as the node itself, even in the context of a call.
    _own: bool = False

    def itself(self) -> PluginNode:
        """Return the node for controllers, which act as the node even within a client's call."""
        return replace(self, _own=True)

    def level(self, plugin: str) -> int:
        return self._level(plugin)

    def config(self, model: type[ModelT]) -> ModelT:
        return self._settings.plugin_section(model)

    def tls(self, *protocols: str) -> ssl.SSLContext | None:
        return None if self._ports.tls is None else self._ports.tls(protocols)

    @property
    def shares_ports(self) -> bool:
        return self._ports.shared

    def serve(self, port: ServicePort) -> AbstractAsyncContextManager[OpenPort]:
        return self._ports.serve(port)

    def cluster(self) -> ClusterStatus:
        return self._where.cluster()

    def shard(self, group: str, shard_key: bytes = b"") -> ShardStatus:
        return self._where.shard(group, shard_key)

    def shard_bytes(self, group: str, shard_key: bytes = b"") -> int:
        return self._where.shard_bytes(group, shard_key)

    async def transfer_leader(self, node: str, group: str, shard_key: bytes = b"") -> None:
        await self._where.transfer(node, group, shard_key, deadline.remaining_s())

    @property
    def _where(self) -> Standpoint:
        assert self._standpoint is not None, "a node is made with one"
        return self._standpoint

    def cache(self, kind: type[CacheT]) -> CacheT:
        view: CacheT = self._keeper(kind).view  # type: ignore[assignment]
        return view

    def cache_age_ms(self, kind: type[CacheView]) -> int:
        age_ms = self._keeper(kind).age_ms()
        return -1 if age_ms is None else age_ms

    def _keeper(self, kind: type[CacheView]) -> CacheKeeper:
        for keeper in self._caches:
            if isinstance(keeper.view, kind):
                return keeper
        raise LookupError(f"no plugin of this node declares a Cache whose factory gives {kind!r}")

    def extensions(self, point: str, kind: type[T]) -> Mapping[str, T]:
        given = self._catalog.extensions.get(point, {})
        return MappingProxyType(
            {name: value for name, value in given.items() if isinstance(value, kind)}
        )

    def caller(self) -> Caller:
        return NODE if self._own else callers.caller()

    def _asked(self) -> Asked | None:
        return None if self._own else callers.asked()

    def is_reserved(self, name: str) -> bool:
        return self._is_reserved(name)

    def acting(self, user: str, address: str) -> AbstractContextManager[None]:
        return callers.acting(user, address)

    def allows(self, user: str, access: Access, request: Message | None = None) -> bool:
        enabled = self._authority.enabled
        if not enabled:
            return enabled is False
        rights = self._authority.rights(user)
        if request is None:
            return rights.covers(access.domain, access.right)
        return not rights.lacks(access, access.domain, request)

    def readable(self, family: str) -> Callable[[bytes], bool] | None:
        caller = self.caller()
        if caller.node or self._authority.enabled is False:
            return None
        return readable(self._authority.rights(caller.name), self._catalog.families[family])

    def count(self, metric: str, value: float = 1.0, **labels: str) -> None:
        self._metrics.count(metric, value, labels)

    def observe(self, metric: str, value: float, **labels: str) -> None:
        self._metrics.observe(metric, value, labels)

    def progress(self, text: str) -> None:
        """Ignore progress outside of a controller."""

    def logical_ms(self, shard: ShardRef) -> int:
        led = ShardId(shard.group, shard.shard)
        replica = self._replica(led)
        if replica is None or not replica.leads or replica.term != shard.term:
            raise Rejected(
                "ABORTED", f"this node does not lead {led} in term {shard.term} any more"
            )
        return replica.now_ms()

    def public_command(self, command: pb.Command, caller: Caller) -> Message:
        message = routes.parse_public(self._catalog, command.type, command.payload)
        self._router.demand(message, caller)
        return message

    async def propose(
        self,
        command: Message,
        reply: type[A],
        *,
        session: SessionRef | None = None,
        if_leader: ShardRef | None = None,
        fence: Fence | None = None,
    ) -> A:
        batch = batch_of(self._catalog.singles, command)
        try:
            answer = await self._router.propose(
                command if batch is None else batch,
                session=session,
                if_leader=if_leader,
                fence=fence,
                timeout_s=deadline.remaining_s(),
                # A callback of the loop may still have the context of the call that it was made in.
                caller=self.caller() if if_leader is None else NODE,
            )
        except Invalid as invalid:
            raise invalid if batch is None else of_item(invalid) from None
        return self._parsed(command, answer, reply, single=batch is not None)

    def _parsed(
        self, command: Message, answer: Answer | Exception, reply: type[A], *, single: bool
    ) -> A:
        """Return the reply to a command, or to the `single` item of a batch; raises its failure."""
        if isinstance(answer, Invalid) and single:
            raise of_item(answer)
        if isinstance(answer, Exception):
            raise answer
        batch = answer.batch
        if single:
            # Without a batch nothing but its empty reply is left of what was carried out before.
            return _read(reply, b"" if batch is None else only_reply(batch))
        return batch if isinstance(batch, reply) else _read(reply, answer.reply)

    def ordered(self) -> OrderedCommands:
        return _Ordered(self, self._catalog, self._router)

    def query(
        self,
        message: Message,
        row: type[R],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> AsyncIterator[R]:
        return self._router.reads.query(
            message,
            row,
            consistency=consistency,
            min_revision=min_revision,
            asked=self._asked(),
        )

    async def read(
        self,
        message: Message,
        row: type[A],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> Answers[A]:
        if consistency == "linearizable" and not min_revision:
            joined = self._router.reads.joint.join(message, row)
            if joined is not None and (together := await joined) is not None:
                return together
        options = ReadOptions(
            consistency=consistency, min_revision=min_revision, asked=self._asked()
        )
        found = await self._router.reads.read(
            message, row, options, timeout_s=deadline.remaining_s()
        )
        age_ms = 0
        if consistency == "stale":
            ages = [as_of.age_ms for as_of in found.as_of.values()]
            age_ms = -1 if -1 in ages else max(ages, default=0)
        return Answers(rows=found.rows, age_ms=age_ms)

    def read_shards(
        self,
        message: Message,
        row: type[R],
        *,
        shards: Collection[int] | None = None,
        consistency: Consistency = "linearizable",
    ) -> AsyncIterator[ShardAnswers[R]]:
        options = ReadOptions(consistency=consistency, asked=self._asked())
        return self._router.reads.read_shards(
            message, row, options, shards=shards, timeout_s=deadline.remaining_s()
        )

    async def watch(
        self, family: str, *, prefix: bytes = b"", token: bytes = b""
    ) -> AsyncIterator[WatchedEvent]:
        """Yield the changes of a family's rows under a key prefix.

        Without a token it begins with rows that hold every write answered before the call. Raises
        `UndeclaredFamilyError`, and `UnreadableError` if those rows cannot be read in time.
        """
        declared = self._catalog.families.get(family)
        if declared is None or declared.row is None:
            raise UndeclaredFamilyError(f"no column family {family} with a row message is declared")
        watch = await self._open_watch(family, prefix, token)
        try:
            async for event in watch:
                yield event
        finally:
            watch.close()


def _read(reply: type[A], content: bytes) -> A:
    """Return a reply; one that is passed on as it is, and asked for as bytes, is not parsed."""
    if reply is bytes:
        return cast(A, content)
    return cast(A, cast("type[Message]", reply).FromString(content))
