"""What a shard's replica on this node reports of itself."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from quorate.consensus.status import ReplicaStatus
from quorate.observe.histogram import BYTES, COUNTS, SECONDS, Histogram
from quorate.plugin.shard_id import ShardId


class Staleness(NamedTuple):
    """How old a stale read may be."""

    revision: int
    #: How long ago everything that was committed then is applied here, as far as messages tell
    #: that were not long on their way; -1 when nothing is known since the replica started.
    age_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStatus:
    """What a shard's replica on this node is doing."""

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
