"""What may be set for the shards of a node."""

from dataclasses import dataclass, field

from quorate.apply.applier import ApplyLimits
from quorate.apply.evaluator import EvaluationLimits
from quorate.consensus.timing import Limits, Timing
from quorate.groups.shard.log_keeper import LogPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSettings:
    """Times are in seconds."""

    timing: Timing = field(default_factory=Timing)
    limits: Limits = field(default_factory=Limits)
    apply_limits: ApplyLimits = field(default_factory=ApplyLimits)
    evaluation: EvaluationLimits = field(default_factory=EvaluationLimits)
    log: LogPolicy = field(default_factory=LogPolicy)
    #: How long a command waits for others when nothing is in flight.
    linger_s: float = 0.003
    #: How long it waits at the most for the entry that is in flight. An entry costs three nodes
    #: some milliseconds, whatever is in it: a busy shard makes few, and they are larger.
    behind_s: float = 0.025
    #: The bytes of commands that make an entry without any further wait.
    enough_bytes: int = 64 << 10
    #: The bytes of commands that are evaluated for one entry, at most: nothing else runs meanwhile.
    batch_bytes: int = 256 << 10
    #: What may wait for a majority; what comes meanwhile stays in the queue, surely not proposed.
    window_entries: int = 64
    window_bytes: int = 16 << 20
    #: What may be under way in a shard; beyond it commands are refused with a retry-after.
    queue_bytes: int = 64 << 20
    queue_commands: int = 100_000
    write_timeout_s: float = 30.0
    #: A write that takes longer is warned about.
    slow_write_s: float = 1.0
    read_timeout_s: float = 30.0
    #: Nobody waits for a leader that was not heard of for so long, and for longer than an election.
    leaderless_s: float = 1.0
