"""Timeouts and limits of a replica."""

from dataclasses import dataclass
from math import floor
from typing import Final

#: Tolerance for floating point, in intervals.
_NOISE: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """All in seconds. PreVote and stickiness make a single late heartbeat harmless."""

    heartbeat_s: float = 0.1
    election_min_s: float = 0.5
    election_max_s: float = 1.0
    #: How long a commit index waits for entries to carry it.
    news_s: float = 0.0
    #: Entries that follow each other within this time flow: the next one is waited for longer.
    flow_s: float = 0.0
    #: A shard rests after this time without traffic; infinite: never.
    rest_s: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.heartbeat_s <= self.election_min_s <= self.election_max_s:
            raise ValueError("expected 0 < heartbeat <= election_min <= election_max")

    def next_heartbeat(self, now: float) -> float:
        """Return when a leader sends its next heartbeats, at most an interval from now.

        These are multiples of the interval, the same for all leaders of a node.
        """
        interval = self.heartbeat_s
        return min(now + interval, (floor(now / interval + _NOISE) + 1) * interval)

    @property
    def answered_s(self) -> float:
        """How long the answer to one heartbeat serves for others that only tell a commit index."""
        return self.heartbeat_s / 2

    @property
    def quorum_window_s(self) -> float:
        """How long a leader continues without contact to a majority."""
        return max(self.election_min_s, 3 * self.heartbeat_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """In bytes, except for the last."""

    #: One append message; a larger entry travels alone.
    append_bytes: int = 1 << 20
    #: Appends in flight to one follower; at least one entry always may be.
    inflight_bytes: int = 4 << 20
    #: The largest accepted payload.
    entry_bytes: int = 24 << 20
    #: Entries at the end of the log that are cached.
    tail_bytes: int = 16 << 20
    #: Maximum lag of a learner to become a voter, in entries.
    promotion_lag_entries: int = 1_000
