"""Calls, controllers, caches, watches and the loop: what a node does beside its shards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from quorate.control.runner import ControllerCounters, ControllerStatus, State
from quorate.groups.watching.caches import CacheKeeper
from quorate.observe.loop_lag import LoopLag
from quorate.observe.metrics import Metric, Reading
from quorate.rpc.calls import CallTally


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Where the figures are."""

    node: str
    version: str
    ready: bool
    #: Of each shard with a replica here: whether that has stopped, or cannot be opened.
    stopped: Mapping[str, bool]
    calls: CallTally
    controllers: Mapping[str, ControllerCounters]
    posts: Sequence[ControllerStatus]
    caches: Sequence[CacheKeeper]
    watches: int
    lag: LoopLag


def _states(work: Work) -> Iterator[Reading]:
    for post in work.posts:
        for state in get_args(State):
            yield (post.name, str(post.shard), state), post.state == state


def _ages(work: Work) -> Iterator[Reading]:
    for cache in work.caches:
        if (age_ms := cache.age_ms()) is not None:
            yield (cache.name,), age_ms / 1_000


FIGURES: Final[Sequence[Metric[Work]]] = (
    Metric(
        name="quorate_node_info",
        kind="gauge",
        help="1, with the name of the node and the version of quorate that it runs.",
        labels=("node", "version"),
        read=lambda work: [((work.node, work.version), 1)],
    ),
    Metric(
        name="quorate_node_ready",
        kind="gauge",
        help="1 while /readyz answers 200.",
        read=lambda work: [((), work.ready)],
    ),
    Metric(
        name="quorate_shard_stopped",
        kind="gauge",
        help="1 when the replica has stopped or cannot be opened, and quorate status tells why.",
        labels=("shard",),
        read=lambda work: [((shard,), stopped) for shard, stopped in work.stopped.items()],
    ),
    Metric(
        name="quorate_rpc_calls_total",
        kind="counter",
        help="gRPC calls that have ended, of clients and of nodes, by their status code.",
        labels=("method", "code"),
        read=lambda work: list(work.calls.ended.items()),
    ),
    Metric(
        name="quorate_rpc_duration_seconds",
        kind="histogram",
        help="Time of the gRPC calls that have ended; a stream counts from its beginning.",
        labels=("method",),
        read=lambda work: [((method,), spread) for method, spread in work.calls.durations.items()],
    ),
    Metric(
        name="quorate_rpc_open_calls",
        kind="gauge",
        help="gRPC calls that go on.",
        labels=("method",),
        read=lambda work: [((method,), count) for method, count in work.calls.open.items()],
    ),
    Metric(
        name="quorate_controller_runs_total",
        kind="counter",
        help="Runs of a controller on this node that came to their end.",
        labels=("controller",),
        read=lambda work: [((name,), tally.runs) for name, tally in work.controllers.items()],
    ),
    Metric(
        name="quorate_controller_failures_total",
        kind="counter",
        help="Runs of a controller on this node that failed.",
        labels=("controller",),
        read=lambda work: [((name,), tally.failures) for name, tally in work.controllers.items()],
    ),
    Metric(
        name="quorate_controller_state",
        kind="gauge",
        help="1 for what a controller does for a shard that this node leads, 0 for the others.",
        labels=("controller", "shard", "state"),
        read=_states,
    ),
    Metric(
        name="quorate_cache_age_seconds",
        kind="gauge",
        help="How old what a cache holds may be; absent while it does not hold every row.",
        labels=("cache",),
        read=_ages,
    ),
    Metric(
        name="quorate_cache_builds_total",
        kind="counter",
        help="How many times a cache was built from its rows.",
        labels=("cache",),
        read=lambda work: [((cache.name,), cache.builds) for cache in work.caches],
    ),
    Metric(
        name="quorate_watch_open_watches",
        kind="gauge",
        help="Watches that are open, those of caches, mirrors and controllers among them.",
        read=lambda work: [((), work.watches)],
    ),
    Metric(
        name="quorate_loop_lag_seconds",
        kind="histogram",
        help="How late the event loop came to what was due, sampled ten times a second.",
        read=lambda work: [((), work.lag.late)],
    ),
    Metric(
        name="quorate_loop_longest_stop_seconds",
        kind="gauge",
        help="Longest time for which the event loop stood still in the last minute.",
        read=lambda work: [((), work.lag.longest_s)],
    ),
)
