"""Core's own commands: their routes, which a program is given, and the shard that they change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from google.protobuf.message import Message

from quorate.apply import cuts, freezes, levels, publications, sessions, slot_set
from quorate.apply.entries import Copies
from quorate.apply.file_sets import PUBLISHING, rows_by_family
from quorate.apply.layers import Layer
from quorate.apply.outcomes import UNKNOWN_COMMAND, WRONG_SHARD
from quorate.apply.scope import Family, Scope
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected
from quorate.plugin.shard_id import METADATA
from quorate.storage.data.shard_data import ShardData
from quorate.storage.events import Kind
from quorate.storage.families import LEVELS, MEMBERS, NODES, SHARDS, SLOTS
from quorate.v1.files_pb2 import ItemCount, SortedFile

if TYPE_CHECKING:
    from quorate.apply.entry_builder import EntryBuilder

_PUBLIC: Final = MappingProxyType(
    {name: Family(name, public=True) for name in (LEVELS, MEMBERS, NODES, SHARDS)}
)
#: Core's rows with events; its commands change the others without a transaction.
SCOPE: Final = Scope(_PUBLIC, _PUBLIC, frozenset())


@dataclass(slots=True)
class ShardState:
    """The state of a shard that its own commands change, derived from its rows."""

    slots: SlotSet
    generation: int
    #: The logical time of the next check for expired sessions.
    sessions_ms: int
    #: Whether there may be rows of foreign slots.
    foreign: bool
    #: The families that a publication in progress has closed to reads and writes.
    closed: frozenset[str]
    #: Whether it is frozen: its rows do not change.
    frozen: bool

    @classmethod
    def of(cls, data: ShardData) -> Self:
        """Derive the state from the stored rows."""
        return cls(
            slots=SlotSet.decode(data.get(SLOTS, slot_set.KEY)),
            generation=data.record.generation,
            sessions_ms=sessions.first_check(data),
            foreign=cuts.has_foreign(data),
            closed=frozenset(publications.mark(data).closed),
            frozen=freezes.frozen(data) is not None,
        )

    def copied(self) -> ShardState:
        """Return a copy: every entry has one, and `dataclasses.replace` takes six times as long."""
        return ShardState(
            self.slots, self.generation, self.sessions_ms, self.foreign, self.closed, self.frozen
        )


class ControlRoute(NamedTuple):
    """The handler of one of core's own commands."""

    message: type[Message]
    apply: Callable[[ShardTxn, Any, ControlledShard], Message | None]
    #: The level of core that it needs.
    level: int = levels.LOWEST
    #: Whether a frozen shard carries it out.
    of_frozen: bool = False
    #: Whether it is about the files of a set: it begins an entry, and no limit of effects counts.
    of_files: bool = False


def by_name(*routes: ControlRoute) -> Mapping[str, ControlRoute]:
    """Return routes by the full names of their messages."""
    return MappingProxyType({each.message.DESCRIPTOR.full_name: each for each in routes})


def in_first(
    act: Callable[[ShardTxn, Any], Message | None],
) -> Callable[[ShardTxn, Any, ControlledShard], Message | None]:
    """Return the handler of a command that only metadata/0 carries out."""

    def apply(txn: ShardTxn, command: Any, shard: ControlledShard) -> Message | None:
        if shard.id != METADATA:
            raise Rejected(WRONG_SHARD, f"this command is for {METADATA}, not for {shard.id}")
        return act(txn, command)

    return apply


class ControlledShard:
    """A shard, as one of core's own commands sees and changes it in an entry."""

    def __init__(self, entry: EntryBuilder, revision: int, copies: Copies) -> None:
        context = entry.context
        self.id: Final = context.shard
        self.program: Final = context.program
        #: The stored rows, those of foreign slots included.
        self.stored: Final = context.data
        self.neighbour: Final = context.neighbour
        self.find_in_files: Final = context.find_in_files
        self.state: Final = entry.state
        #: Whether the entry puts files in place.
        self.ingests = False
        self._entry: Final = entry
        self._revision: Final = revision
        self._copies: Final = copies

    def demand_open(self) -> None:
        """Raise `Rejected` while the shard publishes files."""
        if self.state.closed:
            raise Rejected(PUBLISHING, f"shard {self.id} is publishing files")

    def depart(self, below: Layer, family: str, rows: Mapping[bytes, bytes]) -> None:
        """Subtract rows that went to another shard from the totals that this one keeps.

        These are in private families: a watched row does not change without an event.
        """
        departs = self.program.ownership.departures.get(family)
        if departs is None:
            return
        layer, events = Layer(below), self._entry.events
        start = events.savepoint()
        txn = self._txn(layer, self.program.departures[family], Copies.FRESH)
        try:
            for key, value in rows.items():
                departs(txn, key, value)
        finally:
            txn.end()
            events.rollback_to(start)
        for watched in self.program.watched & layer.tables.keys():
            # Other replicas learn of these by their events alone.
            del layer.tables[watched]
        layer.merge_into(below)

    def settle(self, layer: Layer, name: str, counts: Iterable[ItemCount]) -> frozenset[str]:
        """Write the totals of the rows of files; return the families of their command."""
        handler, load = self.program.handlers.get(name), self.program.file_loads.get(name)
        if handler is None or load is None:
            raise Rejected(UNKNOWN_COMMAND, f"the leader loads no files with rows of {name}")
        early = self._entry.too_early(handler)
        if early is not None:
            raise Rejected(*early)
        if load.settle is not None:
            txn = self._txn(layer, handler.scope, self._copies)
            load.settle(txn, {each.name: each.items for each in counts})
            txn.end()
        return frozenset(handler.scope.writes)

    def settled_later(
        self, layer: Layer, name: str, counts: Iterable[ItemCount]
    ) -> tuple[Layer, frozenset[str]]:
        """Return the writes and the families of `settle`; neither rows nor events change."""
        above, events = Layer(layer), self._entry.events
        start = events.savepoint()
        families = self.settle(above, name, counts)
        events.rollback_to(start)
        return above, families

    def place_files(self, txn: ShardTxn, files: Iterable[SortedFile]) -> None:
        """Have every replica put these files in place with the entry; count their rows."""
        self.ingests = True
        found = rows_by_family(files)
        for family, rows in found.items():
            if family in self.program.counted:
                txn.count_more(family, rows)
        for family in sorted(self.program.watched.intersection(found)):
            self._entry.events.begin(family, Kind.INGESTED)

    def _txn(self, layer: Layer, scope: Scope, copies: Copies) -> ShardTxn:
        return self._entry.txn(layer, scope, self._revision, copies)
