"""How long a replica waits, and how much it takes at once."""

from dataclasses import dataclass
from math import floor
from typing import Final

#: What floating point may take from a multiple of the interval, in intervals.
_NOISE: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """All in seconds. PreVote and stickiness make a single late heartbeat harmless."""

    heartbeat_s: float = 0.1
    election_min_s: float = 0.5
    election_max_s: float = 1.0
    #: For how long news of a commit wait for entries that carry them.
    news_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.heartbeat_s <= self.election_min_s <= self.election_max_s:
            raise ValueError("wanted: 0 < heartbeat <= election_min <= election_max")

    def next_heartbeat(self, now: float) -> float:
        """Return when a leader sends heartbeats next, at most an interval from now.

        The moments are the multiples of the interval: all leaders of a node send at the same ones.
        """
        interval = self.heartbeat_s
        return min(now + interval, (floor(now / interval + _NOISE) + 1) * interval)

    @property
    def quorum_window_s(self) -> float:
        """For how long a leader goes on without hearing of a majority."""
        return max(self.election_min_s, 3 * self.heartbeat_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """In bytes, but for the last."""

    #: One append message; a larger entry travels alone.
    append_bytes: int = 1 << 20
    #: Appends under way to one follower; at least one entry always is.
    inflight_bytes: int = 4 << 20
    #: The largest payload that is taken.
    entry_bytes: int = 24 << 20
    #: The entries kept in memory behind the log's end.
    tail_bytes: int = 16 << 20
    #: How far a learner may lag, in entries, to be made a voter.
    promotion_lag_entries: int = 1_000
