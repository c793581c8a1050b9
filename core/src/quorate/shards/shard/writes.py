"""Pending writes, from the queue through the log to the applied state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final

from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import TOO_SLOW, Outcome
from quorate.consensus.status import Proposed
from quorate.observe.histogram import BYTES, COUNTS, SECONDS, Histogram
from quorate.observe.recorder import Recorder
from quorate.observe.requests import trace_of
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError

if TYPE_CHECKING:
    from quorate.observe.traces import Traces

_log = logging.getLogger(__name__)

Outcomes = tuple[Outcome, ...]

#: How many calls a log line or a record names.
_MOST_REQUESTS: Final = 10
#: What a command takes beside its payload.
_COMMAND_BYTES: Final = 64


class WriteCounters:
    """Counts the writes that were proposed here, and the entries that were made of them."""

    __slots__ = ("durations", "entry_bytes", "entry_commands", "refused")

    def __init__(self) -> None:
        self.entry_commands: Final = Histogram(COUNTS)
        self.entry_bytes: Final = Histogram(BYTES)
        #: From the queue to the answer, whatever it is.
        self.durations: Final = Histogram(SECONDS)
        #: Commands that were refused for lack of room.
        self.refused = 0


class Fate(Enum):
    """How a proposal ended."""

    #: It was applied.
    APPLIED = "applied"
    #: Another entry has its index: it was not and will not be applied.
    DISCARDED = "discarded"
    #: A snapshot replaced it, or the replica stopped: it may have been applied.
    UNKNOWN = "unknown"


_APPLIED: Final = Fate.APPLIED


class Stage(Enum):
    """The stages of a write."""

    #: It waits for its entry.
    QUEUE = "queue"
    #: The entry is not durable on this node yet.
    APPEND = "append"
    #: No majority has acknowledged it yet.
    REPLICATE = "replicate"
    #: It is agreed upon and not applied here yet.
    APPLY = "apply"


@dataclass(slots=True, eq=False)
class Write:
    """The commands of a call, in one entry and with one answer."""

    future: asyncio.Future[Outcomes]
    commands: Sequence[LoggedCommand]
    size: int
    #: The only term in which it may be proposed.
    term: int | None
    begun: float
    deadline: float
    warned: bool = False

    @property
    def name(self) -> str:
        """The type of the first command, for messages."""
        return self.commands[0].type

    @property
    def count(self) -> int:
        """How many commands it holds."""
        return len(self.commands)

    @property
    def requests(self) -> Sequence[str]:
        """The ids of the calls that its commands came with, the first few."""
        found = dict.fromkeys(each.request for each in self.commands if each.request)
        return [*islice(found, _MOST_REQUESTS)]

    @property
    def spans(self) -> Sequence[str]:
        """The spans in which its traced commands were sent."""
        return [*dict.fromkeys([each.span for each in self.commands if each.span])]

    @property
    def trace(self) -> str:
        """The id of the first trace that it belongs to, if any."""
        return next((trace_of(each.span) for each in self.commands if each.span), "")

    def fail(self, error: Exception) -> None:
        """End without an outcome, unless it has ended."""
        if not self.future.done():
            self.future.set_exception(error)


def size_of(commands: Sequence[LoggedCommand]) -> int:
    """Return about how many bytes commands take while they wait."""
    return sum([len(command.payload) for command in commands]) + _COMMAND_BYTES * len(commands)


@dataclass(slots=True, eq=False)
class Flight:
    """One entry in flight, the results of its writes, and the times of its stages."""

    index: int
    term: int
    writes: Sequence[Write]
    #: Of each write; they count once the entry is stored.
    outcomes: Sequence[Outcomes]
    size: int
    proposed_at: float
    #: How long their evaluation took; the last one took most of it where it is long.
    evaluated_s: float
    synced_at: float | None = None
    committed_at: float | None = None
    #: Called with the fate of an entry without writes.
    ended: Callable[[Fate], None] | None = None

    @property
    def stage(self) -> Stage:
        """Where the entry is."""
        if self.committed_at is not None:
            return Stage.APPLY
        return Stage.APPEND if self.synced_at is None else Stage.REPLICATE

    def stages(self, now: float) -> Mapping[Stage, tuple[float, float]]:
        """Return the beginning and the end of each stage of an entry that ends now."""
        committed = self.committed_at if self.committed_at is not None else now
        synced = min(self.synced_at if self.synced_at is not None else committed, committed)
        return {
            Stage.APPEND: (self.proposed_at, synced),
            Stage.REPLICATE: (synced, committed),
            Stage.APPLY: (committed, now),
        }

    def spent(self, write: Write, now: float) -> Mapping[Stage, float]:
        """Return how long each stage of a write took that ends now."""
        stages = {Stage.QUEUE: (write.begun, self.proposed_at), **self.stages(now)}
        return {stage: end - begin for stage, (begin, end) in stages.items()}


class Flights:
    """The proposals of this replica that are not settled yet, in the order in which they were made.

    Each is settled exactly once.
    """

    def __init__(
        self,
        shard: ShardId,
        clock: Callable[[], float],
        slow_s: float,
        ended: Callable[[Write], None],
        *,
        patience_s: float,
        max_entries: int,
        max_bytes: int,
        recorder: Recorder | None = None,
        traces: Traces | None = None,
    ) -> None:
        self._shard: Final = shard
        self._recorder: Final = recorder
        self._traces: Final = traces
        #: Replicas that hear nothing from their leader for this long elect another one.
        self._patience_s: Final = patience_s
        self._clock: Final = clock
        self._slow_s: Final = slow_s
        self._ended: Final = ended
        self._max_entries: Final = max_entries
        self._max_bytes: Final = max_bytes
        #: By index and term: entries of several terms may be proposed at one index.
        self._flights: Final[dict[tuple[int, int], Flight]] = {}
        #: How many of them are not committed, and the bytes of those.
        self._uncommitted = 0
        self._uncommitted_bytes = 0

    def __len__(self) -> int:
        return len(self._flights)

    def __iter__(self) -> Iterator[Flight]:
        return iter(self._flights.values())

    @property
    def idle(self) -> bool:
        """Whether everything that was proposed is committed."""
        return not self._uncommitted

    @property
    def full(self) -> bool:
        """Whether so much waits for a majority that more of it would only be in doubt."""
        return self._uncommitted >= self._max_entries or self._uncommitted_bytes >= self._max_bytes

    def begin(
        self,
        position: Proposed,
        writes: Sequence[Write],
        outcomes: Sequence[Outcomes],
        size: int,
        evaluated_s: float = 0.0,
    ) -> None:
        """Follow an entry of `size` bytes that was proposed."""
        index, term, now = position.index, position.term, self._clock()
        self._flights[index, term] = Flight(index, term, writes, outcomes, size, now, evaluated_s)
        self._uncommitted += 1
        self._uncommitted_bytes += size

    def follow(self, position: Proposed, ended: Callable[[Fate], None]) -> None:
        """Follow an entry without writes, for whose commit no other proposal waits.

        `ended` is called with its fate, and must not raise.
        """
        index, term, now = position.index, position.term, self._clock()
        self._flights[index, term] = Flight(index, term, (), (), 0, now, 0.0, now, now, ended)

    def advance(self, synced: int, committed: int) -> bool:
        """Record the log's progress; return whether an entry was committed by that."""
        if not self._uncommitted:
            return False
        now, advanced = self._clock(), False
        for flight in self._flights.values():
            if flight.committed_at is not None:
                continue
            if flight.synced_at is None and flight.index <= synced:
                flight.synced_at = now
            if flight.index <= committed:
                flight.committed_at = now
                self._landed(flight)
                advanced = True
            elif flight.synced_at is None:
                break
        return advanced

    def applied(self, index: int, term: int) -> None:
        """Settle the entry at `index`, which is applied and stored, and those that never will be.

        Terms never decrease along a log.
        """
        if not self._flights:
            return
        flight = self._flights.get((index, term))
        if flight is not None:
            self._settle(flight, _APPLIED)
        if self._flights:
            self._settle_all(lambda each: each.index == index or each.term < term, Fate.DISCARDED)

    def overtaken(self, index: int) -> None:
        """Settle the proposals up to `index`: a snapshot replaced their entries."""
        self._settle_all(lambda each: each.index <= index, Fate.UNKNOWN)

    def abandon(self) -> None:
        """Settle all proposals: this replica stops."""
        self._settle_all(lambda each: True, Fate.UNKNOWN)

    def _settle_all(self, those: Callable[[Flight], bool], fate: Fate) -> None:
        for flight in list(filter(those, self._flights.values())):
            self._settle(flight, fate)

    def _settle(self, flight: Flight, fate: Fate) -> None:
        """Answer the writes of an entry: each once, however it ended."""
        del self._flights[flight.index, flight.term]
        if flight.ended is not None:
            flight.ended(fate)
            return
        if flight.committed_at is None:
            self._landed(flight)
        if fate is _APPLIED:
            self._answer(flight)
        else:
            self._fail(flight, fate)
        if self._traces is not None:
            _trace(self._traces, self._shard, flight, fate, self._clock())

    def _fail(self, flight: Flight, fate: Fate) -> None:
        for write in flight.writes:
            self._ended(write)
            if fate is Fate.DISCARDED:
                write.fail(self._discarded(flight, write))
            else:
                write.fail(
                    OutcomeUnknownError(
                        f"{write.name} was logged at index {flight.index} of shard"
                        f" {self._shard}, and this replica stopped or was overtaken by a snapshot"
                        " before it applied it: read whether it happened, or repeat it with its"
                        " session"
                    )
                )

    def _discarded(self, flight: Flight, write: Write) -> Exception:
        if flight.evaluated_s >= self._patience_s and write is flight.writes[-1]:
            return Rejected(
                TOO_SLOW,
                f"{write.name} was not carried out: its evaluation took {flight.evaluated_s:.1f} s,"
                f" and shard {self._shard} elected another leader meanwhile, as it would again; do"
                " less in one command, or repair its handler",
            )
        return NotProposedError(
            f"shard {self._shard} lost its leader before {write.name} was committed; another"
            " entry took its place: retry"
        )

    def _landed(self, flight: Flight) -> None:
        self._uncommitted -= 1
        self._uncommitted_bytes -= flight.size

    def _answer(self, flight: Flight) -> None:
        now, ended = self._clock(), self._ended
        slow_before = now - self._slow_s
        slow: list[Write] = []
        for write, outcomes in zip(flight.writes, flight.outcomes, strict=True):
            ended(write)
            if not write.future.done():
                write.future.set_result(outcomes)
            if write.begun < slow_before:
                self._record(flight, write, now)
                if not write.warned:
                    slow.append(write)
        if slow:
            spent = flight.spent(slow[0], now)
            warn_slow(self._shard, slow, max(spent, key=lambda stage: spent[stage]), now)

    def _record(self, flight: Flight, write: Write, now: float) -> None:
        if self._recorder is None:
            return
        spent = flight.spent(write, now)
        self._recorder.event(
            "slow write",
            shard=str(self._shard),
            index=flight.index,
            command=write.name,
            commands=write.count,
            ms=round((now - write.begun) * 1_000),
            **{f"{stage.value} ms": round(each * 1_000) for stage, each in spent.items()},
            requests=write.requests or None,
            trace=write.trace,
        )


def _trace(traces: Traces, shard: ShardId, flight: Flight, fate: Fate, now: float) -> None:
    """Make the spans of an entry that has ended, below its first call and linked to the others.

    Each traced call has a span of its own for the time in the queue.
    """
    parents = {span: write for write in flight.writes for span in write.spans}
    if not parents:
        return
    to_wall = time.time() - now
    entry = traces.begin(
        "entry",
        parent=next(iter(parents)),
        links=parents,
        at_s=flight.proposed_at + to_wall,
        shard=str(shard),
        index=flight.index,
        commands=sum([write.count for write in flight.writes]),
    )
    for parent, write in parents.items():
        queue = traces.begin(
            Stage.QUEUE.value,
            parent=parent,
            links=[entry.name],
            at_s=write.begun + to_wall,
            command=write.name,
        )
        queue.end(flight.proposed_at + to_wall)
    for stage, (begun, ended) in flight.stages(now).items():
        if stage is not Stage.APPLY or flight.committed_at is not None:
            traces.begin(stage.value, parent=entry.name, at_s=begun + to_wall).end(ended + to_wall)
    entry.end(now + to_wall, failure="" if fate is Fate.APPLIED else fate.name)


def warn_slow(shard: ShardId, writes: Sequence[Write], stage: Stage, now: float) -> None:
    """Log once that writes are slow, and in which stage."""
    first, others = writes[0], len(writes) - 1
    for write in writes:
        write.warned = True
    ms = int((now - first.begun) * 1_000)
    trace = next(filter(None, [write.trace for write in writes]), "")
    _log.warning(
        "write %s on shard %s takes %d ms, most of it in stage %s%s",
        first.name,
        shard,
        ms,
        stage.value,
        f", and {others} others with it" if others else "",
        extra={
            "shard": str(shard),
            "command": first.name,
            "stage": stage.value,
            "ms": ms,
            "others": others,
            "requests": ",".join(first.requests),
            **({"trace": trace} if trace else {}),
        },
    )
