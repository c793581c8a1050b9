"""How a query is run on one replica, and how the answers of several shards become one."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, Generic, NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message

from quorate.apply.scope import Scope
from quorate.groups.refusals import UnknownShardError
from quorate.groups.routing.forwarding import AsOf, ForwardedQuery
from quorate.groups.routing.local import LocalShard
from quorate.groups.routing.slot_map import SlotMap
from quorate.plugin import Invalid, Items, Query, Rejected, UndeclaredFamilyError
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.storage.engine.port import DamagedError

R = TypeVar("R", bound=Message)

_log = logging.getLogger(__name__)

#: The most that a shard answers to one query. All of it is read in one turn of the loop, so that it
#: is one view; more is asked for in pages.
MAX_ROWS: Final = 10_000
MAX_BYTES: Final = 16 << 20


class Answers(NamedTuple, Generic[R]):
    """What a query gave, in the order of its keys."""

    rows: Iterator[R]
    #: What each shard read it from.
    as_of: Mapping[ShardId, AsOf]


class Part(NamedTuple):
    """What one shard is asked."""

    shard: ShardId
    message: Message
    #: Which items of the query these are; of one without items, none.
    positions: Sequence[int] = ()


def declared(catalog: Catalog, name: str) -> Query[Any]:
    """Return a query; raises `LookupError` for what no plugin declares."""
    query = catalog.queries.get(name)
    if query is None:
        raise LookupError(f"query {name} is not declared; return it from quorate_queries")
    return query


def parse(catalog: Catalog, name: str, payload: bytes) -> Message:
    """Read a query of another node; raises `Invalid` for one that is unknown or damaged."""
    query = catalog.queries.get(name)
    if query is None:
        raise Invalid("type", f"no plugin that this node serves declares the query {name}")
    try:
        message: Message = query.message.FromString(payload)
    except DecodeError:
        raise Invalid("query", f"its {len(payload)} bytes are no {name}") from None
    return message


def reads_of(catalog: Catalog, query: Query[Any]) -> frozenset[str]:
    """Return what a query may read: the families of its plugin in its group, and `reads`."""
    return frozenset(Scope.of_query(catalog, query).reads)


def parts(query: Query[Any], message: Message, slot_map: SlotMap) -> list[Part]:
    """Return what each shard is asked; raises `UnknownShardError`."""
    if query.shard_key is not None:
        return [Part(slot_map.place(query.group, query.shard_key(message)), message)]
    items: Items[Any, Any] | None = query.items
    if items is None:
        return [Part(shard, message) for shard in slot_map.shards(query.group)]
    requested = list(items.get(message))
    positions: dict[ShardId, list[int]] = {}
    for position, item in enumerate(requested):
        holder = slot_map.place(query.group, items.shard_key(item))
        positions.setdefault(holder, []).append(position)
    return [
        Part(shard, items.make(message, [requested[position] for position in found]), found)
        for shard, found in sorted(positions.items())
    ]


def chosen(parts: Sequence[Part], numbers: Collection[int], known: Sequence[ShardId]) -> list[Part]:
    """Return what some shards are asked; raises `UnknownShardError`."""
    strange = set(numbers) - {shard.number for shard in known}
    if strange:
        raise UnknownShardError(known[0].group, min(strange))
    return [part for part in parts if part.shard.number in numbers]


async def answer(
    shard: LocalShard,
    query: Query[Any],
    message: Message,
    reads: frozenset[str],
    asked: ForwardedQuery,
    now: Callable[[], float],
) -> tuple[AsOf, list[Any]]:
    """Answer from one replica, once it has what is asked for.

    Raises `UnreadableError`, and `Rejected` when the query fails or gives too much.
    """
    deadline = now() + asked.timeout_s
    stale = asked.consistency == "stale"
    if not stale:
        await shard.read_barrier(asked.timeout_s, patient=False)
    if asked.min_revision:
        await shard.wait_for(asked.min_revision, max(0.0, deadline - now()))
    seen = shard.staleness()
    rows = _run(query, shard, message, reads)
    for row in rows:
        if row.DESCRIPTOR.full_name != asked.row:
            raise TypeError(
                f"{asked.type} is answered with {row.DESCRIPTOR.full_name}; "
                f"{asked.row} was asked for"
            )
    return AsOf(seen.revision, seen.age_ms if stale else 0), rows


def merge(query: Query[Any], answers: Sequence[Sequence[R]]) -> Iterator[R]:
    """Return the answers of several shards as one."""
    if query.order is None:
        return chain.from_iterable(answers)
    return heapq.merge(*answers, key=query.order)


def bounded(name: str, rows: Iterable[R]) -> list[R]:
    """Return the answers of one shard; raises `Rejected` when they are too many for one go."""
    found: list[R] = []
    size = 0
    for row in rows:
        size += row.ByteSize()
        found.append(row)
        if len(found) > MAX_ROWS or size > MAX_BYTES:
            raise Rejected(
                "OUT_OF_RANGE",
                f"{name} gives more than {MAX_ROWS} answers or {MAX_BYTES} bytes of a shard at "
                "once; ask for less, page by page",
            )
    return found


def _run(
    query: Query[Any], shard: LocalShard, message: Message, reads: frozenset[str]
) -> list[Message]:
    name = message.DESCRIPTOR.full_name
    try:
        return bounded(name, query.run(shard.reader(reads), message))
    except (Rejected, Invalid, UndeclaredFamilyError):
        raise
    except DamagedError as error:
        raise Rejected("DATA_LOSS", f"query {name} met damage: {error}") from error
    except Exception as error:
        _log.exception("query failed", extra={"query": name})
        raise Rejected(
            "INTERNAL", f"query {name} failed with {type(error).__name__}: {error}"
        ) from error
