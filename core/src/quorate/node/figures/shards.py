"""Raft, apply and the write path: what the replicas of a node do, each shard by itself."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from quorate.consensus.inherited import ROLE_NAMES
from quorate.groups.shard.shard import Shard
from quorate.groups.shard.status import ShardStatus
from quorate.observe.histogram import Histogram
from quorate.observe.metrics import Metric, Reading


class Replica(NamedTuple):
    """A shard's replica on this node, and what it said of itself for this scrape."""

    shard: Shard
    status: ShardStatus

    @property
    def name(self) -> str:
        """The shard, as labels have it."""
        return str(self.shard.id)


Replicas = Sequence[Replica]


def replicas(shards: Iterable[Shard]) -> Replicas:
    """Ask each replica what it does."""
    return [Replica(shard, shard.status()) for shard in shards]


def _each(
    read: Callable[[Replica], float | Histogram],
) -> Callable[[Replicas], Iterator[Reading]]:
    def read_all(replicas: Replicas) -> Iterator[Reading]:
        for replica in replicas:
            yield (replica.name,), read(replica)

    return read_all


def _going(replicas: Replicas) -> Iterator[Replica]:
    """Give the replicas that have not stopped: one that has leads nothing any more."""
    return (replica for replica in replicas if replica.status.stopped is None)


def _roles(replicas: Replicas) -> Iterator[Reading]:
    for replica in _going(replicas):
        for role in ROLE_NAMES.values():
            yield (replica.name, role), replica.status.replica.role == role


def _lags(replicas: Replicas) -> Iterator[Reading]:
    for replica in _going(replicas):
        status = replica.status.replica
        for follower in status.followers:
            yield (replica.name, follower.peer.node), status.last - follower.match


def _silences(replicas: Replicas) -> Iterator[Reading]:
    for replica in _going(replicas):
        for follower in replica.status.replica.followers:
            yield (replica.name, follower.peer.node), follower.silent_s


def _ages(replicas: Replicas) -> Iterator[Reading]:
    for replica in replicas:
        age_ms = replica.shard.staleness().age_ms
        if age_ms >= 0:
            yield (replica.name,), age_ms / 1_000


_SHARD: Final = ("shard",)

FIGURES: Final[Sequence[Metric[Replicas]]] = (
    Metric(
        name="quorate_raft_role",
        kind="gauge",
        help="1 for the role that this node's replica has, 0 for the others.",
        labels=("shard", "role"),
        read=_roles,
    ),
    Metric(
        name="quorate_raft_term",
        kind="gauge",
        help="Newest term that the replica knows.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.replica.term),
    ),
    Metric(
        name="quorate_raft_leader_changes_total",
        kind="counter",
        help="Terms of which the replica found the leader since the node started.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.leaders),
    ),
    Metric(
        name="quorate_raft_received_messages_total",
        kind="counter",
        help="Messages that the replica received from its peers.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.received),
    ),
    Metric(
        name="quorate_raft_first_index",
        kind="gauge",
        help="Index of the oldest entry in the log.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.replica.first),
    ),
    Metric(
        name="quorate_raft_last_index",
        kind="gauge",
        help="Index of the newest entry in the log.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.replica.last),
    ),
    Metric(
        name="quorate_raft_synced_index",
        kind="gauge",
        help="Index up to which the log is durable on this node.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.replica.synced),
    ),
    Metric(
        name="quorate_raft_commit_index",
        kind="gauge",
        help="Index up to which the log is known to be agreed upon.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.replica.commit),
    ),
    Metric(
        name="quorate_raft_applied_index",
        kind="gauge",
        help="Index up to which the log is applied to the rows.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.replica.applied),
    ),
    Metric(
        name="quorate_raft_log_bytes",
        kind="gauge",
        help="Size of all entries in the log.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.log_bytes),
    ),
    Metric(
        name="quorate_raft_follower_lag_entries",
        kind="gauge",
        help="Entries that a follower is not known to hold; told by the leader alone.",
        labels=("shard", "follower"),
        read=_lags,
    ),
    Metric(
        name="quorate_raft_follower_silence_seconds",
        kind="gauge",
        help="Time since a follower was last heard; told by the leader alone.",
        labels=("shard", "follower"),
        read=_silences,
    ),
    Metric(
        name="quorate_shard_age_seconds",
        kind="gauge",
        help="How old a stale read may be here; absent until a leader was heard.",
        labels=_SHARD,
        read=_ages,
    ),
    Metric(
        name="quorate_apply_entries_total",
        kind="counter",
        help="Entries applied since the node started.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.applier.counters.entries),
    ),
    Metric(
        name="quorate_apply_commands_total",
        kind="counter",
        help="Commands applied since the node started, the refused ones among them.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.applier.counters.commands),
    ),
    Metric(
        name="quorate_apply_failures_total",
        kind="counter",
        help="Commands whose handler failed by a bug since the node started.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.evaluator.failures),
    ),
    Metric(
        name="quorate_apply_slow_writes_total",
        kind="counter",
        help="Writes whose handlers ran for more than 250 ms since the node started.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.evaluator.slow),
    ),
    Metric(
        name="quorate_apply_turn_seconds",
        kind="histogram",
        help="Time of a turn, in which nothing else runs on the node: entries applied and stored.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.applier.counters.turns),
    ),
    Metric(
        name="quorate_write_duration_seconds",
        kind="histogram",
        help="Time of a write on the leader, from the queue to its end, whatever that is.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.counters.durations),
    ),
    Metric(
        name="quorate_write_entry_commands",
        kind="histogram",
        help="Commands that the leader put into one entry.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.counters.entry_commands),
    ),
    Metric(
        name="quorate_write_entry_bytes",
        kind="histogram",
        help="Size of the entries that the leader made.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.counters.entry_bytes),
    ),
    Metric(
        name="quorate_write_queued_writes",
        kind="gauge",
        help="Writes that wait for their entry; a write holds the commands of one call.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.queued),
    ),
    Metric(
        name="quorate_write_inflight_entries",
        kind="gauge",
        help="Entries that were proposed here and are not applied yet.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.in_flight),
    ),
    Metric(
        name="quorate_write_admitted_commands",
        kind="gauge",
        help="Commands that were let in and have not ended.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.admitted),
    ),
    Metric(
        name="quorate_write_admitted_bytes",
        kind="gauge",
        help="Size of the commands that were let in and have not ended.",
        labels=_SHARD,
        read=_each(lambda replica: replica.status.admitted_bytes),
    ),
    Metric(
        name="quorate_write_refused_commands_total",
        kind="counter",
        help="Commands that were refused for lack of room: a full queue, disk or database.",
        labels=_SHARD,
        read=_each(lambda replica: replica.shard.counters.refused),
    ),
)
