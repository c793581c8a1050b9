"""`quorate backup`: a copy of every shard of the cluster, in a directory or an object store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import click

from quorate.cli.failures import Failure, failure, not_installed
from quorate.cli.terminal import ADMIN, Terminal, progress
from quorate.storage import backup_stores, durably
from quorate.storage.backup_stores import Place, PlaceError
from quorate.v1.admin_pb2 import BackupPart, BackupRequest

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: A directory without it is no backup.
_MANIFEST: Final = "backup.json"
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
@click.option("--node", help="Node to ask; default: any node.")
@click.option("--verify", "verifies", is_flag=True, help="Restore DIR in a sandbox and compare.")
@click.option("--follow", "follows", is_flag=True, help="Keep an archive in DIR, until Ctrl-C.")
@click.option(
    "--every", type=_SECONDS, default=5.0, show_default=True, help="Seconds between writes."
)
@click.option(
    "--backup-every",
    type=_SECONDS,
    default=86_400.0,
    show_default=True,
    help="Seconds between backups.",
)
@click.option("--keep", type=_SECONDS, help="Seconds of history to keep; default: all.")
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
        from quorate.shards.snapshots.parts import BackupError
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
    files = size = 0
    manifest = b""
    with ExitStack() as stack:
        write_part: Callable[[bytes], object] = bytes
        async for part in _whole(parts, directory):
            copied(len(part.content))
            size += len(part.content)
            if part.path == _MANIFEST:
                manifest += part.content
                continue
            if part.offset == 0:
                files += 1
                path = directory / _safe(part.path).as_posix()
                write_part = await asyncio.to_thread(
                    stack.enter_context, backup_stores.writing(path)
                )
            await asyncio.to_thread(write_part, part.content)
            if part.offset + len(part.content) == part.size:
                await asyncio.to_thread(stack.close)
    if isinstance(directory, Path):
        for folder in directory.iterdir():
            durably.sync_directory(folder)
    backup_stores.make(directory)
    await asyncio.to_thread(backup_stores.write, directory / _MANIFEST, manifest)
    return files + 1, size


async def _whole(parts: AsyncIterator[BackupPart], directory: Place) -> AsyncIterator[BackupPart]:
    """Pass on the parts of files that are complete, one after the other, the manifest last."""
    path, reached, due = "", 0, 0
    async for part in parts:
        if reached == due and part.path != path:
            path, reached = part.path, 0
        if (part.path, part.offset) != (path, reached):
            raise _torn(directory, f"the part after byte {reached} of {path} is missing")
        reached, due = reached + len(part.content), part.size
        yield part
    if path != _MANIFEST or reached != due:
        raise _torn(directory, "the stream ended before the manifest")


def _safe(path: str) -> PurePosixPath:
    """Return where a file goes below the directory; a node has no say over other places."""
    parts = PurePosixPath(path).parts
    if not parts or any(part in ("/", "..") for part in parts):
        raise failure(
            f"the node sent a file {path!r}, which is outside the directory",
            "ask another node, and report this as a bug",
        )
    return PurePosixPath(*parts)


def _torn(directory: Place, what: str) -> Failure:
    return failure(f"the backup is incomplete: {what}", f"empty {directory}, then run it again")
