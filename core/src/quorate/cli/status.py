"""`quorate status`: the nodes and shards of a cluster, once or as they change."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import click
from rich.console import Group
from rich.live import Live

from quorate.cli.asking import ask, follow
from quorate.cli.cluster_view import ClusterView, view_of
from quorate.cli.deferred import terminal_of
from quorate.cli.statuses import Statuses
from quorate.cli.terminal import show, table_of

if TYPE_CHECKING:
    from quorate.client import AsyncClient

_EVERY_S: Final = 1.0


@click.command("status")
@click.option("--watch", is_flag=True, help="Refresh every second, with rates, until Ctrl-C.")
@click.pass_context
def command(ctx: click.Context, watch: bool) -> None:
    """Show the nodes of the cluster, its shards with leaders and lag, controllers and alarms.

    Every node is asked for itself; one that does not answer is shown as such. In JSON the answer is
    one object, and with --watch one on each line.
    """
    terminal = terminal_of(ctx)
    if watch and terminal.json:
        follow(ctx, lambda client: _watch(client, lambda view: terminal.report("", view.parts())))
        return
    if watch:
        with Live(auto_refresh=False) as live:
            follow(ctx, lambda client: _watch(client, partial(_refresh, live)))
        return
    view = ask(ctx, _look_once)
    if terminal.json:
        terminal.print_json(view.parts())
    else:
        show(_rendered(view))


def _refresh(live: Live, view: ClusterView) -> None:
    live.update(_rendered(view), refresh=True)


async def _look_once(client: AsyncClient) -> ClusterView:
    async with Statuses() as statuses:
        return await _look(client, statuses, None)


async def _look(client: AsyncClient, statuses: Statuses, before: ClusterView | None) -> ClusterView:
    topology = await client.topology()
    found = await statuses.of({node.node: node.address for node in topology.nodes})
    return view_of(topology, found, at_s=time.monotonic(), before=before)


async def _watch(client: AsyncClient, show: Callable[[ClusterView], None]) -> None:
    async with Statuses() as statuses:
        view: ClusterView | None = None
        while True:
            view = await _look(client, statuses, view)
            show(view)
            await asyncio.sleep(_EVERY_S)


def _rendered(view: ClusterView) -> Group:
    return Group(*(table_of(rows, title=title) for title, rows in view.tables()))
