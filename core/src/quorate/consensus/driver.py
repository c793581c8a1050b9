"""Drives one replica on the event loop by messages, proposals, syncs and timers; it never polls."""

import asyncio
from collections.abc import Callable, Sequence
from math import ceil
from typing import Final, Protocol, TypeVar

from quorate.consensus.inherited import LEADER
from quorate.consensus.messages import Entry, Message, Peer
from quorate.consensus.reads import ReadOutcome
from quorate.consensus.refusals import RefusedError
from quorate.consensus.replica import Replica

#: Maximum bytes of entries applied per turn, so that other shards get theirs.
APPLY_BYTES: Final = 1 << 20

_PER_S: Final = 1_000
#: Milliseconds that rounding and two clock reads may add to a common deadline.
_NOISE: Final = 0.05
#: Pause of the loop, in ms, after which messages are read before alarms ring.
_STOOD_STILL: Final = 100
_READ_S: Final = 0.001


class Alarms:
    """Wakes all replicas with the same deadline in one turn of the loop.

    Their messages to a node then share a frame, and so do the answers.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._due: Final[dict[int, dict[Callable[[int], None], None]]] = {}

    def set(self, delay_s: float, ring: Callable[[int], None]) -> int:
        """Call `ring` once after a delay, with the number that this returns.

        It cannot be cancelled; compare the number to ignore an alarm that is out of date.
        """
        moment = ceil((self._loop.time() + delay_s) * _PER_S - _NOISE)
        due = self._due.get(moment)
        if due is None:
            due = self._due[moment] = {}
            self._loop.call_at(moment / _PER_S, self._come, moment)
        due[ring] = None
        return moment

    def _come(self, moment: int) -> None:
        # Timers come before what can be read: a leader would seem to have been silent.
        if self._loop.time() * _PER_S - moment > _STOOD_STILL:
            self._loop.call_later(_READ_S, self._ring, moment)
        else:
            self._ring(moment)

    def _ring(self, moment: int) -> None:
        for ring in self._due.pop(moment):
            ring(moment)


T = TypeVar("T")


class Host(Protocol):
    """What a driver needs of its node. Nothing here may block."""

    def send(self, messages: Sequence[Message]) -> None:
        """Send messages; those that cannot be sent are dropped."""

    def sync(self) -> None:
        """Make the log's writes durable, then call `synced`."""

    def apply(self, entries: Sequence[Entry]) -> int:
        """Apply entries, each batch together with its last index, and return how many.

        The rest is passed again in the next turn. After 0 the host wakes the driver when it can
        continue.
        """

    def reads(self, outcomes: Sequence[ReadOutcome]) -> None:
        """Complete reads."""

    def snapshots_needed(self, peers: Sequence[Peer]) -> None:
        """Send snapshots to followers whose entries were cut."""

    def stopped(self, error: Exception) -> None:
        """Handle the error that stopped the replica for good."""


class Driver:
    """Runs turns; each takes the replica's output in a fixed order."""

    def __init__(
        self,
        replica: Replica,
        host: Host,
        loop: asyncio.AbstractEventLoop,
        alarms: Alarms | None = None,
    ) -> None:
        self.replica: Final = replica
        self._host: Final = host
        self._loop: Final = loop
        self._turn: asyncio.Handle | None = None
        self._alarms: Final = alarms or Alarms(loop)
        #: The current alarm; earlier ones still ring and are ignored.
        self._alarm: int | None = None
        #: When it wakes the driver: at the replica's deadline, or earlier.
        self._timer_due = float("inf")
        self._sync_asked = 0
        #: What was synced when all that was committed had last been applied.
        self._applied_at = 0
        #: The commit index in the last turn.
        self._commit_seen = -1
        #: Committed entries that the host has not applied yet.
        self._left: list[Entry] = []
        #: Whether the coming turn is there to apply entries, which waited until messages had left.
        self._sends_first = False
        #: Whether there was new input since the coming turn was scheduled.
        self._renewed = False
        self._stopped = False

    def wake(self) -> None:
        """Schedule a turn, because the replica has new input."""
        if self._turn is not None:
            self._renewed = True
        elif not self._stopped:
            self._turn = self._loop.call_soon(self._run)

    def call(self, act: Callable[[], T]) -> T | None:
        """Call the replica, and return what it does; None once it has stopped.

        It stops on any error but `RefusedError`, which is the caller's.
        """
        result = self.ask(act)
        self.wake()
        return result

    def ask(self, act: Callable[[], T]) -> T | None:
        """Call the replica as `call` does, without a turn."""
        if self._stopped:
            return None
        try:
            return act()
        except RefusedError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the replica cannot go on
            self._stop(error)
            return None

    def turn(self) -> None:
        """Take a turn now, unless one is scheduled."""
        if self._turn is not None:
            self._renewed = True
        elif not self._stopped:
            self._run()

    def tell(self, act: Callable[[T], None], what: T, *, alone: bool = False) -> bool:
        """Tell the replica of a message or of a sync, as `call` does; return whether a turn comes.

        None comes that would find nothing to do: half of what a leader hears of an entry is like
        that, such as acknowledgements beyond the majority's. It comes at once where the replica is
        told nothing else with this.
        """
        if self._stopped:
            return False
        try:
            act(what)
            comes = self._turn is not None or not self._waits()
        except Exception as error:  # noqa: BLE001 - whatever it is, the replica cannot go on
            self._stop(error)
            return False
        if comes and alone:
            self.turn()
        elif comes:
            self.wake()
        return comes

    def _waits(self) -> bool:
        replica = self.replica
        return (
            not self._left
            and replica.commit == self._commit_seen
            and replica.deadline >= self._timer_due
            and replica.log.journal.written == self._sync_asked
            and replica.waits()
        )

    def apply_again(self, seconds: float) -> None:
        """Apply what had been applied before a crash, at once, for no longer than some seconds."""
        began = self._loop.time()
        try:
            while self._apply() and self._loop.time() - began < seconds:
                pass
        except Exception as error:  # noqa: BLE001 - whatever it is, the replica cannot go on
            self._stop(error)

    def stop(self) -> None:
        """Run no more turns."""
        self._stopped = True
        self._alarm = None
        if self._turn is not None:
            self._turn.cancel()

    def _run(self) -> None:
        self._turn = None
        try:
            if self._sends_first and not self._renewed:
                self._sends_first = False
                if self._apply():
                    self.wake()
            else:
                self._take_turn()
        except Exception as error:  # noqa: BLE001 - whatever it is, the replica cannot go on
            self._stop(error)

    def _take_turn(self) -> None:
        replica = self.replica
        if replica.clock() >= replica.deadline:
            replica.tick()
        self._commit_seen = replica.commit
        messages = replica.take_messages()
        self._host.send(messages)
        self._ask_sync()
        waited, self._sends_first = self._sends_first, False
        if not self._acknowledges_first():
            if messages and not waited and (self._left or replica.has_committed()):
                # Others wait for these, which leave when this turn of the loop is over.
                self._sends_first, self._renewed = True, False
                self.wake()
            elif self._apply():
                self.wake()
        outcomes = replica.take_reads()
        if outcomes:
            self._host.reads(outcomes)
        needed = replica.take_snapshots_needed()
        if needed:
            self._host.snapshots_needed(needed)
        self._set_timer()

    def _apply(self) -> bool:
        """Have entries applied; return whether there are more, and the host goes on."""
        replica, goes_on = self.replica, False
        entries = self._left
        if entries:
            # A snapshot may have replaced some of them.
            entries = [entry for entry in entries if entry.index > replica.applied]
        entries = entries or replica.take_committed(APPLY_BYTES)
        if entries:
            count = self._host.apply(entries)
            self._left = entries[count:]
            if count:
                replica.applied_to(entries[count - 1].index)
                goes_on = bool(self._left) or replica.has_committed()
        else:
            self._left = entries
        if not self._left and (not entries or not replica.has_committed()):
            self._applied_at = replica.log.synced_sequence
        return goes_on

    def _acknowledges_first(self) -> bool:
        """Whether a follower's entries wait to be applied until its sync has ended.

        The leader waits for what is synced, and nobody for what is applied. They wait for one sync
        at most, however many follow it.
        """
        synced = self.replica.log.synced_sequence
        return self.replica.role != LEADER and self._sync_asked > synced == self._applied_at

    def _ask_sync(self) -> None:
        written = self.replica.log.journal.written
        if written > self._sync_asked:
            self._sync_asked = written
            self._host.sync()

    def _set_timer(self) -> None:
        """Wake at the deadline or earlier: it mostly moves later, and the timer stays."""
        due = self.replica.deadline
        if self._stopped or self._timer_due <= due:
            return
        self._timer_due = due
        self._alarm = self._alarms.set(max(0.0, due - self.replica.clock()), self._ring)

    def _ring(self, alarm: int) -> None:
        if alarm != self._alarm:
            return
        self._alarm, self._timer_due = None, float("inf")
        if self.replica.clock() < self.replica.deadline:
            # It moved later, as that of a commit index does with each entry.
            self._set_timer()
        else:
            self.wake()

    def _stop(self, error: Exception) -> None:
        self.stop()
        self._host.stopped(error)
