"""The contract of a query: bounded, repeatable, in order, with reads of declared families only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from quorate.plugin import Invalid, Query, Reader, Rejected, keys
from quorate.plugin.advanced import UndeclaredFamilyError
from quorate.plugin.catalog import Catalog
from quorate.shards.routing.queries import bounded, reads_of
from quorate.testing.probes import watched
from quorate.testing.shard import MemoryShard

#: Maximum number of rows of one scan of a query: a scan is read in one turn of the loop.
MOST_SCANNED: Final = 100_000


def fault(catalog: Catalog, message: Message, shard: MemoryShard) -> str:
    """Return the fault of a query over a shard's rows; empty: none."""
    name = message.DESCRIPTOR.full_name
    query: Query[Any] = catalog.queries[name]
    reads = reads_of(catalog, query)
    found: list[list[Any]] = []
    for _ in range(2):
        reader: Any = _NotingReader(shard.reader(reads))
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
            return f"scans {reader.most} rows at once; at most {MOST_SCANNED} allowed"
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
    """Return the fault of answers that should be the wire form of a message; empty: none."""
    for answer in answers:
        try:
            row.FromString(answer)
        except DecodeError:
            return f"yields {len(answer)} bytes that are no {row.DESCRIPTOR.full_name}"
    return ""


class _NotingReader:
    """A reader that records undeclared families and the largest scan."""

    def __init__(self, reader: Reader) -> None:
        self._reader: Final = reader
        self.undeclared: Final[list[str]] = []
        #: Maximum number of rows of one scan.
        self.most = 0

    def __getattr__(self, name: str) -> Any:
        return watched(getattr(self._reader, name), self.undeclared)

    def scan(
        self, family: str, start: bytes, end: bytes, *, limit: int | None = None, **options: Any
    ) -> Any:
        self.most = max(self.most, limit or 0)
        return watched(self._reader.scan, self.undeclared)(
            family, start, end, limit=limit, **options
        )
