"""What a run is like: the size of its clusters, its timing, and how much goes wrong."""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from quorate.apply.applier import ApplyLimits
from quorate.apply.evaluator import EvaluationLimits
from quorate.consensus.timing import Limits, Timing
from quorate.shards.shard.log_keeper import LogPolicy
from quorate.shards.shard.shard import ShardSettings
from quorate.shards.snapshots.queue import SnapshotSettings
from quorate.shards.watching.feeds import PageLimits
from quorate.shards.watching.watches import WatchSettings

QUICK: Final = Timing(
    heartbeat_s=0.03, election_min_s=0.15, election_max_s=0.3, news_s=0.0005, flow_s=0.005
)
#: Hardly more heartbeats than elections need.
SPARING: Final = Timing(heartbeat_s=0.07, election_min_s=0.15, election_max_s=0.3)
DOCUMENTS: Final = Timing(heartbeat_s=0.25, election_min_s=0.299, election_max_s=0.598)
#: Small enough that appends are cut, that the tail leaves memory, and that a window fills up.
SMALL: Final = Limits(
    append_bytes=200,
    inflight_bytes=500,
    entry_bytes=4096,
    tail_bytes=2000,
    promotion_lag_entries=20,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How often each fault is chosen, relative to the others; 0 is never."""

    #: The mean time between two faults.
    every_s: float = 0.4
    crash: int = 3
    power_loss: int = 4
    cluster_power_loss: int = 1
    pause: int = 2
    partition: int = 4
    one_way: int = 3
    isolate_leader: int = 3
    #: A leader and some others are cut off from a majority.
    minority: int = 1
    #: A leader is alone, and its clock is so slow that it does not notice.
    strand_leader: int = 1
    stream_break: int = 2
    slow_way: int = 2
    slow_disk: int = 2
    clock_jump: int = 1
    clock_rate: int = 1
    empty_disk: int = 1
    #: An older copy of its own is put in the place of a disk, while nothing else is wrong.
    older_copy: int = 0
    transfer: int = 2
    membership: int = 2
    #: A leader hands over, leads again, is told late words of the first time, and is alone then.
    return_leader: int = 0
    #: How much longer a slow way takes.
    slow_way_s: tuple[float, ...] = (0.05, 0.2, 0.6)
    #: Of the failpoints that a transfer comes to: the process dies there.
    failpoint: float = 0.01
    #: Of messages on the control lane.
    drop: float = 0.02
    duplicate: float = 0.02
    reorder: float = 0.05
    #: Of snapshots on their way.
    cut_snapshot: float = 0.2
    #: Of snapshots: the last part comes when entries may have come from another leader.
    late_snapshot: float = 0.0


#: How long faults go on in the run of a seed.
USUAL_S: Final = 10.0

QUIET: Final = Faults(
    every_s=float("inf"), drop=0, duplicate=0, reorder=0, cut_snapshot=0, failpoint=0
)
#: None but those of messages and snapshots; a run adds its own.
NONE: Final = Faults(
    crash=0,
    power_loss=0,
    cluster_power_loss=0,
    pause=0,
    partition=0,
    one_way=0,
    isolate_leader=0,
    minority=0,
    strand_leader=0,
    stream_break=0,
    slow_way=0,
    slow_disk=0,
    clock_jump=0,
    clock_rate=0,
    empty_disk=0,
    transfer=0,
    membership=0,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One kind of run."""

    nodes: int = 3
    #: Nodes that are not among the initial members.
    spares: int = 1
    shards: int = 1
    timing: Timing = QUICK
    limits: Limits = SMALL
    faults: Faults = field(default_factory=Faults)
    #: How long faults go on.
    seconds: float = 20.0
    #: How long the healed cluster may take until every shard serves again.
    recovery_s: float = 4.0
    delay_s: tuple[float, float] = (0.0005, 0.008)
    sync_s: tuple[float, float] = (0.0005, 0.006)
    #: Per second, over all shards.
    proposals: float = 40.0
    reads: float = 20.0
    #: Proposals that are to be taken in the term in which they were thought of, or not at all.
    fenced: float = 0.0
    #: Reads at whatever replica, that only have to see what their client saw before.
    stale_reads: float = 5.0
    #: Clients of each shard that are served exactly once, and how busy each is.
    sessions: int = 2
    session_commands: float = 4.0
    #: The commands that share an entry while others are in flight; 1: each has its own.
    batch_bytes: int = 300
    #: Watchers of each shard.
    watchers: int = 2
    #: Whether shards rest, and how long clients are active and quiet in turn; 0: always active.
    rests: bool = False
    lull_s: float = 0.0
    #: Entries that compaction leaves behind the applied index.
    tail: int = 30
    #: The nodes that keep a hundred times as many.
    long_tails: tuple[str, ...] = ()
    compaction_s: float = 0.4
    #: Entries whose events are kept, if only they are old enough.
    retained: int = 150

    def shard_settings(self, node: str) -> ShardSettings:
        """Return the settings of shards: small, so that everything comes to its bounds."""
        tail = self.tail * 100 if node in self.long_tails else self.tail
        return ShardSettings(
            timing=self.timing,
            limits=self.limits,
            apply_limits=ApplyLimits(
                turn_bytes=800,
                # What a turn takes in real time must change nothing.
                turn_s=float("inf"),
                retained_entries=self.retained,
                retained_ms=500,
            ),
            evaluation=EvaluationLimits(entry_s=float("inf"), slow_s=float("inf")),
            log=LogPolicy(tail_entries=tail * 4 // 3, flush_s=self.compaction_s),
            linger_s=0.0005,
            behind_s=0.0005,
            batch_bytes=self.batch_bytes,
            write_timeout_s=3.0,
            read_timeout_s=3.0,
            slow_write_s=float("inf"),
        )

    def snapshot_settings(self) -> SnapshotSettings:
        """Return the settings of snapshots."""
        return SnapshotSettings(
            bytes_per_s=1 << 20,
            chunk_bytes=2048,
            stall_s=0.8,
            install_s=2.0,
            retry_min_s=0.02,
            retry_max_s=0.2,
            look_s=0.02,
        )

    def watch_settings(self) -> WatchSettings:
        """Return the settings of watches."""
        return WatchSettings(page=PageLimits(rows=7), bookmark_s=0.3)


def mixed(seed: int, seconds: float = USUAL_S) -> Profile:
    """Return the profile of a seed: every size and temper of cluster has its seeds."""
    rng = Random(f"{seed}/profile")
    faults = Faults(
        every_s=rng.choice((0.15, 0.3, 0.6, 1.0)),
        drop=rng.choice((0, 0.01, 0.05)),
        duplicate=rng.choice((0, 0.02, 0.05)),
        reorder=rng.choice((0, 0.05, 0.2)),
        cut_snapshot=rng.choice((0, 0.2, 0.5)),
        cluster_power_loss=rng.choice((0, 1, 2)),
        empty_disk=rng.choice((0, 2, 4)),
        older_copy=2,
        membership=rng.choice((0, 2, 5)),
        transfer=rng.choice((0, 3, 6)),
    )
    timing = rng.choice((QUICK, SPARING))
    rests = rng.random() < 0.8
    if rests:
        timing = replace(timing, rest_s=rng.choice((0.05, 0.2)))
    return Profile(
        nodes=rng.choice((3, 3, 3, 5)),
        spares=rng.choice((0, 1)),
        shards=rng.choice((1, 2, 3)),
        timing=timing,
        faults=faults,
        seconds=seconds,
        # A snapshot and then fifty entries, piece by piece over a slow way, take a while.
        recovery_s=8.0,
        delay_s=rng.choice(((0.0005, 0.003), (0.0005, 0.01), (0.005, 0.03))),
        sync_s=rng.choice(((0.0002, 0.002), (0.001, 0.01), (0.005, 0.03))),
        tail=rng.choice((5, 20, 60)),
        proposals=rng.choice((20.0, 40.0, 80.0)),
        reads=rng.choice((10.0, 30.0)),
        fenced=5.0,
        batch_bytes=rng.choice((1, 300)),
        sessions=rng.choice((1, 2)),
        watchers=rng.choice((1, 2)),
        rests=rests,
        lull_s=rng.choice((0.0, 0.5, 1.5)) if rests else 0.0,
    )
