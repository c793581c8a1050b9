"""Settings of a node's shards."""

from dataclasses import dataclass, field

from quorate.apply.applier import ApplyLimits
from quorate.apply.evaluator import EvaluationLimits
from quorate.consensus.timing import Limits, Timing
from quorate.shards.shard.log_keeper import LogPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSettings:
    """Times are in seconds."""

    timing: Timing = field(default_factory=Timing)
    limits: Limits = field(default_factory=Limits)
    apply_limits: ApplyLimits = field(default_factory=ApplyLimits)
    evaluation: EvaluationLimits = field(default_factory=EvaluationLimits)
    log: LogPolicy = field(default_factory=LogPolicy)
    #: How long a command waits for others if nothing is in flight.
    linger_s: float = 0.003
    #: Maximum wait for the entry in flight. An entry costs some milliseconds on three nodes,
    #: whatever its size, so a busy shard makes few large ones.
    behind_s: float = 0.025
    #: Bytes of commands that make an entry without further wait.
    enough_bytes: int = 64 << 10
    #: Maximum bytes of commands per entry: their evaluation blocks the loop.
    batch_bytes: int = 256 << 10
    #: Maximum uncommitted entries and bytes; further commands stay in the queue.
    window_entries: int = 64
    window_bytes: int = 16 << 20
    #: Maximum pending commands of a shard; further ones are refused with a retry-after.
    queue_bytes: int = 64 << 20
    queue_commands: int = 100_000
    write_timeout_s: float = 30.0
    #: A write that takes longer is logged as a warning.
    slow_write_s: float = 1.0
    read_timeout_s: float = 30.0
    #: Maximum wait for a leader, if longer than an election.
    leaderless_s: float = 1.0
