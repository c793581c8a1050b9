"""A node in memory: `quorate.plugin.NodeApi` over shards without Raft, disk or sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from types import MappingProxyType
from typing import Any, Final, Self, TypeVar

from google.protobuf.message import Message
from pydantic import BaseModel

from quorate.plugin import (
    CacheView,
    Command,
    Consistency,
    Event,
    Rejected,
    RowEvent,
    SessionRef,
    ShardRef,
    UndeclaredFamilyError,
    WatchedEvent,
)
from quorate.plugin.catalog import Catalog
from quorate.testing import routing
from quorate.testing.installed import catalog_of
from quorate.testing.metrics import CountedMetrics
from quorate.testing.reads import run_query
from quorate.testing.shard import Entry, InternalError, LoggedCommand, MemoryShard, Outcome
from quorate.testing.timers import due_commands
from quorate.testing.watches import History
from quorate.v1.batch_pb2 import BatchReply

M = TypeVar("M", bound=Message)
T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=BaseModel)
CacheT = TypeVar("CacheT", bound=CacheView)


class MemoryNode:
    """Hosts plugins over in-memory shards, for tests of services, queries and controllers.

    Each command that is proposed is an entry of its own and is applied at once. `advance` moves
    logical time, which stands still otherwise. `async with` enters the plugins' lifespans.
    """

    def __init__(
        self,
        plugins: Sequence[str] = (),
        *,
        catalog: Catalog | None = None,
        config: Mapping[str, Mapping[str, object]] | None = None,
        shards: Mapping[str, int] | None = None,
        at_ms: int = 0,
    ) -> None:
        self.catalog: Final = catalog if catalog is not None else catalog_of(plugins)
        self.now_ms = at_ms
        #: Every command that passed `validate`, in order; those of timers are among them.
        self.proposals: Final[list[Message]] = []
        #: Everything that happened, in order.
        self.events: Final[list[Event]] = []
        self.metrics: Final = CountedMetrics(self.catalog.metrics)
        self._sections: Final = _sections(self.catalog, config or {})
        self._shards: Final = _shards(self.catalog, shards or {})
        self._histories: Final = {group: History(found) for group, found in self._shards.items()}
        #: By group and shard: the term, and since when it lasts.
        self._terms: Final[dict[tuple[str, int], tuple[int, int]]] = {
            (shard.group, shard.number): (1, at_ms) for shard in self._all_shards()
        }
        #: The views of the caches, by name.
        self.caches: Final = {name: cache.factory() for name, cache in self.catalog.caches.items()}
        for view in self.caches.values():
            view.reset()
        self._servicers: Final[dict[str, object]] = {}
        self._lifespans: Final = AsyncExitStack()
        self._sessions = 0

    async def __aenter__(self) -> Self:
        for declared in self.catalog.declared.values():
            if declared.lifespan is not None:
                await self._lifespans.enter_async_context(declared.lifespan(self))
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._lifespans.__aexit__(*raised)

    # What `quorate.plugin.NodeApi` promises.

    def config(self, model: type[ModelT]) -> ModelT:
        """Return the section of that model."""
        for section in self._sections.values():
            if isinstance(section, model):
                return section
        raise LookupError(f"no plugin of this node declares {model.__name__} as its ConfigSection")

    def cache(self, kind: type[CacheT]) -> CacheT:
        """Return the cache of that type."""
        for view in self.caches.values():
            if isinstance(view, kind):
                return view
        raise LookupError(f"no plugin of this node declares a Cache whose factory gives {kind!r}")

    def extensions(self, point: str, kind: type[T]) -> Mapping[str, T]:
        """Return what plugins give to an extension point."""
        given = self.catalog.extensions.get(point, {})
        return MappingProxyType(
            {name: value for name, value in given.items() if isinstance(value, kind)}
        )

    def count(self, metric: str, value: float = 1.0, **labels: str) -> None:
        """Add to a declared counter."""
        self.metrics.count(metric, value, labels)

    def observe(self, metric: str, value: float, **labels: str) -> None:
        """Record a value in a declared histogram, or set a declared gauge."""
        self.metrics.observe(metric, value, labels)

    async def propose(
        self,
        command: Message,
        reply: type[M],
        *,
        session: SessionRef | None = None,
        if_leader: ShardRef | None = None,
    ) -> M:
        """Validate, route, split and apply a command.

        Raises `Invalid`, `Rejected`, and `InternalError` for a handler that raised anything else.
        """
        declared = self._declared(command)
        if declared.validate is not None:
            declared.validate(command)
        await asyncio.sleep(0)
        self._check_fence(if_leader)
        logged = _copy(command)
        shards = self._shards[declared.group]
        if declared.shard_key is not None:
            self.proposals.append(logged)
            shard = shards[routing.shard_of(declared.shard_key(command), len(shards))]
            return _reply(logged, self._commit(shard, logged, session), reply)
        shares = routing.split(declared, command, len(shards))
        self.proposals.append(logged)
        answers = [self._commit_share(shards[share.shard], share, session) for share in shares]
        return _typed(logged, routing.join(answers), reply)

    async def query(
        self,
        message: Message,
        row: type[M],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> AsyncIterator[M]:
        """Run a declared query; both consistencies see everything that was proposed before."""
        name = message.DESCRIPTOR.full_name
        declared = self.catalog.queries.get(name)
        if declared is None:
            raise LookupError(f"query {name} is not declared; return it from quorate_queries")
        await asyncio.sleep(0)
        shards = self._shards[declared.group]
        for answer in run_query(self.catalog, message, shards, min_revision):
            yield _typed(message, answer, row)

    async def watch(
        self, family: str, *, prefix: bytes = b"", token: bytes = b""
    ) -> AsyncIterator[WatchedEvent]:
        """Yield the current rows and a bookmark behind them, then every change as it happens."""
        declared = self.catalog.families.get(family)
        if declared is None or declared.row is None:
            raise UndeclaredFamilyError(f"no column family {family} with a row message is declared")
        async for event in self._histories[declared.group].watch(family, prefix, token):
            yield event

    # What a test does and sees.

    async def advance(self, ms: int) -> None:
        """Move logical time, and propose the commands of the timers that are due then."""
        if ms < 0:
            raise ValueError(f"logical time never runs backwards, and not by {-ms} ms")
        self.now_ms += ms
        proposed: set[tuple[str, bytes, int]] = set()
        waiting = True
        while waiting:
            waiting = False
            for shard in self._all_shards():
                since_ms = self._terms[shard.group, shard.number][1]
                for command in due_commands(self.catalog, shard, self.now_ms, since_ms, proposed):
                    waiting = True
                    await self._propose_due(shard, command)

    async def run_controller(self, name: str) -> None:
        """Run a controller once, on the first shard or on each, as it declares."""
        controller = self.catalog.controllers.get(name)
        if controller is None:
            known = ", ".join(self.catalog.controllers) or "none"
            raise LookupError(f"controller {name} is not declared; declared are {known}")
        count = len(self._shards[controller.group]) if controller.scope == "each_shard" else 1
        for number in range(count):
            await controller.run_once(self, self.leader(controller.group, number))

    def leader(self, group: str, shard: int = 0) -> ShardRef:
        """Return the shard with the term that stands, as a controller is given it."""
        return ShardRef(group, shard, self._terms[group, shard][0])

    def elect(self, group: str, shard: int = 0) -> ShardRef:
        """Begin a new term: what was fenced to an earlier one is refused from now on."""
        self._terms[group, shard] = (self._terms[group, shard][0] + 1, self.now_ms)
        return self.leader(group, shard)

    def open_session(self) -> int:
        """Open an exactly-once session on every shard, and return its number."""
        self._sessions += 1
        for shard in self._all_shards():
            shard.open_session(self._sessions)
        return self._sessions

    def forget_history(self, group: str) -> None:
        """Lose the events of a group: watchers that have not seen them all get a resync."""
        self._histories[group].forget()

    def servicer(self, full_name: str) -> Any:
        """Return the plugin's servicer of a gRPC service, to call its methods without a socket."""
        service = self.catalog.services.get(full_name)
        if service is None:
            known = ", ".join(self.catalog.services) or "none"
            raise LookupError(f"service {full_name} is not declared; declared are {known}")
        if full_name not in self._servicers:
            self._servicers[full_name] = service.servicer(self)
        return self._servicers[full_name]

    def rows(self, family: str) -> dict[bytes, bytes]:
        """Return the rows of a family in all shards of its group, in the order of their keys."""
        shards = self._shards[self.catalog.families[family].group]
        found = [shard.layer.contents().families.get(family, ()) for shard in shards]
        return dict(sorted((row.key, row.value) for rows in found for row in rows))

    def digest(self) -> str:
        """Return one digest over all shards: equal when nothing was written in between."""
        return " ".join(shard.digest() for shard in self._all_shards())

    def _declared(self, command: Message) -> Command[Any]:
        name = command.DESCRIPTOR.full_name
        declared = self.catalog.commands.get(name)
        if declared is None:
            raise LookupError(f"command {name} is not declared; return it from quorate_commands")
        return declared

    def _check_fence(self, fence: ShardRef | None) -> None:
        if fence is not None and fence != self.leader(fence.group, fence.shard):
            term = self.leader(fence.group, fence.shard).term
            raise Rejected(
                "ABORTED",
                f"shard {fence.shard} of {fence.group} is led in term {term}, "
                f"and the command was made in term {fence.term}",
            )

    async def _propose_due(self, shard: MemoryShard, command: Message) -> None:
        declared = self._declared(command)
        if declared.validate is not None:
            declared.validate(command)
        logged = _copy(command)
        self.proposals.append(logged)
        failure = self._commit(shard, logged, None).failure
        if isinstance(failure, InternalError):
            raise failure

    def _commit(self, shard: MemoryShard, command: Message, session: SessionRef | None) -> Outcome:
        logged = LoggedCommand.of(command, self.now_ms, session)
        [outcome] = shard.apply([Entry(index=shard.applied + 1, commands=(logged,))])
        self.events.extend(outcome.events)
        for event in outcome.events:
            if isinstance(event, RowEvent):
                self._feed(shard, event)
        self._histories[shard.group].add(shard.number, outcome.revision, outcome.events)
        return outcome

    def _commit_share(
        self, shard: MemoryShard, share: routing.Share, session: SessionRef | None
    ) -> routing.ShareReply:
        outcome = self._commit(shard, share.command, session)
        if isinstance(outcome.failure, Rejected):
            reply = routing.refused(share, outcome.failure.code, outcome.failure.message)
        else:
            reply = _reply(share.command, outcome, BatchReply)
        return routing.ShareReply(share=share, revision=outcome.revision, reply=reply)

    def _feed(self, shard: MemoryShard, event: RowEvent) -> None:
        for name, view in self.caches.items():
            if event.family in self.catalog.caches[name].families:
                if event.value is None:
                    view.delete(event.family, event.key)
                else:
                    view.put(event.family, event.key, event.value)
        if self.catalog.families[event.family].mirrored:
            for other in self._all_shards():
                if other.group != shard.group:
                    row = shard.layer.row(event.family, event.key)
                    other.layer.write(event.family, event.key, row)

    def _all_shards(self) -> Iterator[MemoryShard]:
        return (shard for shards in self._shards.values() for shard in shards)


def _sections(catalog: Catalog, config: Mapping[str, Mapping[str, object]]) -> dict[str, BaseModel]:
    strangers = sorted(set(config) - set(catalog.sections))
    if strangers:
        raise LookupError(f"config is given for {', '.join(strangers)}, which declare no section")
    return {
        name: model.model_validate(dict(config.get(name, {})))
        for name, model in catalog.sections.items()
    }


def _shards(catalog: Catalog, counts: Mapping[str, int]) -> dict[str, list[MemoryShard]]:
    strangers = sorted(set(counts) - set(catalog.groups))
    if strangers:
        raise LookupError(f"shards are given for {', '.join(strangers)}, which nobody declares")
    return {
        name: [
            MemoryShard(catalog, name, number) for number in range(counts.get(name, group.shards))
        ]
        for name, group in catalog.groups.items()
    }


def _copy(message: M) -> M:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _reply(command: Message, outcome: Outcome, kind: type[M]) -> M:
    if outcome.failure is not None:
        raise outcome.failure
    return _typed(command, outcome.reply, kind) if outcome.reply is not None else kind()


def _typed(asked: Message, answer: Message, kind: type[M]) -> M:
    if not isinstance(answer, kind):
        raise TypeError(
            f"{asked.DESCRIPTOR.full_name} is answered with {answer.DESCRIPTOR.full_name}; "
            f"{kind.DESCRIPTOR.full_name} was asked for"
        )
    return _copy(answer)
