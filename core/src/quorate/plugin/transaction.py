"""What handlers and queries hold: a view of one shard's rows, and a transaction over them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from google.protobuf.message import Message


class Row(NamedTuple):
    """One stored row; `revision` is that of the command that wrote it, 0 in a private family."""

    key: bytes
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEvent:
    """A change of one row of a watched family; `value` is None when the row was deleted.

    `previous` is the value before the change, and is kept only for families that declare it.
    """

    family: str
    key: bytes
    value: bytes | None
    previous: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedEvent:
    """Something that happened and is no row."""

    message: Message


Event = RowEvent | EmittedEvent


class Reader(Protocol):
    """A consistent view of one shard.

    Only families that the plugin owns in this group, and those that its declaration lists under
    `reads`, can be named; any other raises `UndeclaredFamilyError`.
    """

    @property
    def shard(self) -> int:
        """The number of the shard within its group, as in `quorate.v1.ShardRevision`."""

    @property
    def revision(self) -> int:
        """The newest revision that this view holds; in a `Txn`, the revision of its command."""

    @property
    def now_ms(self) -> int:
        """The shard's logical time; it never runs backwards."""

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a row, or None when there is none."""

    def get_row(self, family: str, key: bytes) -> Row | None:
        """Return a row with its revision, or None when there is none."""

    def get_rows(self, family: str, keys: Iterable[bytes]) -> list[Row | None]:
        """Return the rows of keys in their order, as they are at this call.

        For many keys it is much less work than one `get_row` for each.
        """

    def get_values(self, family: str, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the values of keys in their order, as they are at this call.

        It is less work than `get_rows` where no revision is looked at.
        """

    def scan(
        self, family: str, start: bytes, end: bytes, *, limit: int, reverse: bool = False
    ) -> Iterator[Row]:
        """Yield at most `limit` rows with `start <= key < end`, in key order."""


class Txn(Reader, Protocol):
    """The whole world of a handler: the rows of its shard, and the writes of its command.

    Reads see the command's own writes. Nothing is kept when the handler raises. A handler must be
    deterministic: no clock, no randomness, no input but this object and the command.
    """

    @property
    def proposed_at_ms(self) -> int:
        """The logical time of this command; the only clock that a handler may read."""

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Write a row; of a family that declares a `row` message this is also an event."""

    def put_each(self, family: str, rows: Mapping[bytes, bytes]) -> None:
        """Write rows in the order given, as `put` does; much less work than one `put` for each."""

    def delete(self, family: str, key: bytes) -> None:
        """Delete a row, if there is one; of a family that declares `row` also an event."""

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Delete every row with `start <= key < end` of a private family."""

    def next_id(self, sequence: str) -> int:
        """Return the next number of a named sequence, unique in the whole group.

        The shard's number stands in the top 16 bits.
        """

    def schedule(
        self, timer: str, key: bytes, at_ms: int | None, *, ttl_ms: int | None = None
    ) -> None:
        """Set the deadline of `key` under a declared timer, or cancel it with None.

        `ttl_ms` is the grace of a liveness timer: the time that a renewal is good for.
        """

    def deadline(self, timer: str, key: bytes) -> int | None:
        """Return the deadline that stands for `key`, so that a due command can re-check it."""

    def emit(self, event: Message) -> None:
        """Publish an event that is no row."""


class UndeclaredFamilyError(Exception):
    """A family was named that the plugin neither owns in this group nor declares under `reads`."""
