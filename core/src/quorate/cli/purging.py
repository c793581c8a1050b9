"""`quorate plugin purge`: the rows of a plugin that is not served any more go."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from quorate.cli.asking import ADMIN, ask
from quorate.cli.deferred import terminal_of
from quorate.cli.failures import failure
from quorate.v1.admin_pb2 import PurgedRows, PurgePluginRequest

if TYPE_CHECKING:
    from quorate.client import AsyncClient


def purge_plugin(ctx: click.Context, name: str, *, asks: bool) -> None:
    """Show the rows of a plugin, delete them, and report their number."""
    terminal = terminal_of(ctx)

    async def rows_of(client: AsyncClient, *, count_only: bool) -> Counter[tuple[str, str]]:
        """Return the number of rows by shard and family."""
        found = Counter[tuple[str, str]]()
        request = PurgePluginRequest(plugin=name, count_only=count_only)
        async for rows in client.stream(f"{ADMIN}/PurgePlugin", request, PurgedRows):
            found[rows.shard, rows.family] += rows.rows
        return found

    found = ask(ctx, lambda client: rows_of(client, count_only=True))
    if not terminal.json:
        terminal.print(
            {"shard": shard, "family": family, "rows": rows}
            for (shard, family), rows in found.items()
        )
    if found and asks:
        _confirm(name, found.total())
    # Without rows, too: an interrupted purge may have left deadlines.
    deleted = ask(ctx, lambda client: rows_of(client, count_only=False))
    families = sorted({family for _, family in deleted})
    terminal.report(
        f"deleted {deleted.total()} rows of {name} in {len(families)} families; nothing is left",
        {"plugin": name, "rows": deleted.total(), "families": families},
    )


def _confirm(name: str, rows: int) -> None:
    asked = sys.stdin.isatty()
    if not asked or not click.confirm(f"Delete these {rows} rows of {name} for ever?", err=True):
        raise failure("nothing was deleted", "confirm it with --yes")
