"""A node in memory: `quorate.plugin.NodeApi` over shards without Raft, disk or sockets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Literal, Self, TypeVar

from google.protobuf.message import Message
from pydantic import BaseModel

from quorate.apply import slot_set
from quorate.apply.deadlines import Deadline
from quorate.apply.entries import LoggedCommand
from quorate.apply.sessions import number_at
from quorate.apply.slot_set import SlotSet
from quorate.config.sections import LimitsSection
from quorate.node.ports import Ports
from quorate.plugin import (
    Access,
    CacheView,
    Caller,
    Command,
    Consistency,
    Fence,
    Invalid,
    Rejected,
    RowEvent,
    ShardRef,
    Timer,
    batch_split,
)
from quorate.plugin.access import is_reserved
from quorate.plugin.advanced import (
    Answers,
    ClusterStatus,
    Event,
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
from quorate.plugin.node import NODE, CompleteCacheView
from quorate.plugin.resource.serving import Servicer
from quorate.plugin.shard_id import ShardId
from quorate.plugin.singles import batch_of, of_item, only_reply
from quorate.plugin.slots import even_cut
from quorate.shards.refusals import LeaderlessError
from quorate.shards.routing import queries, routes as routing
from quorate.shards.routing.admitting import admitted_rest
from quorate.shards.routing.slot_map import SlotMap
from quorate.storage.families import SLOTS
from quorate.testing.answers import copy_of, reply_of, run_query, shard_reply, shown, typed
from quorate.testing.installed import catalog_of
from quorate.testing.metrics import CountedMetrics
from quorate.testing.mirrors import Copies
from quorate.testing.shard import Entry, InternalError, MemoryShard, Outcome, command_of
from quorate.testing.watches import History
from quorate.v1 import command_pb2 as pb
from quorate.v1.admin_pb2 import ShardPlace, TopologyResponse
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal
from quorate.v1.control_pb2 import AdoptMirror, OpenSession, OpenSessionReply

M = TypeVar("M", bound=Message)
A = TypeVar("A", bound=Message | bytes)
T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=BaseModel)
CacheT = TypeVar("CacheT", bound=CacheView)

#: Time after which an unused session expires, in logical time.
SESSION_TTL_MS: Final = 60_000
#: The caller on whose behalf the node acts.
_acting: Final[ContextVar[Caller]] = ContextVar("_acting", default=NODE)
#: Maximum number of consecutive runs of controllers that wake each other.
WAKES: Final = 100


class _Ordered:
    """Proposes commands one after the other."""

    def __init__(self, node: MemoryNode) -> None:
        self._node: Final = node
        self._last: asyncio.Task[Any] | None = None

    def propose(self, command: Message, reply: type[M]) -> asyncio.Future[M]:
        """Apply a command after those before it."""
        task = asyncio.get_running_loop().create_task(self._after(self._last, command, reply))
        self._last = task
        return task

    async def _after(self, before: asyncio.Task[Any] | None, command: Message, reply: type[M]) -> M:
        if before is not None:
            await asyncio.wait([before])
            failure = before.exception()
            if failure is not None and not isinstance(failure, Rejected | Invalid):
                raise failure
        return await self._node.propose(command, reply)

    async def close(self) -> None:
        """Stop applying."""
        if self._last is not None:
            self._last.cancel()


class MemoryNode:
    """Hosts plugins over in-memory shards, for tests of services, queries and controllers.

    Each proposed command is its own entry and is applied at once, by the code of real nodes.
    `advance` moves logical time, which otherwise stands still. `async with` enters the plugins'
    lifespans. `config` holds sections of plugins, `limits` the section of that name.
    """

    def __init__(
        self,
        plugins: Sequence[str] = (),
        *,
        catalog: Catalog | None = None,
        config: Mapping[str, Mapping[str, object]] | None = None,
        shards: Mapping[str, int] | None = None,
        limits: Mapping[str, object] | None = None,
        at_ms: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls: Final = tls
        self.catalog: Final = catalog if catalog is not None else catalog_of(plugins)
        self.now_ms = at_ms
        #: Every command that passed `validate`, in order; those of timers are among them.
        self.proposals: Final[list[Message]] = []
        #: All events, in order.
        self.events: Final[list[Event]] = []
        self.metrics: Final = CountedMetrics(self.catalog.metrics)
        #: Shards that cannot be read, as without a leader: (group, number).
        self.unreadable: Final[set[tuple[str, int]]] = set()
        #: Whether copies of mirrored families stay unchanged until `mirror` is called.
        self.mirrors_lag = False
        self._limits: Final = LimitsSection.model_validate(dict(limits or {}))
        self._sections: Final = _sections(self.catalog, config or {})
        self._shards: Final = _shards(self.catalog, shards or {})
        self._slot_map: Final = SlotMap.initial(
            {group: len(found) for group, found in self._shards.items()}
        )
        self._copies: Final = Copies(
            self.catalog, {shard: shard.group for shard in self._all_shards()}
        )
        #: The changes that the copies have not adopted yet.
        self._adopted: Final[list[tuple[MemoryShard, AdoptMirror]]] = []
        self._histories: Final = {group: History(found) for group, found in self._shards.items()}
        #: By group and shard: the term, and the time of its start.
        self._terms: Final[dict[tuple[str, int], tuple[int, int]]] = {
            (shard.group, shard.number): (1, at_ms) for shard in self._all_shards()
        }
        #: The views of the caches, by name.
        self.caches: Final = {name: cache.factory() for name, cache in self.catalog.caches.items()}
        for view in self.caches.values():
            view.reset()
            if isinstance(view, CompleteCacheView):
                view.listed()
        self._servicers: Final[dict[str, object]] = {}
        self._lifespans: Final = AsyncExitStack()
        #: Names of the controllers with families that have changed since their last run.
        self._woken: Final[dict[str, None]] = {}

    async def __aenter__(self) -> Self:
        for declared in self.catalog.declared.values():
            if declared.lifespan is not None:
                await self._lifespans.enter_async_context(declared.lifespan(self))
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._lifespans.__aexit__(*raised)

    # The methods of `quorate.plugin.NodeApi`.

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

    def cache_age_ms(self, kind: type[CacheView]) -> int:
        """Return 0: the caches are fed with every command."""
        self.cache(kind)
        return 0

    def extensions(self, point: str, kind: type[T]) -> Mapping[str, T]:
        """Return the extensions of an extension point by plugins, by name."""
        given = self.catalog.extensions.get(point, {})
        return MappingProxyType(
            {name: value for name, value in given.items() if isinstance(value, kind)}
        )

    def level(self, plugin: str) -> int:
        """Return the declared level of a plugin, which is fully in force."""
        return self.catalog.declared[plugin].level

    def caller(self) -> Caller:
        """Return the caller on whose behalf the node acts; outside of `acting`, the node itself."""
        return _acting.get()

    def is_reserved(self, name: str) -> bool:
        """Return whether a name is the cluster's own."""
        return is_reserved(name)

    @contextmanager
    def acting(self, user: str, address: str) -> Iterator[None]:
        """Act for a user in a block."""
        before = _acting.set(Caller(name=user, node=True, address=address))
        try:
            yield
        finally:
            _acting.reset(before)

    def allows(self, user: str, access: Access, request: Message | None = None) -> bool:
        """Return True: a node in memory checks no rights."""
        return True

    def readable(self, family: str) -> Callable[[bytes], bool] | None:
        """Return None: every row may be read."""
        return None

    def count(self, metric: str, value: float = 1.0, **labels: str) -> None:
        """Add to a declared counter."""
        self.metrics.count(metric, value, labels)

    def observe(self, metric: str, value: float, **labels: str) -> None:
        """Record a value in a declared histogram, or set a declared gauge."""
        self.metrics.observe(metric, value, labels)

    def tls(self, *protocols: str) -> ssl.SSLContext | None:
        """Return the TLS context given at construction."""
        return self._tls

    def serve(self, port: ServicePort) -> AbstractAsyncContextManager[OpenPort]:
        """Serve a port as a node does."""
        return Ports(limits=self._limits).serve(port)

    def cluster(self) -> ClusterStatus:
        """Return a cluster of this node alone."""
        return ClusterStatus(node="memory", cluster=b"memory", addresses={"memory": "memory:0"})

    def shard(self, group: str, shard_key: bytes = b"") -> ShardStatus:
        """Return a shard, which this node leads; its entries are those that were applied."""
        found = self._slot_map.place(group, shard_key)
        term, applied = self._terms[found][0], self._shards[group][found.number].applied
        return ShardStatus(
            group=group,
            shard=found.number,
            leader="memory",
            term=term,
            applied=applied,
            committed=applied,
        )

    def shard_bytes(self, group: str, shard_key: bytes = b"") -> int:
        """Return 0: there is no database."""
        self._slot_map.place(group, shard_key)
        return 0

    async def transfer_leader(self, node: str, group: str, shard_key: bytes = b"") -> None:
        """Do nothing for this node, which leads; there are no others."""
        if node != self.cluster().node:
            raise Rejected("FAILED_PRECONDITION", f"{node} is not a node of this cluster")

    @property
    def shares_ports(self) -> bool:
        """False: there is one process."""
        return False

    def progress(self, text: str) -> None:
        """Ignore the progress of a run."""

    def logical_ms(self, shard: ShardRef) -> int:
        """Return the node's logical time; rejects the reference if the term has ended."""
        self._check_fence(shard)
        return self.now_ms

    def public_command(self, command: pb.Command, caller: Caller) -> Message:
        """Return the message of a command that clients may send."""
        return routing.parse_public(self.catalog, command.type, command.payload)

    async def propose(
        self,
        command: Message,
        reply: type[M],
        *,
        session: SessionRef | None = None,
        if_leader: ShardRef | None = None,
        fence: Fence | None = None,
    ) -> M:
        """Validate, route, split and apply a command.

        Raises `Invalid`, `Rejected`, and `InternalError` for a handler that raises any other error.
        An operation whose answer its session does not keep, because it is over 4 KiB and the
        session has no name, is answered with an empty `reply` when it is tried again.
        """
        via: Literal["service", "controller"] = "service" if if_leader is None else "controller"
        batch = batch_of(self.catalog.singles, command)
        if batch is None:
            return await self._propose(command, reply, Caller(via=via), session, if_leader, fence)
        try:
            answer = await self._propose(
                batch, BatchReply, Caller(via=via), session, if_leader, fence
            )
        except Invalid as invalid:
            raise of_item(invalid) from None
        return reply.FromString(only_reply(answer))

    def ordered(self) -> OrderedCommands:
        """Return a stream of commands, each of which is applied after the one before it."""
        return _Ordered(self)

    async def query(
        self,
        message: Message,
        row: type[M],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> AsyncIterator[M]:
        """Run a declared query; both consistencies see all earlier proposals."""
        found = await self.read(message, row, consistency=consistency, min_revision=min_revision)
        for answer in found.rows:
            yield answer

    async def read(
        self,
        message: Message,
        row: type[A],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> Answers[A]:
        """Run a declared query; the answers are never stale."""
        query = queries.declared(self.catalog, message.DESCRIPTOR.full_name)
        parts = queries.parts(query, message, self._slot_map)
        await asyncio.sleep(0)
        asked = [(self._readable(part.shard), part) for part in parts]
        found = run_query(self.catalog, message, asked, min_revision)
        return Answers(rows=shown(query, found, row), age_ms=0)

    async def read_shards(
        self,
        message: Message,
        row: type[M],
        *,
        shards: Collection[int] | None = None,
        consistency: Consistency = "linearizable",
    ) -> AsyncIterator[ShardAnswers[M]]:
        """Run a declared query, and yield the answers of each shard, the unreadable ones last."""
        declared = queries.declared(self.catalog, message.DESCRIPTOR.full_name)
        parts = queries.parts(declared, message, self._slot_map, shards)
        await asyncio.sleep(0)
        failures: list[tuple[queries.QueryPart, LeaderlessError]] = []
        for part in parts:
            try:
                shard = self._readable(part.shard)
            except LeaderlessError as error:
                failures.append((part, error))
                continue
            found = run_query(self.catalog, message, [(shard, part)], 0)
            rows = shown(declared, found, row)
            yield ShardAnswers(shard=shard.number, positions=part.positions, rows=rows)
        if failures and len(failures) == len(parts):
            raise failures[0][1]
        for part, why in failures:
            yield ShardAnswers(
                shard=part.shard.number,
                positions=part.positions,
                failure=Rejected(why.code, str(why)),
            )

    async def watch(
        self, family: str, *, prefix: bytes = b"", token: bytes = b""
    ) -> AsyncIterator[WatchedEvent]:
        """Yield the current rows and a bookmark after them, then every change as it happens."""
        declared = self.catalog.families.get(family)
        if declared is None or declared.row is None:
            raise UndeclaredFamilyError(f"no column family {family} with a row message is declared")
        async for event in self._histories[declared.group].watch(family, prefix, token):
            yield event

    # The controls of a test.

    async def execute(
        self,
        command: Message,
        reply: type[M],
        *,
        caller: Caller | None = None,
        session: SessionRef | None = None,
        fence: Fence | None = None,
    ) -> M:
        """Execute a public command, as if a client had sent it through `CommandService`."""
        if not _declared(self.catalog, command).public:
            name = command.DESCRIPTOR.full_name
            raise Invalid("type", f"the command {name} is internal: no client may send it")
        return await self._propose(command, reply, caller or Caller(), session, None, fence)

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
                for command in _due_commands(self.catalog, shard, self.now_ms, since_ms, proposed):
                    waiting = True
                    await self._propose_due(shard, command)

    async def run_controller(self, name: str) -> None:
        """Run a controller once, on the first shard or on each, as it declares."""
        controller = self.catalog.controllers.get(name)
        if controller is None:
            known = ", ".join(self.catalog.controllers) or "none"
            raise LookupError(f"controller {name} is not declared; declared are {known}")
        self._woken.pop(name, None)
        count = len(self._shards[controller.group]) if controller.scope == "each_shard" else 1
        for number in range(count):
            await controller.run_once(self, self.leader(controller.group, number))

    def leader(self, group: str, shard: int = 0) -> ShardRef:
        """Return the shard with its current term, as a controller receives it."""
        return ShardRef(group, shard, self._terms[group, shard][0])

    def elect(self, group: str, shard: int = 0) -> ShardRef:
        """Begin a new term: commands fenced to an earlier term are refused from now on."""
        self._terms[group, shard] = (self._terms[group, shard][0] + 1, self.now_ms)
        return self.leader(group, shard)

    @property
    def woken(self) -> tuple[str, ...]:
        """The controllers with `wake_on` families that have changed since their last run."""
        return tuple(self._woken)

    async def run_woken(self) -> None:
        """Run the woken controllers, and the controllers that they wake, until none is woken."""
        for _ in range(WAKES):
            if not self._woken:
                return
            await self.run_controller(next(iter(self._woken)))
        raise RuntimeError(
            f"after {WAKES} runs {', '.join(self._woken)} is woken again: a controller that has "
            "nothing left to do proposes nothing"
        )

    def mirror(self) -> None:
        """Bring the copies of mirrored families up to date, if `mirrors_lag` has held them back."""
        for shard, adopted in self._adopted:
            entry = Entry(
                index=shard.applied + 1, commands=(command_of(adopted),), at_ms=self.now_ms
            )
            [outcome] = shard.apply([entry])
            if outcome.failure is not None:
                raise outcome.failure
        self._adopted.clear()

    def open_session(self, name: str = "", *, ttl_ms: int = SESSION_TTL_MS) -> int:
        """Open an exactly-once session on every shard, and return its number.

        It expires when it is not used for `ttl_ms` of logical time. A named session is the same
        each time, and does not expire.
        """
        opening = command_of(OpenSession(name=name, ttl_ms=ttl_ms))
        index = 1 + max(shard.applied for shard in self._all_shards())
        opened = {
            shard.number: OpenSessionReply.FromString(self._apply(shard, opening, index).reply)
            for shard in self._all_shards()
        }
        return opened[0].session

    def topology(self) -> TopologyResponse:
        """Return the placement of the shards, as clients see it."""
        return TopologyResponse(
            shards=[
                ShardPlace(group=group, number=number, slots=slots)
                for group, found in self._shards.items()
                for number, slots in enumerate(even_cut(len(found)))
            ]
        )

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
            made = service.servicer(self)
            # A derived method answers in the wire form, which a test would have to parse.
            self._servicers[full_name] = made.remade() if isinstance(made, Servicer) else made
        return self._servicers[full_name]

    def rows(self, family: str) -> dict[bytes, bytes]:
        """Return the rows of a family in all shards of its group, in the order of their keys."""
        shards = self._shards[self.catalog.families[family].group]
        return dict(sorted((row.key, row.value) for shard in shards for row in shard.rows(family)))

    def digest(self) -> str:
        """Return one digest over all shards: unchanged if no handler has written in between."""
        return " ".join(shard.digest() for shard in self._all_shards())

    async def _propose(
        self,
        command: Message,
        reply: type[M],
        caller: Caller,
        session: SessionRef | None,
        if_leader: ShardRef | None,
        fence: Fence | None,
    ) -> M:
        declared = _declared(self.catalog, command)
        refused = routing.refused_items(declared, command, self._limits)
        logged, refused = await self._admitted(declared, command, refused, caller)
        await asyncio.sleep(0)
        self._check_fence(if_leader)
        shards = self._shards[declared.group]
        commands = routing.route(declared, logged, self._slot_map, self._limits, refused)
        if session is not None:
            routing.check_session(commands)
        if not commands:
            return typed(logged, BatchReply(items=len(refused), refusals=refused), reply)
        self.proposals.append(logged)
        if declared.items is None:
            shard = shards[commands[0].shard.number]
            return reply_of(logged, self._commit(shard, logged, session, fence), reply)
        outcomes = [
            self._commit(shards[each.shard.number], each.message, session, fence)
            for each in commands
        ]
        if any(outcome.forgotten for outcome in outcomes):
            return reply()
        answers = list(map(shard_reply, commands, outcomes))
        return typed(logged, batch_split.join(answers), reply)

    async def _admitted(
        self,
        declared: Command[Any],
        command: Message,
        refused: tuple[ItemRefusal, ...],
        caller: Caller,
    ) -> tuple[Message, tuple[ItemRefusal, ...]]:
        given = copy_of(command)
        admission, refused = await admitted_rest(declared, given, refused, self, caller)
        if given != command:
            name = command.DESCRIPTOR.full_name
            raise RuntimeError(
                f"admit of {name} changed the command that it was given; return another message"
            )
        if admission is not given:
            refused = routing.refused_items(declared, admission, self._limits, refused)
        return copy_of(admission), refused

    def _readable(self, shard: ShardId) -> MemoryShard:
        if (shard.group, shard.number) in self.unreadable:
            raise LeaderlessError(shard)
        return self._shards[shard.group][shard.number]

    def _check_fence(self, fence: ShardRef | None) -> None:
        if fence is not None and fence != self.leader(fence.group, fence.shard):
            term = self.leader(fence.group, fence.shard).term
            raise Rejected(
                "ABORTED",
                f"shard {fence.shard} of {fence.group} is led in term {term}, "
                f"and the command was made in term {fence.term}",
            )

    async def _propose_due(self, shard: MemoryShard, command: Message) -> None:
        declared = _declared(self.catalog, command)
        if declared.validate is not None:
            declared.validate(command)
        logged, _ = await self._admitted(declared, command, (), Caller(via="controller"))
        self.proposals.append(logged)
        failure = self._commit(shard, logged).failure
        if isinstance(failure, InternalError):
            raise failure

    def _commit(
        self,
        shard: MemoryShard,
        command: Message,
        session: SessionRef | None = None,
        fence: Fence | None = None,
    ) -> Outcome:
        if session is not None:
            # Each shard has a number of its own for it.
            session = replace(session, session=number_at(session.session, shard.number))
        outcome = self._apply(shard, command_of(command, session, fence), shard.applied + 1)
        self.events.extend(outcome.events)
        for event in outcome.events:
            if isinstance(event, RowEvent):
                self._feed(event)
        self._adopted.extend(self._copies.of(outcome.revision, outcome.events))
        if not self.mirrors_lag:
            self.mirror()
        return outcome

    def _apply(self, shard: MemoryShard, command: LoggedCommand, index: int) -> Outcome:
        [outcome] = shard.apply([Entry(index=index, commands=(command,), at_ms=self.now_ms)])
        self._histories[shard.group].wake()
        return outcome

    def _feed(self, event: RowEvent) -> None:
        for name, view in self.caches.items():
            if event.family in self.catalog.caches[name].families:
                if event.value is None:
                    view.delete(event.family, event.key)
                else:
                    view.put(event.family, event.key, event.value)
        for controller in self.catalog.controllers.values():
            if event.family in controller.wake_on:
                self._woken[controller.name] = None

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
        raise LookupError(f"shards are given for {', '.join(strangers)}, which no plugin declares")
    return {
        name: [
            _shard(catalog, name, number, slots)
            for number, slots in enumerate(even_cut(counts.get(name, group.shards)))
        ]
        for name, group in catalog.groups.items()
    }


def _shard(catalog: Catalog, group: str, number: int, slots: bytes) -> MemoryShard:
    """Return a shard that knows its slots."""
    shard = MemoryShard(catalog, group, number)
    shard.load([(SLOTS, slot_set.KEY, SlotSet(1, slots).encode())])
    shard.evaluator.begin()
    return shard


def _due_commands(
    catalog: Catalog,
    shard: MemoryShard,
    now_ms: int,
    led_since_ms: int,
    proposed: set[tuple[str, bytes, int]],
) -> Iterator[Message]:
    """Yield the due commands of a shard, the earliest deadlines first, in batches of each timer.

    Deadlines in `proposed` are left out; those that are yielded are added.
    """
    deadlines = shard.deadlines()
    for timer in catalog.timers.values():
        if timer.group != shard.group:
            continue
        due = [
            (key, at_ms)
            for key, at_ms in shard.applier.due(timer.name, now_ms, len(deadlines) or 1)
            if _due_at(timer, deadlines[timer.name, key], led_since_ms) <= now_ms
            and (timer.name, key, at_ms) not in proposed
        ]
        proposed.update((timer.name, key, at_ms) for key, at_ms in due)
        for start in range(0, len(due), timer.batch):
            yield timer.due([key for key, _ in due[start : start + timer.batch]])


def _due_at(timer: Timer, deadline: Deadline, led_since_ms: int) -> int:
    if not timer.liveness:
        return deadline.at_ms
    # A new leader has seen no renewal yet: it waits for one whole TTL first.
    return max(deadline.at_ms, led_since_ms + (deadline.ttl_ms or 0))


def _declared(catalog: Catalog, command: Message) -> Command[Any]:
    name = command.DESCRIPTOR.full_name
    declared = catalog.commands.get(name)
    if declared is None:
        raise LookupError(f"command {name} is not declared; return it from quorate_declarations")
    return declared
