"""The pages about the cluster itself: its nodes and shards, its controllers, and quotas."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Mapping, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any, Final

from quorate.cli.console.html import Bad, Link, Page, Share, Trend, note
from quorate.cli.status import ClusterView, view_of
from quorate.cli.statuses import controller_rows, look, name_of, quota_rows, replicas_of
from quorate.client.errors import OutcomeUnknownError, UnavailableError
from quorate.observe.thresholds import FOLLOWER_LAG, FULL
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import Client

Tables = list[tuple[str, Sequence[Mapping[str, object]]]]

#: Number of rates in a shard's trend.
_TREND: Final = 60
#: Maximum age of a view from which rates are computed.
_RECENT_S: Final = 60.0


class Cluster:
    """The pages about the cluster; keeps the last view, so that they can show rates."""

    def __init__(self) -> None:
        self._before: ClusterView | None = None
        self._rates: Final[defaultdict[str, MutableSequence[float]]] = defaultdict(
            lambda: deque(maxlen=_TREND)
        )

    def overview(self, client: Client) -> Page:
        """Show alarms, nodes and shards."""
        view = self._look(client)
        nodes = [
            {**row, "state": row["state"] if row["state"] == "ready" else Bad(row["state"])}
            for row in view.rows["nodes"]
        ]
        shards = [self._shard(row) for row in view.rows["shards"]]
        alarms = [{**row, "alarm": Bad(row["alarm"])} for row in view.rows["alarms"]]
        foot = "" if alarms else note("There are no alarms.")
        tables: Tables = [("Alarms", alarms), ("Shards", shards), ("Nodes", nodes)]
        return Page(title="Cluster", tables=tables, foot=foot)

    def _look(self, client: Client) -> ClusterView:
        topology, statuses = client.thread.run(look(client.asynchronous))
        now, before = time.monotonic(), self._before
        if before is not None and now - before.at_s > _RECENT_S:
            self._rates.clear()
            before = None
        view = view_of(topology, statuses, at_s=now, before=before)
        if before is None or now - before.at_s >= 1:
            self._before = view
            for row in view.rows["shards"]:
                rate: Any = row["commands_per_s"]
                if rate is not None:
                    self._rates[str(row["shard"])].append(rate)
        return view

    def _shard(self, row: Mapping[str, Any]) -> Mapping[str, object]:
        lags = {node: lag for node, lag in row["lag"].items() if lag is None or lag > FOLLOWER_LAG}
        lagging = ", ".join(f"{k} {'?' if lag is None else lag}" for k, lag in lags.items())
        name = str(row["shard"])
        return {
            "shard": Link(name, f"shards/{name}"),
            "leader": row["leader"] or Bad("none"),
            "term": row["term"],
            "nodes": row["nodes"],
            "commit": row["commit"],
            "lagging": Bad(lagging) if lagging else "",
            "queued": row["queued"],
            "commands a second": Trend(list(self._rates[name])),
        }

    @staticmethod
    def shard(client: Client, name: str) -> Page | None:
        """Show each replica of a shard, if there is one of that name."""
        topology, statuses = client.thread.run(look(client.asynchronous))
        places = {name_of(place): place for place in topology.shards}
        if name not in places:
            return None
        replicas = replicas_of(places[name], statuses)
        last = max((each.report.last_index for each in replicas if each.report), default=0)
        rows = []
        for each in replicas:
            report = each.report or pb.ReplicaReport()
            lag = last - report.applied_index
            rows.append(
                {
                    "node": each.node,
                    "role": report.role,
                    "applied": report.applied_index,
                    "lag": Bad(lag) if each.problem or lag > FOLLOWER_LAG else lag,
                    "commit": report.commit_index,
                    "synced": report.synced_index,
                    "log_bytes": report.log_bytes,
                    "revision": report.revision,
                    "age_ms": report.age_ms,
                    "problem": Bad(each.problem) if each.problem else "",
                }
            )
        return Page(title=f"Shard {name}", tables=[("Replicas", rows)])

    @staticmethod
    def controllers(client: Client) -> Page:
        """Show what controllers do, those that fail first."""
        _, statuses = client.thread.run(look(client.asynchronous))
        rows = [
            {**row, "failures": Bad(row["failures"]) if row["failures"] else 0}
            for row in controller_rows(statuses)
        ]
        rows.sort(key=lambda row: not isinstance(row["failures"], Bad))
        return Page(title="Controllers", tables=[("", rows)])

    @staticmethod
    def quotas(client: Client) -> Page:
        """Show what is used of quotas, the fullest first."""
        nodes = [each.node for each in client.topology().nodes]
        uses = quota_rows(client.asynchronous, nodes, OutcomeUnknownError, UnavailableError)
        rows = [
            (float(row["used"]) / row["limit"] if row["limit"] else 0.0, row)
            for row in client.thread.run(uses)
        ]
        rows.sort(key=lambda each: -each[0])
        shown = [
            {
                "kind": row["kind"],
                "name": Bad(row["name"]) if full > FULL else row["name"],
                "quota": row["quota"],
                "node": row["node"],
                "used": Share(row["used"], row["limit"]),
                "refused": row["refused"],
            }
            for full, row in rows
        ]
        return Page(title="Quotas", tables=[("", shown)])
