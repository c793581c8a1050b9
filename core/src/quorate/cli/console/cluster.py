"""The pages about the cluster itself: its nodes and shards, its controllers, and quotas."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any, Final

from quorate.cli.console.actions import Actions
from quorate.cli.console.html import Bad, Link, Page, Share, Strong, Trend, note
from quorate.cli.doctor import NAMES, gather, of_cluster
from quorate.cli.samples import samples_in, texts_of
from quorate.cli.status import ClusterView, view_of
from quorate.cli.statuses import (
    controller_rows,
    look,
    name_of,
    paused_rows,
    quota_rows,
    replicas_of,
)
from quorate.client.errors import OutcomeUnknownError, UnavailableError
from quorate.observe.thresholds import FOLLOWER_LAG, FULL

if TYPE_CHECKING:
    from quorate.client import Client

Row = Mapping[str, object]
Tables = list[tuple[str, Sequence[Row]]]

#: Number of rates in a shard's trend.
_TREND: Final = 60
#: Maximum age of a view from which rates are computed.
_RECENT_S: Final = 60.0
#: A map of more nodes would be too wide.
_COLUMNS: Final = 12
_TIMERS: Final = "quorate_timer_next_seconds"
#: An alarm is about what has failed.
_MORE: Final = "What to do lists quotas, certificates, disks and settings that want attention, too."
#: The fields of a replica's report, by the columns of its table.
_REPLICA_COLUMNS: Final = {
    "role": "role",
    "applied": "applied_index",
    "commit": "commit_index",
    "synced": "synced_index",
    "log_bytes": "log_bytes",
    "revision": "revision",
    "age_ms": "age_ms",
}
#: How late a timer may be: leaders look for due deadlines every second.
_LATE_S: Final = 5.0


class Cluster:
    """The pages about the cluster; keeps the last view, so that they can show rates."""

    def __init__(self, actions: Actions) -> None:
        self._actions: Final = actions
        self._before: ClusterView | None = None
        self._rates: Final[defaultdict[str, MutableSequence[float]]] = defaultdict(
            lambda: deque(maxlen=_TREND)
        )

    def overview(self, client: Client) -> Page:
        """Show alarms, shards on a map of the nodes, and the nodes."""
        view = self._look(client)
        nodes = [
            {**row, "state": row["state"] if row["state"] == "ready" else Bad(row["state"])}
            for row in view.rows["nodes"]
        ]
        ready = {str(row["node"]): row["state"] == "ready" for row in view.rows["nodes"]}
        shards = [self._shard(row, ready) for row in view.rows["shards"]]
        alarms = [{**row, "alarm": Bad(row["alarm"])} for row in view.rows["alarms"]]
        foot = "" if alarms else note(f"There are no alarms. {_MORE}")
        tables: Tables = [
            ("Alarms", alarms),
            ("Shards", shards),
            ("Nodes", self._actions.offered(nodes, "drain", "undrain")),
        ]
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

    def _shard(self, row: Mapping[str, Any], ready: Mapping[str, bool]) -> Row:
        name = str(row["shard"])
        places: dict[str, object] = {
            f"on {node}": _place(row, node, well=well) for node, well in ready.items()
        }
        if len(ready) > _COLUMNS:
            lagging = [
                node
                for node in row["nodes"]
                if isinstance(_place(row, node, well=ready.get(node, False)), Bad)
            ]
            places = {
                "leader": row["leader"],
                "nodes": row["nodes"],
                "lagging": Bad(lagging) if lagging else "",
            }
        return {
            "shard": Link(name, f"shards/{name}"),
            **({} if row["leader"] else {"leader": Bad("none")}),
            **places,
            "term": row["term"],
            "commit": row["commit"],
            "queued": row["queued"],
            "commands a second": Trend(list(self._rates[name])),
        }

    def shard(self, client: Client, name: str) -> Page | None:
        """Show each replica of a shard, if there is one of that name."""
        topology, statuses = client.thread.run(look(client.asynchronous))
        places = {name_of(place): place for place in topology.shards}
        if name not in places:
            return None
        replicas = replicas_of(places[name], statuses)
        last = max((each.report.last_index for each in replicas if each.report), default=0)
        rows = []
        for each in replicas:
            report = each.report
            # Of a node that does not answer nothing is known.
            lag = None if report is None else last - report.applied_index
            late = each.problem or (lag is not None and lag > FOLLOWER_LAG)
            shown = "?" if lag is None else lag
            rows.append(
                {
                    "node": each.node,
                    **{
                        name: "?" if report is None else getattr(report, field)
                        for name, field in _REPLICA_COLUMNS.items()
                    },
                    "lag": Bad(shown) if late else shown,
                    "problem": Bad(each.problem) if each.problem else "",
                }
            )
        offered = self._actions.offered(rows, "transfer", "move", shard=name)
        whole = self._actions.offered([{"shard": name}], "split", "cancel-split")
        tables: Tables = [("Replicas", offered)]
        if self._actions:
            tables.append(("The shard", whole))
        return Page(title=f"Shard {name}", tables=tables)

    @staticmethod
    def alarms(client: Client) -> Page:
        """Show the problems of the cluster and their fixes."""
        found = [
            {"where": each.where, "found": Bad(each.found), "what to do": each.advice}
            for each in of_cluster(client.thread.run(gather(client.asynchronous, NAMES)))
        ]
        foot = "" if found else note("Nothing to do.")
        return Page(title="What to do", tables=[("", found)], foot=foot)

    def controllers(self, client: Client) -> Page:
        """Show controllers, failing ones first, and when timers are due."""
        _, statuses = client.thread.run(look(client.asynchronous))
        texts = client.thread.run(texts_of(client.asynchronous, statuses, (_TIMERS,)))
        rows: list[dict[str, object]] = [
            {**row, "failures": Bad(row["failures"]) if row["failures"] else 0}
            for row in controller_rows(statuses)
        ]
        rows.sort(key=lambda row: not isinstance(row["failures"], Bad))
        paused = [{**row, "state": Bad(row["state"])} for row in paused_rows(statuses)]
        tables: Tables = [
            ("Paused", self._actions.offered(paused, "resume")),
            ("Controllers", self._actions.offered(rows, "pause", "resume")),
            ("Timers", sorted(_timers(texts), key=lambda row: str(row["timer"]))),
        ]
        return Page(title="Controllers and timers", tables=tables)

    def quotas(self, client: Client) -> Page:
        """Show the usage of quotas, the fullest first."""
        nodes = [each.node for each in client.topology().nodes]
        uses = quota_rows(client.asynchronous, nodes, OutcomeUnknownError, UnavailableError)
        rows = [
            (float(row["used"]) / row["limit"] if row["limit"] else 0.0, row)
            for row in client.thread.run(uses)
        ]
        rows.sort(key=lambda each: -each[0])
        offered = self._actions.offered([row for _, row in rows], "change")
        shown = [
            {
                "kind": row["kind"],
                "name": Bad(row["name"]) if full > FULL else row["name"],
                "quota": row["quota"],
                "node": row["node"],
                "used": Share(row["used"], row["limit"]),
                "refused": row["refused"],
                **({"do": more["do"]} if "do" in more else {}),
            }
            for (full, row), more in zip(rows, offered, strict=True)
        ]
        return Page(title="Quotas", tables=[("", shown)])


def _place(row: Mapping[str, Any], node: str, *, well: bool) -> object:
    """Return the role of a node in a shard: leader, the lag of a follower, or ""."""
    if node == row["leader"]:
        return Strong("leader")
    if node not in row["nodes"]:
        return ""
    lag = row["lag"].get(node)
    text = "?" if lag is None else f"{lag:,} behind" if lag else "even"
    return text if well and lag is not None and lag <= FOLLOWER_LAG else Bad(text)


def _timers(texts: Mapping[str, str | OSError]) -> Iterator[Row]:
    """Yield when the next deadline of each timer is due, of all nodes."""
    found: dict[str, tuple[float, str]] = {}
    for node, text in texts.items():
        samples = {} if isinstance(text, OSError) else samples_in(text, (_TIMERS,))
        for labels, wait_s in samples.get(_TIMERS, ()):
            timer = labels["timer"]
            found[timer] = min((wait_s, node), found.get(timer, (wait_s, node)))
    for timer, (wait_s, node) in found.items():
        text = f"in {wait_s:,.0f} s" if wait_s >= 0 else f"{-wait_s:,.0f} s ago"
        yield {"timer": timer, "due": Bad(text) if wait_s < -_LATE_S else text, "node": node}
