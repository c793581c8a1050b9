"""Compares rows that are made for files with those that commands write."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from quorate.loading import RowMaker
from quorate.plugin import Table
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import bitmap_of, slots_of
from quorate.storage.engine.memory import write_file
from quorate.testing.shard import Entry, MemoryShard, command_of
from quorate.v1 import files_pb2 as pb

_NAME = "checked"


def differences(
    catalog: Catalog, table: Table, example: Any, by_command: MemoryShard, by_files: MemoryShard
) -> list[str]:
    """Carry a batch out on one shard, put files with its rows in place on an equal one, and compare.

    Return what differs; nothing where the command refuses an item.
    """
    command = catalog.commands[table.write.DESCRIPTOR.full_name]
    assert command.items is not None
    assert table.files is not None
    before = _contents(by_command)
    index, at_ms = by_command.applied + 1, by_command.now_ms + 1
    [outcome] = by_command.apply([_entry(index, at_ms, example)])
    refused = getattr(table.write.DESCRIPTOR, "full_name", "") if outcome.failure else ""
    if refused or _contents(by_command) == before:
        return []
    opening = pb.OpenFileSet(name=_NAME, command=table.write.DESCRIPTOR.full_name)
    [opened] = by_files.apply([_entry(index, at_ms, opening)])
    response = pb.OpenFilesResponse(set=pb.FileSet.FromString(opened.reply))
    route = catalog.routes[opening.command]
    for name in sorted({*route.reads, *route.writes}):
        family = catalog.families[name]
        if family.shard_key is None or family.group != by_files.group:
            for key, value in by_files.data.iterate(name, b"", None):
                response.facts.add(family=name, key=key, value=value)
    maker = RowMaker(catalog, by_files.group, by_files.number, table.family, response)
    reply = maker.make(example)
    if reply.refusals:
        return []
    items = list(command.items.get(example))
    with tempfile.TemporaryDirectory() as folder:
        asked = pb.IngestFileSet(
            name=_NAME,
            slots=bitmap_of(slots_of(map(command.items.shard_key, items))),
            counts=[
                pb.ItemCount(name=name, items=count)
                for name, count in Counter(map(table.files.counted_by, items)).items()
            ],
        )
        paths = {}
        for family_name, rows in maker.take().items():
            path = Path(folder) / family_name
            write_file(path, sorted(rows.items()))
            paths[family_name] = [path]
            asked.files.add(family=family_name, rows=len(rows))
        by_files.applier.prepared(pb.FileSet(name=_NAME, ingested_at=index + 1), paths)
        [placed] = by_files.apply([_entry(index + 1, at_ms, asked)])
    if placed.failure is not None:
        return [f"the files were refused: {placed.failure}"]
    return sorted({each[0] for each in _contents(by_command) ^ _contents(by_files)})


def slots_adopted(shard: MemoryShard, slots: bytes) -> None:
    """Let a shard own slots."""
    from quorate.v1 import control_pb2

    shard.apply([_entry(shard.applied + 1, shard.now_ms, control_pb2.AdoptSlots(version=1, slots=slots))])


def _entry(index: int, at_ms: int, message: Message) -> Entry:
    return Entry(index=index, commands=(command_of(message),), at_ms=at_ms)


def _contents(shard: MemoryShard) -> set[tuple[str, bytes, bytes]]:
    return set(shard.contents())


__all__ = ["ShardId", "differences", "slots_adopted"]
