"""`quorate top`: the live activity of a cluster in a terminal."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from typing import TYPE_CHECKING, Final

import click
from rich.console import Group
from rich.live import Live

from quorate.cli.activity import NAMES, Activity
from quorate.cli.samples import samples_in, texts_of
from quorate.cli.status import ClusterView, view_of
from quorate.cli.statuses import Statuses
from quorate.cli.tables import show, table_of
from quorate.cli.terminal import Terminal

if TYPE_CHECKING:
    from quorate.client import AsyncClient

Row = Mapping[str, object]
Parts = Mapping[str, Sequence[Row]]

#: Maximum number of methods shown, the most called first.
_METHODS: Final = 10


@click.command("top")
@click.option(
    "--every",
    type=click.FloatRange(0.2, 3_600),
    default=2.0,
    show_default=True,
    help="Refresh interval in seconds; rates are averaged over it.",
)
@click.option("--times", type=click.IntRange(1), help="Number of refreshes; default: until Ctrl-C.")
@click.pass_obj
def command(terminal: Terminal, every: float, times: int | None) -> None:
    """Show alarms, nodes, shards, and the rates and latencies of writes and calls.

    Rates and latencies are averaged since the last refresh. They come from the metrics of the
    nodes: this machine has to reach their HTTP ports. JSON output is one object per line
    for each refresh.
    """
    whole = sys.stdout.isatty() and not terminal.json
    live = Live(auto_refresh=False, screen=True) if whole else None

    async def look(client: AsyncClient) -> None:
        seen = 0
        async with aclosing(_looks(client, every)) as looks:
            async for parts in looks:
                if live is not None:
                    live.update(_rendered(parts), refresh=True)
                elif terminal.json:
                    terminal.report("", parts)
                else:
                    show(_rendered(parts))
                seen += 1
                if seen == times:
                    return

    with live or nullcontext():
        terminal.follow(look)


async def _looks(client: AsyncClient, every_s: float) -> AsyncGenerator[Parts, None]:
    view: ClusterView | None = None
    activity: Activity | None = None
    async with Statuses(client.tls, client.token) as statuses:
        while True:
            topology = await client.topology()
            found = await statuses.of_members(topology)
            texts = await texts_of(client, found, NAMES)
            view = view_of(topology, found, at_s=time.monotonic(), before=view)
            read = {node: text for node, text in texts.items() if isinstance(text, str)}
            samples = {node: samples_in(text, NAMES) for node, text in read.items()}
            before, activity = activity, Activity(at_s=time.monotonic(), samples=samples)
            yield dict(_parts(view, activity, before))
            await asyncio.sleep(every_s)


def _parts(
    view: ClusterView, activity: Activity, before: Activity | None
) -> Iterator[tuple[str, Sequence[Row]]]:
    rates = activity.since(before)
    tables = dict(view.tables())
    yield "alarms", tables.get("alarms", [])
    measured = {str(row["node"]): row for row in rates.nodes()}
    yield (
        "nodes",
        [
            {
                **{name: row[name] for name in ("node", "version", "state", "hosts", "leads")},
                **measured.get(str(row["node"]), {}),
            }
            for row in view.rows["nodes"]
        ],
    )
    yield "shards", tables.get("shards", [])
    yield "writes", list(rates.writes())
    yield "calls", rates.calls()[:_METHODS]
    yield "failing controllers", [row for row in view.rows["controllers"] if row["error"]]


def _rendered(parts: Parts) -> Group:
    return Group(*(table_of(rows, title=title) for title, rows in parts.items() if rows))
