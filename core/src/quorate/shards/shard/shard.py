"""A replica of a shard on this node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from quorate.apply.deadlines import Deadline, deadline_of
from quorate.apply.layers import Rows
from quorate.apply.placement import KEY, Placement
from quorate.apply.program import Program
from quorate.consensus.driver import Alarms, Driver
from quorate.consensus.journal import Position
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import COMMAND, Append, Entry, Message, Peer
from quorate.consensus.reads import ReadOutcome
from quorate.consensus.status import ReplicaStatus
from quorate.consensus.timing import Timing
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import UnreadableError
from quorate.shards.shard.applying import ApplyLoop
from quorate.shards.shard.callbacks import StoreReaders, Subscribers
from quorate.shards.shard.context import ReplicaContext, ShardHooks
from quorate.shards.shard.log_keeper import LogKeeper, TailJournal
from quorate.shards.shard.member_change import MemberChanges
from quorate.shards.shard.proposer import Proposer
from quorate.shards.shard.reads import ShardReads
from quorate.shards.shard.removal import Membership, RemovalWatch, RemovedError
from quorate.shards.shard.role_record import RoleRecord
from quorate.shards.shard.settings import ShardSettings
from quorate.shards.timing import Waits
from quorate.storage.data.shard_data import ShardData
from quorate.storage.families import SLOTS

__all__ = ["RemovedError", "Shard", "ShardClosedError", "ShardSettings"]

_log = logging.getLogger(__name__)

#: Heartbeats before the first election of a new shard: the other replicas are opened within one.
_FIRST_HEARTBEATS: Final = 1.5
#: Between the elections of shards that start together: an election takes some milliseconds of all
#: nodes, and they must not run into each other's timeouts.
_APART_S: Final = 0.005
#: The longest time for which entries are applied again when a shard opens: heartbeats wait.
_AGAIN_S: Final = 0.2


class ShardClosedError(UnreadableError):
    """The replica has stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStatus:
    """The state of a shard's replica on this node."""

    shard: ShardId
    replica: ReplicaStatus
    revision: int
    now_ms: int
    generation: int
    queued: int
    in_flight: int
    #: The commands that were let in and have not ended, and their bytes.
    admitted: int
    admitted_bytes: int
    log_bytes: int
    stopped: str | None


class Shard:
    """Replicates, applies and reads one shard on this node; everything is called on the loop.

    `program` is that of its group, which the shards of a node may share.
    """

    def __init__(
        self,
        shard: ShardId,
        me: Peer,
        data: ShardData,
        journal: TailJournal,
        context: ReplicaContext,
        hooks: ShardHooks,
        *,
        rng: Random,
        epoch: int = 0,
        program: Program,
    ) -> None:
        self.id: Final = shard
        #: The number of recoveries; replicas of another history are strangers.
        self.epoch: Final = epoch
        self.me: Final = me
        self.data: Final = data
        self.settings: Final = context.settings
        settings, loop, recorder = self.settings, context.loop, context.recorder
        self.applier: Final = context.applier(shard, data, program)
        self.evaluator: Final = context.evaluator(hooks, shard, data, program)
        self._context: Final = context
        self._hooks: Final = hooks
        self._recorder: Final = recorder
        #: How many times a leader was found here, once per term.
        self.leaders = 0
        #: Messages received from peers.
        self.received = 0
        self._led = 0
        #: Why this replica stopped for good.
        self.stopped: Exception | None = None
        self._journal: Final = journal
        self._name: Final = replica_name(shard, epoch)
        self._loop: Final = loop
        self.replica: Final = context.replica(me, journal, data, rng)
        self.replica.reluctant = lambda: self.shortage is not None
        self._record: Final = (
            RoleRecord(recorder, shard, self.replica, applied=data.applied) if recorder else None
        )
        alarms = context.alarms or Alarms(loop)
        self._driver: Final = Driver(self.replica, _Host(self), loop, alarms)
        if context.liveness is not None:
            self.replica.rests_by(context.liveness, self._driver.call)
        self._proposer: Final = Proposer(
            shard, me, self._driver, self.applier, self.evaluator, context
        )
        self._reads: Final = ShardReads(
            shard, self._driver, self.applier, loop, settings, lambda: self.leaderless_from
        )
        self._keeper: Final = LogKeeper(
            data, journal, loop, settings.log, context.sync_turns, cut=self._cut, failed=self.fail
        )
        self._removal: Final = RemovalWatch(
            shard, self.replica, loop, hooks.ask_members, alarms, removed=self.fail
        )
        self._members: Final = MemberChanges(
            shard,
            loop,
            self._proposer.flights,
            lambda wanted: self._driver.call(partial(self.replica.change_membership, wanted)),
            settings.write_timeout_s,
        )
        driver, proposer, keeper = self._driver, self._proposer, self._keeper
        self._applying: Final = ApplyLoop(
            self, context, hooks, driver, proposer, keeper, self._record, self._told_applied
        )
        self._subscribers: Final = Subscribers(shard, loop, lambda: data.applied)
        self._readers: Final = StoreReaders(loop)
        self._log_waits: Final = Waits(loop)
        #: Writes: see `Proposer.propose`; the logical time of a command proposed now; counters.
        self.propose: Final = self._proposer.propose
        self.now_ms: Final = self._proposer.now_ms
        self.counters: Final = self._proposer.counters
        #: Reads of the applied state: see `Applier`.
        self.owner: Final = self.applier.owner
        self.store_reader: Final = self.applier.reader
        self.due: Final = self.applier.due
        self.next_due: Final = self.applier.next_due
        #: When the rows may be read: see `ShardReads`.
        self.read_barrier: Final = self._reads.read_barrier
        self.wait_for: Final = self._reads.wait_for
        self.opened: Final = self._reads.opened
        self.staleness: Final = self._reads.staleness
        #: See `MemberChanges`, `Subscribers` and `StoreReaders`.
        self.change_membership: Final = self._members.change
        self.subscribe: Final = self._subscribers.subscribe
        self.on_replace: Final = self._readers.add
        #: Retains the entries above an index until it is released, or `broken` by a long log.
        self.hold_log: Final = self._keeper.hold
        #: Makes durable soon what was applied until now: by itself it is after minutes.
        self.make_durable: Final = self._keeper.flush_in_turn
        #: The newest term with a known leader.
        self._led_term = 0
        #: The role, term and leader of the last turn.
        self._standing: tuple[object, ...] = ()
        self._started_at = loop.time()
        self._ended = False

    def _cut(self, index: int) -> None:
        self._driver.call(partial(self.replica.compact_to, index))

    # Life.

    def apply_again(self) -> None:
        """Apply what had been applied before a crash, unless it takes long: call it once opened."""
        self._driver.apply_again(_AGAIN_S)

    def start(self, first: Configuration | None = None, *, before: int = 0) -> None:
        """Start; `first` is the configuration of a new shard.

        `before` shards of the node have just started, and stand for election first.
        """

        def act() -> None:
            if first is not None and self.replica.log.configuration is None:
                patience_s = _first_patience_s(self.id, self.me, first, self.settings.timing)
                self.replica.bootstrap(first, patience_s)
            self.replica.put_off(before * _APART_S)

        self._started_at = self._loop.time()
        self._applying.may_yield = True
        # It may have ended between the cut and the copies.
        self._applying.fork()
        self._driver.call(act)
        self._removal.start()

    def stop(self) -> None:
        """Stop, and end every proposal, read and subscription."""
        self._end(None)

    def fail(self, error: Exception) -> None:
        """Stop for good after an error."""
        if self._ended:
            return
        self.stopped = error
        if self._recorder is not None:
            self._recorder.event(
                "replica stopped", shard=str(self.id), index=self.applied, why=str(error)
            )
        # A removal is not an error; a removed node logs it in its last line.
        _log.log(
            logging.INFO if isinstance(error, RemovedError) else logging.ERROR,
            "shard %s stopped at index %d: %s",
            self.id,
            self.applied,
            error,
            extra={"shard": str(self.id), "index": self.applied},
        )
        self._end(error)
        self._hooks.stopped(self, error)

    async def close(self) -> None:
        """Stop, wait for tasks off the loop, and close the database."""
        self.stop()
        if self._applying.forking is not None:
            await asyncio.wait([self._applying.forking])
        if self._keeper.flushing is not None:
            await asyncio.wait([self._keeper.flushing])
        await self._loop.run_in_executor(None, self.data.close)

    # For streams and syncs.

    @property
    def log_written(self) -> int:
        """The number of its newest write to the node's log."""
        return self._journal.written

    def receive(self, message: Message, *, alone: bool = False) -> None:
        """Process a message of a peer, at once if it came alone.

        While the disk is nearly full, commands are dropped as if the network had lost them: the
        node's log must not fail. Reads that wait for them are better answered by another replica.
        """
        self.received += 1
        body = message.body
        if isinstance(body, Append) and self.shortage and _has_commands(body):
            self._refuse_behind()
            return
        self._driver.tell(self.replica.receive, message, alone=alone)

    def remade(self, node: str) -> None:
        """Record that the bulk stream to a node was replaced."""
        self._driver.call(partial(self.replica.bulk_remade, node))

    def synced(self, sequence: int) -> None:
        """Record that log writes up to `sequence` are durable."""
        if not self._driver.tell(self.replica.synced, sequence, alone=True) and self.leads:
            # The stage of its writes has changed all the same.
            self._proposer.look()
        self._log_waits.reached(sequence)

    # Reads.

    def deadline(self, timer: str, key: bytes) -> Deadline | None:
        """Return the deadline of a key, if any."""
        return deadline_of(self.data, timer, key)

    @property
    def published(self) -> int:
        """The number of the newest publication whose files are in place."""
        return self.applier.published.number

    @property
    def is_publishing(self) -> bool:
        """Whether a publication is under way, for which reads of some families wait."""
        return bool(self.applier.published.closed)

    async def catch_up(self, timeout_s: float) -> bool:
        """Return whether the copies here have all writes answered before this call."""
        catch_up = self._hooks.catch_up
        return catch_up is not None and await catch_up(self, timeout_s)

    def entries(self, after: int, max_bytes: int) -> list[Entry]:
        """Return applied entries that follow an index: none, or at most `max_bytes` but for one.

        Raises `LookupError` when the log begins after it.
        """
        first = self._journal.sentinel.index + 1
        if after + 1 < first:
            raise LookupError(f"the log of shard {self.id} begins at index {first} here")
        if after >= self.applied:
            return []
        return self._journal.read(after + 1, self.applied, max_bytes)

    # Leadership and members.

    @property
    def own_rows(self) -> Rows:
        """The rows, without those of slots that the shard does not own."""
        return self.applier.own_rows

    @property
    def leader(self) -> Peer | None:
        """The leader, as far as it is known here."""
        return self.replica.leader

    @property
    def leaderless_from(self) -> float:
        """When to stop waiting for a leader; infinite while one is known.

        An election would be over by then, if enough nodes answered.
        """
        if self.replica.leader is not None:
            return float("inf")
        known_at = max(self._started_at, self.replica.leader_seen_at, self.replica.agreed[0])
        return known_at + max(self.settings.leaderless_s, self.settings.timing.election_max_s)

    @property
    def majority_at(self) -> float:
        """When a leader was last known to have a majority; not before this replica started."""
        return max(self._started_at, self.replica.agreed[0])

    @property
    def resting(self) -> bool:
        """Whether nothing has happened to the shard for a while, and nothing is under way."""
        return self.replica.resting

    @property
    def leads(self) -> bool:
        """Whether this replica leads."""
        return self._proposer.leads

    @property
    def done(self) -> int:
        """Commands and reads of this replica, since it began."""
        return self._reads.total + int(self.counters.entry_commands.total)

    @property
    def placement(self) -> Placement | None:
        """The node that an operator handed the shard to, if any."""
        return Placement.decode(self.data.get(SLOTS, KEY))

    @property
    def term(self) -> int:
        """The newest term known here."""
        return self.replica.term

    @property
    def applied(self) -> int:
        """The index of the newest entry applied here."""
        return self.data.applied

    @property
    def revision(self) -> int:
        """The newest revision here: after every command of the last entry."""
        return self.applier.revision

    @property
    def configuration(self) -> Configuration | None:
        """The newest configuration in the log."""
        return self.replica.log.configuration

    @property
    def membership(self) -> Membership | None:
        """The committed configuration, for replicas that ask for it."""
        index, configuration = self.replica.log.configuration_at(self.replica.commit)
        return None if configuration is None else Membership(index, configuration)

    def transfer(self, node: str) -> None:
        """Transfer leadership to another voter; raises the replica's refusal."""
        self._driver.call(partial(self.replica.transfer, node))

    def _answered(self, outcomes: Sequence[ReadOutcome]) -> None:
        self._reads.barrier.answered(outcomes)
        if not self.leads:
            self._refuse_behind()

    def _refuse_behind(self) -> None:
        """Refuse reads that wait for entries, if there is no space for these."""
        if (why := self.shortage) is not None:
            self._reads.barrier.refuse_behind(
                UnreadableError(f"shard {self.id} is behind here: {why}")
            )

    @property
    def shortage(self) -> str | None:
        """Why writes are refused because the disk is nearly full, or None."""
        space = self._context.space
        return space.shortage if space is not None and space.short else None

    @property
    def clock_alarm(self) -> str | None:
        """Why logical time advances without this leader's wall clock, or None."""
        return self._proposer.clock_alarm if self.leads else None

    def status(self) -> ShardStatus:
        """Return the replica's status."""
        return ShardStatus(
            shard=self.id,
            replica=self.replica.status(),
            revision=self.revision,
            now_ms=self.data.record.now_ms,
            generation=self.data.record.generation,
            queued=self._proposer.queued,
            in_flight=self._proposer.in_flight,
            admitted=self._proposer.admission.count,
            admitted_bytes=self._proposer.admission.bytes,
            log_bytes=self._journal.weight,
            stopped=None if self.stopped is None else str(self.stopped),
        )

    def campaign(self) -> None:
        """Stand for election now, unless there is a leader."""
        self._driver.call(self.replica.campaign)

    # Snapshots.

    def snapshot_given_up(self, node: str) -> None:
        """Record that a snapshot did not reach a node."""
        self._driver.call(partial(self.replica.snapshot_given_up, node))

    def log_durable(self) -> asyncio.Future[None]:
        """Return once the current writes to the log are durable."""
        if not self._ended and self._journal.written > self.replica.log.synced_sequence:
            self._hooks.request_sync(self.id)
            return self._log_waits.until(self._journal.written)
        done: asyncio.Future[None] = self._loop.create_future()
        if self._ended:
            done.set_exception(self._closed())
        else:
            done.set_result(None)
        return done

    def replace_data(
        self,
        install: Callable[[ShardData], None],
        position: Position,
        configuration: Configuration,
    ) -> bool:
        """Replace this database by a snapshot's; False if that is not ahead.

        `install` swaps it durably. In one turn of the loop readers of the old database end, the
        data is swapped, and the log is reset. A crash in between leaves a log without the
        snapshot, which the next start resets.
        """
        forks = self._applying.forking is not None
        if self._ended or forks or position.index <= self.replica.commit:
            return False
        self._readers.release()

        def act() -> bool:
            install(self.data)
            self.applier.reopened(self.data)
            self._proposer.reopened()
            return self.replica.snapshot_installed(position, configuration)

        installed = self._driver.call(act) or False
        if installed:
            tidied = self._loop.run_in_executor(None, self.data.tidy)
            tidied.add_done_callback(partial(_tidied, self.id))
            self._proposer.flights.overtaken(position.index)
            self._told_applied()
        return installed

    # For the driver.

    def _send(self, messages: Sequence[Message]) -> None:
        self._proposer.look()
        replica = self.replica
        standing = replica.role, replica.term, replica.leader
        if standing != self._standing:
            self._standing = standing
            self._stands_anew()
        self._reads.turned()
        if messages:
            self._hooks.send(self._name, messages)

    def _stands_anew(self) -> None:
        """Tell of another role, term or leader."""
        if self._record is not None:
            self._record.role()
        self._tell_leads()
        leader, term = self.replica.leader, self.replica.term
        if leader is None:
            return
        # It may be the former one, in the same term.
        self._reads.barrier.led()
        if term != self._led_term:
            self._led_term = term
            self.leaders += 1
            _log.info(
                "shard %s is led by %s in term %d",
                self.id,
                leader.node,
                term,
                extra={"shard": str(self.id)},
            )

    # Inside.

    def _tell_leads(self) -> None:
        led = self.term if self.leads else 0
        if led != self._led:
            self._led = led
            self._hooks.led()

    def _told_applied(self) -> None:
        self._reads.applied()
        self._subscribers.inform()

    def _closed(self) -> ShardClosedError:
        why = f": {self.stopped}" if self.stopped is not None else ""
        return ShardClosedError(
            f"the replica of shard {self.id} on {self.me.node} stopped{why}; ask another node"
        )

    def _end(self, error: Exception | None) -> None:
        if self._ended:
            return
        self._ended = True
        self._applying.stop()
        self._driver.stop()
        self.replica.retire()
        self._keeper.stop()
        self._removal.stop()
        closed = self._closed()
        self._proposer.end(closed)
        self._tell_leads()
        self._reads.barrier.end(closed)
        self._log_waits.end(closed)
        self._readers.end()
        self._subscribers.end()


class _Host:
    """Implements `quorate.consensus.driver.Host` for a shard."""

    def __init__(self, shard: Shard) -> None:
        self.send: Final = shard._send
        self.sync: Final = partial(shard._hooks.request_sync, shard.id)
        self.apply: Final[Callable[[Sequence[Entry]], int]] = lambda entries: shard._applying.apply(
            entries
        )
        self.reads: Final = shard._answered
        self.snapshots_needed: Final = partial(shard._hooks.send_snapshots, shard)
        self.stopped: Final = shard.fail


def _first_patience_s(
    shard: ShardId, me: Peer, first: Configuration, timing: Timing
) -> float | None:
    """Return when this replica of a new shard campaigns.

    Another node is first in each shard of a group, so that leaders are balanced.
    """
    if me not in first.voters:
        return None
    turn = (first.voters.index(me) - shard.number) % len(first.voters)
    return (_FIRST_HEARTBEATS + turn) * timing.heartbeat_s


def _tidied(shard: ShardId, done: asyncio.Future[None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        _log.warning(
            "shard %s cannot remove the data that a snapshot replaced, and will retry at the"
            " next start: %s",
            shard,
            error,
            extra={"shard": str(shard)},
        )


def _has_commands(append: Append) -> bool:
    """Whether it is more than the few bytes that a new leader or a member's change needs."""
    return any(entry.kind is COMMAND for entry in append.entries)


def replica_name(shard: ShardId, epoch: int) -> str:
    """Return the name of a replica on streams and in logs, which includes its history."""
    return f"{shard}#{epoch}" if epoch else str(shard)
