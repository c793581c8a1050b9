"""A replica of a shard on this node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

from quorate.apply.applier import Applier
from quorate.apply.deadlines import Deadline, deadline_of
from quorate.apply.entries import index_of
from quorate.apply.evaluator import Evaluator
from quorate.apply.layers import Rows
from quorate.apply.outcomes import FilesNeededError
from quorate.apply.placement import KEY, Placement
from quorate.apply.program import Program
from quorate.consensus.driver import Alarms, Driver
from quorate.consensus.journal import Position
from quorate.consensus.log import Stored
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Append, Entry, EntryKind, Message, Peer, weight
from quorate.consensus.reads import ReadOutcome
from quorate.consensus.replica import Replica
from quorate.consensus.status import ReplicaStatus
from quorate.groups.refusals import (
    NotProposedError,
    OutcomeUnknownError,
    UnansweredInTimeError,
    UnreadableError,
)
from quorate.groups.shard.barrier import Barrier, Freshness, Staleness
from quorate.groups.shard.clock import LogicalClock
from quorate.groups.shard.context import ReplicaContext, ShardHooks
from quorate.groups.shard.log_keeper import LogKeeper, TailJournal
from quorate.groups.shard.proposer import Proposer, voter_clocks
from quorate.groups.shard.removal import Membership, RemovalWatch, RemovedError
from quorate.groups.shard.settings import ShardSettings
from quorate.groups.shard.writes import Fate
from quorate.groups.timing import Waits
from quorate.observe.recorder import COMMITTED, Recorder
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError, FullError, StalledError
from quorate.storage.families import SLOTS
from quorate.v1.files_pb2 import FileSet

if TYPE_CHECKING:
    pass

__all__ = ["RemovedError", "Shard", "ShardClosedError", "ShardSettings"]

_log = logging.getLogger(__name__)

C = TypeVar("C")

#: Heartbeats before the first election of a new shard: the other replicas are opened within one.
_FIRST_HEARTBEATS: Final = 1.5
#: Between the elections of shards that start together: an election takes some milliseconds of all
#: nodes, and they must not run into each other's timeouts.
_APART_S: Final = 0.005
#: Delay before writes to the data are retried, after a stall and on a full disk.
_STALLED_S: Final = 0.05
_FULL_S: Final = 1.0
#: Delay before files that are on no node are looked for again.
_FILES_S: Final = 1.0


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
        files = context.files
        self.applier: Final = Applier(
            context.catalog,
            shard,
            data,
            counted=program.counted,
            places=program.places,
            limits=settings.apply_limits,
        )
        self.evaluator: Final = Evaluator(
            program,
            shard,
            data,
            limits=settings.evaluation,
            find_in_files=None if files is None else partial(files.find, shard),
            neighbour=lambda number: hooks.rows_of(ShardId(shard.group, number)),
        )
        self._context: Final = context
        self._hooks: Final = hooks
        self._recorder: Final = recorder
        #: What was last recorded: role, term and leader; the newest committed entry.
        self._recorded_role: tuple[object, ...] = ()
        self._recorded_to = data.applied
        self._preparing: asyncio.Task[None] | None = None
        self._forking: asyncio.Task[None] | None = None
        #: How many times a leader was found here, once per term.
        self.leaders = 0
        #: Linearizable reads on this replica.
        self.reads = 0
        #: Messages received from peers.
        self.received = 0
        self._led = 0
        #: Why this replica stopped for good.
        self.stopped: Exception | None = None
        self._journal: Final = journal
        self._name: Final = replica_name(shard, epoch)
        self._loop: Final = loop
        self._clock: Final = loop.time
        record = data.record
        configured = Configuration.decode(record.configuration) if record.configuration else None
        self.replica: Final = Replica(
            me,
            journal,
            applied=data.applied,
            stored=Stored(record.configuration_index, configured),
            clock=loop.time,
            rng=rng,
            timing=settings.timing,
            limits=settings.limits,
        )
        self.replica.reluctant = lambda: self.shortage is not None
        self._barrier: Final = Barrier(
            shard,
            loop,
            lambda token: self._driver.call(partial(self.replica.read_index, token)),
            lambda: loop.time() >= self.leaderless_from,
            applied=data.applied,
            linger_s=settings.linger_s,
            retry_s=settings.timing.heartbeat_s,
        )
        alarms = context.alarms or Alarms(loop)
        self._driver: Final = Driver(self.replica, _Host(self), loop, alarms)
        if context.liveness is not None:
            self.replica.rests_by(context.liveness, self._driver.call)
        self._proposer: Final = Proposer(
            shard,
            me,
            self._driver,
            self.applier,
            self.evaluator,
            LogicalClock(
                me.node,
                clock=loop.time,
                wall_ms=context.wall_ms,
                voters=lambda: voter_clocks(self.replica, context.node_clock),
            ),
            loop=loop,
            settings=settings,
            space=context.space,
            recorder=recorder,
            traces=context.traces,
        )
        self._keeper: Final = LogKeeper(
            data,
            journal,
            loop,
            settings.log,
            context.sync_turns,
            cut=lambda index: self._driver.call(partial(self.replica.compact_to, index)),
            failed=self.fail,
        )
        self._freshness: Final = Freshness()
        self._removal: Final = RemovalWatch(
            shard, self.replica, loop, hooks.ask_members, alarms, removed=self.fail
        )
        #: Followers of applied entries, which have a call of their own in the loop.
        self._followers: Final[dict[object, Callable[[int], None]]] = {}
        self._informing: asyncio.Handle | None = None
        #: Readers that must release the database before it is replaced or closed.
        self._readers: Final[dict[object, Callable[[], None]]] = {}
        self._log_waits: Final = Waits(loop)
        #: Writes: see `Proposer.propose`; the logical time of a command proposed now; counters.
        self.propose: Final = self._proposer.propose
        self.now_ms: Final = self._proposer.now_ms
        self.counters: Final = self._proposer.counters
        #: Reads of the applied state: see `Applier`.
        self.owner: Final = self.applier.owner
        self.reader: Final = self.applier.reader
        self.due: Final = self.applier.due
        self.next_due: Final = self.applier.next_due
        #: Retains the entries above an index until it is released, or `broken` by a long log.
        self.hold_log: Final = self._keeper.hold
        #: Makes durable soon what was applied until now: by itself it is within a minute.
        self.make_durable: Final = self._keeper.flush_in_turn
        #: When to resume applying while writes to the data are stopped.
        self._held_until = float("-inf")
        #: Lets other shards of the node run between turns of applying.
        self._resting = False
        #: The newest term with a known leader.
        self._led_term = 0
        #: Whether a leader was known in the last turn.
        self._is_led = False
        self._started_at = loop.time()
        self._ended = False

    # Life.

    def start(self, first: Configuration | None = None, *, before: int = 0) -> None:
        """Start; `first` is the configuration of a new shard.

        `before` shards of the node have just started, and stand for election first.
        """

        def act() -> None:
            if first is not None and self.replica.log.configuration is None:
                self.replica.bootstrap(first, self._first_patience_s(first))
            self.replica.put_off(before * _APART_S)

        self._started_at = self._loop.time()
        # It may have ended between the cut and the copies.
        self._fork()
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
        if self._forking is not None:
            await asyncio.wait([self._forking])
        if self._keeper.flushing is not None:
            await asyncio.wait([self._keeper.flushing])
        await self._loop.run_in_executor(None, self.data.close)

    # For streams and syncs.

    @property
    def log_written(self) -> int:
        """The number of its newest write to the node's log."""
        return self._journal.written

    def receive(self, message: Message) -> None:
        """Process a message of a peer.

        While the disk is nearly full, commands are dropped as if the network had lost them: the
        node's log must not fail. Reads that wait for them are better answered by another replica.
        """
        self.received += 1
        if isinstance(message.body, Append) and _has_commands(message.body) and self.shortage:
            self._refuse_behind()
            return
        self._driver.call(partial(self.replica.receive, message))

    def remade(self, node: str) -> None:
        """Record that the bulk stream to a node was replaced."""
        self._driver.call(partial(self.replica.bulk_remade, node))

    def synced(self, sequence: int) -> None:
        """Record that log writes up to `sequence` are durable."""
        self._driver.call(partial(self.replica.synced, sequence))
        self._log_waits.reached(sequence)

    # Reads.

    def deadline(self, timer: str, key: bytes) -> Deadline | None:
        """Return the deadline of a key, if any."""
        return deadline_of(self.data, timer, key)

    def read_barrier(
        self, timeout_s: float | None = None, *, patient: bool = True
    ) -> asyncio.Future[int]:
        """Return an applied index that covers every write answered before this call.

        Ends with `ReadTimeoutError` or another `UnreadableError`; without patience with
        `LeaderlessError` from `leaderless_from` on.
        """
        self.reads += 1
        timeout = self.settings.read_timeout_s if timeout_s is None else timeout_s
        return self._barrier.read(timeout, patient=patient)

    def wait_for(self, revision: int, timeout_s: float | None = None) -> asyncio.Future[int]:
        """Return the applied index once the write of a revision is applied here."""
        timeout = self.settings.read_timeout_s if timeout_s is None else timeout_s
        return self._barrier.wait_for(index_of(revision), timeout)

    @property
    def published(self) -> int:
        """The number of the newest publication whose files are in place."""
        return self.applier.published.number

    @property
    def is_publishing(self) -> bool:
        """Whether a publication is under way, for which reads of some families wait."""
        return bool(self.applier.published.closed)

    async def opened(self, families: Iterable[str], timeout_s: float | None = None) -> None:
        """Return when no publication is under way that may change one of these families.

        Ends as `read_barrier`.
        """
        timeout = self.settings.read_timeout_s if timeout_s is None else timeout_s
        deadline = self._clock() + timeout
        while (closed := self.applier.published.closed) and not set(closed).isdisjoint(families):
            await self._barrier.wait_for(self.applied + 1, max(0.0, deadline - self._clock()))

    def staleness(self) -> Staleness:
        """Return the staleness of the rows here."""
        self._hear_agreed()
        at = self._freshness.at
        if at == float("-inf"):
            return Staleness(self.revision, -1)
        return Staleness(self.revision, int((self._clock() - at) * 1_000))

    async def catch_up(self, timeout_s: float) -> bool:
        """Return whether the copies here have all writes answered before this call."""
        catch_up = self._hooks.catch_up
        return catch_up is not None and await catch_up(self, timeout_s)

    def subscribe(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call back with the newest applied index after entries were applied; returns the cancel.

        Calls have their own turn of the loop, and cover all entries applied before.
        """
        return _register(self._followers, callback)

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
        return self.reads + int(self.counters.entry_commands.total)

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

    def change_membership(
        self, configuration: Configuration, timeout_s: float | None = None
    ) -> asyncio.Future[int]:
        """Return the index of the new configuration once it is committed and applied here.

        Raises the replica's refusal; ends with `NotProposedError` if another entry replaced it, or
        with `OutcomeUnknownError`, at the timeout as `UnansweredInTimeError`.
        """
        members = f"the members of shard {self.id}"
        changed: asyncio.Future[int] = self._loop.create_future()

        def settle(fate: Fate) -> None:
            if changed.done():
                return
            if fate is Fate.APPLIED and proposed is not None:
                changed.set_result(proposed.index)
            elif fate is Fate.DISCARDED:
                changed.set_exception(
                    NotProposedError(f"{members} did not change: its leader was lost")
                )
            else:
                changed.set_exception(
                    OutcomeUnknownError(
                        f"whether {members} changed is not known here: look at them on another node"
                    )
                )

        def expire() -> None:
            if not changed.done():
                why = f"{members} were about to change when the time was over, and may change yet"
                changed.set_exception(UnansweredInTimeError(f"{why}: look at them"))

        proposed = self._driver.call(partial(self.replica.change_membership, configuration))
        if proposed is not None:
            timeout = self.settings.write_timeout_s if timeout_s is None else timeout_s
            timer = self._loop.call_later(timeout, expire)
            changed.add_done_callback(lambda _: timer.cancel())
            self._proposer.flights.follow(proposed, settle)
        else:
            settle(Fate.UNKNOWN)
        return changed

    def _answered(self, outcomes: Sequence[ReadOutcome]) -> None:
        self._barrier.answered(outcomes)
        if not self.leads:
            self._refuse_behind()

    def _refuse_behind(self) -> None:
        """Refuse reads that wait for entries, if there is no space for these."""
        if (why := self.shortage) is not None:
            self._barrier.refuse_behind(UnreadableError(f"shard {self.id} is behind here: {why}"))

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

    def on_replace(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back before the database is replaced or closed; returns the cancel."""
        if self._ended:
            # There will be no more calls.
            self._loop.call_soon(callback)
        return _register(self._readers, callback)

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
        if self._ended or self._forking is not None or position.index <= self.replica.commit:
            return False
        self._end_readers()

        def act() -> bool:
            install(self.data)
            self.applier.reopened(self.data)
            self._proposer.reopened()
            return self.replica.snapshot_installed(position, configuration)

        installed = self._driver.call(act) or False
        if installed:
            tidied = self._loop.run_in_executor(None, self.data.tidy)
            tidied.add_done_callback(self._tidied)
            self._proposer.flights.overtaken(position.index)
            self._told_applied()
        return installed

    # For the driver.

    def _send(self, messages: Sequence[Message]) -> None:
        self._proposer.look()
        if self._recorder is not None:
            self._record_role(self._recorder)
        self._tell_leads()
        self._hear_agreed()
        leader = self.replica.leader
        if leader is not None and not self._is_led:
            # It may be the former one, in the same term.
            self._barrier.led()
        self._is_led = leader is not None
        if leader is not None and self.replica.term != self._led_term:
            self._led_term = self.replica.term
            self.leaders += 1
            self._barrier.led()
            _log.info(
                "shard %s is led by %s in term %d",
                self.id,
                leader.node,
                self.replica.term,
                extra={"shard": str(self.id)},
            )
        if messages:
            self._hooks.send(self._name, messages)

    def _apply(self, entries: Sequence[Entry]) -> int:
        if self._resting or self._forking is not None or self._clock() < self._held_until:
            return 0
        if self._recorder is not None and entries[-1].index > self._recorded_to:
            self._record_committed(self._recorder, entries)
        began = perf_counter()
        try:
            applied = self.applier.apply(entries)
        except (StalledError, FullError) as error:
            self._hold(error)
            return 0
        except FilesNeededError as needed:
            if self._preparing is None:
                self._preparing = self._loop.create_task(self._prepare(needed.files))
            return 0
        self._held_until = float("-inf")
        count = len(applied)
        self._proposer.stored(applied)
        self._keeper.applied(count, sum(map(weight, entries[:count])))
        self._told_applied()
        self._fork()
        if (check := self.applier.check_here) is not None:
            self._hooks.check(self, check)
        if (budget := self._context.loop_budget) is not None:
            rest_s = budget.after(self.id, perf_counter() - began)
            if rest_s:
                self._resting = True
                self._loop.call_later(rest_s, self._go_on)
        return count

    # Inside.

    def _record_role(self, recorder: Recorder) -> None:
        replica = self.replica
        now = (replica.role, replica.term, replica.leader)
        if now != self._recorded_role:
            self._recorded_role = now
            leader = "" if replica.leader is None else replica.leader.node
            recorder.event(
                "role", shard=str(self.id), role=replica.role, term=replica.term, leader=leader
            )

    def _record_committed(self, recorder: Recorder, entries: Sequence[Entry]) -> None:
        """Record entries before they are applied: the last one may end the process."""
        new = [each for each in entries if each.index > self._recorded_to]
        first, last = new[0], new[-1]
        self._recorded_to = last.index
        recorder.entries(
            COMMITTED,
            str(self.id),
            index=first.index,
            term=last.term,
            count=len(new),
            size=sum(map(weight, new)),
        )
        for each in new:
            if each.kind is EntryKind.CONFIG:
                members = Configuration.decode(each.payload).members
                voters = {member.peer.node: member.voter for member in members}
                recorder.event("members", shard=str(self.id), index=each.index, voters=voters)

    def _first_patience_s(self, first: Configuration) -> float | None:
        """Return when this replica of a new shard campaigns.

        Another node is first in each shard of a group, so that leaders are balanced.
        """
        if self.me not in first.voters:
            return None
        turn = (first.voters.index(self.me) - self.id.number) % len(first.voters)
        return (_FIRST_HEARTBEATS + turn) * self.settings.timing.heartbeat_s

    def _hold(self, error: StalledError | FullError) -> None:
        """Pause applying, and retry after a delay; refuse proposals until then."""
        wait = _STALLED_S if isinstance(error, StalledError) else _FULL_S
        self._held_until = self._clock() + wait
        self._loop.call_later(wait, self._driver.wake)
        self._proposer.hold(
            f"shard {self.id} writes nothing to its data for now: {error}", self._held_until
        )
        _log.warning(
            "shard %s paused applying after index %d: %s",
            self.id,
            self.applied,
            error,
            extra={"shard": str(self.id), "index": self.applied},
        )

    async def _prepare(self, files: FileSet) -> None:
        """Get the files of the next entry; nothing is applied until they are here."""
        try:
            while (paths := self._paths(files)) is None:
                here = self._context.files
                if here is None or not await here.come(self, files):
                    _log.warning(
                        "shard %s waits for files of %s at index %d, which no node gives it",
                        self.id,
                        files.name,
                        files.ingested_at,
                        extra={"shard": str(self.id), "index": files.ingested_at},
                    )
                    await asyncio.sleep(_FILES_S)
            work = partial(self.data.prepare_ingest, sorted(paths))
            await self._loop.run_in_executor(None, work)
            self.applier.prepared(files, paths)
        except FullError as error:
            self._hold(error)
        except (EngineError, OSError) as error:
            self.fail(error)
        finally:
            self._preparing = None
            self._driver.wake()

    def _paths(self, files: FileSet) -> Mapping[str, Sequence[Path]] | None:
        here = self._context.files
        return None if here is None else here.paths(self.id, files)

    def _fork(self) -> None:
        """Copy the data to new shards, if the newest applied entry cut this one."""
        cut, fork = self.applier.cut_here, self._hooks.fork
        if cut is not None and fork is not None and self._forking is None:
            self._forking = self._loop.create_task(self._forked(fork(self, cut)))

    async def _forked(self, forking: Awaitable[None]) -> None:
        try:
            await forking
        except (EngineError, OSError, ValueError) as error:
            self.fail(error)
        else:
            self._forking = None
            self._driver.wake()

    def _go_on(self) -> None:
        self._resting = False
        self._driver.wake()

    def _tell_leads(self) -> None:
        led = self.term if self.leads else 0
        if led != self._led:
            self._led = led
            self._hooks.led()

    def _hear_agreed(self) -> None:
        moment, index = self.replica.agreed
        self._freshness.update(moment, index, self.applied)

    def _told_applied(self) -> None:
        self._barrier.applied(self.applied)
        self._freshness.applied(self.applied)
        if self._followers and self._informing is None:
            self._informing = self._loop.call_soon(self._inform)

    def _inform(self) -> None:
        self._informing = None
        for callback in list(self._followers.values()):
            try:
                callback(self.applied)
            except Exception:  # noqa: BLE001 - later subscribers would wait forever
                _log.exception("a subscriber of shard %s failed", self.id)

    def _end_readers(self) -> None:
        for callback in list(self._readers.values()):
            callback()

    def _tidied(self, done: asyncio.Future[None]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            _log.warning(
                "shard %s cannot remove the data that a snapshot replaced, and will retry at the"
                " next start: %s",
                self.id,
                error,
                extra={"shard": str(self.id)},
            )

    def _closed(self) -> ShardClosedError:
        why = f": {self.stopped}" if self.stopped is not None else ""
        return ShardClosedError(
            f"the replica of shard {self.id} on {self.me.node} stopped{why}; ask another node"
        )

    def _end(self, error: Exception | None) -> None:
        if self._ended:
            return
        self._ended = True
        if self._preparing is not None:
            self._preparing.cancel()
        self._driver.stop()
        self.replica.retire()
        self._keeper.stop()
        self._removal.stop()
        closed = self._closed()
        self._proposer.end(closed)
        self._tell_leads()
        self._barrier.end(closed)
        self._log_waits.end(closed)
        self._end_readers()
        self._followers.clear()
        self._readers.clear()


class _Host:
    """Implements `quorate.consensus.driver.Host` for a shard."""

    def __init__(self, shard: Shard) -> None:
        self.send: Final = shard._send
        self.sync: Final = partial(shard._hooks.request_sync, shard.id)
        self.apply: Final = shard._apply
        self.reads: Final = shard._answered
        self.snapshots_needed: Final = partial(shard._hooks.send_snapshots, shard)
        self.stopped: Final = shard.fail


def _has_commands(append: Append) -> bool:
    """Whether it is more than the few bytes that a new leader or a member's change needs."""
    return any(entry.kind == EntryKind.COMMAND for entry in append.entries)


def replica_name(shard: ShardId, epoch: int) -> str:
    """Return the name of a replica on streams and in logs, which includes its history."""
    return f"{shard}#{epoch}" if epoch else str(shard)


def _register(registered: dict[object, C], callback: C) -> Callable[[], None]:
    key = object()
    registered[key] = callback

    def cancel() -> None:
        registered.pop(key, None)

    return cancel
