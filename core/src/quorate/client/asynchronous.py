"""The client: one object for a whole cluster, used by any number of coroutines at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar, Unpack

from google.protobuf.message import Message

from quorate.client.brokers import Brokers
from quorate.client.calls import Attempts, Calls, NodeCalls
from quorate.client.commands import Commands
from quorate.client.connections import Connections
from quorate.client.errors import ClosedError, InvalidError
from quorate.client.failures import AttemptError
from quorate.client.fencing import Fencing
from quorate.client.home import Home
from quorate.client.kv import Kv
from quorate.client.node_queues import NodeQueues
from quorate.client.sessions import NamedSessions, Sessions
from quorate.client.tls import Tls
from quorate.client.tokens import BearerToken
from quorate.client.topology import Topology, endpoints_of
from quorate.client.vocabulary import Vocabulary, installed_commands
from quorate.client.watching import WatchedChange, Watching
from quorate.plugin.slots import slot_of
from quorate.v1.admin_pb2 import TopologyResponse
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    # For the checker alone: OpenTelemetry need not be installed, nor locks be imported.
    from opentelemetry.trace import TracerProvider

    from quorate.client.coordination import Coordination, Election, Held, KeptLease, LockOptions
    from quorate.client.records import Records
    from quorate.observe.traces import Traces
    from quorate.plugin.resource import Resource

R = TypeVar("R", bound=Message)

#: Timeout of a call that gives none.
TIMEOUT_S: Final = 30.0
#: How long a client looks for the first node that it can reach.
CONNECT_TIMEOUT_S: Final = 5.0


class AsyncClient:
    """A cluster, as a broker sees it, for `async with`. It belongs to one event loop.

    No call is without a deadline. Whatever fails raises a `QuorateError`.

    `endpoints` is `host:port,host:port` of some nodes; without it, the variable QUORATE_ENDPOINTS
    and then the addresses of `quorate dev` count. Nothing is asked before the first call, which
    raises `DeadlineError` if no node can be reached within `connect_timeout_s`.
    Without `tls` the variables QUORATE_TLS_CA, QUORATE_TLS_CERT and QUORATE_TLS_KEY count. `token`
    says who calls: the token itself, or the path of a file that holds it and is read again when it
    was replaced; without it QUORATE_TOKEN and QUORATE_TOKEN_FILE count. `vocabulary` has the
    commands that can be executed; without it those of all installed plugins can. With a
    `tracer_provider` of OpenTelemetry each call is a span, below the one in which it is made.
    """

    def __init__(
        self,
        endpoints: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        exactly_once: bool = False,
        tls: Tls | None = None,
        token: str | Path | None = None,
        vocabulary: Vocabulary | None = None,
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        _check_seconds(timeout_s=timeout_s, connect_timeout_s=connect_timeout_s)
        self._home: Final = Home()
        self._timeout_s: Final = timeout_s
        self._connect_timeout_s: Final = connect_timeout_s
        #: How connections are encrypted; None: they are not.
        self.tls: Final = Tls.of_environment(os.environ) if tls is None else tls
        #: The token that authenticates each call; None: no token.
        self.token: Final = BearerToken.of(token)
        traces = _traces(tracer_provider)
        self._connections: Final = Connections(self.tls, self.token, traces)
        self._topology: Final = Topology(endpoints_of(endpoints), self._connections)
        self._calls: Final = Calls(self._topology, self._connections)
        self._sessions: Final = Sessions(self._calls) if exactly_once else None
        self._queues: Final = NodeQueues(self._connections)
        self._commands = Commands(
            installed_commands() if vocabulary is None else vocabulary,
            self._topology,
            self._queues,
            self._sessions,
            traces,
        )
        self._watching: Final = Watching(self._topology, self._connections)
        self._began = False
        self._closed = False
        self._is_fenced = False
        #: Exactly-once sessions that outlive this client, by their names.
        self.sessions = NamedSessions(self, self._commands, timeout_s)
        #: Pairs of keys and values.
        self.kv = Kv(self)
        #: The brokers of the cluster.
        self.brokers = Brokers(self)

    async def __aenter__(self) -> Self:
        return self

    def __repr__(self) -> str:
        """Name the endpoints, and the cluster once a node of it has answered."""
        return f"<{type(self).__name__} {self._topology}{', closed' if self._closed else ''}>"

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def records(self, resource: Resource[R]) -> Records[R]:
        """Return the rows of a resource that a plugin declares."""
        from quorate.client.records import Records

        return Records(self, resource)

    def fenced(self, fence: Fencing) -> Self:
        """Return this client with a fence on every write: of `kv`, of records, of any plugin.

        It shares all else with this one, and need not be closed. A method of a service that `call`
        sends cannot carry a fence: unless it only reads, it is refused.
        """
        fenced = copy(self)
        fenced._is_fenced = True
        fenced._commands = self._commands.fenced(fence.fence)
        fenced.sessions = NamedSessions(self, fenced._commands, self._timeout_s)
        fenced.kv = Kv(fenced)
        fenced.brokers = Brokers(fenced)
        return fenced

    async def execute(
        self,
        command: Message,
        reply: type[R],
        *,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> R:
        """Carry out a public command of any installed plugin, and return its reply.

        Commands under way at the same time share calls. With `exactly_once` one that was carried
        out and whose answer is not kept is answered with an empty `reply`. With a `fence` it is
        refused with FENCED once its shard knows a newer token of that name.
        """
        deadline = self._deadline(timeout_s)
        if not self._began:
            await self._begin(deadline)
        return await self._fenced_with(fence).execute(command, reply, deadline)

    async def execute_all(
        self,
        batches: Sequence[Message],
        *,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> BatchReply:
        """Carry out batch commands side by side, and answer their items as those of one batch."""
        deadline = self._deadline(timeout_s)
        if not self._began:
            await self._begin(deadline)
        return await self._fenced_with(fence).execute_all(batches, deadline)

    def lock(
        self, name: str, /, **options: Unpack[LockOptions]
    ) -> AbstractAsyncContextManager[Held]:
        """Hold a lock, and give it to writes as their `fence`: `Coordination.lock`."""
        return self._coordination().lock(name, **options)

    def election(self, name: str) -> Election:
        """Return the election of a name: `Coordination.election`."""
        return self._coordination().election(name)

    def lease(
        self, place: str, *, ttl_s: float = 10.0, owner: str = ""
    ) -> AbstractAsyncContextManager[KeptLease]:
        """Keep a lease for rows that are deleted when it ends: `Coordination.lease`."""
        return self._coordination().lease(place, ttl_s=ttl_s, owner=owner)

    def _coordination(self) -> Coordination:
        from quorate.client.coordination import installed

        return installed().asynchronous(self)

    async def call(
        self,
        method: str,
        request: Message,
        response: type[R],
        *,
        group: str | None = None,
        shard_key: bytes | None = None,
        read: bool = False,
        timeout_s: float | None = None,
    ) -> R:
        """Call a unary method of any service, `/package.Service/Method`, and return its answer.

        It goes to the leader of the shard of `shard_key` in `group`, else to any node. With `read`
        it is tried again also when an attempt was lost on the way.
        """
        if self._is_fenced and not read:
            raise InvalidError("fence", f"{method} cannot carry one; use execute, or this client")
        deadline = self._deadline(timeout_s)
        if group is not None and not self._began:
            await self._begin(deadline)
        answer = self._calls.call(
            method,
            request,
            response,
            deadline,
            kind="read" if read else "write",
            group=group,
            shard_key=shard_key,
        )
        traces = self._connections.traces
        return await (answer if traces is None else traces.during(method[1:], answer))

    async def stream(
        self,
        method: str,
        request: Message,
        response: type[R],
        *,
        group: str | None = None,
        shard_key: bytes | None = None,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[R, None]:
        """Call a method that streams its answers, and yield them.

        Another node is asked while none has answered and nothing was done; then nothing is tried
        again. Without `timeout_s` it lasts for as long as the node gives answers.
        """
        deadline = self._deadline(timeout_s)
        if group is not None and not self._began:
            await self._begin(deadline)
        answers = self._calls.stream(
            method, request, response, timeout_s, group=group, shard_key=shard_key
        )
        async for answer in answers:
            yield answer

    async def watch(
        self,
        family: str | Sequence[str],
        *,
        prefix: str | bytes = b"",
        token: bytes = b"",
        changes_only: bool = False,
        marks: bool = False,
        shards: Sequence[int] = (),
        until: bytes = b"",
    ) -> AsyncGenerator[WatchedChange, None]:
        """Yield the current rows of families of one group, and then every change of them.

        It goes on by itself when connections or nodes are lost. What was missed all the same is
        reported as a change of kind `RESYNC`, and the rows are given again. With a `token` it
        continues after an earlier change; with `changes_only` the current rows are left out; with
        `marks` it also reports when all rows were given, and when only the token has moved.
        `shards` are the numbers of those to watch, all by default. With a `token` and `until`,
        another one, it ends after the changes between the two, or after a `RESYNC`.
        """
        self._home.loop()
        names = [family] if isinstance(family, str) else list(family)
        start = prefix.encode() if isinstance(prefix, str) else prefix
        changes = self._watching.watch(
            names,
            start,
            token,
            changes_only=changes_only,
            marks=marks,
            shards=shards,
            until=until,
        )
        async for change in changes:
            yield change

    async def topology(self, *, timeout_s: float | None = None) -> TopologyResponse:
        """Ask where the shards of the cluster are."""
        deadline = self._deadline(timeout_s)
        attempts = Attempts(self._topology, deadline, "read")
        while True:
            try:
                topology = await self._topology.fresh(deadline - asyncio.get_running_loop().time())
            except AttemptError as failure:
                await attempts.after(failure)
            else:
                self._began = True
                return topology

    async def shard_of(
        self, group: str, shard_key: bytes, *, timeout_s: float | None = None
    ) -> str:
        """Return the shard of a group that holds a shard key, like `metadata/0`.

        `shard_key` is what the `shard_key` of a command, a batch's items or a query returns. Raises
        `InvalidError` for a group that the cluster does not have.
        """
        topology = await self.topology(timeout_s=timeout_s)
        place = self._topology.place(group, slot_of(shard_key))
        if place is None:
            known = ", ".join(sorted({each.group for each in topology.shards})) or "none yet"
            raise InvalidError("group", f"{group!r} is not a group of the cluster; groups: {known}")
        return str(place.shard)

    def likely_shard(self, group: str, shard_key: bytes) -> str:
        """Return the shard that holds a shard key, as far as this client knows; "" if it does not.

        It asks no node: use it to divide what is sent, which nodes route to the right shard.
        """
        place = self._topology.place(group, slot_of(shard_key))
        return "" if place is None else str(place.shard)

    def at(self, node: str) -> NodeCalls:
        """Return calls to the node of that name and no other."""
        return NodeCalls(node, self._topology, self._connections, self._timeout_s)

    async def close(self) -> None:
        """End sessions, calls and connections; calls that are under way raise `ClosedError`."""
        if self._closed:
            return
        self._closed = True
        try:
            self._home.loop()
        except ClosedError:
            # What is to be ended is elsewhere, or ended with its loop.
            return
        if self._sessions is not None:
            await self._sessions.close()
        await self._queues.close()
        await self._topology.close()
        await self._connections.close()

    async def _begin(self, deadline: float) -> None:
        """Learn the topology. If no node can be reached at all, give up early."""
        loop = asyncio.get_running_loop()
        reached_by = min(deadline, loop.time() + self._connect_timeout_s)
        attempts = Attempts(self._topology, reached_by, "read")
        while True:
            try:
                await self._topology.fresh(reached_by - loop.time())
            except AttemptError as failure:
                if not failure.unreachable and loop.time() < reached_by:
                    # A node answers, so that the cluster is there: it may be about to begin.
                    await self.topology(timeout_s=deadline - loop.time())
                    return
                await attempts.after(failure)
            else:
                self._began = True
                return

    def _fenced_with(self, fence: Fencing | None) -> Commands:
        return self._commands if fence is None else self._commands.fenced(fence.fence)

    def _deadline(self, timeout_s: float | None) -> float:
        if self._closed:
            raise ClosedError
        if timeout_s is None:
            timeout_s = self._timeout_s
        return self._home.loop().time() + timeout_s


def _check_seconds(**given: object) -> None:
    for name, seconds in given.items():
        if not isinstance(seconds, int | float) or not seconds > 0:
            raise InvalidError(name, f"must be more than 0 seconds, not {seconds!r}")


def _traces(provider: TracerProvider | None) -> Traces | None:
    if provider is None:
        return None
    from quorate.observe.traces import Traces

    return Traces(provider)


#: Makes a client, for `async with connect(...) as q`.
connect = AsyncClient
