"""What a leader knows of one follower's log."""

from collections import deque
from enum import Enum
from typing import Final

from quorate.consensus.messages import Peer


class Mode(Enum):
    """How entries go to a follower."""

    #: Where its log agrees is not known: empty appends ask, one at a time.
    PROBE = "probe"
    #: Its log agrees: entries go out as they come, several appends at a time.
    REPLICATE = "replicate"
    #: What it lacks was cut from the log: it waits for a snapshot.
    SNAPSHOT = "snapshot"


class Progress:
    """One follower. `next` goes forward as entries are sent, and back only to `match + 1`."""

    def __init__(self, peer: Peer, next_index: int, now: float) -> None:
        self.peer: Final = peer
        self.mode = Mode.PROBE
        #: The end of what the follower is known to hold, durably.
        self.match = 0
        #: The first entry that was not sent yet.
        self.next = next_index
        #: In probe mode: whether an answer is awaited.
        self.asked = False
        #: When a message of the follower last came.
        self.heard_at = now
        #: When `match` last grew, or entries were sent while none were under way.
        self.moved_at = now
        #: The newest read round that it confirmed.
        self.round = 0
        #: The commit index that it was last told.
        self.told_commit = 0
        self.inflight_bytes = 0
        self._inflight: deque[tuple[int, int]] = deque()

    @property
    def inflight(self) -> bool:
        """Whether entries are under way."""
        return bool(self._inflight)

    def sent(self, last_index: int, size: int, now: float) -> None:
        """Record an append with entries."""
        if not self._inflight:
            self.moved_at = now
        self._inflight.append((last_index, size))
        self.inflight_bytes += size
        self.next = last_index + 1

    def acknowledged(self, match: int, now: float) -> bool:
        """Record that the follower holds the log up to `match`; tell whether that is news."""
        while self._inflight and self._inflight[0][0] <= match:
            self.inflight_bytes -= self._inflight.popleft()[1]
        news = match > self.match
        if news:
            self.match = match
            self.moved_at = now
        self.next = max(self.next, self.match + 1)
        return news

    def replicate(self) -> None:
        """The follower's log agrees up to `match`: send what follows."""
        self.mode = Mode.REPLICATE
        self.asked = False
        self.next = self.match + 1
        self._forget_inflight()

    def probe(self, next_index: int) -> None:
        """Ask again where the follower's log agrees; what was under way is lost."""
        self.mode = Mode.PROBE
        self.asked = False
        self.next = max(self.match + 1, next_index)
        self._forget_inflight()

    def await_snapshot(self, next_index: int) -> None:
        """Send nothing until the follower holds a snapshot up to `next_index - 1` at least."""
        self.mode = Mode.SNAPSHOT
        self.asked = False
        self.next = next_index
        self._forget_inflight()

    @property
    def awaited_snapshot_came(self) -> bool:
        """Whether the follower acknowledged as much as the snapshot that it waited for."""
        return self.mode is Mode.SNAPSHOT and self.match >= self.next - 1

    def _forget_inflight(self) -> None:
        self._inflight.clear()
        self.inflight_bytes = 0
