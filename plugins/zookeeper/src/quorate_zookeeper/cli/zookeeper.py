"""The command group `quorate zookeeper`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any

import click
from quorate.plugin import Console

from quorate_zookeeper.cli import browsing
from quorate_zookeeper.copying.client import AnswerError, Client
from quorate_zookeeper.copying.copying import Copied, Copy

#: The most failed znodes listed one by one.
_SHOWN = 10
_OPTIONS = (
    click.argument("address", metavar="HOST:PORT"),
    click.option(
        "--at",
        default="127.0.0.1:2181",
        show_default=True,
        help="Address at which a Quorate node serves ZooKeeper's clients.",
    ),
    click.option(
        "--path", default="/", show_default=True, help="Copy this znode and its descendants."
    ),
    click.option("--follow", is_flag=True, help="Keep copying changes until interrupted."),
    click.option(
        "--delete",
        "deletes",
        is_flag=True,
        help="Delete znodes below the path that the source lacks.",
    ),
    click.option(
        "--digest",
        default="",
        envvar="QUORATE_ZOOKEEPER_DIGEST",
        help="user:password to authenticate with on both sides, for znodes with restricted access.",
    ),
    click.pass_obj,
)


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the argument and the options of a copy."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group("zookeeper")
def zookeeper() -> None:
    """Show znodes, and move between ZooKeeper and Quorate."""


zookeeper.add_command(browsing.list_children)
zookeeper.add_command(browsing.show_znode)


@zookeeper.command("import")
@_options
def import_tree(console: Console, address: str, at: str, **how: Any) -> None:
    """Copy znodes from a server of ZooKeeper: paths, data and access control lists.

    Ephemeral znodes are left out, because their sessions are not copied. Versions, zxids and
    sequence numbers start over. A second run copies the changes.
    """
    _run(console, address, at, **how)


@zookeeper.command("export")
@_options
def export_tree(console: Console, address: str, at: str, **how: Any) -> None:
    """Copy znodes to a server of ZooKeeper: `import` in the other direction."""
    _run(console, at, address, **how)


def _run(console: Console, source: str, target: str, **how: Any) -> None:
    try:
        done = asyncio.run(_copy(source, target, **how))
    except (OSError, ValueError, AnswerError) as error:
        raise click.ClickException(f"cannot copy {source} to {target}: {error}") from None
    for refused, code in list(done.refused.items())[:_SHOWN]:
        click.echo(f"warning: {refused} was not copied: error {code}", err=True)
    console.print([{**asdict(done), "refused": len(done.refused)}])
    if done.refused:
        raise click.ClickException(f"{len(done.refused):,} znodes were not copied")


async def _copy(
    source: str, target: str, *, path: str, follow: bool, deletes: bool, digest: str
) -> Copied:
    async with AsyncExitStack() as exits:
        reads = await Client.connect(source, digest=digest)
        exits.push_async_callback(reads.close)
        writes = await Client.connect(target, digest=digest)
        exits.push_async_callback(writes.close)
        copy = Copy(reads, writes, path, deletes=deletes)
        if follow:
            await copy.watch()
        await copy.copy()
        if follow:
            click.echo(
                f"copied {copy.done.copied:,} znodes; following changes, stop with Ctrl-C", err=True
            )
            try:
                await copy.follow(lambda _: None)
                raise ConnectionError(f"{source} has closed the connection; run it again")
            except asyncio.CancelledError:
                pass
        return copy.done
