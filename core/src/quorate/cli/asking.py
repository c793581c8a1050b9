"""Runs what a command asks of a cluster, with a client of the cluster that the user means."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

import click

from quorate.cli.deferred import terminal_of

if TYPE_CHECKING:
    from quorate.client import AsyncClient

T = TypeVar("T")

ADMIN: Final = "/quorate.v1.AdminService"

#: How long a call may take for which somebody waits; an election is over long before.
_PATIENCE_S: Final = 10.0


def ask(ctx: click.Context, work: Callable[[AsyncClient], Awaitable[T]]) -> T:
    """Return what `work` makes of a client, which is closed afterwards."""
    from quorate.client import connect

    endpoints = terminal_of(ctx).reached()

    async def asked() -> T:
        async with connect(endpoints, timeout_s=_PATIENCE_S) as client:
            return await work(client)

    try:
        return asyncio.run(asked())
    except asyncio.CancelledError:
        # After a group of tasks that has failed `asyncio.run` does not know Ctrl-C any more.
        raise KeyboardInterrupt from None


def follow(ctx: click.Context, work: Callable[[AsyncClient], Awaitable[None]]) -> None:
    """Do what goes on until Ctrl-C, which is how it ends and no failure."""
    try:
        ask(ctx, work)
    except KeyboardInterrupt:
        return
