"""The rows of offsets, encoded and decoded without a message on hot paths."""

from collections.abc import Iterator
from functools import partial
from struct import Struct
from typing import Final

from quorate.plugin import Reader, Row, keys

from quorate_offset.families import OFFSETS
from quorate_offset.v1.queries_pb2 import CommittedOffset
from quorate_offset.v1.rows_pb2 import Offset

# The two mandatory fields of `Offset` have a fixed size, and come first.
_OFFSET: Final = Struct("<Bq")
_COMMITTED: Final = Struct("<BQ")
_OFFSET_TAG: Final = 1 << 3 | 1
_COMMITTED_TAG: Final = 2 << 3 | 1
_stored_offset: Final = _OFFSET.unpack_from
#: Encodes the first field of an offset's row.
offset_part: Final = partial(_OFFSET.pack, _OFFSET_TAG)


def committed_part(at_ms: int) -> bytes:
    """Return the part that the rows of all offsets committed at this time share."""
    return _COMMITTED.pack(_COMMITTED_TAG, at_ms)


def offset_row(offset: int, committed: bytes, metadata: str) -> bytes:
    """Return the encoded `Offset`; `committed` comes from `committed_part`."""
    row = offset_part(offset) + committed
    return row + Offset(metadata=metadata).SerializeToString() if metadata else row


def offset_in(row: bytes) -> int:
    """Return the offset of a row."""
    return int(_stored_offset(row)[1])


def rows_under(reader: Reader, prefix: bytes) -> Iterator[Row]:
    """Yield all offsets whose keys begin with a packed prefix."""
    return reader.scan(OFFSETS, prefix, prefix + b"\xff")


def committed_offset(row: Row) -> CommittedOffset:
    """Return the offset of a row as the message for readers."""
    _, _, topic, partition = keys.unpack(row.key)
    stored = Offset.FromString(row.value)
    return CommittedOffset(
        topic=str(topic),
        partition=int(partition),
        offset=stored.offset,
        committed_at_ms=stored.committed_at_ms,
        metadata=stored.metadata,
    )
