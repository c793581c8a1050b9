"""What a query promises: it is bounded, steady, in order, and reads only what it declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from quorate.groups.routing.queries import bounded, reads_of
from quorate.plugin import (
    Invalid,
    Query,
    Reader,
    Rejected,
    Row,
    Splice,
    UndeclaredFamilyError,
    keys,
)
from quorate.plugin.catalog import Catalog
from quorate.testing.logs import ApplyFloor

#: The most rows that one scan of a query may ask for: all of it is read in one turn of the loop.
MOST_SCANNED: Final = 100_000


def fault(catalog: Catalog, message: Message, shard: ApplyFloor) -> str:
    """Return what is wrong with a query over a shard's rows; empty: nothing."""
    name = message.DESCRIPTOR.full_name
    query: Query[Any] = catalog.queries[name]
    reads = reads_of(catalog, query)
    found: list[list[Any]] = []
    for _ in range(2):
        reader = _NotingReader(shard.reader(reads))
        try:
            found.append(bounded(name, query.run(reader, message), encoded=query.row is not None))
        except Invalid:
            return ""
        except Rejected as refusal:
            if refusal.code == "OUT_OF_RANGE" and name in refusal.message:
                return f"is without bounds over what the log leaves: {refusal.message}"
            return ""
        except UndeclaredFamilyError as error:
            return f"reads what it does not declare: {error}"
        except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
            return f"raised {type(error).__name__}: {error}; it may raise Rejected or Invalid"
        if reader.undeclared:
            return "reads what it does not declare: " + "; ".join(reader.undeclared)
        if reader.most > MOST_SCANNED:
            return f"scans {reader.most} rows in one go, and {MOST_SCANNED} are the most"
    first, second = found
    if first != second:
        return "gives other answers the second time: it depends on more than rows and message"
    if query.row is not None and (strange := _strange(query.row, first)):
        return strange
    if query.items is not None and query.order is None:
        wanted = len(query.items.get(message))
        if len(first) != wanted:
            return f"answers {wanted} items with {len(first)}, and has no order to merge them by"
    if query.order is not None:
        places = [query.order(answer) for answer in first]
        if places != sorted(places):
            order = ", ".join(map(keys.shown, places))
            return f"answers in the order {order}, which is not sorted: shards cannot be merged"
    return ""


def _strange(row: type[Message], answers: Iterable[bytes]) -> str:
    """Return what is wrong with answers that are said to be the wire form of a message."""
    for answer in answers:
        try:
            row.FromString(answer)
        except DecodeError:
            return f"yields {len(answer)} bytes that are no {row.DESCRIPTOR.full_name}"
    return ""


class _NotingReader:
    """A reader that notes what it was asked for."""

    def __init__(self, reader: Reader) -> None:
        self._reader: Final = reader
        self.undeclared: Final[list[str]] = []
        #: The most rows that one scan asked for.
        self.most = 0

    @property
    def shard(self) -> int:
        return self._reader.shard

    @property
    def revision(self) -> int:
        return self._reader.revision

    @property
    def now_ms(self) -> int:
        return self._reader.now_ms

    def get(self, family: str, key: bytes) -> bytes | None:
        with self._noting():
            return self._reader.get(family, key)

    def get_row(self, family: str, key: bytes) -> Row | None:
        with self._noting():
            return self._reader.get_row(family, key)

    def get_rows(self, family: str, keys: Iterable[bytes]) -> list[Row | None]:
        with self._noting():
            return self._reader.get_rows(family, keys)

    def get_values(self, family: str, keys: Iterable[bytes]) -> list[bytes | None]:
        with self._noting():
            return self._reader.get_values(family, keys)

    def get_spliced(self, family: str, keys: Iterable[bytes], splice: Splice) -> list[bytes | None]:
        with self._noting():
            return self._reader.get_spliced(family, keys, splice)

    def scan(
        self, family: str, start: bytes, end: bytes, *, limit: int, reverse: bool = False
    ) -> Iterator[Row]:
        self.most = max(self.most, limit)
        with self._noting():
            return self._reader.scan(family, start, end, limit=limit, reverse=reverse)

    def deadline(self, timer: str, key: bytes) -> int | None:
        return self._reader.deadline(timer, key)

    def refresh(self, family: str) -> None:
        with self._noting():
            self._reader.refresh(family)

    def count(self, family: str) -> int:
        with self._noting():
            return self._reader.count(family)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except UndeclaredFamilyError as error:
            self.undeclared.append(str(error))
            raise
