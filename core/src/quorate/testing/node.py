"""A node in memory: the `NodeApi` of real nodes over shards without Raft, disk or sockets."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from itertools import count
from types import SimpleNamespace
from typing import Any, Final, Self, TypeVar, cast

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from pydantic import BaseModel

from quorate.apply.entries import LoggedCommand
from quorate.config import Settings
from quorate.config.sections import LimitsSection
from quorate.node.api import PluginNode
from quorate.node.ports import Ports
from quorate.plugin import Caller, Fence, Invalid, Rejected, RowEvent, ShardRef
from quorate.plugin.access import Open
from quorate.plugin.advanced import (
    ClusterStatus,
    Event,
    SessionRef,
    ShardStatus,
)
from quorate.plugin.catalog import Catalog
from quorate.plugin.node import CompleteCacheView
from quorate.plugin.resource.serving import Servicer
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut
from quorate.shards.refusals import FencedError
from quorate.shards.router import Answer, Proposal, Router
from quorate.shards.routing.requests import Answered, Part
from quorate.shards.watching.watch import Watch
from quorate.shards.watching.watches import Watches
from quorate.testing.installed import catalog_of
from quorate.testing.metrics import CountedMetrics
from quorate.testing.mirrors import Copies
from quorate.testing.probes import unchanging
from quorate.testing.replicas import MemoryReplicas, RunningLoop
from quorate.testing.shard import Entry, MemoryShard, Outcome, command_of
from quorate.topology.commands.routes import ROUTES
from quorate.v1.admin_pb2 import ShardPlace, TopologyResponse
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.control_pb2 import AdoptMirror, OpenSession, OpenSessionReply, TrimHistory

M = TypeVar("M", bound=Message)
A = TypeVar("A", bound=Message | bytes)
T = TypeVar("T")

#: Time after which an unused session expires, in logical time.
SESSION_TTL_MS: Final = 60_000
#: Each node is a cluster of its own to those that come back with tokens.
_numbers: Final = count(1)
#: Maximum number of consecutive runs of controllers that wake each other.
WAKES: Final = 100


class _Router(Router):
    """The router of a node, which records the commands that it sends to shards."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sent: Final[list[Message]] = []

    async def _propose(
        self, proposal: Proposal, if_leader: ShardRef | None, caller: Caller
    ) -> Answer:
        if if_leader is not None:
            fenced = ShardId(if_leader.group, if_leader.shard)
            led = self._shards.get(fenced)
            if led is not None and led.term != if_leader.term:
                raise FencedError(fenced, term=led.term, made_in=if_leader.term)
        return await super()._propose(proposal, if_leader, caller)

    def _place(self, caller: Caller, proposal: Proposal, answered: Answered) -> Sequence[Part]:
        if parts := super()._place(caller, proposal, answered):
            self.sent.append(proposal.message)
        return parts


class MemoryNode(PluginNode):
    """Hosts plugins over in-memory shards, for tests of services, queries and controllers.

    Each proposed command is its own entry and is applied at once, by the code of real nodes; a
    handler that raises any other error than `Rejected` is an `InternalError`. `advance` moves
    logical time, which otherwise stands still. `async with` enters the plugins' lifespans. `config`
    holds sections of plugins, `limits` the section of that name.
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
        #: All events, in order.
        self.events: Final[list[Event]] = []
        self.metrics: Final = CountedMetrics(self.catalog.metrics)
        #: Shards that cannot be read, as without a leader: (group, number).
        self.unreadable: Final[set[tuple[str, int]]] = set()
        #: Whether copies of mirrored families stay unchanged until `mirror` is called.
        self.mirrors_lag = False
        #: The views of the caches, by name.
        self.caches: Final = {name: cache.factory() for name, cache in self.catalog.caches.items()}
        for view in self.caches.values():
            view.reset()
            if isinstance(view, CompleteCacheView):
                view.listed()
        sections = _sections(self.catalog, config or {})
        limited = LimitsSection.model_validate(dict(limits or {}))
        #: The shards, by id.
        self.replicas: Final = MemoryReplicas(
            self.catalog, shards or {}, self._commit, lambda: self.now_ms, self.unreadable
        )
        router = _Router(
            "memory",
            unchanging(self.catalog),
            self.replicas,
            cast("Any", None),
            loop=cast("Any", RunningLoop()),
            limits=limited,
            control=ROUTES,
        )
        router.admissions.node = self
        # They are fed with every command.
        fed = [SimpleNamespace(view=view, age_ms=lambda: 0) for view in self.caches.values()]
        super().__init__(
            Settings.model_construct(plugin_sections=sections),
            self.catalog,
            router,
            cast("Any", fed),
            cast("Any", self.metrics),
            self._opened_watch,
            cast("Any", self.replicas.get),
            Open(),
            Ports(limits=limited),
            _level=lambda plugin: self.catalog.declared[plugin].level,
        )
        #: Every command that passed `validate`, in order; those of timers are among them.
        self.proposals: Final = router.sent
        self._copies: Final = Copies(
            self.catalog, {shard: shard.group for shard in self._all_shards()}
        )
        #: The changes that the copies have not adopted yet.
        self._adopted: Final[list[tuple[MemoryShard, AdoptMirror]]] = []
        self._watches: Final = Watches(
            b"memory %d" % next(_numbers),
            cast("Any", self.replicas.get),
            cast("Any", None),
            loop=cast("Any", RunningLoop()),
        )
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

    # Methods of `quorate.plugin.NodeApi` that differ from those of a real node.

    def tls(self, *protocols: str) -> ssl.SSLContext | None:
        """Return the TLS context given at construction."""
        return self._tls

    def cluster(self) -> ClusterStatus:
        """Return a cluster of this node alone."""
        return ClusterStatus(node="memory", cluster=b"memory", addresses={"memory": "memory:0"})

    def shard(self, group: str, shard_key: bytes = b"") -> ShardStatus:
        """Return a shard, which this node leads; its entries are those that were applied."""
        found = self.replicas[self.replicas.slot_map.place(group, shard_key)]
        applied = found.shard.applied
        return ShardStatus(
            group=group,
            shard=found.id.number,
            leader="memory",
            term=found.term,
            applied=applied,
            committed=applied,
        )

    def shard_bytes(self, group: str, shard_key: bytes = b"") -> int:
        """Return 0: there is no database."""
        self.replicas.slot_map.place(group, shard_key)
        return 0

    async def transfer_leader(self, node: str, group: str, shard_key: bytes = b"") -> None:
        """Do nothing for this node, which leads; there are no others."""
        if node != self.cluster().node:
            raise Rejected("FAILED_PRECONDITION", f"{node} is not a node of this cluster")

    def _parsed(
        self, command: Message, answer: Answer | Exception, reply: type[A], *, single: bool
    ) -> A:
        """Return a reply; raises its failure, and `TypeError` unless `reply` is its type."""
        parsed = not single and issubclass(reply, Message)
        if parsed and isinstance(answer, Answer) and not answer.forgotten:
            name = command.DESCRIPTOR.full_name
            found = [self.replicas[shard].answered.get(name) for shard in answer.revisions]
            answered = BatchReply if answer.batch is not None else next(iter(found), None)
            if answered is None or reply is Empty:
                return reply()
            assert issubclass(reply, Message)
            if not issubclass(answered, reply):
                raise TypeError(
                    f"{name} is answered with {answered.DESCRIPTOR.full_name}; "
                    f"{reply.DESCRIPTOR.full_name} was asked for"
                )
            reply = answered
        return super()._parsed(command, answer, reply, single=single)

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
        name = command.DESCRIPTOR.full_name
        declared = self.catalog.commands.get(name)
        if declared is not None and not declared.public:
            raise Invalid("type", f"the command {name} is internal: no client may send it")
        proposal = Proposal(command, self._router.deadline(), session, fence)
        [answer] = await self._router.propose_many([proposal], caller=caller or Caller())
        return self._parsed(command, answer, reply, single=False)

    async def advance(self, ms: int) -> None:
        """Move logical time, and propose the commands of the timers that are due then."""
        if ms < 0:
            raise ValueError(f"logical time never runs backwards, and not by {-ms} ms")
        self.now_ms += ms
        proposed: set[tuple[str, bytes, int]] = set()
        waiting = True
        while waiting:
            waiting = False
            for replica in self.replicas.values():
                shard, since_ms = replica.shard, replica.led_since_ms
                for command in _due_commands(self.catalog, shard, self.now_ms, since_ms, proposed):
                    waiting = True
                    with suppress(Rejected):
                        await self._router.propose(command, if_leader=self.leader(*replica.id))

    async def run_controller(self, name: str) -> None:
        """Run a controller once, on the first shard or on each, as it declares."""
        controller = _declared("controller", self.catalog.controllers, name)
        self._woken.pop(name, None)
        count = len(self.replicas.of(controller.group)) if controller.scope == "each_shard" else 1
        for number in range(count):
            await controller.run_once(self, self.leader(controller.group, number))

    def leader(self, group: str, shard: int = 0) -> ShardRef:
        """Return the shard with its current term, as a controller receives it."""
        return ShardRef(group, shard, self.replicas[ShardId(group, shard)].term)

    def elect(self, group: str, shard: int = 0) -> ShardRef:
        """Begin a new term: commands fenced to an earlier term are refused from now on."""
        replica = self.replicas[ShardId(group, shard)]
        replica.term, replica.led_since_ms = replica.term + 1, self.now_ms
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
            outcome = self._apply(shard, command_of(adopted), shard.applied + 1)
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
                for group in self.catalog.groups
                for number, slots in enumerate(even_cut(len(self.replicas.of(group))))
            ]
        )

    def forget_history(self, group: str) -> None:
        """Lose the events of a group: watchers that have not seen them all get a resync."""
        for replica in self.replicas.values():
            if replica.id.group == group:
                shard = replica.shard
                trim = command_of(TrimHistory(index=shard.applied))
                self._apply(shard, trim, shard.applied + 1)
                replica.readers.release()

    def servicer(self, full_name: str) -> Any:
        """Return the plugin's servicer of a gRPC service, to call its methods without a socket."""
        service = _declared("service", self.catalog.services, full_name)
        if full_name not in self._servicers:
            made = service.servicer(self)
            # A derived method answers in the wire form, which a test would have to parse.
            self._servicers[full_name] = made.remade() if isinstance(made, Servicer) else made
        return self._servicers[full_name]

    def rows(self, family: str) -> dict[bytes, bytes]:
        """Return the rows of a family in all shards of its group, in the order of their keys."""
        shards = self.replicas.of(self.catalog.families[family].group)
        return dict(sorted((row.key, row.value) for shard in shards for row in shard.rows(family)))

    def digest(self) -> str:
        """Return one digest over all shards: unchanged if no handler has written in between."""
        return " ".join(shard.digest() for shard in self._all_shards())

    def _commit(self, shard: MemoryShard, command: LoggedCommand) -> Outcome:
        outcome = self._apply(shard, command, shard.applied + 1)
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
        self.replicas[ShardId(shard.group, shard.number)].followers.release()
        return outcome

    async def _opened_watch(self, family: str, prefix: bytes, token: bytes) -> Watch:
        shards = self.replicas.slot_map.shards(self.catalog.families[family].group)
        return await self._watches.open_fresh({family: prefix}, shards, token)

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
        return (replica.shard for replica in self.replicas.values())


def _declared(kind: str, known: Mapping[str, T], name: str) -> T:
    if name not in known:
        names = ", ".join(known) or "none"
        raise LookupError(f"{kind} {name} is not declared; declared are {names}")
    return known[name]


def _sections(catalog: Catalog, config: Mapping[str, Mapping[str, object]]) -> dict[str, BaseModel]:
    strangers = sorted(set(config) - set(catalog.sections))
    if strangers:
        raise LookupError(f"config is given for {', '.join(strangers)}, which declare no section")
    return {
        name: model.model_validate(dict(config.get(name, {})))
        for name, model in catalog.sections.items()
    }


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
    ttls_ms = {name: deadline.ttl_ms or 0 for name, deadline in shard.deadlines().items()}
    for timer in catalog.timers.values():
        if timer.group != shard.group:
            continue
        due = [
            (key, at_ms)
            for key, at_ms in shard.applier.due(timer.name, now_ms, len(ttls_ms) or 1)
            # A new leader has seen no renewal yet: it waits for one whole TTL first.
            if (not timer.liveness or led_since_ms + ttls_ms[timer.name, key] <= now_ms)
            and (timer.name, key, at_ms) not in proposed
        ]
        proposed.update((timer.name, key, at_ms) for key, at_ms in due)
        for start in range(0, len(due), timer.batch):
            yield timer.due([key for key, _ in due[start : start + timer.batch]])
