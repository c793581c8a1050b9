"""A cluster as its operator sees it: what its topology and its nodes say, put together in rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from quorate.cli.statuses import Silent, Status
from quorate.v1.admin_pb2 import NodeStatusResponse, ReplicaReport, ShardPlace, TopologyResponse

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The cluster at one moment; each row has the same keys as its neighbours."""

    cluster: str
    nodes: Sequence[Row]
    shards: Sequence[Row]
    controllers: Sequence[Row]
    alarms: Sequence[Row]
    at_s: float
    #: How many commands each node had applied to each shard.
    applied: Mapping[tuple[str, str], int]

    def parts(self) -> Mapping[str, object]:
        """Return the view for programs."""
        return {
            "cluster": self.cluster,
            "nodes": self.nodes,
            "shards": self.shards,
            "controllers": self.controllers,
            "alarms": self.alarms,
        }

    def tables(self) -> Iterator[tuple[str, Sequence[Row]]]:
        """Return a title and its rows for people, for all that there is to show."""
        for title, rows in (
            ("nodes", self.nodes),
            ("shards", [_for_people(row) for row in self.shards]),
            ("controllers", self.controllers),
            ("alarms", self.alarms),
        ):
            if rows:
                yield title, rows


def view_of(
    topology: TopologyResponse,
    statuses: Mapping[str, Status],
    *,
    at_s: float,
    before: ClusterView | None = None,
) -> ClusterView:
    """Put a view together; rates are those since the view before, and unknown without one."""
    said = {
        name: status for name, status in statuses.items() if isinstance(status, NodeStatusResponse)
    }
    applied = {
        (shard.shard, name): shard.commands_applied
        for name, status in said.items()
        for shard in status.shards
    }
    rates = _rates(applied, at_s, before)
    shards = [_shard_row(place, said, rates) for place in topology.shards]
    return ClusterView(
        cluster=topology.cluster_id.hex(),
        nodes=[_node_row(node.node, node.address, statuses[node.node]) for node in topology.nodes],
        shards=shards,
        controllers=[
            {
                "controller": each.name,
                "shard": each.shard,
                "node": name,
                "state": each.state,
                "runs": each.runs,
                "failures": each.failures,
                "error": each.error,
            }
            for name, status in said.items()
            for each in status.controllers
        ],
        alarms=[
            *({"node": None, "alarm": _leaderless(row)} for row in shards if row["leader"] is None),
            *(
                {"node": name, "alarm": alarm}
                for name, status in said.items()
                for alarm in status.alarms
            ),
        ],
        at_s=at_s,
        applied=applied,
    )


def name_of(place: ShardPlace) -> str:
    """Return a shard as `<group>/<number>`."""
    return f"{place.group}/{place.number}"


def _node_row(name: str, address: str, status: Status) -> Row:
    if isinstance(status, Silent):
        return {
            "node": name,
            "address": address,
            "http": None,
            "version": None,
            "state": f"does not answer: {status.reason}",
            "hosts": None,
            "leads": None,
        }
    return {
        "node": name,
        "address": address,
        "http": status.http_address,
        "version": status.version,
        "state": "ready" if status.ready else "not ready",
        "hosts": len(status.shards),
        "leads": sum(shard.role == "leader" for shard in status.shards),
    }


def _shard_row(
    place: ShardPlace,
    said: Mapping[str, NodeStatusResponse],
    rates: Mapping[tuple[str, str], float],
) -> Row:
    name = name_of(place)
    replicas = {
        node: shard
        for node, status in said.items()
        for shard in status.shards
        if shard.shard == name
    }
    leader = _leader(replicas)
    leading = replicas.get(leader) if leader else None
    return {
        "shard": name,
        "leader": leader,
        "term": max((each.term for each in replicas.values()), default=place.term),
        "nodes": list(place.nodes),
        "commit": leading.commit_index if leading else None,
        "lag": _lags(place, leading, replicas),
        "queued": leading.queued if leading else None,
        "commands_per_s": rates.get((name, leader)) if leader else None,
    }


def _for_people(shard: Row) -> Row:
    """Return the row of a shard as short as a terminal wants it."""
    lags, rate, nodes = shard["lag"], shard["commands_per_s"], shard["nodes"]
    shown = {
        **shard,
        "nodes": " ".join(nodes) if isinstance(nodes, list) else nodes,
        "lag": [f"{node} {'?' if lag is None else lag}" for node, lag in lags.items()]
        if isinstance(lags, Mapping)
        else lags,
        "commands/s": rate,
    }
    del shown["commands_per_s"]
    if rate is None:
        del shown["commands/s"]
    return shown


def _leader(replicas: Mapping[str, ReplicaReport]) -> str | None:
    """Return who says of itself that it leads, in the latest history and term."""
    leaders = [
        (each.epoch, each.term, node)
        for node, each in replicas.items()
        if each.role == "leader" and not each.stopped
    ]
    return max(leaders)[2] if leaders else None


def _lags(
    place: ShardPlace, leading: ReplicaReport | None, replicas: Mapping[str, ReplicaReport]
) -> Mapping[str, int | None]:
    """Return how many entries each follower has not applied; None: that is not known."""
    if leading is None:
        return {}
    matched = {each.node: each.match_index for each in leading.followers}
    lags: dict[str, int | None] = {}
    for node in place.nodes:
        replica = replicas.get(node)
        if replica is leading:
            continue
        reached = matched.get(node) if replica is None else replica.applied_index
        lags[node] = None if reached is None else max(0, leading.commit_index - reached)
    return lags


def _leaderless(shard: Row) -> str:
    return (
        f"no node that answers leads {shard['shard']}: it takes no writes until a majority of its "
        "nodes runs and has elected one"
    )


def _rates(
    applied: Mapping[tuple[str, str], int], at_s: float, before: ClusterView | None
) -> Mapping[tuple[str, str], float]:
    """Return the commands a second of each replica; a node that began anew has none yet."""
    if before is None or at_s <= before.at_s:
        return {}
    return {
        replica: round((count - before.applied[replica]) / (at_s - before.at_s), 1)
        for replica, count in applied.items()
        if before.applied.get(replica, count + 1) <= count
    }
