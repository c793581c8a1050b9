"""Asks the nodes of a cluster for their status, all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from quorate.builtin.tenant.cli import USAGE, usage_rows
from quorate.cli.encoding import fields_of
from quorate.cli.failures import failure
from quorate.cli.terminal import ADMIN
from quorate.client.connections import Connections
from quorate.client.errors import QuorateError, UnansweredError
from quorate.client.failures import AttemptError
from quorate.client.tls import Tls
from quorate.client.tokens import BearerToken
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: How long a node may take to answer before it counts as silent.
PATIENCE_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Silent:
    """A node that did not answer."""

    reason: str

    def __str__(self) -> str:
        return f"does not answer: {self.reason}"


Status = pb.NodeStatusResponse | Silent


class Statuses:
    """Asks nodes for their status; used as an asynchronous context manager."""

    def __init__(self, tls: Tls | None, token: BearerToken | None) -> None:
        self._connections: Final = Connections(tls, token)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connections.close()

    async def of(
        self, addresses: Mapping[str, str], *, replicas: bool = True
    ) -> Mapping[str, Status]:
        """Return the status of each node by the name given with its address."""
        request = pb.NodeStatusRequest(without_replicas=not replicas)
        found = await asyncio.gather(
            *(self._ask(address, request) for address in addresses.values())
        )
        return dict(zip(addresses, found, strict=True))

    async def of_members(
        self, topology: pb.TopologyResponse, *, replicas: bool = True
    ) -> Mapping[str, Status]:
        """Return the status of each node of a cluster."""
        addresses = {each.node: each.address for each in topology.nodes}
        return await self.of(addresses, replicas=replicas)

    async def _ask(self, address: str, request: pb.NodeStatusRequest) -> Status:
        try:
            return await self._connections.to(address).call(
                f"{ADMIN}/Status", request, pb.NodeStatusResponse, PATIENCE_S
            )
        except AttemptError as failed:
            if isinstance(failed.error, UnansweredError):
                return Silent(f"no answer within {PATIENCE_S:g} s")
            # gRPC's messages about connections are long and about sockets.
            return Silent("it cannot be reached" if failed.unreachable else failed.why)


async def look(
    client: AsyncClient, *, replicas: bool = True
) -> tuple[pb.TopologyResponse, Mapping[str, Status]]:
    """Return the topology of a cluster, and the status of each of its nodes.

    Without the replicas of the nodes it takes a fraction of the time, if they have many.
    """
    topology = await client.topology()
    async with Statuses(client.tls, client.token) as statuses:
        return topology, await statuses.of_members(topology, replicas=replicas)


def controller_rows(statuses: Mapping[str, Status]) -> Iterator[dict[str, object]]:
    """Yield the controllers that run on the nodes that answer."""
    for node, status in statuses.items():
        for each in () if isinstance(status, Silent) else status.controllers:
            more = fields_of(each, "shard state runs failures error progress")
            yield {"node": node, "controller": each.name, **more}


def paused_rows(statuses: Mapping[str, Status]) -> Iterator[dict[str, object]]:
    """Yield the controllers that are paused on the nodes that answer, and run there no more."""
    for node, status in statuses.items():
        if not isinstance(status, Silent):
            running = {each.name for each in status.controllers}
            for name in status.paused:
                if name not in running:
                    yield {"node": node, "controller": name, "state": "paused"}


async def quota_rows(
    client: AsyncClient, nodes: Collection[str], *ignored: type[QuorateError]
) -> Iterator[Mapping[str, Any]]:
    """Return the usage of quotas on these nodes, without nodes that fail with an ignored error."""

    async def ask(node: str) -> pb.QuotaUsageResponse:
        with suppress(*ignored):
            return await client.at(node).call(USAGE, pb.QuotaUsageRequest(), pb.QuotaUsageResponse)
        return pb.QuotaUsageResponse()

    answers = await asyncio.gather(*map(ask, nodes))
    return usage_rows(dict(zip(nodes, answers, strict=True)))


def name_of(place: pb.ShardPlace) -> str:
    """Return a shard as `<group>/<number>`."""
    return f"{place.group}/{place.number}"


def place_of(topology: pb.TopologyResponse, shard: str) -> pb.ShardPlace:
    """Return the place of a shard; fail if no shard has that name."""
    places = {name_of(place): place for place in topology.shards}
    if shard not in places:
        known = ", ".join(places) or "none yet"
        raise failure(f"there is no shard {shard}", f"name one of {known}")
    return places[shard]


def report_of(status: pb.NodeStatusResponse, shard: str) -> pb.ReplicaReport | None:
    """Return a node's report of its replica of a shard, if it runs one."""
    return next((each for each in status.shards if each.shard == shard), None)


def leads(report: pb.ReplicaReport) -> bool:
    """Return whether a replica says of itself that it leads."""
    return report.role == "leader" and not report.stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """The known state of one replica."""

    node: str
    #: The report of its node, if it runs there.
    report: pb.ReplicaReport | None = None
    #: The index up to which its data goes; None: unknown.
    applied: int | None = None
    #: Why it makes no progress; empty: it does.
    problem: str = ""


def replicas_of(place: pb.ShardPlace, statuses: Mapping[str, Status]) -> list[Replica]:
    """Return the replicas that a shard should have, in the order of its nodes."""
    return [_replica(name_of(place), node, statuses.get(node)) for node in place.nodes]


def _replica(shard: str, node: str, status: Status | None) -> Replica:
    if not isinstance(status, pb.NodeStatusResponse):
        return Replica(node=node, problem=str(status or "its address is not known"))
    repairs = [f"; {each.state}" for each in status.damage if each.shard == shard]
    repair = repairs[-1] if repairs else ""
    if report := report_of(status, shard):
        problem = f"has stopped: {report.stopped}{repair}" if report.stopped else ""
        return Replica(node=node, report=report, applied=report.applied_index, problem=problem)
    for broken in status.broken:
        if broken.shard == shard:
            problem = f"cannot be opened: {broken.error}{repair}"
            return Replica(node=node, applied=broken.applied_index or None, problem=problem)
    if shard in status.unopened:
        return Replica(node=node, problem="is not open yet: it opens on demand")
    return Replica(node=node, problem=f"has no replica yet{repair}")
