"""The metrics of a node: of its shards, its disk and its work, with the source of each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, get_args

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from quorate import plugin
from quorate.consensus.inherited import ROLE_NAMES
from quorate.control.runner import Runner, State
from quorate.control.timers import Timers
from quorate.node.alerts import ALERTS
from quorate.node.ground import Ground
from quorate.node.healing import Healing
from quorate.node.readiness import ended
from quorate.node.recordings import Recordings
from quorate.node.replicas import Replicas
from quorate.node.serving import Serving
from quorate.node.watching import Watching
from quorate.observe.history import Totals, summed
from quorate.observe.metrics import Kind, Metric, MetricCollector, Reading
from quorate.shards.shard.capacity import FairShare, free_bytes_of
from quorate.shards.shard.shard import Shard, ShardStatus
from quorate.storage.engine.port import Engine

#: The methods of clients that read and end.
_READS: Final = re.compile(r"/(Get|List|Count|Find|Lookup|Range|Read)[A-Za-z]*$")


class Replica:
    """A shard's replica on this node, and its status at this scrape, which some metrics read."""

    def __init__(self, shard: Shard) -> None:
        self.shard: Final = shard

    @cached_property
    def status(self) -> ShardStatus:
        """Its status when it is first asked for."""
        return self.shard.status()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a node that have metrics."""

    ground: Ground
    replicas: Replicas
    serving: Serving
    watching: Watching
    runner: Runner
    timers: Timers
    healing: Healing
    records: Recordings
    #: Returns the problems that need an operator.
    alarms: Callable[[], Iterable[str]]


def expose(registry: CollectorRegistry, parts: Parts) -> None:
    """Register the metrics of a node and of its process with a registry."""
    shards = parts.replicas.shards.all
    asked = MetricCollector(_OF_REPLICAS, lambda: [*map(Replica, shards())])
    registry.register(asked)
    registry.register(MetricCollector(_OF_NODE, lambda: parts))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)


def totals(parts: Parts) -> Totals:
    """Return what the history of a node is made of."""
    shards = list(parts.replicas.shards.all())
    calls = parts.serving.calls.durations.items()
    place = os.statvfs(parts.replicas.directory.path)
    return Totals(
        commands=sum(each.counters.entry_commands.total for each in shards),
        writes=summed(each.counters.durations for each in shards),
        reads=summed(took for path, took in calls if _READS.search(path)),
        syncs=summed([parts.replicas.syncs.durations]),
        disk_free=place.f_bavail * place.f_frsize,
        disk_size=place.f_blocks * place.f_frsize,
    )


def declared() -> Sequence[plugin.Metric]:
    """Return the metrics that every node exposes, with their alerts."""
    exposed: list[Metric[Any]] = [*_OF_REPLICAS, *_OF_NODE]
    return [
        plugin.Metric(
            name=each.name,
            kind=each.kind,
            help=each.help,
            labels=each.labels,
            alert=ALERTS.get(each.name),
        )
        for each in exposed
    ]


# Raft, apply and the write path, per shard.

_Replicas = Sequence[Replica]


def _going(replicas: _Replicas) -> Iterator[tuple[str, ShardStatus]]:
    """Yield the replicas that have not stopped: a stopped one leads no longer."""
    return ((str(each.shard.id), each.status) for each in replicas if each.status.stopped is None)


def _roles(replicas: _Replicas) -> Iterator[Reading]:
    for shard, status in _going(replicas):
        for role in ROLE_NAMES.values():
            yield (shard, role), status.replica.role == role


def _lags(replicas: _Replicas) -> Iterator[Reading]:
    for shard, status in _going(replicas):
        for follower in status.replica.followers:
            yield (shard, follower.peer.node), status.replica.last - follower.match


def _silences(replicas: _Replicas) -> Iterator[Reading]:
    for shard, status in _going(replicas):
        for follower in status.replica.followers:
            yield (shard, follower.peer.node), follower.silent_s


def _shard_ages(replicas: _Replicas) -> Iterator[Reading]:
    for shard in (each.shard for each in replicas):
        age_ms = shard.staleness().age_ms
        if age_ms >= 0:
            yield (str(shard.id),), age_ms / 1_000


def _each(path: str) -> Callable[[_Replicas], Iterator[Reading]]:
    """Read an attribute of each replica."""
    read = attrgetter(path)
    return lambda replicas: (((str(each.shard.id),), read(each)) for each in replicas)


# fmt: off
#: Name, kind, help, and the path of the value in a `Replica`.
_VALUES: Final[Sequence[tuple[str, Kind, str, str]]] = (
    ("quorate_raft_term", "gauge", "Newest term that the replica knows.", "status.replica.term"),
    ("quorate_raft_leader_changes_total", "counter",
     "Terms for which the replica learned the leader since the node started.", "shard.leaders"),
    ("quorate_raft_received_messages_total", "counter",
     "Messages that the replica received from its peers.", "shard.received"),
    ("quorate_raft_first_index", "gauge",
     "Index of the oldest entry in the log.", "status.replica.first"),
    ("quorate_raft_last_index", "gauge",
     "Index of the newest entry in the log.", "status.replica.last"),
    ("quorate_raft_synced_index", "gauge",
     "Index up to which the log is durable on this node.", "status.replica.synced"),
    ("quorate_raft_commit_index", "gauge",
     "Index up to which the log is known to be committed.", "status.replica.commit"),
    ("quorate_raft_applied_index", "gauge",
     "Index up to which the log is applied to the rows.", "status.replica.applied"),
    ("quorate_raft_log_bytes", "gauge", "Size of all entries in the log.", "status.log_bytes"),
    ("quorate_apply_entries_total", "counter",
     "Entries applied since the node started.", "shard.applier.counters.entries"),
    ("quorate_apply_commands_total", "counter",
     "Commands applied since the node started, including refused ones.",
     "shard.applier.counters.commands"),
    ("quorate_apply_failures_total", "counter",
     "Commands whose handler failed by a bug since the node started.", "shard.evaluator.failures"),
    ("quorate_apply_slow_writes_total", "counter",
     "Writes whose handlers ran for more than 250 ms since the node started.",
     "shard.evaluator.slow"),
    ("quorate_apply_turn_seconds", "histogram",
     "Duration of a turn that applies and stores entries; nothing else runs on the node meanwhile.",
     "shard.applier.counters.turns"),
    ("quorate_write_duration_seconds", "histogram",
     "Duration of a write on the leader, from the queue to its outcome of any kind.",
     "shard.counters.durations"),
    ("quorate_write_entry_commands", "histogram",
     "Commands that the leader put into one entry.", "shard.counters.entry_commands"),
    ("quorate_write_entry_bytes", "histogram",
     "Size of the entries that the leader proposed.", "shard.counters.entry_bytes"),
    ("quorate_write_queued_writes", "gauge",
     "Writes that wait for an entry; a write holds the commands of one call.", "status.queued"),
    ("quorate_write_inflight_entries", "gauge",
     "Entries that were proposed here and are not applied yet.", "status.in_flight"),
    ("quorate_write_admitted_commands", "gauge",
     "Admitted commands that have not ended.", "status.admitted"),
    ("quorate_write_admitted_bytes", "gauge",
     "Size of the admitted commands that have not ended.", "status.admitted_bytes"),
    ("quorate_write_refused_commands_total", "counter",
     "Commands that were refused for lack of room: a full queue, disk or database.",
     "shard.counters.refused"),
)
_OF_REPLICAS: Final[Sequence[Metric[_Replicas]]] = (
    Metric("quorate_raft_role", "gauge", ("shard", "role"),
           "1 for the role that this node's replica has, 0 for the others.", _roles),
    Metric("quorate_raft_follower_lag_entries", "gauge", ("shard", "follower"),
           "Entries that a follower is not known to hold; exposed by the leader alone.", _lags),
    Metric("quorate_raft_follower_silence_seconds", "gauge", ("shard", "follower"),
           "Time since the last message of a follower; exposed by the leader alone.", _silences),
    Metric("quorate_shard_age_seconds", "gauge", ("shard",),
           "Maximum age of a stale read here; absent until a leader is known.", _shard_ages),
    *(Metric(name, kind, ("shard",), text, _each(path)) for name, kind, text, path in _VALUES),
)
# fmt: on

# The databases, the calls, the controllers and the loop.


def _databases(read: Callable[[Engine], float]) -> Callable[[Parts], Iterator[Reading]]:
    def read_all(parts: Parts) -> Iterator[Reading]:
        shards = parts.replicas.shards.all()
        databases = {"log": parts.replicas.log.engine}
        databases |= {str(shard.id): shard.data.engine for shard in shards}
        return (((name,), read(database)) for name, database in databases.items())

    return read_all


def _stopped(parts: Parts) -> Iterator[Reading]:
    shards = parts.replicas.shards
    stopped = {
        **dict.fromkeys((str(shard.id) for shard in shards.all()), False),
        **dict.fromkeys((str(shard) for shard, _ in ended(shards)), True),
    }
    return (((shard,), value) for shard, value in stopped.items())


def _states(parts: Parts) -> Iterator[Reading]:
    for post in parts.runner.status():
        for state in get_args(State):
            yield (post.name, str(post.shard), state), post.state == state


def _shares(read: Callable[[FairShare], int]) -> Callable[[Parts], Iterator[Reading]]:
    def read_all(parts: Parts) -> Iterator[Reading]:
        return (((name,), read(each)) for name, each in parts.serving.limits.shares.items())

    return read_all


def _quotas(place: int) -> Callable[[Parts], Iterator[Reading]]:
    """Read a figure of the quotas that have a row, so that callers cannot add series."""

    def read_all(parts: Parts) -> Iterator[Reading]:
        quotas = parts.serving.limits.quotas
        for found in quotas.uses():
            if quotas.has_own(found[0]):
                yield (*found[0], found[1]), found[place]  # type: ignore[misc]

    return read_all


def _cache_ages(parts: Parts) -> Iterator[Reading]:
    for cache in parts.watching.caches:
        if (age_ms := cache.age_ms()) is not None:
            yield (cache.name,), age_ms / 1_000


# fmt: off
_OF_NODE: Final[Sequence[Metric[Parts]]] = (
    Metric("quorate_log_sync_seconds", "histogram", (),
           "Time of an fsync of the node's log, which all of its shards share.",
           lambda node: [((), node.replicas.syncs.durations)]),
    Metric("quorate_disk_free_bytes", "gauge", (),
           "Free space on the file system of the node's directory.",
           lambda node: [((), free_bytes_of(node.replicas.directory.path))]),
    Metric("quorate_rocksdb_block_cache_bytes", "gauge", (),
           "Memory taken by blocks of all databases; storage.block_cache_bytes bounds it.",
           lambda node: [((), node.replicas.directory.budget.block_cache_used)]),
    Metric("quorate_rocksdb_write_buffers_bytes", "gauge", (),
           "Memory taken by unflushed rows of all databases; flushes begin at"
           " storage.write_buffer_bytes.",
           lambda node: [((), node.replicas.directory.budget.write_buffers_used)]),
    Metric("quorate_rocksdb_memtables_bytes", "gauge", ("database",),
           "Memory taken by the unflushed rows of a database: `log`, or a shard's.",
           _databases(lambda database: database.memory().write_buffers)),
    Metric("quorate_rocksdb_table_readers_bytes", "gauge", ("database",),
           "Memory taken by indexes and filters of open files.",
           _databases(lambda database: database.memory().table_readers)),
    Metric("quorate_rocksdb_tables_bytes", "gauge", ("database",),
           "Size of the files of rows and events in use, without the write-ahead log.",
           _databases(lambda database: database.files().tables)),
    Metric("quorate_rocksdb_pending_compaction_bytes", "gauge", ("database",),
           "Bytes that compactions have to rewrite.",
           _databases(lambda database: database.files().pending_compaction)),
    Metric("quorate_rocksdb_write_stopped", "gauge", ("database",),
           "1 while writes wait until flushes or compactions have caught up.",
           _databases(lambda database: database.stalled)),
    Metric("quorate_shard_history_bytes", "gauge", ("shard",),
           "Bytes of events that a shard which this node leads keeps for watches.",
           lambda node: [((str(shard),), size.total)
                         for shard, size in node.healing.histories.sizes.items()]),
    Metric("quorate_scrub_passes_total", "counter", (),
           "Completed passes that compared all files of the node with their earlier checksums.",
           lambda node: [((), node.healing.scrub.passes)]),
    Metric("quorate_scrub_file_bytes_total", "counter", (),
           "Bytes of files that were read and compared with their earlier checksums.",
           lambda node: [((), node.healing.scrub.file_bytes)]),
    Metric("quorate_scrub_checks_total", "counter", (),
           "Ranges of rows that replicas on this node have compared with the other replicas.",
           lambda node: [((), node.healing.scrub.checks)]),
    Metric("quorate_damage_found_total", "counter", (),
           "Damage that was found since the node started: replicas, or the node as a whole.",
           lambda node: [((), len(node.healing.repairs.damage))]),
    Metric("quorate_damage_open", "gauge", (),
           "Damage that was found and is not healed yet.",
           lambda node: [((), sum(not each.healed_at_ms for each in node.healing.repairs.damage))]),
    Metric("quorate_canary_seconds", "histogram", (),
           "Time of a write and a read of the canary.",
           lambda node: [((), node.healing.canary.durations)]),
    Metric("quorate_canary_failures_total", "counter", (),
           "Answers to the canary that were wrong, slow, or did not come.",
           lambda node: [((), node.healing.canary.failures)]),
    Metric("quorate_node_info", "gauge", ("node", "version"),
           "1, with the name of the node and the version of quorate that it runs.",
           lambda node: [((node.replicas.shards.me.node, node.ground.version), 1)]),
    Metric("quorate_node_ready", "gauge", (),
           "1 while /readyz answers 200.",
           lambda node: [((), not node.ground.lifecycle.missing())]),
    Metric("quorate_alarms", "gauge", (),
           "Alarms of the node; quorate status lists them.",
           lambda node: [((), len(set(node.alarms())))]),
    Metric("quorate_shard_stopped", "gauge", ("shard",),
           "1 if the replica has stopped or cannot be opened; quorate status shows the reason.",
           _stopped),
    Metric("quorate_rpc_calls_total", "counter", ("method", "code"),
           "gRPC calls of clients and nodes that have ended, by status code.",
           lambda node: list(node.serving.calls.ended.items())),
    Metric("quorate_rpc_duration_seconds", "histogram", ("method",),
           "Duration of the gRPC calls that have ended; a stream counts from its beginning.",
           lambda node: [((of,), took) for of, took in node.serving.calls.durations.items()]),
    Metric("quorate_rpc_open_calls", "gauge", ("method",),
           "gRPC calls in progress.",
           lambda node: [((method,), count) for method, count in node.serving.calls.open.items()]),
    Metric("quorate_limits_used", "gauge", ("setting",),
           "Calls, watches, views, connections or bytes that callers hold of a limit of the"
           " section `limits`.",
           _shares(lambda share: share.total)),
    Metric("quorate_limits_callers", "gauge", ("setting",),
           "Callers that hold a part of the limit.",
           _shares(lambda share: len(share.held))),
    Metric("quorate_limits_refused_total", "counter", ("setting",),
           "Calls, views and connections that were refused because of the limit.",
           _shares(lambda share: share.refused)),
    Metric("quorate_quota_limit", "gauge", ("kind", "name", "quota"),
           "Limit of a quota of a tenant, an identity or an address that has a row of its own.",
           _quotas(2)),
    Metric("quorate_quota_used", "gauge", ("kind", "name", "quota"),
           "Usage of the quota: rows and bytes of the cluster, the others on this node.",
           _quotas(3)),
    Metric("quorate_quota_refused_total", "counter", ("kind", "name", "quota"),
           "Calls and commands that were refused because of the quota.",
           _quotas(4)),
    Metric("quorate_rpc_slow_readers_total", "counter", (),
           "Calls that were ended because their clients read nothing.",
           lambda node: [((), node.serving.limits.slow_readers)]),
    Metric("quorate_rpc_slow_senders_total", "counter", (),
           "Calls that were ended because their requests stayed incomplete.",
           lambda node: [((), node.serving.limits.connections.stalled)]),
    Metric("quorate_rpc_closed_connections_total", "counter", ("reason",),
           "Connections that were closed: too many from an address (`share`), or unused (`idle`).",
           lambda node: [((why,), count)
                         for why, count in node.serving.limits.connections.ended.items()]),
    Metric("quorate_rpc_faults_total", "counter", ("code",),
           "Streams and connections of clients that broke the rules or a limit of HTTP/2.",
           lambda node: [((code,), count) for code, count in node.serving.faults.items()]),
    Metric("quorate_controller_runs_total", "counter", ("controller",),
           "Completed runs of a controller on this node.",
           lambda node: [((name,), of.runs) for name, of in node.runner.counters.items()]),
    Metric("quorate_controller_failures_total", "counter", ("controller",),
           "Runs of a controller on this node that failed.",
           lambda node: [((name,), of.failures) for name, of in node.runner.counters.items()]),
    Metric("quorate_controller_state", "gauge", ("controller", "shard", "state"),
           "1 for the state of a controller for a shard that this node leads, 0 for the others.",
           _states),
    Metric("quorate_timer_next_seconds", "gauge", ("timer",),
           "Time until the next deadline in the shards that this node leads; negative if it is"
           " overdue; absent without one.",
           lambda node: [((timer,), wait_s) for timer, wait_s in node.timers.next_s().items()]),
    Metric("quorate_cache_age_seconds", "gauge", ("cache",),
           "Maximum age of the rows in a cache; absent until it holds every row.",
           _cache_ages),
    Metric("quorate_cache_builds_total", "counter", ("cache",),
           "Number of times that a cache was built from its rows.",
           lambda node: [((cache.name,), cache.builds) for cache in node.watching.caches]),
    Metric("quorate_watch_open_watches", "gauge", (),
           "Open watches, including those of caches, mirrors and controllers.",
           lambda node: [((), node.watching.open_now)]),
    Metric("quorate_tls_end_timestamp_seconds", "gauge", ("file",),
           "Unix time from which no certificate of a file of [tls] is valid; absent without TLS.",
           lambda node: [((file,), end) for file, end in node.ground.certificates.ends().items()]
           if node.ground.certificates else []),
    Metric("quorate_audit_records_total", "counter", (),
           "Audit records that were made; absent without an audit log.",
           lambda node: [((), node.records.log.made)] if node.records.log else []),
    Metric("quorate_audit_lost_records_total", "counter", (),
           "Audit records that are not in the audit log, because the disk failed or was too slow.",
           lambda node: [((), node.records.log.lost)] if node.records.log else []),
    Metric("quorate_traces_spans_total", "counter", ("outcome",),
           "Spans that the collector accepted (`sent`), that it did not accept (`failed`), or that"
           " exceeded the queue (`dropped`); absent without traces.",
           lambda node: [((outcome,), count)
                         for outcome, count in node.records.collector.counts.items()]
           if node.records.collector else []),
    Metric("quorate_loop_lag_seconds", "histogram", (),
           "Delay of due callbacks of the event loop, sampled ten times a second.",
           lambda node: [((), node.serving.lag.late)]),
    Metric("quorate_loop_longest_stop_seconds", "gauge", (),
           "Longest time that the event loop was blocked in the last minute.",
           lambda node: [((), node.serving.lag.longest_s)]),
)
# fmt: on
