"""Backs up shards to a directory, and restores a node from it.

A backup holds each shard at one index. It is consistent within each shard, but not
between them: metadata/0 comes last, so that no shard refers to facts that its copy lacks.
The manifest is written at the end: a directory without it is no backup. Its format is a promise.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final
from zlib import crc32

from quorate.consensus.journal import Position
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.snapshots.first_state import fill, leap
from quorate.shards.snapshots.parts import MANIFEST, BackupError, slices
from quorate.shards.topology_rows import stored_rows
from quorate.storage import backup_stores
from quorate.storage.backup_stores import Place
from quorate.storage.data.checkpoint import Checkpoint, Manifest, SnapshotFile
from quorate.storage.data.home import Home
from quorate.storage.data.record import AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, DamagedError, EngineError
from quorate.storage.families import MEMBERS, NODES, SHARDS
from quorate.storage.rows import revision_of, stored as stored_row, value_of
from quorate.v1 import control_pb2
from quorate.v1.admin_pb2 import BackupPart

_FORMAT: Final = 1
_NO_MANIFESTS: Final[Mapping[ShardId, Manifest]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Backup:
    """The contents of a backup."""

    cluster: bytes
    shards: Mapping[ShardId, Manifest]

    def encode(self) -> bytes:
        """Return the content of the manifest file."""
        shards = {str(shard): _shown(manifest) for shard, manifest in sorted(self.shards.items())}
        content: dict[str, Any] = {
            "format": _FORMAT,
            "cluster": self.cluster.hex(),
            "shards": shards,
        }
        content["crc32"] = _checksum(content)
        return (json.dumps(content, indent=1) + "\n").encode()

    @classmethod
    def decode(cls, content: bytes) -> "Backup":
        """Read the content of a manifest file; raises `ValueError` for anything else."""
        read = json.loads(content)
        try:
            if read["format"] != _FORMAT:
                raise ValueError(f"format {read['format']} was written by a newer version")
            # The first backups have none.
            if read.pop("crc32", None) not in (None, _checksum(read)):
                raise ValueError("it is damaged")
            shards = {ShardId.parse(name): _read(each) for name, each in read["shards"].items()}
            return cls(bytes.fromhex(read["cluster"]), shards)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it lacks or misuses {error}") from None


async def parts(
    shards: Mapping[ShardId, ShardData],
    *,
    cluster: bytes,
    loop: asyncio.AbstractEventLoop,
    others: Mapping[ShardId, Manifest] = _NO_MANIFESTS,
) -> AsyncGenerator[BackupPart, None]:
    """Yield the backup of these shards while they serve, the manifest last.

    `others` were copied before on other nodes, and belong to the same backup. The copy of a shard
    takes disk space until its last part was yielded, or this is closed. Raises `BackupError`,
    `EngineError` or `OSError`.
    """
    manifests = dict(others)
    for shard in sorted(shards, key=lambda each: (each == METADATA, each)):
        data = shards[shard]
        if not data.applied:
            raise BackupError(f"shard {shard} has no state yet: retry when it is formed.")
        if shard == METADATA:
            _demand_all(data, {*shards, *others})
        await loop.run_in_executor(None, data.flush)
        checkpoint = data.checkpoint()
        try:
            manifests[shard] = await loop.run_in_executor(None, checkpoint.manifest)
            for file in manifests[shard].files:
                async for part in _parts_of(checkpoint, folder_of(shard), file, loop):
                    yield part
        finally:
            await loop.run_in_executor(None, checkpoint.release)
    content = Backup(cluster, manifests).encode()
    for offset, length in slices(len(content)):
        yield BackupPart(
            path=MANIFEST,
            offset=offset,
            content=content[offset : offset + length],
            size=len(content),
        )


def read(directory: Place) -> Backup:
    """Return the contents of a backup, unverified; raises `BackupError`."""
    try:
        return Backup.decode((directory / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise BackupError(
            f"{directory} holds no {MANIFEST}: it is no backup, or an unfinished one."
        ) from None
    except ValueError as error:
        raise BackupError(f"{directory / MANIFEST} cannot be read: {error}.") from None


def restore(
    directory: Place,
    home: Callable[[ShardId], Home],
    me: Peer,
    onward: Callable[[ShardId, ShardData], None] = lambda *_: None,
) -> Backup:
    """Give an empty node the shards of a backup, brought `onward` from there; blocks.

    The node is then the only member of each of them, under its replica id, and the generation is
    one higher: watches of the original cluster list again. Revisions skip ahead of all that the
    cluster can have assigned after the backup, as sequences do by the generation, so that fences,
    which compare them, stay valid. The logs begin there when the node is started. Raises
    `BackupError`; then the homes must be removed before another attempt.
    """
    backup = read(directory)
    for shard in backup.shards:
        place = home(shard)
        if place.pointer() is not None or place.folders():
            raise BackupError(f"{place} holds data of shard {shard}: restore into an empty node.")
        try:
            with closing(opened(directory, shard, place)) as data:
                onward(shard, data)
                _make_own(data, shard, me)
                data.sync()
        except (EngineError, OSError) as error:
            raise BackupError(
                f"shard {shard} cannot be restored from {directory}: {error}"
            ) from error
    return backup


def folder_of(shard: ShardId) -> str:
    """Return the name of a shard's folder in a backup."""
    return f"{shard.group}-{shard.number}"


def _demand_all(metadata: ShardData, shards: Collection[ShardId]) -> None:
    """Raise `BackupError` for a shard that is not copied: it would be restored empty."""
    for row in stored_rows(metadata, SHARDS, control_pb2.ShardRow):
        shard = ShardId(row.group, row.number)
        if shard not in shards and not row.merged_into:
            raise BackupError(
                f"shard {shard} has no replica on this node, and none was copied elsewhere: try"
                " again, or ask another node."
            )


async def _parts_of(
    checkpoint: Checkpoint, folder: str, file: SnapshotFile, loop: asyncio.AbstractEventLoop
) -> AsyncIterator[BackupPart]:
    found = 0
    for offset, length in slices(file.size):
        content = await loop.run_in_executor(None, checkpoint.read, file.name, offset, length)
        found = crc32(content, found)
        if offset + length == file.size and found != file.checksum:
            raise DamagedError(f"{file.name} of {folder} changed since it was read: retry.")
        yield BackupPart(
            path=f"{folder}/{file.name}", offset=offset, content=content, size=file.size
        )


def opened(directory: Place, shard: ShardId, home: Home) -> ShardData:
    """Return the data of a shard as it was copied, in an empty home; raises `BackupError`."""
    data, folder = ShardData.open(home, ()), directory / folder_of(shard)
    try:
        fill(
            data,
            read(directory).shards[shard],
            lambda name, *part: backup_stores.read_part(folder / name, *part),
        )
    except (EngineError, OSError) as error:
        data.close()
        raise BackupError(f"shard {shard} cannot be restored from {directory}: {error}") from error
    return data


def _make_own(data: ShardData, shard: ShardId, me: Peer) -> None:
    """Make this replica the only member of its shard, in a new generation."""
    record, batch = data.record, Batch()
    if shard == METADATA:
        for key, stored in data.iterate(SHARDS, b"", None):
            row = control_pb2.ShardRow.FromString(value_of(stored))
            if row.merged_into:
                continue
            del row.members[:], row.replicas[:]
            row.members.add(node=me.node, replica=me.replica)
            if row.origin.epoch:
                # Its history begins in an empty node; its generation increases like all others.
                row.origin.epoch = 0
                row.origin.generation += 1
            value = row.SerializeToString(deterministic=True)
            batch.put(SHARDS, key, stored_row(revision_of(stored), value))
        for family in (NODES, MEMBERS):
            for key, _ in data.iterate(family, b"", None):
                batch.delete(family, key)
    position = Position(leap(record.position.index), record.position.term)
    own = replace(
        record,
        position=position,
        configuration_index=position.index,
        configuration=Configuration.of([Member(me)]).encode(),
        generation=record.generation + 1,
    )
    data.begin(batch, own)


def _checksum(content: Mapping[str, Any]) -> int:
    return crc32(json.dumps(content, sort_keys=True).encode())


def _shown(manifest: Manifest) -> dict[str, Any]:
    record = manifest.record
    return {
        "index": record.position.index,
        "term": record.position.term,
        "configuration_index": record.configuration_index,
        "configuration": record.configuration.hex(),
        "now_ms": record.now_ms,
        "checksum": record.checksum,
        "generation": record.generation,
        "files": [
            {"name": name, "size": size, "crc32": checksum}
            for name, size, checksum in manifest.files
        ],
    }


def _read(shown: Mapping[str, Any]) -> Manifest:
    record = AppliedRecord(
        Position(shown["index"], shown["term"]),
        shown["configuration_index"],
        bytes.fromhex(shown["configuration"]),
        shown["now_ms"],
        shown["checksum"],
        shown["generation"],
    )
    files = (SnapshotFile(each["name"], each["size"], each["crc32"]) for each in shown["files"])
    return Manifest(record, tuple(files))
