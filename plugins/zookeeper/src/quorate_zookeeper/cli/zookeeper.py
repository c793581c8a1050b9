"""The command group `quorate zookeeper`."""

from __future__ import annotations

import asyncio

import click
from quorate.plugin import Console

from quorate_zookeeper.cli import browsing
from quorate_zookeeper.copying.client import AnswerError, Client
from quorate_zookeeper.copying.copying import Copied, Copy

#: The most failed znodes listed one by one.
_SHOWN = 10
_HERE = click.option(
    "--at",
    default="127.0.0.1:2181",
    show_default=True,
    help="Address at which a Quorate node serves ZooKeeper's clients.",
)
_PATH = click.option(
    "--path", default="/", show_default=True, help="Copy this znode and its descendants."
)
_FOLLOW = click.option("--follow", is_flag=True, help="Keep copying changes until interrupted.")
_DELETE = click.option(
    "--delete", "deletes", is_flag=True, help="Delete znodes below the path that the source lacks."
)
_DIGEST = click.option(
    "--digest",
    default="",
    envvar="QUORATE_ZOOKEEPER_DIGEST",
    help="user:password to authenticate with on both sides, for znodes with restricted access.",
)


@click.group("zookeeper")
def zookeeper() -> None:
    """Show znodes, and move between ZooKeeper and Quorate."""


zookeeper.add_command(browsing.list_children)
zookeeper.add_command(browsing.show_znode)


@zookeeper.command("import")
@click.argument("address", metavar="HOST:PORT")
@_HERE
@_PATH
@_FOLLOW
@_DELETE
@_DIGEST
@click.pass_obj
def import_tree(
    console: Console,
    address: str,
    at: str,
    path: str,
    follow: bool,
    deletes: bool,
    digest: str,
) -> None:
    """Copy znodes from a server of ZooKeeper: paths, data and access control lists.

    Ephemeral znodes are left out, because their sessions are not copied. Versions, zxids and
    sequence numbers start over. A second run copies the changes.
    """
    _run(console, address, at, path, follow=follow, deletes=deletes, digest=digest)


@zookeeper.command("export")
@click.argument("address", metavar="HOST:PORT")
@_HERE
@_PATH
@_FOLLOW
@_DELETE
@_DIGEST
@click.pass_obj
def export_tree(
    console: Console,
    address: str,
    at: str,
    path: str,
    follow: bool,
    deletes: bool,
    digest: str,
) -> None:
    """Copy znodes to a server of ZooKeeper: `import` in the other direction."""
    _run(console, at, address, path, follow=follow, deletes=deletes, digest=digest)


def _run(
    console: Console,
    source: str,
    target: str,
    path: str,
    *,
    follow: bool,
    deletes: bool,
    digest: str,
) -> None:
    try:
        done = asyncio.run(_copy(source, target, path, follow, deletes, digest))
    except (OSError, ValueError, AnswerError) as error:
        raise click.ClickException(f"cannot copy {source} to {target}: {error}") from None
    for refused, code in list(done.refused.items())[:_SHOWN]:
        click.echo(f"warning: {refused} was not copied: error {code}", err=True)
    console.print([_row(done)])
    if done.refused:
        raise click.ClickException(f"{len(done.refused):,} znodes were not copied")


async def _copy(
    source: str, target: str, path: str, follow: bool, deletes: bool, digest: str
) -> Copied:
    reads = await Client.connect(source, digest=digest)
    try:
        writes = await Client.connect(target, digest=digest)
        try:
            copy = Copy(reads, writes, path, deletes=deletes)
            if follow:
                await copy.watch()
            await copy.copy()
            if follow:
                click.echo(
                    f"copied {copy.done.copied:,} znodes; following changes, stop with Ctrl-C",
                    err=True,
                )
                try:
                    await copy.follow(lambda _: None)
                    raise ConnectionError(f"{source} has closed the connection; run it again")
                except asyncio.CancelledError:
                    pass
            return copy.done
        finally:
            await writes.close()
    finally:
        await reads.close()


def _row(done: Copied) -> dict[str, object]:
    return {
        "copied": done.copied,
        "ephemeral": done.ephemeral,
        "versioned": done.versioned,
        "deleted": done.deleted,
        "followed": done.followed,
        "refused": len(done.refused),
    }
