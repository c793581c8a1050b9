"""`quorate backup`: a copy of every shard of the cluster, in a directory or an object store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from quorate.cli.failures import failure, not_installed
from quorate.cli.options import flag, option
from quorate.cli.terminal import ADMIN, Terminal, progress
from quorate.shards.snapshots.parts import BackupError, BackupTarget
from quorate.storage import backup_stores
from quorate.storage.backup_stores import Place, PlaceError
from quorate.v1.admin_pb2 import BackupPart, BackupRequest

if TYPE_CHECKING:
    from quorate.client import AsyncClient

_SECONDS: Final = click.FloatRange(min=0, min_open=True)


class PlaceType(click.Path):
    """A directory, or a folder of an object store by its URL."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the `Place`."""
        if isinstance(value, str) and "://" in value:
            try:
                return backup_stores.place_of(value)
            except PlaceError as error:
                self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


@click.command("backup")
@click.argument("directory", metavar="DIR", type=PlaceType())
@option("--node", "Node to ask; default: any node.")
@flag("--verify verifies", "Restore DIR in a sandbox and compare.")
@flag("--follow follows", "Keep an archive in DIR, until Ctrl-C.")
@option("--every", "Seconds between writes.", _SECONDS, 5.0)
@option("--backup-every", "Seconds between backups.", _SECONDS, 86_400.0)
@option("--keep", "Seconds of history to keep; default: all.", _SECONDS)
@click.pass_obj
def command(
    terminal: Terminal,
    directory: Place,
    node: str | None,
    verifies: bool,
    follows: bool,
    every: float,
    backup_every: float,
    keep: float | None,
) -> None:
    """Copy every shard of the running cluster into DIR, which must be empty.

    DIR is a directory, or with the extra `s3` a URL such as s3://bucket/prefix.

    Each shard is copied at one moment. backup.json is written last: a directory without it is not a
    backup.

    With --follow, DIR becomes an archive or continues one: periodic backups, and every entry
    between them within seconds. `quorate restore --to` restores any moment of it.

    With --verify, nothing is copied: DIR, a backup or an archive, is restored in a sandbox, and the
    state that an archive's entries produce is compared with its next backup.
    """
    if verifies:
        _verify(terminal, directory)
        return
    if follows:
        from quorate.cli import archiving

        work = partial(
            archiving.follow,
            directory=directory,
            every_s=every,
            backup_every_s=backup_every,
            keep_s=keep,
            say=lambda sentence: terminal.report(sentence, {"said": sentence}),
        )
        terminal.follow(work)
        return
    if backup_stores.names(directory):
        raise failure(f"{directory} is not empty", "name an empty directory, or a new one")
    files, size = terminal.ask(lambda client: copy(client, directory, node))
    terminal.report(
        f"{files} files, {size} bytes in {directory}",
        {"dir": str(directory), "files": files, "bytes": size},
    )


def _verify(terminal: Terminal, directory: Place) -> None:
    try:
        from quorate.node.directory import verify
    except ModuleNotFoundError as error:
        raise not_installed(error, "a verification") from error
    try:
        for line in verify(directory):
            terminal.report(line, {"right": line})
    except BackupError as error:
        raise failure(str(error)) from error


async def copy(client: AsyncClient, directory: Place, node: str | None = None) -> tuple[int, int]:
    """Copy every shard; return the number of files and bytes."""
    asked = client.at(node) if node else client
    parts = asked.stream(f"{ADMIN}/Backup", BackupRequest(), BackupPart, timeout_s=None)
    with progress(str(directory)) as copied:
        return await write(parts, directory, copied)


async def write(
    parts: AsyncIterator[BackupPart], directory: Place, copied: Callable[[int], None]
) -> tuple[int, int]:
    """Write the files of a backup, the manifest once all others are durable; return files, bytes.

    Raises `Failure` when the stream leaves something out.
    """
    try:
        target = await asyncio.to_thread(BackupTarget, directory)
        try:
            async for part in parts:
                copied(len(part.content))
                await asyncio.to_thread(target.take, part)
        finally:
            await asyncio.to_thread(target.close)
    except BackupError as error:
        raise failure(str(error)) from error
    if not target.finished:
        raise failure(
            "the backup is incomplete: the stream ended before the manifest",
            f"empty {directory}, then run it again",
        )
    return target.files, target.bytes
