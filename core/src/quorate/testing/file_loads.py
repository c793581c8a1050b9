"""Compares rows that are made for files with those that commands write."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

from google.protobuf.message import Message

from quorate.consensus.messages import Entry as LogEntry, EntryKind
from quorate.loading import DuplicateKeyError, RowMaker
from quorate.plugin import Table
from quorate.plugin.catalog import Catalog
from quorate.plugin.slots import BITMAP_BYTES
from quorate.storage.engine.memory import write_file
from quorate.testing.shard import Entry, MemoryShard, command_of
from quorate.v1 import files_pb2 as pb

_SET: Final = "checked"
_TERM: Final = 1


def differing(
    catalog: Catalog, table: Table, command: Any, by_command: MemoryShard, by_files: MemoryShard
) -> list[str] | None:
    """Carry a batch command out on a shard, and put its rows in place as files on an equal one.

    Return the families that differ; None where files are not for it: an item was refused, or has a
    row already.
    """
    load, declared = table.files, catalog.commands[table.write.DESCRIPTOR.full_name]
    assert load is not None
    assert declared.items is not None
    index, at_ms = by_command.applied + 1, by_command.now_ms + 1
    opening = pb.OpenFileSet(name=_SET, command=table.write.DESCRIPTOR.full_name)
    [opened] = by_files.apply([_entry(index, at_ms, opening)])
    response = pb.OpenFilesResponse(set=pb.FileSet.FromString(opened.reply))
    route = catalog.routes[opening.command]
    for name in sorted({*route.reads, *route.writes}):
        family = catalog.families[name]
        if family.shard_key is None or family.group != by_files.group:
            for key, value in by_files.data.iterate(name, b"", None):
                response.facts.add(family=name, key=key, value=value)
    maker = RowMaker(catalog, by_files.group, by_files.number, table.family, response)
    items = list(declared.items.get(command))
    try:
        if maker.make(command).refusals or not items:
            return None
    except DuplicateKeyError:
        return None
    counts = Counter(map(load.counted_by, items))
    asked = pb.IngestFileSet(
        name=_SET,
        slots=bytes(BITMAP_BYTES),
        counts=[pb.ItemCount(name=name, items=count) for name, count in counts.items()],
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, rows in maker.take().items():
            if any(by_files.data.get(name, key) is not None for key in rows):
                return None
            paths[name] = [Path(folder) / name]
            write_file(paths[name][0], sorted(rows.items()))
            asked.files.add(family=name, rows=len(rows))
        evaluation = by_files.evaluator.evaluate(index + 1, [[command_of(asked)]], at_ms)
        [[placed]] = evaluation.outcomes
        if placed.refusal is not None:
            return [f"all, for the files were refused: {placed.refusal}"]
        by_files.applier.prepared(pb.FileSet(name=_SET, ingested_at=index + 1), paths)
        logged = LogEntry(index + 1, _TERM, EntryKind.COMMAND, evaluation.payload)
        by_files.applier.apply([logged])
    by_command.apply([_entry(index, at_ms, command)])
    return sorted({each[0] for each in {*by_command.contents()} ^ {*by_files.contents()}})


def _entry(index: int, at_ms: int, message: Message) -> Entry:
    return Entry(index=index, commands=(command_of(message),), at_ms=at_ms)
