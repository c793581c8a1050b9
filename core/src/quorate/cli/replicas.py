"""The replicas of a shard as its operator sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quorate.cli.cluster_view import name_of
from quorate.cli.statuses import Silent, Status
from quorate.v1.admin_pb2 import ShardPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What is known of one replica."""

    node: str
    #: The index up to which its data goes; None: nobody says.
    applied: int | None = None
    #: Why it does not go on; empty: it does.
    problem: str = ""


def replicas_of(place: ShardPlace, statuses: Mapping[str, Status]) -> list[Replica]:
    """Return the replicas that a shard should have, in the order of its nodes."""
    return [_replica(name_of(place), node, statuses.get(node)) for node in place.nodes]


def _replica(shard: str, node: str, status: Status | None) -> Replica:
    if status is None:
        return Replica(node=node, problem="its address is not known")
    if isinstance(status, Silent):
        return Replica(node=node, problem=f"does not answer: {status.reason}")
    for report in status.shards:
        if report.shard == shard:
            problem = f"has stopped: {report.stopped}" if report.stopped else ""
            return Replica(node=node, applied=report.applied_index, problem=problem)
    for broken in status.broken:
        if broken.shard == shard:
            return Replica(
                node=node,
                applied=broken.applied_index or None,
                problem=f"cannot be opened: {broken.error}",
            )
    return Replica(node=node, problem="has no replica yet")
