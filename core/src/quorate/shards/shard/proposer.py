"""The write path of a replica: from a caller's commands to their outcomes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final

from quorate.apply.applier import Applier
from quorate.apply.entries import MAX_COMMANDS, LoggedCommand
from quorate.apply.entry_builder import frozen_outcome
from quorate.apply.evaluator import Evaluation, Evaluator
from quorate.apply.outcomes import StoredEntry
from quorate.consensus.driver import Driver
from quorate.consensus.inherited import LEADER
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import EntryTooLargeError, NotLeaderError
from quorate.consensus.replica import Replica
from quorate.observe.recorder import PROPOSED
from quorate.plugin import Invalid
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import (
    ExhaustedError,
    FencedError,
    NoLeaderError,
    NotProposedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    UnansweredInTimeError,
)
from quorate.shards.shard.batcher import Batcher
from quorate.shards.shard.capacity import Admission
from quorate.shards.shard.clock import LogicalClock
from quorate.shards.shard.context import ReplicaContext
from quorate.shards.shard.writes import (
    Flights,
    Outcomes,
    Stage,
    Write,
    WriteCounters,
    size_of,
    warn_slow,
)
from quorate.shards.timing import Alarm

_log = logging.getLogger(__name__)

#: The stages in which another leader may keep or replace a write.
_DOUBTFUL: Final = (Stage.APPEND, Stage.REPLICATE)
#: How many heartbeats of another leader to wait for before logged writes are given up.
_HEARTBEATS: Final = 2
#: Between two log lines about the same wrong clocks.
_WARN_AGAIN_S: Final = 600.0


class Proposer:
    """Ends every write once: with its outcomes, as surely not proposed, or as unknown.

    A write is not proposed if it left the queue without an entry, or another entry has replaced
    its own; without an answer it is otherwise unknown.
    """

    def __init__(
        self,
        shard: ShardId,
        me: Peer,
        driver: Driver,
        applier: Applier,
        evaluator: Evaluator,
        context: ReplicaContext,
    ) -> None:
        loop, settings = context.loop, context.settings
        self._recorder: Final = context.recorder
        self._traces: Final = context.traces
        self.counters: Final = WriteCounters()
        self._shard: Final = shard
        self._recorded_as: Final = str(shard)
        self._me: Final = me
        self._driver: Final = driver
        self._replica: Final = driver.replica
        self._applier: Final = applier
        self._evaluator: Final = evaluator
        #: The term in which commands are evaluated: its first entry is stored.
        self._evaluates_in: int | None = None
        self._logical: Final = LogicalClock(
            me.node,
            clock=loop.time,
            wall_ms=context.wall_ms,
            voters=lambda: voter_clocks(driver.replica, context.node_clock),
        )
        self._loop: Final = loop
        # The loop's own may count whole milliseconds, which are too coarse for spans.
        self._clock: Final = loop.time if context.traces is None else time.monotonic
        self._space: Final = context.space
        self._timeout_s: Final = settings.write_timeout_s
        self._slow_s: Final = settings.slow_write_s
        self._entry_bytes: Final = settings.limits.entry_bytes
        self.admission: Final = Admission(
            f"the queue of shard {shard}",
            max_bytes=settings.queue_bytes,
            max_count=settings.queue_commands,
        )
        self.flights: Final = Flights(
            shard,
            self._clock,
            settings.slow_write_s,
            self._ended,
            patience_s=settings.timing.election_min_s,
            max_entries=settings.window_entries,
            max_bytes=settings.window_bytes,
            recorder=context.recorder,
            traces=context.traces,
        )
        self._batcher: Final = Batcher(
            loop,
            self._propose,
            self,
            linger_s=settings.linger_s,
            behind_s=settings.behind_s,
            enough_bytes=settings.enough_bytes,
            batch_bytes=min(settings.batch_bytes, self._entry_bytes),
        )
        self._patience: Final = Alarm(loop, self._lose_patience)
        #: The nodes whose clocks were wrong when that was logged last, and when it is logged again.
        self._warned_of: frozenset[str] = frozenset()
        self._warn_again_at = float("-inf")
        self._led_term: int | None = None
        self._timing: Final = settings.timing
        #: When to give up what this replica logged as a former leader.
        self._doubted_from = float("inf")
        #: Why writes are refused, and when to retry.
        self._held: tuple[str, float] | None = None
        self._closed: Exception | None = None

    @property
    def queued(self) -> int:
        """The number of writes in the queue."""
        return len(self._batcher)

    @property
    def in_flight(self) -> int:
        """The number of proposed entries without an outcome."""
        return len(self.flights)

    @property
    def idle(self) -> bool:
        """Whether every proposed entry is committed."""
        return self.flights.idle

    @property
    def full(self) -> bool:
        """Whether commands cannot be evaluated now, or too many entries are uncommitted."""
        return self.flights.full or self._evaluator.ingests or not self._evaluates()

    @property
    def leads(self) -> bool:
        """Whether the replica leads."""
        return self._replica.role == LEADER and self._closed is None

    def propose(
        self,
        commands: Sequence[LoggedCommand],
        *,
        term: int | None = None,
        timeout_s: float | None = None,
    ) -> asyncio.Future[Outcomes]:
        """Replicate commands in one entry, and return their outcomes.

        Raises `NoLeaderError`, `FencedError`, `ExhaustedError` and `Invalid` at once. The future
        ends with the outcomes, with `NotProposedError` when nothing of it is in the log or ever
        counts, or with `OutcomeUnknownError`, also at a deadline.
        """
        if not self.leads:
            raise self._no_leader()
        if term is not None and term != self._replica.term:
            raise FencedError(self._shard, term=self._replica.term, made_in=term)
        if self._applier.frozen is not None and not self._evaluator.of_frozen.issuperset(
            command.type for command in commands
        ):
            # Nothing is logged that would end unanswered with the replica.
            refused = self._loop.create_future()
            refused.set_result(
                tuple(frozen_outcome(self._shard, self._applier.revision) for _ in commands)
            )
            return refused
        now, size, count = self._clock(), size_of(commands), len(commands)
        try:
            if self._held is not None:
                reason, until = self._held
                raise ExhaustedError(reason, 1 + int(max(0.0, until - now) * 1_000))
            shortage = self._shortage()
            if shortage is not None:
                raise shortage
            if not count:
                raise Invalid("commands", "must not be empty")
            if count > MAX_COMMANDS:
                why = f"{count} of them; at most {MAX_COMMANDS} allowed in one call"
                raise Invalid("commands", why)
            if size > self._entry_bytes:
                why = f"{size} bytes; at most {self._entry_bytes} allowed; send less at once"
                raise Invalid("commands", why)
            self.admission.admit(size, count)
        except ExhaustedError:
            self.counters.refused += count
            raise
        deadline = now + (self._timeout_s if timeout_s is None else timeout_s)
        write = Write(self._loop.create_future(), commands, size, term, now, deadline)
        due = min(deadline, now + self._slow_s)
        if due < self._patience.due:
            self._patience.by(due)
        self._batcher.put(write)
        return write.future

    def look(self) -> None:
        """Follow the log's progress, and a change of leader or term."""
        replica = self._replica
        led = replica.term if replica.role == LEADER else None
        if led != self._led_term:
            lost, self._led_term = self._led_term, led
            # The queue was for the former leader, and the effects of entries in flight must not
            # be visible to later commands.
            self._refuse(self._batcher.take())
            self._evaluates_in = None
            self._evaluator.begin()
            if led is not None:
                self._logical.elected(self._applier.now_ms)
                self._doubted_from = float("inf")
            else:
                self._doubted_from = self._clock() + self._doubt_after_s(lost)
                self._patience.by(self._doubted_from)
        if self.flights.advance(replica.log.synced_index, replica.commit):
            self._batcher.committed()

    def _doubt_after_s(self, lost: int | None) -> float:
        """Return how long a new leader may take to settle the logged entries."""
        if self._replica.term == lost:
            # No majority answered for an election timeout: a new leader is known by now, or by its
            # next heartbeats if this node itself was blocked.
            return _HEARTBEATS * self._timing.heartbeat_s
        return self._timing.election_max_s

    def stored(self, entries: Sequence[StoredEntry]) -> None:
        """Answer the writes of stored entries."""
        self._held = None
        closed = (
            self.flights.full or self._evaluator.ingests or self._evaluates_in != self._replica.term
        )
        self._evaluator.stored(self._applier.applied)
        for entry in entries:
            self.flights.applied(entry.index, entry.term)
        if closed and not self.full:
            # The first entry of the term is stored, files were put in place, or entries of an
            # earlier term, which will never be committed, were given up.
            self._batcher.committed()

    def reopened(self) -> None:
        """Continue with other rows after the install of a snapshot."""
        self._evaluates_in = None
        self._evaluator.begin()

    def hold(self, reason: str, until: float) -> None:
        """Refuse writes until entries can be applied again, at least until `until`."""
        self._held = reason, until

    def end(self, closed: Exception) -> None:
        """End all writes: the queue as not proposed, those in flight as unknown."""
        self._closed = closed
        self._patience.stop()
        for write in self._batcher.take():
            self._ended(write)
            write.fail(
                NotProposedError(f"{write.name} was not proposed: {closed}; try another node")
            )
        self.flights.abandon()

    # Refusals.

    def _shortage(self) -> ExhaustedError | None:
        """Return why the log must not grow now, if so."""
        space = self._space
        if space is None or not space.short:
            return None
        return ExhaustedError(f"shard {self._shard}: {space.shortage}", space.retry_after_ms)

    def _no_leader(self) -> NoLeaderError:
        leader = self._replica.leader
        return NoLeaderError(self._shard, None if leader == self._me else leader)

    # From the queue into the log.

    def _evaluates(self) -> bool:
        """Whether handlers may run: the rows have all committed entries of earlier terms."""
        replica = self._replica
        if replica.role != LEADER:
            return False
        if self._evaluates_in != replica.term:
            first = replica.noop_index
            if first is None or self._applier.applied < first:
                return False
            self._evaluator.begin()
            self._evaluates_in = replica.term
        return True

    def _propose(self, writes: Sequence[Write]) -> Sequence[Write]:
        """Log an entry with the first of these writes; return the rest for the next one."""
        ready = [write for write in writes if self._is_ready(write)]
        if not ready:
            return ()
        shortage = self._shortage()
        if shortage is not None:
            # It was admitted while there was space.
            self._end_all(ready, shortage)
            return ()
        began = self._clock()
        evaluation = self._evaluate(ready)
        if evaluation is None:
            why = f"the rows of shard {self._shard} cannot be read here: try another node"
            self._end_all(ready, NotProposedError(f"{ready[0].name} was not proposed: {why}"))
            return ()
        taken = len(evaluation.outcomes)
        self._log(evaluation, ready[:taken], self._clock() - began)
        left = ready[taken:]
        if left:
            # A turn may end the leadership, and these are not in the queue.
            self._driver.wake()
        else:
            self._driver.turn()
        return left

    def _evaluate(self, writes: Sequence[Write]) -> Evaluation | None:
        """Evaluate the first of these writes; None if this replica has just stopped."""
        checked_index, checksum = self._applier.checksum_at()
        return self._driver.ask(
            lambda: self._evaluator.evaluate(
                self._replica.log.last.index + 1,
                [write.commands for write in writes],
                self.now_ms(),
                checked_index=checked_index,
                checksum=checksum,
            )
        )

    def _log(self, evaluation: Evaluation, writes: Sequence[Write], took_s: float) -> None:
        payload = evaluation.payload
        try:
            proposed = self._driver.ask(partial(self._replica.propose, payload))
        except NotLeaderError:
            self._refuse(writes)
            return
        except EntryTooLargeError as error:
            self._end_all(writes, Invalid("commands", f"{error}; send less at once"))
            return
        if proposed is None:
            # The log failed: its content is in doubt.
            why = f"the log of shard {self._shard}, which failed: read on another node"
            what = f"{writes[0].name} was handed to {why} whether it happened"
            self._end_all(writes, OutcomeUnknownError(what))
            return
        self._evaluator.logged(evaluation)
        self.counters.entry_commands.observe(sum([write.count for write in writes]))
        self.counters.entry_bytes.observe(len(payload))
        self.flights.begin(proposed, writes, evaluation.outcomes, len(payload), took_s)
        if self._recorder is not None:
            self._recorder.entries(
                PROPOSED,
                self._recorded_as,
                index=proposed.index,
                term=proposed.term,
                count=1,
                size=len(payload),
                text=_listed(writes),
            )

    def _end_all(self, writes: Sequence[Write], error: Exception) -> None:
        for write in writes:
            self._ended(write)
            write.fail(error)

    def _is_ready(self, write: Write) -> bool:
        """Whether a write may be proposed now; otherwise end it."""
        if write.deadline <= self._clock():
            self._expire_queued(write)
        if write.term is not None and write.term != self._replica.term:
            write.fail(FencedError(self._shard, term=self._replica.term, made_in=write.term))
        if write.future.done():
            self._ended(write)
            return False
        return True

    def _refuse(self, writes: Sequence[Write]) -> None:
        if writes:
            self._end_all(writes, self._no_leader())

    def _ended(self, write: Write) -> None:
        self.admission.release(write.size, write.count)
        trace = "" if self._traces is None else write.trace
        self.counters.durations.observe(self._clock() - write.begun, trace)

    def now_ms(self) -> int:
        """Return the logical time of a command proposed now."""
        now_ms = self._logical.now_ms(self._applier.now_ms)
        if self._logical.strays:
            self._warn_of_strays()
        return now_ms

    @property
    def clock_alarm(self) -> str | None:
        """Which clocks to correct, as of the last use of logical time."""
        return self._logical.alarm

    def _warn_of_strays(self) -> None:
        """Log wrong clocks once, and again after a while: how far they are away never stays."""
        now, strays = self._clock(), frozenset(self._logical.strays)
        if strays == self._warned_of and now < self._warn_again_at:
            return
        self._warned_of, self._warn_again_at = strays, now + _WARN_AGAIN_S
        shard = str(self._shard)
        _log.warning("shard %s: %s", shard, self._logical.alarm, extra={"shard": shard})

    # Deadlines and slow writes.

    def _waiting(self) -> Iterator[tuple[Stage, Write]]:
        for flight in self.flights:
            stage = flight.stage
            for write in flight.writes:
                yield stage, write
        for write in self._batcher:
            yield Stage.QUEUE, write

    def _lose_patience(self, now: float) -> float | None:
        due = float("inf")
        slow: dict[Stage, list[Write]] = {}
        for stage, write in self._waiting():
            if write.future.done():
                continue
            if write.deadline <= now:
                self._expire(write, stage)
                continue
            if self._doubted_from <= now and stage in _DOUBTFUL:
                write.fail(
                    OutcomeUnknownError(
                        f"{write.name} was logged on shard {self._shard}, whose leader then lost"
                        " its majority: it may still be carried out; read whether it was, or"
                        " repeat it with its session"
                    )
                )
                continue
            if not write.warned and write.begun + self._slow_s <= now:
                slow.setdefault(stage, []).append(write)
                write.warned = True
            due = min(due, write.deadline)
            if self._doubted_from > now:
                due = min(due, self._doubted_from)
            if not write.warned:
                due = min(due, write.begun + self._slow_s)
        for write in self._batcher.take_ended():
            self._ended(write)
        for stage, writes in slow.items():
            warn_slow(self._shard, writes, stage, now)
        return due if due < float("inf") else None

    def _expire(self, write: Write, stage: Stage) -> None:
        if stage is Stage.QUEUE:
            self._expire_queued(write)
            return
        write.fail(
            UnansweredInTimeError(
                f"{write.name} on shard {self._shard} was not answered in time, in stage"
                f" {stage.value}: it may still be carried out; read whether it was, or repeat it"
                " with its session"
            )
        )

    def _expire_queued(self, write: Write) -> None:
        write.fail(
            NotProposedInTimeError(
                f"{write.name} waited in the queue of shard {self._shard} until its deadline, and"
                " was not proposed: try again"
            )
        )


def _listed(writes: Sequence[Write]) -> str:
    """Return the types of the commands of an entry in their order, as `a*3,b`."""
    types = [command.type for write in writes for command in write.commands]
    if types.count(types[0]) == len(types):
        return types[0] if len(types) == 1 else f"{types[0]}*{len(types)}"
    runs = [(name, len(list(run))) for name, run in groupby(types)]
    return ",".join(name if count == 1 else f"{name}*{count}" for name, count in runs)


def voter_clocks(
    replica: Replica, node_clock: Callable[[str], int | None] | None
) -> Mapping[str, int | None]:
    """Return the known clocks of the other voters."""
    configuration = replica.log.configuration
    if node_clock is None or configuration is None:
        return {}
    return {peer.node: node_clock(peer.node) for peer in configuration.voters if peer != replica.me}
