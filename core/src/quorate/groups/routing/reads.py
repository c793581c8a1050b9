"""Queries on one shard or all shards of a group, here or one hop away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from quorate.groups.refusals import (
    LeaderlessError,
    NotProposedError,
    ReadTimeoutError,
    UnreadableError,
)
from quorate.groups.routing import queries
from quorate.groups.routing.forwarding import (
    AsOf,
    ForwardedAnswers,
    ForwardedQuery,
    Forwarder,
    LocalShards,
)
from quorate.groups.routing.queries import Answers, QueryPart, ReadOptions
from quorate.groups.timing import Pause
from quorate.plugin import Invalid, Query, Rejected, ShardAnswers
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.plugin.splicing import encoded

R = TypeVar("R", bound=Message)
A = TypeVar("A", bound=Message | bytes)
T = TypeVar("T")

#: Why a shard was not read.
Unread = UnreadableError | NotProposedError | Rejected

#: How long to wait for the next shard after one has answered.
GRACE_S: Final = 0.5


class Reads:
    """Answers queries from the replicas here, and forwards them if there is none."""

    def __init__(
        self,
        node: str,
        catalog: Catalog,
        shards: LocalShards,
        forwarder: Forwarder,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._node: Final = node
        self._catalog: Final = catalog
        self._shards: Final = shards
        self._forwarder: Final = forwarder
        self._loop: Final = loop
        self._scopes: Final = {
            name: queries.reads_of(catalog, query) for name, query in catalog.queries.items()
        }

    async def read(
        self, message: Message, row: type[A], options: ReadOptions, deadline: float
    ) -> Answers[A]:
        """Return the answers to a query, with the state of each shard."""
        query = queries.declared(self._catalog, message.DESCRIPTOR.full_name)
        parts = queries.parts(query, message, self._shards.slot_map)
        if len(parts) == 1:
            as_of, rows = await self._read_part(query, parts[0], row, options, deadline)
            return Answers(queries.shown(query, rows, row), {parts[0].shard: as_of})
        if isinstance(options.min_revision, int) and options.min_revision:
            # A number does not name a shard; a linearizable read has every answered revision.
            options = replace(options, consistency="linearizable", min_revision=0)
        found = await self._side_by_side(
            [self._read_part(query, each, row, options, deadline) for each in parts]
        )
        rows = queries.joined(query, parts, [rows for _, rows in found])
        return Answers(
            queries.shown(query, rows, row),
            {part.shard: as_of for part, (as_of, _) in zip(parts, found, strict=True)},
        )

    async def read_shards(
        self,
        message: Message,
        row: type[R],
        options: ReadOptions,
        shards: Collection[int] | None,
        deadline: float,
    ) -> AsyncIterator[ShardAnswers[R]]:
        """Yield the answers of each shard as they arrive, and failed shards at the end.

        Raises the first failure if no shard was read.
        """
        query = queries.declared(self._catalog, message.DESCRIPTOR.full_name)
        parts = queries.parts(query, message, self._shards.slot_map)
        if shards is not None:
            parts = queries.chosen(parts, shards, self._shards.slot_map.shards(query.group))
        reading = {
            self._loop.create_task(self._read_part(query, each, row, options, deadline)): each
            for each in parts
        }
        failures: list[tuple[QueryPart, Unread]] = []
        given_up: float | None = None
        try:
            while reading:
                patience_s = None if given_up is None else max(0.0, given_up - self._loop.time())
                ended, _ = await asyncio.wait(
                    reading, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED
                )
                if not ended:
                    failures += [(part, _too_late(part.shard)) for part in reading.values()]
                    break
                for task in [task for task in reading if task in ended]:
                    part = reading.pop(task)
                    try:
                        as_of, rows = task.result()
                    except (UnreadableError, NotProposedError, Rejected) as error:
                        failures.append((part, error))
                        continue
                    yield ShardAnswers(
                        shard=part.shard.number,
                        positions=part.positions,
                        rows=queries.shown(query, rows, row),
                        age_ms=as_of.age_ms,
                    )
                    given_up = self._loop.time() + GRACE_S
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
        if failures and given_up is None:
            raise failures[0][1]
        for part, why in failures:
            yield ShardAnswers(
                shard=part.shard.number,
                positions=part.positions,
                failure=why if isinstance(why, Rejected) else Rejected(why.code, str(why)),
            )

    async def accept(self, forwarded: ForwardedQuery) -> ForwardedAnswers:
        """Answer a forwarded query, without another hop."""
        message = queries.parse(self._catalog, forwarded.type, forwarded.payload)
        group = self._catalog.queries[forwarded.type].group
        if group != forwarded.shard.group:
            raise Invalid(
                "shard",
                f"{forwarded.type} belongs to group {group}, and was sent to {forwarded.shard}",
            )
        deadline = self._loop.time() + forwarded.timeout_s
        options = ReadOptions(
            consistency=forwarded.consistency, min_revision=forwarded.min_revision
        )
        query = self._catalog.queries[forwarded.type]
        part = QueryPart(forwarded.shard, message)
        found = await self._read_here(query, part, forwarded.row, options, deadline)
        if found is None:
            raise UnreadableError(f"this node has no replica of shard {forwarded.shard}")
        as_of, rows = found
        return ForwardedAnswers(as_of, [encoded(row) for row in rows])

    async def _read_part(
        self,
        query: Query[Any],
        part: QueryPart,
        row: type[A],
        options: ReadOptions,
        deadline: float,
    ) -> tuple[AsOf, Sequence[Any]]:
        """Return the answers of a shard."""
        try:
            found = await self._read_here(query, part, _name_of(row), options, deadline)
        except (LeaderlessError, ReadTimeoutError):
            raise
        except UnreadableError as error:
            # It stopped meanwhile; others may answer.
            return await self._read_elsewhere(query, part, row, options, deadline, error)
        if found is not None:
            return found
        failure = UnreadableError(f"no node is known to have a replica of shard {part.shard}")
        return await self._read_elsewhere(query, part, row, options, deadline, failure)

    async def _read_elsewhere(
        self,
        query: Query[Any],
        part: QueryPart,
        row: type[A],
        options: ReadOptions,
        deadline: float,
        failure: UnreadableError,
    ) -> tuple[AsOf, Sequence[Any]]:
        pause = Pause(self._loop)
        name = _name_of(row)
        asked = ForwardedQuery(
            shard=part.shard,
            type=part.message.DESCRIPTOR.full_name,
            payload=part.message.SerializeToString(),
            row=name,
            consistency=options.consistency,
            min_revision=options.of(part.shard),
            caller=options.caller,
            timeout_s=deadline - self._loop.time(),
        )
        while True:
            for node in self._shards.slot_map.others(part.shard, self._node):
                asked = replace(asked, timeout_s=deadline - self._loop.time())
                try:
                    as_of, rows = await self._forwarder.query(node, asked)
                except UnreadableError as error:
                    failure = error
                else:
                    return as_of, rows if query.row else _parsed(row, rows)
            if isinstance(failure, LeaderlessError):
                raise failure
            if not await pause.until(deadline):
                raise ReadTimeoutError(
                    f"the deadline passed before {part.shard} was read; the last reason was: "
                    f"{failure}"
                ) from failure
            # Looked up each time: a replica may have been added here or removed.
            try:
                found = await self._read_here(query, part, name, options, deadline)
            except (LeaderlessError, ReadTimeoutError):
                raise
            except UnreadableError as error:
                failure, found = error, None
            if found is not None:
                return found

    async def _read_here(
        self, query: Query[Any], part: QueryPart, row: str, options: ReadOptions, deadline: float
    ) -> tuple[AsOf, Sequence[Any]] | None:
        local = self._shards.get(part.shard)
        if local is None:
            return None
        reads = self._scopes[part.message.DESCRIPTOR.full_name]
        return await queries.answer(
            local, query, part, reads, options, row, deadline, self._loop.time
        )

    async def _side_by_side(self, reads: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        if len(reads) == 1:
            return [await reads[0]]
        tasks = [self._loop.create_task(read) for read in reads]
        try:
            return await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            raise


def _name_of(row: type[Any]) -> str:
    return row.DESCRIPTOR.full_name if issubclass(row, Message) else ""


def _parsed(row: type[Any], rows: Sequence[bytes]) -> list[Any]:
    return [row.FromString(each) for each in rows]


def _too_late(shard: ShardId) -> UnreadableError:
    return UnreadableError(
        f"shard {shard} did not answer within {GRACE_S} s of the others; it may have no leader: "
        "ask again, or read stale"
    )
