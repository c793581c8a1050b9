"""Raft, apply and the write path: what the replicas of a node do, each shard by itself."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from quorate.consensus.inherited import ROLE_NAMES
from quorate.groups.shard.shard import Shard, ShardStatus
from quorate.node.metrics.table import Row, table
from quorate.observe.histogram import Histogram
from quorate.observe.metrics import Reading


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

# fmt: off
_ROWS: Final[Sequence[Row[Replicas]]] = (
    ("quorate_raft_role", "gauge", ("shard", "role"),
     "1 for the role that this node's replica has, 0 for the others.", _roles),
    ("quorate_raft_term", "gauge", _SHARD,
     "Newest term that the replica knows.", _each(lambda replica: replica.status.replica.term)),
    ("quorate_raft_leader_changes_total", "counter", _SHARD,
     "Terms of which the replica found the leader since the node started.",
     _each(lambda replica: replica.shard.leaders)),
    ("quorate_raft_received_messages_total", "counter", _SHARD,
     "Messages that the replica received from its peers.",
     _each(lambda replica: replica.shard.received)),
    ("quorate_raft_first_index", "gauge", _SHARD,
     "Index of the oldest entry in the log.", _each(lambda replica: replica.status.replica.first)),
    ("quorate_raft_last_index", "gauge", _SHARD,
     "Index of the newest entry in the log.", _each(lambda replica: replica.status.replica.last)),
    ("quorate_raft_synced_index", "gauge", _SHARD,
     "Index up to which the log is durable on this node.",
     _each(lambda replica: replica.status.replica.synced)),
    ("quorate_raft_commit_index", "gauge", _SHARD,
     "Index up to which the log is known to be agreed upon.",
     _each(lambda replica: replica.status.replica.commit)),
    ("quorate_raft_applied_index", "gauge", _SHARD,
     "Index up to which the log is applied to the rows.",
     _each(lambda replica: replica.status.replica.applied)),
    ("quorate_raft_log_bytes", "gauge", _SHARD,
     "Size of all entries in the log.", _each(lambda replica: replica.status.log_bytes)),
    ("quorate_raft_follower_lag_entries", "gauge", ("shard", "follower"),
     "Entries that a follower is not known to hold; exposed by the leader alone.", _lags),
    ("quorate_raft_follower_silence_seconds", "gauge", ("shard", "follower"),
     "Time since the last message of a follower; exposed by the leader alone.", _silences),
    ("quorate_shard_age_seconds", "gauge", _SHARD,
     "How old a stale read may be here; absent until a leader is known.", _ages),
    ("quorate_apply_entries_total", "counter", _SHARD,
     "Entries applied since the node started.",
     _each(lambda replica: replica.shard.applier.counters.entries)),
    ("quorate_apply_commands_total", "counter", _SHARD,
     "Commands applied since the node started, the refused ones among them.",
     _each(lambda replica: replica.shard.applier.counters.commands)),
    ("quorate_apply_failures_total", "counter", _SHARD,
     "Commands whose handler failed by a bug since the node started.",
     _each(lambda replica: replica.shard.evaluator.failures)),
    ("quorate_apply_slow_writes_total", "counter", _SHARD,
     "Writes whose handlers ran for more than 250 ms since the node started.",
     _each(lambda replica: replica.shard.evaluator.slow)),
    ("quorate_apply_turn_seconds", "histogram", _SHARD,
     "Time of a turn, in which nothing else runs on the node: entries applied and stored.",
     _each(lambda replica: replica.shard.applier.counters.turns)),
    ("quorate_write_duration_seconds", "histogram", _SHARD,
     "Time of a write on the leader, from the queue to its end, whatever that is.",
     _each(lambda replica: replica.shard.counters.durations)),
    ("quorate_write_entry_commands", "histogram", _SHARD,
     "Commands that the leader put into one entry.",
     _each(lambda replica: replica.shard.counters.entry_commands)),
    ("quorate_write_entry_bytes", "histogram", _SHARD,
     "Size of the entries that the leader made.",
     _each(lambda replica: replica.shard.counters.entry_bytes)),
    ("quorate_write_queued_writes", "gauge", _SHARD,
     "Writes that wait for their entry; a write holds the commands of one call.",
     _each(lambda replica: replica.status.queued)),
    ("quorate_write_inflight_entries", "gauge", _SHARD,
     "Entries that were proposed here and are not applied yet.",
     _each(lambda replica: replica.status.in_flight)),
    ("quorate_write_admitted_commands", "gauge", _SHARD,
     "Commands that were let in and have not ended.",
     _each(lambda replica: replica.status.admitted)),
    ("quorate_write_admitted_bytes", "gauge", _SHARD,
     "Size of the commands that were let in and have not ended.",
     _each(lambda replica: replica.status.admitted_bytes)),
    ("quorate_write_refused_commands_total", "counter", _SHARD,
     "Commands that were refused for lack of room: a full queue, disk or database.",
     _each(lambda replica: replica.shard.counters.refused)),
)
# fmt: on

METRICS: Final = table(_ROWS)
