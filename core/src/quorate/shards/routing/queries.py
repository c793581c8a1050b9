"""Runs a query on a replica, and joins the answers of several shards."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from operator import methodcaller
from typing import Any, Final, Generic, NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message

from quorate.apply.entries import Copies
from quorate.apply.outcomes import CopyBehind
from quorate.apply.scope import Scope
from quorate.apply.txn import ShardReader
from quorate.plugin import ColumnFamily, Consistency, Invalid, Items, Query, Reader, Rejected
from quorate.plugin.advanced import UndeclaredFamilyError
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slot_of
from quorate.shards.refusals import UnknownShardError, UnreadableError, WrongShardError
from quorate.shards.routing.forwarding import Asked, AsOf
from quorate.shards.routing.proposing import CATCH_UP_S
from quorate.shards.routing.slot_map import SlotMap
from quorate.shards.shard.shard import Shard
from quorate.storage.engine.port import DamagedError
from quorate.v1 import admin_pb2, audit_pb2

R = TypeVar("R", bound=Message)
A = TypeVar("A", bound=Message | bytes)

#: What a query runs on a replica.
Run = Callable[[Reader, Any], Iterable[Message]]

_log = logging.getLogger(__name__)

#: Core's own queries, about a key of any family.
_FIND_WRITER: Final = audit_pb2.FindWriter
_EXPLAIN_KEY: Final = admin_pb2.ExplainKeyRequest
_OF_KEYS: Final[Mapping[str, type[Message]]] = {
    each.DESCRIPTOR.full_name: each for each in (_FIND_WRITER, _EXPLAIN_KEY)
}

#: Maximum answers of a shard to one query, which are read in one turn of the loop as one view;
#: request more in pages.
MAX_ROWS: Final = 10_000
MAX_BYTES: Final = 16 << 20
#: The code of the refusal of more.
TOO_MUCH: Final = "OUT_OF_RANGE"


class ReadOptions(NamedTuple):
    """The options of a read."""

    consistency: Consistency = "linearizable"
    #: The minimum revision of the query's shard, or of each shard.
    min_revision: int | Mapping[ShardId, int] = 0
    #: What it is read for; None: for the node itself.
    asked: Asked | None = None

    def of(self, shard: ShardId) -> int:
        """Return the minimum revision of a shard."""
        wanted = self.min_revision
        return wanted if isinstance(wanted, int) else wanted.get(shard, 0)


class Answers(NamedTuple, Generic[A]):
    """The answers of a query, in the order of its keys."""

    rows: Sequence[A]
    #: The state that each shard read them from.
    as_of: Mapping[ShardId, AsOf]


class QueryPart(NamedTuple):
    """The part of a query for a shard."""

    shard: ShardId
    message: Message
    #: The positions of its items in the query; empty for a query without items.
    positions: Sequence[int] = ()
    #: The version of the shard's slots that it was planned with; 0: unknown.
    version: int = 0


def query_of(catalog: Catalog, message: Message) -> Query[Any]:
    """Return the query of a message, which may be core's own; raises `LookupError`."""
    if isinstance(message, _FIND_WRITER):
        return _key_query(catalog, message.family, _FIND_WRITER, _writer)
    if isinstance(message, _EXPLAIN_KEY):
        return _key_query(catalog, message.family, _EXPLAIN_KEY, partial(_explanation, catalog))
    return declared(catalog, message.DESCRIPTOR.full_name)


def declared(catalog: Catalog, name: str) -> Query[Any]:
    """Return a query; raises `LookupError` for an undeclared one."""
    query = catalog.queries.get(name)
    if query is None:
        raise LookupError(f"query {name} is not declared; return it from quorate_declarations")
    return query


def parse(catalog: Catalog, name: str, payload: bytes) -> Message:
    """Parse a forwarded query; raises `Invalid` for an unknown or damaged one."""
    query = catalog.queries.get(name)
    kind = _OF_KEYS.get(name) if query is None else query.message
    if kind is None:
        raise Invalid("type", f"no plugin that this node serves declares the query {name}")
    try:
        message: Message = kind.FromString(payload)
    except DecodeError:
        raise Invalid("query", f"its {len(payload)} bytes are not a {name}") from None
    return message


def reads_of(catalog: Catalog, query: Query[Any]) -> frozenset[str]:
    """Return the scope of a query: the families of its plugin in its group, and `reads`."""
    return frozenset(Scope.of_query(catalog, query).reads)


def parts(
    query: Query[Any],
    message: Message,
    slot_map: SlotMap,
    numbers: Collection[int] | None = None,
) -> list[QueryPart]:
    """Split a query by shard, or by those of some numbers; raises `UnknownShardError`."""
    if numbers is not None:
        wanted = [ShardId(query.group, number) for number in sorted(set(numbers))]
        if strange := next((each for each in wanted if not slot_map.serves(each)), None):
            raise UnknownShardError(*strange)
        if query.shard_key is None and query.items is None:
            return [_planned(slot_map, each, message) for each in wanted]
        found = parts(query, message, slot_map)
        return [part for part in found if part.shard.number in numbers]
    shard_key = None if query.shard_key is None else query.shard_key(message)
    if shard_key is not None:
        return [_planned(slot_map, slot_map.place(query.group, shard_key), message)]
    items: Items[Any, Any] | None = query.items
    if items is None:
        return [_planned(slot_map, shard, message) for shard in slot_map.shards(query.group)]
    requested = list(items.get(message))
    holders = slot_map.shards(query.group)
    if len(holders) == 1 and requested:
        return [_planned(slot_map, holders[0], message, range(len(requested)))]
    positions: dict[ShardId, list[int]] = {}
    for position, item in enumerate(requested):
        holder = slot_map.place(query.group, items.shard_key(item))
        positions.setdefault(holder, []).append(position)
    return [
        _planned(
            slot_map, shard, items.make(message, [requested[position] for position in found]), found
        )
        for shard, found in sorted(positions.items())
    ]


def _planned(
    slot_map: SlotMap, shard: ShardId, message: Message, positions: Sequence[int] = ()
) -> QueryPart:
    return QueryPart(shard, message, positions, slot_map.version(shard))


async def answer(
    shard: Shard,
    query: Query[Any],
    part: QueryPart,
    reads: frozenset[str],
    options: ReadOptions,
    row: str,
    deadline: float,
    now: Callable[[], float],
) -> tuple[AsOf, Sequence[Any]]:
    """Run a query on a replica, once that has reached the requested state.

    `row` is the full name of the expected message, if any. Raises `UnreadableError`, and
    `Rejected` when the query fails or reads too much.
    """
    _check_row(query, row)
    stale = options.consistency == "stale"
    if not stale:
        await shard.read_barrier(deadline - now(), patient=False)
    min_revision = options.of(part.shard)
    if min_revision:
        await shard.wait_for(min_revision, max(0.0, deadline - now()))
    if not stale:
        if shard.is_publishing:
            await shard.opened(reads, deadline - now())
        _check_slots(shard, part)
    age_ms = shard.staleness().age_ms if stale else 0
    reader = shard.store_reader(reads, Copies.FRESH if stale else Copies.DOUBTED)
    try:
        rows = _run(query, reader, part.message)
    except CopyBehind:
        if not shard.leads:
            raise UnreadableError(
                f"the copies in this replica of shard {part.shard} may be stale: ask its leader"
            ) from None
        fresh = await shard.catch_up(min(CATCH_UP_S, (deadline - now()) / 2))
        await shard.opened(reads, deadline - now())
        copies = Copies.FRESH if fresh else Copies.UNKNOWN
        reader = shard.store_reader(reads, copies)
        rows = _run(query, reader, part.message)
    if query.row is None:
        for each in rows:
            if each.DESCRIPTOR.full_name != row:
                raise _not_answered_with(query, each.DESCRIPTOR.full_name, row)
    return AsOf(reader.revision, age_ms, shard.published), rows


def _check_slots(shard: Shard, part: QueryPart) -> None:
    """Raise `WrongShardError` if the shard has given slots away since the query was planned."""
    if part.version and part.version < (version := shard.applier.slots.version):
        raise WrongShardError(
            part.shard,
            f"shard {part.shard} has version {version} of its slots, and the query was planned"
            f" with version {part.version}: plan it again",
        )


def shown(query: Query[Any], rows: Sequence[Any], row: type[A]) -> Sequence[A]:
    """Return the answers as the requested type."""
    if query.row is None or row is bytes:
        return rows
    kind: Any = row
    return [kind.FromString(each) for each in rows]


def joined(
    query: Query[Any], parts: Sequence[QueryPart], answers: Sequence[Sequence[Any]]
) -> Sequence[Any]:
    """Join the answers of several shards."""
    if len(answers) == 1:
        return answers[0]
    if query.order is not None:
        return list(heapq.merge(*answers, key=query.order))
    placed: dict[int, Any] = {}
    for part, found in zip(parts, answers, strict=True):
        placed.update(zip(part.positions, found, strict=True))
    return [placed[position] for position in range(len(placed))]


def bounded(name: str, rows: Iterable[Message | bytes], *, encoded: bool) -> list[Any]:
    """Return the answers of a shard; raises `Rejected` if there are too many."""
    weigh: Callable[[Any], int] = len if encoded else methodcaller("ByteSize")
    found: list[Message | bytes] = []
    room, add = MAX_BYTES, found.append
    for row in islice(rows, MAX_ROWS + 1):
        room -= weigh(row)
        if room < 0:
            break
        add(row)
    if room < 0 or len(found) > MAX_ROWS:
        raise Rejected(
            TOO_MUCH,
            f"{name} reads more than {MAX_ROWS} answers or {MAX_BYTES} bytes of a shard at "
            "once; request pages",
        )
    return found


def _key_query(catalog: Catalog, name: str, kind: type[Message], run: Run) -> Query[Any]:
    """Return the query of every shard that may hold a row of a family."""
    family = catalog.families.get(name)
    if family is None or family.row is None:
        raise LookupError(f"no column family {name} with a row message is declared")

    def order(_: Message) -> bytes:
        return b""

    shard_key = None if family.shard_key is None else partial(_shard_key, family)
    return Query(
        message=kind,
        group=family.group,
        run=run,
        shard_key=shard_key,
        order=order,
        reads=(name,),
    )


def _shard_key(family: ColumnFamily, asked: Any) -> bytes:
    """Return the shard key of the row that is asked for; raises `Invalid`."""
    assert family.shard_key is not None
    try:
        return family.shard_key(asked.key)
    except Exception as error:  # noqa: BLE001 - the function of a plugin reads any bytes
        raise Invalid("key", f"is no key of {family.name}: {error}") from None


def _explanation(
    catalog: Catalog, reader: Reader, asked: admin_pb2.ExplainKeyRequest
) -> Iterable[admin_pb2.ExplainKeyResponse]:
    """Yield the records of a shard about a key, if it is the key's shard."""
    assert isinstance(reader, ShardReader)
    family = catalog.families[asked.family]
    timers = [each.name for each in catalog.timers.values() if each.group == family.group]
    row = reader.get_row(asked.family, asked.key)
    history = reader.changes(asked.family, asked.key, asked.before_revision)
    found = admin_pb2.ExplainKeyResponse(
        shard=str(ShardId(family.group, reader.shard)),
        revision=0 if row is None else row.revision,
        changes=(admin_pb2.KeyChange(**each._asdict()) for each in history.changes),
        deadlines=(
            admin_pb2.KeyDeadline(timer=timer, key=key, at_ms=at_ms)
            for timer, key, at_ms in reader.due_of(timers, asked.key)
        ),
        complete_after=history.complete_after,
        complete=history.complete,
        now_ms=reader.now_ms,
    )
    if family.shard_key is not None:
        found.slot = slot_of(_shard_key(family, asked))
    yield found


def _writer(reader: Reader, asked: audit_pb2.FindWriter) -> Iterable[audit_pb2.RowWriter]:
    row = reader.get_row(asked.family, asked.key)
    if row is not None:
        assert isinstance(reader, ShardReader)
        found = audit_pb2.RowWriter(revision=row.revision, shard=reader.shard)
        if (writer := reader.writer(asked.family, row)) is not None:
            found.known = True
            found.identity, found.written_at_ms = writer.name, writer.at_ms
        yield found


def _check_row(query: Query[Any], row: str) -> None:
    if query.row is None:
        if not row:
            raise TypeError(f"{_name(query)} declares no row; ask for its messages")
    elif row and row != query.row.DESCRIPTOR.full_name:
        raise _not_answered_with(query, query.row.DESCRIPTOR.full_name, row)


def _not_answered_with(query: Query[Any], found: str, row: str) -> TypeError:
    return TypeError(f"{_name(query)} is answered with {found}; {row} was asked for")


def _name(query: Query[Any]) -> str:
    return str(query.message.DESCRIPTOR.full_name)


def _run(query: Query[Any], reader: Reader, message: Message) -> list[Any]:
    name = message.DESCRIPTOR.full_name
    try:
        return bounded(name, query.run(reader, message), encoded=query.row is not None)
    except (Rejected, Invalid, UndeclaredFamilyError):
        raise
    except DamagedError as error:
        raise Rejected("DATA_LOSS", f"query {name} read damaged data: {error}") from error
    except Exception as error:
        _log.exception("query failed", extra={"query": name})
        raise Rejected(
            "INTERNAL", f"query {name} failed with {type(error).__name__}: {error}"
        ) from error
