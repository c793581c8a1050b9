"""The pages about the cluster itself: its nodes and shards, its controllers, and quotas."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Container, Iterator, Mapping, MutableSequence, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from quorate.cli.console.actions import Actions
from quorate.cli.console.charts import (
    RANGES,
    Samples,
    charts,
    disk_rows,
    disk_text,
    range_of,
    ranges,
    samples_of,
)
from quorate.cli.console.html import Bad, Link, Moment, Page, Share, Strong, Trend, anchor, note
from quorate.cli.console.words import titled
from quorate.cli.doctor import NAMES, Finding, gather, of_cluster
from quorate.cli.reshaping import placement
from quorate.cli.samples import samples_in, texts_of
from quorate.cli.status import ClusterView, view_of
from quorate.cli.statuses import (
    Silent,
    Status,
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
    from quorate.v1 import admin_pb2 as pb

Row = Mapping[str, object]
Tables = list[tuple[str, Sequence[Row]]]

#: Number of rates in a shard's trend.
_TREND: Final = 60
#: Maximum age of a view from which rates are computed.
_RECENT_S: Final = 60.0
#: A map of more nodes would be too wide.
_COLUMNS: Final = 12
_TIMERS: Final = "quorate_timer_next_seconds"
_LEADER: Final = "leader"
#: Maximum number of shards of a node that the map shows.
_CHIPS: Final = 120
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

    def overview(self, client: Client, query: Mapping[str, str]) -> Page:
        """Show whether the cluster is well, what it does, and its nodes and shards."""
        chosen = range_of(query)
        ask = client.asynchronous
        reports = client.thread.run(gather(ask, NAMES))
        view = self._view(reports.topology, reports.statuses)
        samples = client.thread.run(samples_of(ask, reports.statuses, RANGES[chosen]))
        findings = list(of_cluster(reports, view))
        nodes = self._nodes(view, samples)
        ready = {str(row["node"]): row["state"] == "ready" for row in view.rows["nodes"]}
        shards = [self._shard(row, ready) for row in view.rows["shards"]]
        names = {str(row["shard"]) for row in view.rows["shards"]}
        tables: Tables = [
            ("What to do", [finding_row(each, ready, names) for each in findings]),
            ("Nodes", self._actions.offered(nodes, "drain", "undrain")),
            ("Shards", shards),
        ]
        lead = _verdict(view, len(findings)) + ranges(chosen, "") + charts(samples, chosen)
        return Page(title="Overview", tables=tables, lead=lead)

    def _nodes(self, view: ClusterView, samples: Samples) -> list[Row]:
        disks = {node: (used, size) for node, used, size in disk_rows(samples)}
        others = ("hosts", "leads", "machine", "version", "address")
        return [
            {
                "node": Link(name := str(row["node"]), f"nodes/{name}"),
                "state": row["state"] if row["state"] == "ready" else Bad(row["state"]),
                "disk_gb": _disk(*disks.get(name, (0, 0))),
                **{each: row[each] for each in others},
            }
            for row in view.rows["nodes"]
        ]

    def map(self, client: Client) -> Page:
        """Show the nodes by their zones, each with the replicas that it holds."""
        view = self._view(*client.thread.run(look(client.asynchronous)))
        placed = client.thread.run(placement(client.asynchronous))
        zones: defaultdict[str, list[str]] = defaultdict(list)
        zone_of = {each.node: each.zone for each in placed.nodes}
        for row in view.rows["nodes"]:
            zones[zone_of.get(str(row["node"]), "")].append(self._on_map(row, view))
        lead = "".join(
            f"<h2>{escape(f'Zone {zone}' if zone else 'No zone')}</h2>"
            f'<div class="nodes">{"".join(nodes)}</div>'
            for zone, nodes in sorted(zones.items())
        )
        text = "A shard with a thick border is led by that node; one in red is behind."
        return Page(title="Map", lead=note(text) + lead)

    def _on_map(self, row: Row, view: ClusterView) -> str:
        node, well = str(row["node"]), row["state"] == "ready"
        chips = []
        for shard in view.rows["shards"]:
            place = _place(shard, node, well=well)
            if place == "":
                continue
            kind = "bad" if isinstance(place, Bad) else "leads" if place == Strong(_LEADER) else ""
            name = str(shard["shard"])
            chips.append(f'<li class="{kind}">{anchor(Link(name, f"shards/{name}"))}')
        more = f"<li>and {len(chips) - _CHIPS:,} more" if len(chips) > _CHIPS else ""
        state = escape(str(row["state"]))
        said = f"<p>{state}</p>" if well else f'<p class="verdict bad">⚠ {state}</p>'
        return (
            f"<section><h3>{anchor(Link(node, f'nodes/{node}'))}</h3>{said}"
            f'<ul class="chips">{"".join(chips[:_CHIPS])}{more}</ul></section>'
        )

    def node(self, client: Client, name: str, query: Mapping[str, str]) -> Page | None:
        """Show what a node is, does and holds, if there is one of that name."""
        chosen = range_of(query)
        topology, statuses = client.thread.run(look(client.asynchronous))
        if name not in statuses:
            return None
        status = statuses[name]
        view = view_of(topology, statuses, at_s=time.monotonic())
        alarms = [
            {"alarm": Bad(row["alarm"])} for row in view.rows["alarms"] if row["node"] == name
        ]
        row: Any = next(each for each in view.rows["nodes"] if each["node"] == name)
        if isinstance(status, Silent):
            text = f"{name} {status}. What it holds is known from the others alone."
            held = [
                {"shard": Link(each, f"shards/{each}")}
                for each in (name_of(place) for place in topology.shards if name in place.nodes)
            ]
            tables: Tables = [("Alarms", alarms), ("Shards", held)]
            return Page(
                title=f"Node {name}",
                tables=tables,
                lead=f'<p class="verdict bad">{escape(text)}</p>',
            )
        one = {name: status}
        samples = client.thread.run(samples_of(client.asynchronous, one, RANGES[chosen]))
        facts: Row = {
            "state": row["state"] if row["state"] == "ready" else Bad(row["state"]),
            "started": Moment(status.started_at_ms),
            "version": status.version,
            "address": status.address,
            "HTTP": status.http_address,
            "machine": status.machine,
            "disk": next((disk_text(*each[1:]) for each in disk_rows(samples)), ""),
            "plugins": ", ".join(f"{each.name} {each.version}" for each in status.plugins),
        }
        replicas = [
            {
                "shard": Link(each.shard, f"shards/{each.shard}"),
                "role": Strong(each.role) if each.role == _LEADER else each.role,
                "problem": Bad(each.stopped) if each.stopped else "",
                "term": each.term,
                "applied": each.applied_index,
                "queued": each.queued,
                "log_bytes": each.log_bytes,
            }
            for each in status.shards
        ]
        broken = [{"shard": each.shard, "error": Bad(each.error)} for each in status.broken]
        damage = [
            {
                "shard": Link(each.shard, f"shards/{each.shard}") if each.shard else "",
                "found": Moment(each.found_at_ms),
                "what": each.what,
                "state": each.state if each.healed_at_ms else Bad(each.state),
                "healed": Moment(each.healed_at_ms) if each.healed_at_ms else "",
            }
            for each in status.damage
        ]
        lead = ranges(chosen, f"nodes/{name}") + charts(samples, chosen)
        tables = [
            ("Alarms", alarms),
            ("The node", [{"what": titled(each), "value": value} for each, value in facts.items()]),
            ("Broken replicas", broken),
            ("Damage", damage),
            ("Replicas", replicas),
            ("Controllers", list(controller_rows(one))),
        ]
        return Page(title=f"Node {name}", tables=tables, lead=lead)

    def _view(self, topology: pb.TopologyResponse, statuses: Mapping[str, Status]) -> ClusterView:
        """Return what the nodes say, with the rates since the last look."""
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
                    "node": Link(each.node, f"nodes/{each.node}"),
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
        reports = client.thread.run(gather(client.asynchronous, NAMES))
        shards = {name_of(place) for place in reports.topology.shards}
        found = [finding_row(each, reports.statuses, shards) for each in of_cluster(reports)]
        text = "Nothing to do: no replica lags, no disk, quota or certificate nears its end."
        return Page(title="What to do", tables=[("", found)], empty=note(text))

    def controllers(self, client: Client) -> Page:
        """Show controllers, failing ones first, and when timers are due."""
        _, statuses = client.thread.run(look(client.asynchronous, replicas=False))
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
            {
                **{each: row[each] for each in ("kind", "name", "quota", "node")},
                "used": Share(row["used"], row["limit"]),
                "refused": row["refused"],
            }
            for row in client.thread.run(uses)
        ]
        rows.sort(key=lambda row: _full(row["used"]), reverse=True)
        shown = [
            {**row, "name": Bad(row["name"]) if _full(row["used"]) > FULL else row["name"]}
            for row in self._actions.offered(rows, "change")
        ]
        text = "No tenant and no user has a quota."
        how = "<p><code>quorate tenant quota put --help</code> tells how to set one.</p>"
        return Page(title="Quotas in use", tables=[("", shown)], empty=note(text) + how)


def _full(share: Any) -> float:
    return share.used / share.of if share.of else 0.0


def _disk(used: int, size: int) -> object:
    """Return how full a disk is; "": that is not known."""
    if not size:
        return ""
    share = Share(round(used / 1e9, 1), round(size / 1e9, 1))
    return Bad(share) if used > FULL * size else share


def _verdict(view: ClusterView, findings: int) -> str:
    nodes, shards = view.rows["nodes"], view.rows["shards"]
    ready = sum(row["state"] == "ready" for row in nodes)
    led = sum(row["leader"] is not None for row in shards)
    counts = f"{ready} of {len(nodes)} nodes are ready, {led} of {len(shards)} shards have a leader"
    alarms = len(view.rows["alarms"])
    if ready == len(nodes) and not alarms and not findings:
        return f'<p class="verdict">All is well: {counts}.</p>'
    failing = ready < len(nodes) or bool(alarms)
    kind, word = (" bad", "⚠ Not well") if failing else ("", "Well, but")
    things = "1 thing wants" if findings == 1 else f"{findings} things want"
    wanted = f"{things} attention; " if findings else ""
    return f'<p class="verdict{kind}">{word}: {wanted}{counts}.</p>'


def finding_row(found: Finding, nodes: Container[str], shards: Container[str]) -> Row:
    """Return a finding, which leads to the node, the shard or the tenant that it is about."""
    where: object = found.where
    kind, _, name = found.where.partition(" ")
    if found.where in nodes:
        where = Link(found.where, f"nodes/{found.where}")
    elif found.where in shards:
        where = Link(found.where, f"shards/{found.where}")
    elif kind == "tenant":
        where = Link(found.where, "tenant/tenants/row", {"name": name})
    return {"where": where, "found": Bad(found.found), "what to do": found.advice}


def _place(row: Mapping[str, Any], node: str, *, well: bool) -> object:
    """Return the role of a node in a shard: leader, the lag of a follower, or ""."""
    if node == row["leader"]:
        return Strong(_LEADER)
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
