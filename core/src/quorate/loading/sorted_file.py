"""Files of rows in the order of their keys, as shards take them."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Final

from quorate.loading.made_rows import MadeRows, ranges_of
from quorate.storage.engine.rocks import write_file
from quorate.storage.staged_files import digest_of
from quorate.v1.files_pb2 import SortedFile

#: Maximum number of key ranges of a file, in which a shard looks for other rows.
_RANGES: Final = 256
_RANGE_ROWS: Final = 4_096
_SLICE: Final = 1 << 20
_HASH_BYTES: Final = 8


def write_sorted_file(path: Path, family: str, rows: MadeRows) -> SortedFile:
    """Write rows to a file, and return its description; raises `EngineError`."""
    ordered = sorted(rows)
    values = [rows[key] for key in ordered]
    write_file(path, family, zip(ordered, values, strict=True))
    digest = digest_of()
    with path.open("rb") as file:
        while content := file.read(_SLICE):
            digest.update(content)
    of_rows = digest_of(b"\0".join(ordered))
    of_rows.update(b"\0".join(values))
    written = SortedFile(
        family=family,
        digest=digest.digest(),
        size=path.stat().st_size,
        rows=len(ordered),
        rows_digest=of_rows.digest(),
    )
    for first, last in ranges_of(ordered, _RANGES, _RANGE_ROWS):
        written.ranges.add(first=first, last=last)
    return written


def key_hashes(rows: MadeRows) -> bytes:
    """Return a hash of eight bytes for each key, to find equal keys by."""
    return b"".join([blake2b(key, digest_size=_HASH_BYTES).digest() for key in rows])
