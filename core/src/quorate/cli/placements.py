"""Where replicas are and go, as commands show it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import click

from quorate.cli.failures import failure
from quorate.cli.terminal import ADMIN, Terminal
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

_LOOK_S: Final = 0.5
#: How long nothing may move while something is left to move.
_STILL_S: Final = 120.0


no_wait = click.option(
    "--no-wait", is_flag=True, help="Return at once; the work continues by itself."
)


async def placement(client: AsyncClient) -> pb.PlacementResponse:
    """Return where replicas are, as a node knows it."""
    return await client.call(f"{ADMIN}/Placement", pb.PlacementRequest(), pb.PlacementResponse)


def shown_move(move: pb.PlannedMove) -> Mapping[str, object]:
    """Return a move as a row."""
    return {"shard": move.shard, "from": move.source or None, "to": move.target or None}


async def follow(
    client: AsyncClient,
    terminal: Terminal,
    left: Callable[[pb.PlacementResponse], int],
    what: str,
) -> None:
    """Report how many are left until none is; fail when nothing moves any more."""
    loop = asyncio.get_running_loop()
    known, until = -1, loop.time() + _STILL_S
    while count := left(found := await placement(client)):
        if count != known:
            known, until = count, loop.time() + _STILL_S
            terminal.report(f"{what}: {count}", {"left": count})
        elif loop.time() > until:
            reasons = "; ".join(found.problems) or "no replica has moved for a while"
            raise failure(
                f"{what}: {count}, and nothing moves ({reasons})",
                "see `quorate shard balance --dry-run` and `quorate status`; it continues as soon"
                " as it can",
            )
        await asyncio.sleep(_LOOK_S)
