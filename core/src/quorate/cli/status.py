"""`quorate status`: the nodes and shards of a cluster, once or as they change."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Container, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Group
from rich.live import Live

from quorate.cli.options import flag
from quorate.cli.statuses import (
    Silent,
    Status,
    Statuses,
    controller_rows,
    leads,
    name_of,
)
from quorate.cli.tables import show, table_of
from quorate.cli.terminal import Terminal
from quorate.observe.thresholds import FOLLOWER_LAG
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

Row = Mapping[str, object]

_EVERY_S: Final = 1.0


@click.command("status")
@flag("--watch", "Refresh every second, with rates, until Ctrl-C.")
@click.pass_obj
def command(terminal: Terminal, watch: bool) -> None:
    """Show the nodes of the cluster, its shards with leaders and lag, controllers and alarms.

    Every node is asked; a node that does not answer is shown as such. JSON output is one object, or
    with --watch one per line.
    """
    live = Live(auto_refresh=False) if watch and not terminal.json else None

    async def look(client: AsyncClient) -> None:
        async with aclosing(views(client)) as looks:
            async for view, _ in looks:
                if live is not None:
                    live.update(_rendered(view), refresh=True)
                elif not terminal.json:
                    show(_rendered(view))
                elif watch:
                    terminal.report("", view.parts())
                else:
                    terminal.print_json(view.parts())
                if not watch:
                    return
                await asyncio.sleep(_EVERY_S)

    with live or nullcontext():
        (terminal.follow if watch else terminal.ask)(look)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """A cluster as its operator sees it at one moment."""

    cluster: str
    #: Of nodes, shards, controllers and alarms; those of one kind have the same keys.
    rows: Mapping[str, Sequence[Row]]
    at_s: float
    #: How many commands each node had applied to each shard.
    applied: Mapping[tuple[str, str], int]

    def parts(self) -> Mapping[str, object]:
        """Return the view for programs."""
        return {"cluster": self.cluster, **self.rows}

    def tables(self) -> Iterator[tuple[str, Sequence[Row]]]:
        """Return a title and its rows for people, for all that there is to show."""
        for title, rows in self.rows.items():
            if rows:
                yield title, list(map(_for_people, rows)) if title == "shards" else rows


def view_of(
    topology: pb.TopologyResponse,
    statuses: Mapping[str, Status],
    *,
    at_s: float,
    before: ClusterView | None = None,
) -> ClusterView:
    """Put a view together; rates are those since the view before, and unknown without one."""
    said = {name: each for name, each in statuses.items() if not isinstance(each, Silent)}
    applied = {
        (shard.shard, name): shard.commands_applied
        for name, status in said.items()
        for shard in status.shards
    }
    rates = _rates(applied, at_s, before)
    reports = {node: {each.shard: each for each in status.shards} for node, status in said.items()}
    shards = [_shard_row(place, said, reports, rates) for place in topology.shards]
    # These have a leader as soon as they are asked for.
    unopened = {shard for status in said.values() for shard in status.unopened}
    leaderless = [
        f"no node that answers leads {row['shard']}: it accepts no writes until a majority of its "
        "nodes runs and elects a leader"
        for row in shards
        if row["leader"] is None and not (row["shard"] in unopened and _most_answer(row, said))
    ]
    alarms: list[Row] = [{"node": None, "alarm": alarm} for alarm in leaderless]
    alarms += [
        {"node": name, "alarm": alarm} for name, status in said.items() for alarm in status.alarms
    ]
    nodes = [_node_row(each.node, each.address, statuses[each.node]) for each in topology.nodes]
    alarms += _absences(nodes, shards)
    alarms += _laggards(shards)
    return ClusterView(
        cluster=topology.cluster_id.hex(),
        rows={
            "nodes": nodes,
            "shards": shards,
            "controllers": list(controller_rows(statuses)),
            "alarms": alarms,
        },
        at_s=at_s,
        applied=applied,
    )


async def views(
    client: AsyncClient,
) -> AsyncGenerator[tuple[ClusterView, Mapping[str, Status]], None]:
    """Look again and again, and yield the view with the statuses that it is of."""
    view: ClusterView | None = None
    async with Statuses(client.tls, client.token) as statuses:
        while True:
            topology = await client.topology()
            found = await statuses.of_members(topology)
            view = view_of(topology, found, at_s=time.monotonic(), before=view)
            yield view, found


def _rendered(view: ClusterView) -> Group:
    return Group(*(table_of(rows, title=title) for title, rows in view.tables()))


def _node_row(name: str, address: str, status: Status) -> Row:
    if isinstance(status, Silent):
        machine, http, version, hosts, leads = None, None, None, None, None
        state = str(status)
    else:
        machine, http, version = status.machine or None, status.http_address, status.version
        state = "ready" if status.ready else "not ready"
        hosts = len(status.shards) + len(status.unopened)
        leads = sum(each.role == "leader" for each in status.shards)
    return {
        "node": name,
        "machine": machine,
        "address": address,
        "http": http,
        "version": version,
        "state": state,
        "hosts": hosts,
        "leads": leads,
    }


def _shard_row(
    place: pb.ShardPlace,
    said: Mapping[str, pb.NodeStatusResponse],
    reports: Mapping[str, Mapping[str, pb.ReplicaReport]],
    rates: Mapping[tuple[str, str], float],
) -> Row:
    name = name_of(place)
    replicas = {node: each[name] for node, each in reports.items() if name in each}
    # The node that reports to lead, in the latest history and term.
    leaders = [(each.epoch, each.term, node) for node, each in replicas.items() if leads(each)]
    leader = max(leaders)[2] if leaders else None
    leading = replicas[leader] if leader else None
    return {
        "shard": name,
        "leader": leader,
        "term": max((each.term for each in replicas.values()), default=place.term),
        "nodes": list(place.nodes),
        "commit": leading.commit_index if leading else None,
        "lag": _lags(place, leading, replicas, said) if leading else {},
        "queued": leading.queued if leading else None,
        "commands_per_s": rates.get((name, leader)) if leader else None,
    }


def _absences(nodes: Sequence[Row], shards: Sequence[Row]) -> Iterator[Row]:
    """Yield an alarm for each node that is not ready, with the number of shards that lack it."""
    for row in nodes:
        if row["state"] == "ready":
            continue
        lack = ""
        # A node that answers has its replicas.
        if row["hosts"] is None:
            hosted: Iterator[Any] = (shard["nodes"] for shard in shards)
            lacking = sum(row["node"] in hosts for hosts in hosted)
            lack = f"; {lacking} of {len(shards)} shards lack a replica" if lacking else ""
        alarm = f"{row['state']}{lack}. Look at its process and its log; /readyz names the cause"
        yield {"node": row["node"], "alarm": alarm}


def _laggards(shards: Sequence[Row]) -> Iterator[Row]:
    """Yield an alarm for each follower that is far behind the leader of a shard."""
    for row in shards:
        lags: Any = row["lag"]
        for node, lag in lags.items():
            if lag is not None and lag > FOLLOWER_LAG:
                alarm = (
                    f"its replica of {row['shard']} lags by {lag} entries; compare the node's disk"
                    " and processor with the leader's"
                )
                yield {"node": node, "alarm": alarm}


def _most_answer(shard: Row, said: Container[str]) -> bool:
    nodes: Any = shard["nodes"]
    return 2 * sum(node in said for node in nodes) > len(nodes)


def _for_people(shard: Row) -> Row:
    """Return the row of a shard as short as a terminal wants it."""
    lags: Any = shard["lag"]
    nodes: Any = shard["nodes"]
    lines = [f"{node} {'?' if lag is None else lag}" for node, lag in lags.items()]
    shown = {**shard, "nodes": " ".join(nodes), "lag": lines}
    rate = shown.pop("commands_per_s")
    return shown if rate is None else {**shown, "commands/s": rate}


def _lags(
    place: pb.ShardPlace,
    leading: pb.ReplicaReport,
    replicas: Mapping[str, pb.ReplicaReport],
    said: Container[str],
) -> Mapping[str, int | None]:
    """Return how many entries each follower has not applied; None: that is not known.

    What the leader knows of a node that does not answer may be long past.
    """
    matched = {each.node: each.match_index for each in leading.followers}
    lags: dict[str, int | None] = {}
    for node in place.nodes:
        replica = replicas.get(node)
        if replica is leading:
            continue
        reached = matched.get(node) if replica is None else replica.applied_index
        if reached is None or node not in said:
            lags[node] = None
        else:
            lags[node] = max(0, leading.commit_index - reached)
    return lags


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
