"""The leader's view of a follower's log."""

from collections import deque
from enum import Enum
from typing import Final

from quorate.consensus.messages import Peer


class Mode(Enum):
    """How entries are sent to a follower."""

    #: The matching index is unknown: empty appends probe it, one at a time.
    PROBE = "probe"
    #: The logs match: appends are sent at once, several in flight.
    REPLICATE = "replicate"
    #: It lacks compacted entries, and waits for a snapshot.
    SNAPSHOT = "snapshot"


#: The member of an enumeration is looked up by a call, and these are asked for with each message.
PROBE: Final = Mode.PROBE
REPLICATE: Final = Mode.REPLICATE
SNAPSHOT: Final = Mode.SNAPSHOT


class Progress:
    """One follower. `next` advances as entries are sent, and goes back only to `match + 1`."""

    __slots__ = (
        "_inflight",
        "asked",
        "doubted",
        "inflight_bytes",
        "last_seen_at",
        "match",
        "mode",
        "moved_at",
        "next",
        "peer",
        "rests",
        "round",
        "sent_commit",
    )

    def __init__(self, peer: Peer, next_index: int, now: float) -> None:
        self.peer: Final = peer
        self.mode = PROBE
        #: The last index that the follower is known to hold durably.
        self.match = 0
        #: It has refused what follows `match` since, and may have lost what it held: its
        #: acknowledgements do not count until the next one.
        self.doubted = False
        #: The first entry that has not been sent.
        self.next = next_index
        #: In probe mode: whether a probe is in flight.
        self.asked = False
        #: When the follower's last message arrived.
        self.last_seen_at = now
        #: When `match` last grew, or entries were sent while none were in flight.
        self.moved_at = now
        #: The newest read round that it confirmed.
        self.round = 0
        #: The last commit index that was sent to it.
        self.sent_commit = 0
        self.inflight_bytes = 0
        #: Whether it agreed to rest.
        self.rests = False
        self._inflight: deque[tuple[int, int]] = deque()

    @property
    def inflight(self) -> bool:
        """Whether entries are in flight."""
        return bool(self._inflight)

    def sent(self, last_index: int, size: int, now: float) -> None:
        """Record an append with entries."""
        if not self._inflight:
            self.moved_at = now
        self._inflight.append((last_index, size))
        self.inflight_bytes += size
        self.next = last_index + 1

    def acknowledged(self, match: int, now: float) -> bool:
        """Record that the follower holds the log up to `match`; return whether that advanced it."""
        while self._inflight and self._inflight[0][0] <= match:
            self.inflight_bytes -= self._inflight.popleft()[1]
        if match >= self.match:
            self.doubted = False
        advanced = match > self.match
        if advanced:
            self.match = match
            self.moved_at = now
        if self.next <= self.match:
            self.next = self.match + 1
        return advanced

    def replicate(self) -> None:
        """The logs match up to `match`: send what follows."""
        self._enter(REPLICATE, self.match + 1)

    def probe(self, next_index: int) -> None:
        """Probe for the matching index again; what was in flight is lost."""
        self._enter(PROBE, max(self.match + 1, next_index))

    def await_snapshot(self, next_index: int) -> None:
        """Send nothing until the follower holds a snapshot up to at least `next_index - 1`."""
        self._enter(SNAPSHOT, next_index)

    @property
    def awaited_snapshot_came(self) -> bool:
        """Whether the follower acknowledged the snapshot that it waited for."""
        return self.mode is SNAPSHOT and self.match >= self.next - 1

    def _enter(self, mode: Mode, next_index: int) -> None:
        self.mode, self.asked, self.next = mode, False, next_index
        self._inflight.clear()
        self.inflight_bytes = 0
