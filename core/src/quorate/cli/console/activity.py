"""The pages about activity: rates and latencies, slow writes, and changes of a row."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quorate.cli import recorded
from quorate.cli.activity import NAMES, Activity
from quorate.cli.audit import family_of, key_of
from quorate.cli.console.html import Bad, Page, form, note
from quorate.cli.explain import facts_of
from quorate.cli.failures import Failure
from quorate.cli.samples import samples_in, texts_of
from quorate.cli.statuses import look
from quorate.observe.thresholds import LOOP_STOP_S
from quorate.plugin import keys
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import Client

Row = Mapping[str, Any]

#: Rates are of about this time.
_SPAN_S: Final = 10.0
#: How far apart the moments are that are kept to compare with, how many, and for how long: of
#: 1,000 shards each has megabytes.
_APART_S: Final = 2.5
_MOMENTS: Final = 12
_KEPT_S: Final = 60.0
#: Slow writes of each node, and changes of a row, that are shown.
_SLOW: Final = 100
_CHANGES: Final = 20


class ActivityPages:
    """Keeps the metrics of some seconds ago, so that it can show rates."""

    def __init__(self) -> None:
        self._moments: Final[deque[Activity]] = deque(maxlen=_MOMENTS)

    def rates(self, client: Client) -> Page:
        """Show the rates and latencies of calls and writes."""
        _, statuses = client.thread.run(look(client.asynchronous, replicas=False))
        texts = client.thread.run(texts_of(client.asynchronous, statuses, NAMES))
        samples = {
            node: samples_in(text, NAMES)
            for node, text in texts.items()
            if not isinstance(text, OSError)
        }
        unread = [
            {"node": node, "metrics": Bad(f"cannot be read: {getattr(text, 'reason', text)}")}
            for node, text in texts.items()
            if isinstance(text, OSError)
        ]
        now = Activity(at_s=time.monotonic(), samples=samples)
        before = self._before(now)
        found = now.since(before)
        stop_ms = LOOP_STOP_S * 1e3
        nodes = [
            {
                **row,
                "longest_stop_ms": Bad(row["longest_stop_ms"])
                if row["longest_stop_ms"] > stop_ms
                else row["longest_stop_ms"],
            }
            for row in found.nodes()
        ]
        since = (
            "since the nodes started" if before is None else f"of {now.at_s - before.at_s:.0f} s"
        )
        tables: list[tuple[str, Sequence[Mapping[str, object]]]] = [
            ("Unknown", unread),
            (f"Writes, {since}", list(found.writes())),
            (f"Calls of clients and nodes, {since}", found.calls()),
            ("Nodes", nodes),
        ]
        foot = note(
            "Half of what was done ended within p50, and all but one of a hundred within p99."
        )
        return Page(title="Rates and latencies", tables=tables, foot=foot)

    def _before(self, now: Activity) -> Activity | None:
        """Keep this moment; return the newest that is long enough ago, or the oldest."""
        while self._moments and now.at_s - self._moments[0].at_s > _KEPT_S:
            self._moments.popleft()
        kept = list(self._moments)
        if not kept or now.at_s - kept[-1].at_s >= _APART_S:
            self._moments.append(now)
        old = [each for each in kept if now.at_s - each.at_s >= _SPAN_S]
        return old[-1] if old else kept[0] if kept else None


def slow_writes(client: Client) -> Page:
    """Show the slow writes that the flight recorders hold, by stage, the newest first."""
    asked = pb.RecordedRequest(kinds=["slow write"], last=_SLOW)
    found = client.thread.run(recorded.of_nodes(client.asynchronous, asked))
    records: list[tuple[str, Row]] = [
        (node, each) for node, records in found.items() for each in records
    ]
    records.sort(key=lambda each: str(each[1]["time"]), reverse=True)
    rows = [_slow(node, each) for node, each in records]
    text = "No write was slow" if not rows else "The stage marked took longest"
    foot = note(f"{text}, as far as the flight recorders go back: see timing.slow_write_ms.")
    return Page(title="Slow writes", tables=[("", rows)], foot=foot)


def _slow(node: str, record: Row) -> Mapping[str, object]:
    stages = {name: value for name, value in record.items() if name.endswith(" ms")}
    longest = max(stages, key=lambda name: stages[name], default="")
    return {
        "time": record["time"],
        "node": node,
        **{name: record.get(name) for name in ("shard", "command", "commands", "ms")},
        **{name: Bad(value) if name == longest else value for name, value in stages.items()},
        "requests": record.get("requests"),
    }


def query_of(key: bytes) -> Mapping[str, str]:
    """Return how the page of changes is asked for a key."""
    shown = keys.readable(key)
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    return {"key": text} if key_of(text, False) == key else {"key": key.hex(), "hex": "yes"}


def changes(client: Client, query: Mapping[str, str]) -> Page:
    """Show the recent changes of a row, with their writers, commands and times."""
    family, key, in_hex = (query.get(name, "") for name in ("family", "key", "hex"))
    head = form({"family": family, "key": key, "hex": in_hex}, required=("family", "key"))
    title = "Changes of a row"
    if not (family and key):
        text = "The key is text, a JSON array of its parts, or hex digits with yes for hex."
        return Page(title=title, head=head + note(text))
    try:
        work = facts_of(client.asynchronous, family_of(family), key_of(key, bool(in_hex)), _CHANGES)
        found = client.thread.run(work)
    except Failure as failure:
        return Page(title=title, head=head + note(str(failure)))
    rows, deadlines = found.pop("changes"), found.pop("deadlines")
    told = [{"what": name, "": value} for name, value in found.items() if value != ""]
    tables = [("The row", told), ("Deadlines", deadlines), ("Changes", rows)]
    return Page(title=title, tables=tables, head=head)
