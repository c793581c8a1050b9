"""The costs and capacity of a cluster, computed from measured figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, NamedTuple

from quorate.config.members import MOST_WORKERS, SLOTS

US: Final = 1e-6
MB: Final = 1e6
GB: Final = 1e9


class Figure(NamedTuple):
    """One measurement: a number, its unit, and the command that repeats it in `benchmarks/`."""

    value: float
    unit: str
    meaning: str
    command: str


_ROWS: Final = "scale.py --only rows"
_WATCHES: Final = "scale.py --only watches"
_REST: Final = "scale.py --only rest"
_SESSIONS: Final = "sessions.py --only memory --sessions 5000000 --topics 1000000"

#: Measured on 2026-11-22 and 2026-11-23 on two cores that other work used too, Python 3.11.7.
FIGURES: Final = {
    "write_leader": Figure(333, "us", "a single write, 100 in flight: its leader", _ROWS),
    "write_follower": Figure(78, "us", "a single write: each other replica", _ROWS),
    "batched_leader": Figure(10.2, "us", "a session in batches of 1,000: its leader", _ROWS),
    "batched_follower": Figure(4.3, "us", "a session in batches: each other replica", _ROWS),
    "read": Figure(
        143,
        "us",
        "a single linearizable read, 100 in flight: its leader",
        "path.py --only read-100",
    ),
    "event": Figure(114, "us", "a change for each watch that sees it", _WATCHES),
    "watch": Figure(9_300, "bytes", "an open watch", _WATCHES),
    "row_log": Figure(165, "bytes", "a row of 120 to 128 bytes, to each replica", _ROWS),
    "row_disk": Figure(312, "bytes", "a session on the disk of a replica", _SESSIONS),
    "row_memory": Figure(17, "bytes", "a session in the memory of a replica", _SESSIONS),
    "shard": Figure(3_560_000, "bytes", "a replica of a shard, in memory", _REST),
    "shard_rest": Figure(943, "us/s", "a replica of a shard that is not written", _REST),
    "node": Figure(129_000_000, "bytes", "a node with five shards", _REST),
    "node_rest": Figure(15_000, "us/s", "the same, when nobody calls", _REST),
}

#: What a heartbeat or its answer takes of a node: the rest of a shard is 80 of them a second on its
#: three nodes.
MESSAGE_US: Final = FIGURES["shard_rest"].value * 3 / 80
#: Each node asks each other one for its clock and for what it leads.
_ASKED_EVERY_S: Final = 5.0
#: A call that does next to nothing, for both sides: three quarters of a read are the call.
_ASK_US: Final = FIGURES["read"].value * 1.5
_HEARTBEATS_PER_S: Final = 10.0
#: The share of a core, of memory and of a disk that is planned with; the rest is for peaks,
#: elections, compaction and a node that is lost.
PLANNED: Final = 0.6
#: The largest shard that was measured, in rows.
SHARD_ROWS: Final = 6_000_000
#: Leaders for each worker, so that all of them are busy.
SHARDS_A_WORKER: Final = 2
#: Size of a shard in a topology, which is one message of at most `limits.grpc_message_bytes`.
_TOPOLOGY_BYTES: Final = 16 * 2**20
_SHARD_PLACE_BYTES: Final = 200
_MOST_NODES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The workload of a cluster; rates are per second."""

    sessions: float = 0.0
    #: Each in a call of its own.
    writes: float = 0.0
    #: Rows in batches.
    batched: float = 0.0
    reads: float = 0.0
    watches: float = 0.0
    #: Changes that watches get, each counted for each watch.
    events: float = 0.0
    replicas: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One of the machines of a cluster."""

    cores: int = 16
    memory: float = 64 * GB
    disk: float = 1_000 * GB


@dataclass(frozen=True, slots=True)
class Use:
    """The use of one resource by a plan, on each machine or in the whole cluster."""

    what: str
    needs: float
    #: What may be planned with; None: it is only said.
    has: float | None
    unit: str

    @property
    def fits(self) -> bool:
        """Whether there is enough of it."""
        return self.has is None or self.needs <= self.has


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A number of machines with their configuration and their usage."""

    nodes: int
    workers: int
    shards: int
    uses: Sequence[Use]

    @property
    def fits(self) -> bool:
        """Whether the machines carry the workload."""
        return all(each.fits for each in self.uses)

    @property
    def fullest(self) -> Use:
        """The fullest resource, which is the first limit reached."""
        bounded = [each for each in self.uses if each.has]
        return max(bounded, key=lambda each: each.needs / (each.has or 1.0))


def plan(demand: Demand, machine: Machine, nodes: int | None = None) -> ClusterPlan:
    """Return the plan for a number of machines, or for the fewest that carry it.

    When no number of machines does, it is the one that comes nearest.
    """
    if nodes is not None:
        return _planned(demand, machine, nodes)
    nearest: ClusterPlan | None = None
    for count in _counts(demand.replicas):
        found = _planned(demand, machine, count)
        if found.fits:
            # The fewest lie above the last number that was too small.
            fewer = range(max(demand.replicas, int(count / 1.1)), count)
            tried = (_planned(demand, machine, each) for each in fewer)
            return next((each for each in tried if each.fits), found)
        if nearest is None or _excess(found) < _excess(nearest):
            nearest = found
    assert nearest is not None
    return nearest


def most(machine: Machine, nodes: int, kind: str, replicas: int = 3) -> float:
    """Return how much of one kind of demand machines carry that do nothing else."""
    low, high = 0.0, 1.0
    while high < 1e15 and _planned(only(kind, high, replicas), machine, nodes).fits:
        low, high = high, 2 * high
    while high - low > 0.001 * high:
        middle = (low + high) / 2
        fits = _planned(only(kind, middle, replicas), machine, nodes).fits
        low, high = (middle, high) if fits else (low, middle)
    return low


def most_members() -> int:
    """Return how many members a cluster can have until metadata/0's leader has no time left."""
    return int(PLANNED / (2 * _HEARTBEATS_PER_S * MESSAGE_US * US))


def only(kind: str, amount: float, replicas: int = 3) -> Demand:
    """Return the demand of one kind, a field of `Demand`."""
    asked: Any = {kind: amount}
    return Demand(replicas=replicas, **asked)


def _counts(first: int) -> Iterator[int]:
    count = first
    while count <= _MOST_NODES:
        yield count
        count = max(count + 1, ceil(count * 1.1))


def _excess(found: ClusterPlan) -> float:
    use = found.fullest
    return use.needs / (use.has or 1.0)


def _planned(demand: Demand, machine: Machine, nodes: int) -> ClusterPlan:
    workers = max(1, min(machine.cores, MOST_WORKERS, most_members() // nodes))
    shards = _shards(demand, nodes * workers)
    return ClusterPlan(
        nodes=nodes,
        workers=workers,
        shards=shards,
        uses=list(_uses(demand, machine, nodes, workers, shards)),
    )


def _shards(demand: Demand, members: int) -> int:
    for_workers = SHARDS_A_WORKER * members if members > 1 else 1
    return min(SLOTS, max(for_workers, ceil(demand.sessions / SHARD_ROWS)))


def _uses(demand: Demand, machine: Machine, nodes: int, workers: int, shards: int) -> Iterator[Use]:
    members, others = nodes * workers, demand.replicas - 1
    leading_us = (
        demand.writes * _value("write_leader")
        + demand.batched * _value("batched_leader")
        + demand.reads * _value("read")
        + demand.events * _value("event")
    )
    following_us = others * (
        demand.writes * _value("write_follower") + demand.batched * _value("batched_follower")
    )
    resting_us = (
        members * _value("node_rest")
        + shards * demand.replicas * _value("shard_rest")
        + members * (members - 1) * _ASK_US / _ASKED_EVERY_S
    )
    yield Use(
        "processor, each machine",
        (leading_us + following_us + resting_us) * US / nodes,
        PLANNED * workers,
        "cores",
    )
    yield Use("processor, the leader of one shard", leading_us * US / shards, PLANNED, "cores")
    yield Use(
        "processor, the leader of metadata/0",
        2 * _HEARTBEATS_PER_S * members * MESSAGE_US * US,
        PLANNED,
        "cores",
    )
    memory = (
        workers * _value("node")
        + shards * demand.replicas / nodes * _value("shard")
        + demand.sessions * demand.replicas / nodes * _value("row_memory")
        + demand.watches / nodes * _value("watch")
    )
    yield Use("memory, each machine", memory / GB, PLANNED * machine.memory / GB, "GB")
    disk = demand.sessions * demand.replicas / nodes * _value("row_disk")
    yield Use("disk, each machine", disk / GB, PLANNED * machine.disk / GB, "GB")
    yield Use("rows, each shard", demand.sessions / shards / 1e6, SHARD_ROWS / 1e6, "million")
    yield Use("one topology", shards * _SHARD_PLACE_BYTES / MB, _TOPOLOGY_BYTES / MB, "MB")
    rows = demand.writes + demand.batched
    network = rows * _value("row_log") * (1 + others) + demand.events * _value("row_log")
    yield Use("network, each machine", network / nodes / MB, None, "MB/s")


def _value(name: str) -> float:
    return FIGURES[name].value
