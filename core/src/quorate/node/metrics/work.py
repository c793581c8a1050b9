"""Calls, controllers, caches, watches and the loop: what a node does beside its shards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from quorate.control.runner import ControllerStatus, ControllerTally, State
from quorate.groups.watching.caches import CacheKeeper
from quorate.node.metrics.table import Row, table
from quorate.observe.figures import Reading
from quorate.observe.loop_lag import LoopLag
from quorate.rpc.calls import CallTally


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The source of these metrics."""

    node: str
    version: str
    ready: bool
    #: Of each shard with a replica here: whether that has stopped, or cannot be opened.
    stopped: Mapping[str, bool]
    calls: CallTally
    controllers: Mapping[str, ControllerTally]
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


# fmt: off
_ROWS: Final[Sequence[Row[Work]]] = (
    ("quorate_node_info", "gauge", ("node", "version"),
     "1, with the name of the node and the version of quorate that it runs.",
     lambda work: [((work.node, work.version), 1)]),
    ("quorate_node_ready", "gauge", (),
     "1 while /readyz answers 200.", lambda work: [((), work.ready)]),
    ("quorate_shard_stopped", "gauge", ("shard",),
     "1 when the replica has stopped or cannot be opened, and quorate status says why.",
     lambda work: [((shard,), stopped) for shard, stopped in work.stopped.items()]),
    ("quorate_rpc_calls_total", "counter", ("method", "code"),
     "gRPC calls that have ended, of clients and of nodes, by their status code.",
     lambda work: list(work.calls.ended.items())),
    ("quorate_rpc_duration_seconds", "histogram", ("method",),
     "Time of the gRPC calls that have ended; a stream counts from its beginning.",
     lambda work: [((method,), spread) for method, spread in work.calls.durations.items()]),
    ("quorate_rpc_open_calls", "gauge", ("method",),
     "gRPC calls that go on.",
     lambda work: [((method,), count) for method, count in work.calls.open.items()]),
    ("quorate_controller_runs_total", "counter", ("controller",),
     "Runs of a controller on this node that came to their end.",
     lambda work: [((name,), tally.runs) for name, tally in work.controllers.items()]),
    ("quorate_controller_failures_total", "counter", ("controller",),
     "Runs of a controller on this node that failed.",
     lambda work: [((name,), tally.failures) for name, tally in work.controllers.items()]),
    ("quorate_controller_state", "gauge", ("controller", "shard", "state"),
     "1 for what a controller does for a shard that this node leads, 0 for the others.", _states),
    ("quorate_cache_age_seconds", "gauge", ("cache",),
     "How old what a cache holds may be; absent while it does not hold every row.", _ages),
    ("quorate_cache_builds_total", "counter", ("cache",),
     "How many times a cache was built from its rows.",
     lambda work: [((cache.name,), cache.builds) for cache in work.caches]),
    ("quorate_watch_open_watches", "gauge", (),
     "Watches that are open, those of caches, mirrors and controllers among them.",
     lambda work: [((), work.watches)]),
    ("quorate_loop_lag_seconds", "histogram", (),
     "How late the event loop came to what was due, sampled ten times a second.",
     lambda work: [((), work.lag.late)]),
    ("quorate_loop_longest_stop_seconds", "gauge", (),
     "Longest time for which the event loop stood still in the last minute.",
     lambda work: [((), work.lag.longest_s)]),
)
# fmt: on

METRICS: Final = table(_ROWS)
