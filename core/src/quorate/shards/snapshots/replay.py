"""Restores a moment from an archive: a backup of before, and the entries since."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Final

from quorate.apply import effects
from quorate.apply.applier import Applier
from quorate.apply.outcomes import FilesNeededError, ReplicaStoppedError
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin.catalog import assemble
from quorate.plugin.shard_id import ShardId
from quorate.shards.snapshots import backup
from quorate.shards.snapshots.parts import BackupError
from quorate.storage.archive import Archive, ArchiveError
from quorate.storage.backup_stores import Place
from quorate.storage.data.home import Home
from quorate.storage.data.shard_data import ShardData

#: How many entries are read ahead.
_AHEAD: Final = 256

Onward = Callable[[ShardId, ShardData], None]


class _BeyondError(BackupError):
    """Entries alone do not lead beyond a moment."""


def plan(archive: Archive, until_ms: int | None) -> tuple[Place, Onward]:
    """Return the backup to restore, and the log to replay up to a moment; None: to the end.

    The moment is one of the shards' logical time, which no write is answered before. Raises
    `BackupError` for a moment that the archive does not hold, as what is returned does.
    """
    backups = archive.backups()
    if not backups:
        raise BackupError(f"{archive.directory} holds no finished backup yet.")
    if until_ms is None:
        return backups[-1], partial(replay, archive)
    chosen = next((each for each in reversed(backups) if _made_at_ms(each) <= until_ms), None)
    if chosen is None:
        raise BackupError(
            f"{archive.directory} begins at {shown(_made_at_ms(backups[0]))}: restore to that"
            " moment or a later one."
        )
    try:
        ends_ms = min(archive.complete(str(each)).until_ms for each in backup.read(chosen).shards)
    except ArchiveError as error:
        raise BackupError(f"{error}.") from error
    if until_ms > ends_ms:
        end = shown(max(ends_ms, _made_at_ms(chosen)))
        raise BackupError(
            f"{archive.directory} is known to be complete until {end}: restore to that moment or an"
            " earlier one, or without one as far as it goes."
        )
    return chosen, partial(replay, archive, until_ms=until_ms)


def replay(
    archive: Archive,
    shard: ShardId,
    data: ShardData,
    *,
    until_ms: int | None = None,
    until_index: int | None = None,
) -> None:
    """Store the entries that follow, up to a moment or an index; raises `BackupError`."""
    applier = Applier(assemble(()), shard, data)
    coming = _until(_entries(archive, shard, data.applied), until_ms, until_index)
    while waiting := list(islice(coming, _AHEAD)):
        while waiting:
            try:
                del waiting[: len(applier.apply(waiting))]
            except FilesNeededError:
                raise _beyond(shard, data, "rows were loaded by files then") from None
            except ReplicaStoppedError as error:
                raise BackupError(f"{error}: the archive does not fit its backup.") from error
            if applier.cut_here is not None:
                raise _beyond(shard, data, "the shard was split then")
    if until_index is not None and data.applied < until_index:
        raise BackupError(
            f"{archive.directory} holds shard {shard} up to index {data.applied}, but not up to"
            f" {until_index}: restore to an earlier moment, and begin a new archive."
        )


def verify(directory: Place, home: Callable[[str, ShardId], Home]) -> Iterator[str]:
    """Restore a backup, or all of an archive, beside; yield a line for each part that is right.

    Each backup of an archive is brought to the next one by its entries, and has to have the same
    rows then. Raises `BackupError` for what is not right. `home` returns empty ones.
    """
    if not Archive.exists(directory):
        for shard in backup.read(directory).shards:
            digest = _digest(directory, shard, home("only", shard))
            yield f"{shard}: its files are whole, and its rows have the digest {digest[:16]}"
        return
    try:
        archive = Archive(directory)
    except ArchiveError as error:
        raise BackupError(f"{error}.") from error
    backups = archive.backups()
    for number, (base, following) in enumerate(zip(backups, [*backups[1:], None], strict=True)):
        later = {} if following is None else backup.read(following).shards
        for shard in backup.read(base).shards:
            index = later[shard].record.position.index if shard in later else None
            try:
                found = _digest(
                    base,
                    shard,
                    home(f"{number}", shard),
                    partial(replay, archive, shard, until_index=index),
                )
            except _BeyondError as error:
                yield f"{shard}: {error}"
                continue
            if following is None or shard not in later:
                yield f"{shard}: brought from {base.name} to its end"
                continue
            if found != _digest(following, shard, home(f"{number}.next", shard)):
                raise BackupError(
                    f"shard {shard} of {following} has other rows than {base} with the entries"
                    " since: trust neither, and begin a new archive."
                )
            yield f"{shard}: {base.name} and the entries since have the rows of {following.name}"


def _digest(
    source: Place,
    shard: ShardId,
    home: Home,
    onward: Callable[[ShardData], None] = lambda _: None,
) -> str:
    """Return the digest of a shard's rows, restored and brought onward."""
    with closing(backup.opened(source, shard, home)) as data:
        onward(data)
        digest = data.digest()
        while not digest.step():
            pass
        return digest.hexdigest()


def shown(at_ms: int) -> str:
    """Return a moment as `--to` takes it."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds")


def _made_at_ms(directory: Place) -> int:
    """Return the moment at which every shard of a backup was copied."""
    return max(each.record.now_ms for each in backup.read(directory).shards.values())


def _entries(archive: Archive, shard: ShardId, after: int) -> Iterator[Entry]:
    """Yield all entries after an index; raises `BackupError` at the end if some are missing."""
    try:
        for entry in archive.entries(str(shard), after):
            yield entry
            after = entry.index
        if after < archive.complete(str(shard)).last_index:
            raise BackupError(
                f"{archive.directory} lacks entries of shard {shard} after index {after}: restore"
                " to a moment before them, or after the backup that followed."
            )
    except ArchiveError as error:
        raise BackupError(f"{error}.") from error


def _until(
    entries: Iterator[Entry], until_ms: int | None, until_index: int | None
) -> Iterator[Entry]:
    for entry in entries:
        if until_index is not None and entry.index > until_index:
            return
        if until_ms is not None and _time_of(entry) > until_ms:
            return
        yield entry
        if entry.index == until_index:
            # What is missing of later ones does not matter.
            return


def _time_of(entry: Entry) -> int:
    """Return the logical time of an entry; 0: it has none."""
    command = entry.kind is EntryKind.COMMAND
    return effects.decode(entry.payload).head.now_ms if command else 0


def _beyond(shard: ShardId, data: ShardData, why: str) -> _BeyondError:
    at = shown(data.record.now_ms)
    return _BeyondError(
        f"shard {shard} cannot be brought beyond {at} by entries, since {why}: restore to a moment"
        " before it, or after the backup that followed."
    )
