"""Completion of names and keys from the cluster that the command line means.

A shell waits for it: the cluster is asked for a moment, and on any failure nothing is completed.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final

import click

from quorate.cli.deferred import terminal_of

if TYPE_CHECKING:
    from quorate.client import AsyncClient
    from quorate.v1.admin_pb2 import TopologyResponse

    Find = Callable[[AsyncClient, click.Context, str], AsyncGenerator[str, None]]

_PATIENCE_S: Final = 1.0
#: Maximum number of names that are offered.
MOST: Final = 100
#: Names that a shell takes as they are. Anybody may have written a key, and the shell puts it on
#: the command line of an operator: others are not offered.
_HARMLESS: Final = re.compile(r"[\w./:@%+,=][\w./:@%+,=-]*")


def from_cluster(
    find: Find,
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the `shell_complete` of a parameter whose values `find` yields."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        import threading

        found: list[str] = []

        def ask() -> None:
            with suppress(Exception):
                _collect(ctx, incomplete, find, found)

        # Whatever blocks, names of hosts that are looked up among it, does not hold up the shell.
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(_PATIENCE_S)
        return sorted(found)

    return complete


def _collect(ctx: click.Context, incomplete: str, find: Find, found: list[str]) -> None:
    import asyncio
    import logging

    from quorate.client import connect
    from quorate.client.vocabulary import InstalledCommands

    # Without a handler warnings would be written to the terminal.
    logging.getLogger().addHandler(logging.NullHandler())
    terminal, given = terminal_of(ctx), ctx.find_root().params
    # The root command does not run when a line is completed.
    terminal.tls_files = given.get("tls_ca"), given.get("tls_cert"), given.get("tls_key")

    async def collect() -> None:
        async with (
            connect(
                terminal.endpoints,
                timeout_s=_PATIENCE_S,
                connect_timeout_s=_PATIENCE_S,
                tls=terminal.tls(),
                token=given.get("token_file"),
                vocabulary=InstalledCommands(),
            ) as client,
            aclosing(find(client, ctx, incomplete)) as names,
        ):
            async for name in names:
                fits = name.startswith(incomplete) and _HARMLESS.fullmatch(name)
                if fits and name not in found:
                    found.append(name)
                if len(found) == MOST:
                    return

    asyncio.run(collect())


async def keys(client: AsyncClient, ctx: click.Context, start: str) -> AsyncGenerator[str, None]:
    """Yield the keys of pairs."""
    if ctx.params.get("in_hex"):
        return
    # Of many keys with one beginning the first ones are as good as any.
    async with aclosing(client.kv.scan(start, keys_only=True, page_size=MOST)) as pages:
        async for page in pages:
            for pair in page.pairs:
                with suppress(UnicodeDecodeError):
                    yield pair.key.decode()
            return


def _in_topology(names: Callable[[TopologyResponse], Iterable[str]]) -> Find:
    async def find(client: AsyncClient, _: click.Context, start: str) -> AsyncGenerator[str, None]:
        for name in names(await client.topology()):
            yield name

    return find


nodes = _in_topology(lambda found: (each.node for each in found.nodes))
groups = _in_topology(lambda found: (each.group for each in found.shards))
shards = _in_topology(lambda found: (f"{each.group}/{each.number}" for each in found.shards))
