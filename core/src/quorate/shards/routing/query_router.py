"""Queries on one shard or all shards of a group, here or one hop away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from quorate.plugin import Consistency, Invalid, Query, Rejected
from quorate.plugin.advanced import ShardAnswers
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.plugin.splicing import encoded
from quorate.shards.refusals import (
    LeaderlessError,
    NotProposedError,
    ReadTimeoutError,
    UnreadableError,
    WrongShardError,
    settled,
)
from quorate.shards.routing import queries
from quorate.shards.routing.forwarding import (
    Asked,
    AsOf,
    ForwardedAnswers,
    ForwardedQuery,
    Forwarder,
    LocalShards,
)
from quorate.shards.routing.joint_reads import JointReads
from quorate.shards.routing.queries import Answers, QueryPart, ReadOptions
from quorate.shards.timing import Pause, end

R = TypeVar("R", bound=Message)
A = TypeVar("A", bound=Message | bytes)

#: Why a shard was not read.
Unread = UnreadableError | NotProposedError | Rejected

#: How long to wait for the next shard after one has answered.
GRACE_S: Final = 0.5

_LINEARIZABLE: Final = ReadOptions()


@dataclass(eq=False)
class QueryRouter:
    """Answers queries from the replicas here, and forwards them if there is none."""

    _node: str
    _catalog: Catalog
    _shards: LocalShards
    _forwarder: Forwarder
    _loop: asyncio.AbstractEventLoop
    _timeout_s: float

    def __post_init__(self) -> None:
        catalog = self._catalog
        self._scopes = {
            name: queries.reads_of(catalog, query) for name, query in catalog.queries.items()
        }
        #: Reads of newest rows, for callers that repeat those that fail.
        self.joint = JointReads(
            catalog.queries,
            lambda: self._shards.slot_map,
            self._read_here,
            lambda: self._deadline(None),
            self._loop,
        )

    async def query(
        self,
        message: Message,
        row: type[R],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int | Mapping[ShardId, int] = 0,
        timeout_s: float | None = None,
        asked: Asked | None = None,
    ) -> AsyncIterator[R]:
        """Run a query on its shards, and yield the answers in key order."""
        options = ReadOptions(consistency=consistency, min_revision=min_revision, asked=asked)
        answers = await self.read(message, row, options, timeout_s=timeout_s)
        for answer in answers.rows:
            yield answer

    async def read(
        self,
        message: Message,
        row: type[A],
        options: ReadOptions = _LINEARIZABLE,
        *,
        timeout_s: float | None = None,
    ) -> Answers[A]:
        """Run a query, and return its answers with the revision and age of each shard's.

        `min_revision` waits until a replica has reached it. A number without a shard makes the
        reads of several shards linearizable. With `bytes` for the row, answers of a query that
        declares its `row` are not parsed.

        Raises `LookupError`, `Rejected`, `UnknownShardError` and `UnreadableError`.
        """
        self.joint.alone += 1
        try:
            return await self._read(message, row, options, self._deadline(timeout_s))
        finally:
            self.joint.alone -= 1

    async def _read(
        self, message: Message, row: type[A], options: ReadOptions, deadline: float
    ) -> Answers[A]:
        query = queries.query_of(self._catalog, message)
        pause: Pause | None = None
        before: Mapping[ShardId, int] = {}
        while True:
            parts = queries.parts(query, message, self._shards.slot_map)
            try:
                if len(parts) == 1:
                    as_of, rows = await self._read_part(query, parts[0], row, options, deadline)
                    return Answers(queries.shown(query, rows, row), {parts[0].shard: as_of})
                found = await self._read_all(query, parts, row, options, deadline)
                published = {shard: as_of.published for shard, as_of in found.as_of.items()}
                # Shards that have different publications in place were read while one came, unless
                # another read finds the same: every shard that it changes waits for it.
                apart = len(set(published.values())) > 1 and options.consistency != "stale"
                if not apart or published == before:
                    return found
                before = published
            except WrongShardError:
                # Slots have moved: the map of this node learns of it.
                pause = pause or Pause(self._loop)
                if not await pause.until(deadline):
                    raise

    async def _read_all(
        self,
        query: Query[Any],
        parts: Sequence[QueryPart],
        row: type[A],
        options: ReadOptions,
        deadline: float,
    ) -> Answers[A]:
        if isinstance(options.min_revision, int) and options.min_revision:
            # A number does not name a shard; a linearizable read has every answered revision.
            options = options._replace(consistency="linearizable", min_revision=0)
        reading = [
            self._loop.create_task(self._read_part(query, each, row, options, deadline))
            for each in parts
        ]
        try:
            found = await asyncio.gather(*reading)
        except BaseException:
            # A list of them would refer to the exception, and the frame of it to the list.
            while reading:
                reading.pop().cancel()
            raise
        rows = queries.joined(query, parts, [rows for _, rows in found])
        return Answers(
            queries.shown(query, rows, row),
            {part.shard: as_of for part, (as_of, _) in zip(parts, found, strict=True)},
        )

    async def read_shards(
        self,
        message: Message,
        row: type[R],
        options: ReadOptions = _LINEARIZABLE,
        *,
        shards: Collection[int] | None = None,
        timeout_s: float | None = None,
    ) -> AsyncIterator[ShardAnswers[R]]:
        """Run a query, and yield the answers of each shard as they arrive.

        A shard that cannot be read is yielded with its failure; if none can, it raises as `read`.
        """
        deadline = self._deadline(timeout_s)
        query = queries.query_of(self._catalog, message)
        parts = queries.parts(query, message, self._shards.slot_map, shards)
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
                        failures.append((part, settled(error)))
                        continue
                    yield ShardAnswers(
                        shard=part.shard.number,
                        positions=part.positions,
                        rows=queries.shown(query, rows, row),
                        age_ms=as_of.age_ms,
                    )
                    given_up = self._loop.time() + GRACE_S
        finally:
            await end(*reading)
        if failures and given_up is None:
            raise failures.pop(0)[1]
        for part, why in failures:
            yield ShardAnswers(
                shard=part.shard.number,
                positions=part.positions,
                failure=why if isinstance(why, Rejected) else Rejected(why.code, str(why)),
            )

    async def accept(self, forwarded: ForwardedQuery) -> ForwardedAnswers:
        """Answer a forwarded query, without another hop.

        Raises `UnreadableError` if this node has no replica of the shard.
        """
        message = queries.parse(self._catalog, forwarded.type, forwarded.payload)
        query = queries.query_of(self._catalog, message)
        if query.group != forwarded.shard.group:
            raise Invalid(
                "shard",
                f"{forwarded.type} belongs to group {query.group}, "
                f"and was sent to {forwarded.shard}",
            )
        deadline = self._deadline(forwarded.timeout_s)
        options = ReadOptions(
            consistency=forwarded.consistency, min_revision=forwarded.min_revision
        )
        part = QueryPart(forwarded.shard, message, version=forwarded.slots_version)
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
        """Return the answers of a shard from a replica here, or else from one of another node."""
        name = _name_of(row)
        failure: UnreadableError | None = None
        pause: Pause | None = None
        while True:
            self._shards.slot_map.check_unmerged(part.shard)
            try:
                # Looked up each time: a replica may have been added here or removed.
                found = await self._read_here(query, part, name, options, deadline)
            except (LeaderlessError, ReadTimeoutError):
                raise
            except UnreadableError as error:
                # It stopped meanwhile; others may answer.
                failure = settled(error)
            else:
                if found is not None:
                    return found
            for node in self._shards.slot_map.others(part.shard, self._node):
                asked = ForwardedQuery(
                    shard=part.shard,
                    type=part.message.DESCRIPTOR.full_name,
                    payload=part.message.SerializeToString(),
                    row=name,
                    consistency=options.consistency,
                    min_revision=options.of(part.shard),
                    timeout_s=deadline - self._loop.time(),
                    asked=options.asked,
                    slots_version=part.version,
                )
                try:
                    as_of, rows = await self._forwarder.query(node, asked)
                except UnreadableError as error:
                    failure = settled(error)
                else:
                    return as_of, rows if query.row else _parsed(row, rows)
            if isinstance(failure, LeaderlessError):
                raise LeaderlessError(part.shard)
            pause = pause or Pause(self._loop)
            if not await pause.until(deadline):
                why = failure or f"no node is known to have a replica of shard {part.shard}"
                raise ReadTimeoutError(
                    f"the deadline passed before {part.shard} was read; the last reason was: {why}"
                ) from failure

    async def _read_here(
        self, query: Query[Any], part: QueryPart, row: str, options: ReadOptions, deadline: float
    ) -> tuple[AsOf, Sequence[Any]] | None:
        if self._shards.is_unopened(part.shard):
            await self._shards.opened(part.shard, deadline)
        local = self._shards.get(part.shard)
        if local is None:
            return None
        reads = self._scopes.get(part.message.DESCRIPTOR.full_name)
        if reads is None:
            reads = queries.reads_of(self._catalog, query)
        return await queries.answer(
            local, query, part, reads, options, row, deadline, self._loop.time
        )

    def _deadline(self, timeout_s: float | None) -> float:
        return self._loop.time() + (self._timeout_s if timeout_s is None else timeout_s)


def _name_of(row: type[Any]) -> str:
    return row.DESCRIPTOR.full_name if issubclass(row, Message) else ""


def _parsed(row: type[Any], rows: Sequence[bytes]) -> list[Any]:
    return [row.FromString(each) for each in rows]


def _too_late(shard: ShardId) -> UnreadableError:
    return UnreadableError(
        f"shard {shard} did not answer within {GRACE_S} s of the others; it may have no leader: "
        "retry, or read stale"
    )
