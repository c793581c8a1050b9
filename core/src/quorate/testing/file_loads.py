"""Compares the rows of file loads with the rows of commands."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from google.protobuf.message import Message

from quorate.consensus.messages import Entry as LogEntry, EntryKind
from quorate.loading import DuplicateKeyError, RowMaker
from quorate.plugin.advanced import Table
from quorate.plugin.catalog import Catalog
from quorate.plugin.slots import BITMAP_BYTES
from quorate.storage.engine.memory import write_file
from quorate.storage.rows import value_of
from quorate.testing.shard import Entry, MemoryShard, command_of
from quorate.v1 import files_pb2 as pb

_SET: Final = "checked"
_TERM: Final = 1


def differing(
    catalog: Catalog, table: Table, command: Any, by_command: MemoryShard, by_files: MemoryShard
) -> list[str] | None:
    """Apply a batch command on one shard, and load its rows as files on an equal shard.

    Return the families that differ; None if the command cannot be loaded as files: an item was
    refused, or already has a row.
    """
    load, declared = table.files, catalog.commands[table.write.DESCRIPTOR.full_name]
    assert load is not None
    assert declared.items is not None
    index, at_ms = by_command.applied + 1, by_command.now_ms + 1
    maker = _opened(catalog, table, by_files)()
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


def made_otherwise(
    catalog: Catalog, table: Table, command: Any, shard: MemoryShard
) -> Mapping[str, bool] | None:
    """Make the usual rows of a batch command from columns, and from items as its handler does.

    Return whether each family differs; None if no row of it is usual, or one is refused.
    """
    load, declared = table.files, catalog.commands[table.write.DESCRIPTOR.full_name]
    assert load is not None
    assert load.columns is not None
    assert declared.items is not None
    make = _opened(catalog, table, shard)
    usual, rows = [], []
    for item in declared.items.get(command):
        maker = make()
        if maker.make(declared.items.make(table.write(), [item])).refusals:
            continue
        [(key, value)] = maker.take()[table.family].items()
        row = table.from_row(key, value_of(value))
        if load.columns.shard_keys(*([column] for column in row)) is not None:
            usual.append(item)
            rows.append(row)
    of_items, of_columns = make(), make()
    try:
        if not usual or of_items.make(declared.items.make(table.write(), usual)).refusals:
            return None
    except DuplicateKeyError:
        return None
    columns = [list(column) for column in zip(*rows, strict=True)]
    shard_keys = load.columns.shard_keys(*columns)
    assert shard_keys is not None, "rows that are usual one by one are usual together"
    counts = of_columns.make_columns(load.columns, shard_keys, columns)
    expected, found = of_items.take(), of_columns.take()
    differs = {name: expected.get(name) != found.get(name) for name in {*expected, *found}}
    return differs | {"the counts": counts != Counter(map(load.counted_by, usual))}


def _opened(catalog: Catalog, table: Table, shard: MemoryShard) -> Callable[[], RowMaker]:
    """Open a file set on a shard, and return a factory for makers of its rows."""
    opening = pb.OpenFileSet(name=_SET, command=table.write.DESCRIPTOR.full_name)
    [opened] = shard.apply([_entry(shard.applied + 1, shard.now_ms + 1, opening)])
    response = pb.OpenFilesResponse(set=pb.FileSet.FromString(opened.reply))
    route = catalog.routes[opening.command]
    for name in sorted({*route.reads, *route.writes}):
        family = catalog.families[name]
        if family.shard_key is None or family.group != shard.group:
            for key, value in shard.data.iterate(name, b"", None):
                response.facts.add(family=name, key=key, value=value)
    return partial(RowMaker, catalog, shard.group, shard.number, table.family, response)


def _entry(index: int, at_ms: int, message: Message) -> Entry:
    return Entry(index=index, commands=(command_of(message),), at_ms=at_ms)
