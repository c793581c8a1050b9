"""Rows that cannot be loaded: the reasons, and the place where they are written."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row, by its number in its partition from 1 on, and why it was not loaded."""

    row: int
    #: Empty: the row as a whole.
    column: str
    reason: str
    values: Mapping[str, object]

    def __str__(self) -> str:
        where = f", column {self.column}" if self.column else ""
        return f"row {self.row}{where}: {self.reason}"


def values_of(batch: pa.RecordBatch, at: int) -> Mapping[str, object]:
    """Return the values of a row."""
    return {
        name: _value(column[at])
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }


def write(directory: str, load_id: str, partition: int, rows: Sequence[BadRow]) -> None:
    """Write the bad rows of a partition as lines of JSON, replacing those of an earlier attempt.

    The directory may be a path, or the address of whatever file system Arrow knows.
    """
    system, root = fs.FileSystem.from_uri(
        directory if "://" in directory else Path(directory).absolute().as_uri()
    )
    folder = f"{root}/{quote(load_id, safe='')}"
    name = f"{folder}/part-{partition:05}.jsonl"
    if not rows:
        if system.get_file_info(name).type is not fs.FileType.NotFound:
            system.delete_file(name)
        return
    system.create_dir(folder, recursive=True)
    with system.open_output_stream(name) as lines:
        for row in sorted(rows, key=lambda each: each.row):
            line = {
                "load_id": load_id,
                "partition": partition,
                "row": row.row,
                "column": row.column,
                "reason": row.reason,
                "values": {name: _shown(value) for name, value in row.values.items()},
            }
            lines.write(json.dumps(line, default=str).encode() + b"\n")


def _value(value: pa.Scalar[Any]) -> object:
    if pa.types.is_map(value.type):
        found = value.as_py()
        return None if found is None else dict(found)
    # Python has no moment after the year 9999.
    return (value.cast(pa.string()) if pa.types.is_timestamp(value.type) else value).as_py()


def _shown(value: object) -> object:
    """Return bytes as text where they are, else as base64."""
    if isinstance(value, dict):
        return {str(_shown(key)): _shown(each) for key, each in value.items()}
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
