"""The view of one shard's rows for queries, and the transaction over them for handlers."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from google.protobuf.message import Message

from quorate.plugin.deprecations import deprecated
from quorate.v1.command_pb2 import Command


class Splice(NamedTuple):
    """The fields of a message that a stored row does not hold; the others it has like the row."""

    #: The number of the field that holds the row's key.
    key: int
    #: The number of the field that holds its revision.
    revision: int


class Row(NamedTuple):
    """One stored row; `revision` is that of the command that wrote it, 0 in a private family."""

    #: As it was put.
    key: bytes
    #: As it was put.
    value: bytes
    #: That of the command which wrote it; 0 in a private family.
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEvent:
    """A change of one row of a watched family; a deletion has no `value`.

    `previous` is the value before the change, and is kept only for families that declare it.
    """

    #: The family of the row.
    family: str
    #: The key of the row.
    key: bytes
    #: The row after the change; None: it was deleted.
    value: bytes | None
    #: The row before it, of a family that declares `previous`.
    previous: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedEvent:
    """An event that is not the change of a row."""

    #: The message passed to `Txn.emit`.
    message: Message


#: The events of a watch: changes of rows, and messages emitted by handlers.
Event = RowEvent | EmittedEvent


class Reader(Protocol):
    """A consistent view of one shard.

    Only families that the plugin owns in this group, and families that its declaration lists
    under `reads`, can be named; any other raises `UndeclaredFamilyError`.
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
        """Return the value of a row, or None if it does not exist."""

    def get_row(self, family: str, key: bytes) -> Row | None:
        """Return a row with its revision, or None if it does not exist."""

    def get_rows(self, family: str, keys: Iterable[bytes]) -> list[Row | None]:
        """Return the rows of keys in their order, as they are at this call.

        For many keys it is much less work than one `get_row` for each. All are in memory at once.
        """

    def get_values(self, family: str, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the values of keys as `get_rows` does; less work where no revision is needed."""

    def get_starts(self, family: str, keys: Iterable[bytes], size: int) -> list[bytes | None]:
        """Return the first `size` bytes of each value, as `get_values` returns all of them."""

    def deadline(self, timer: str, key: bytes) -> int | None:
        """Return the deadline of `key` under a declared timer, or None if it has no deadline.

        A due command compares it with its logical time: it may have moved since it was found.
        """

    def newest_id(self, sequence: str) -> int:
        """Return the last number that `Txn.next_id` gave out in this shard.

        Without one it is the shard's number in the top 16 bits, and zeros.
        """

    def newest_fence(self, name: bytes) -> int:
        """Return the newest token of a fence that this shard knows; 0: none."""

    def refresh(self, family: str) -> None:
        """Call this before a refusal due to missing or outdated rows of a mirrored family.

        The copy of a family of another group may lag. If it may lack changes that were answered
        before this command or query came, its run ends here, and it runs again once the copy has
        caught up; then this returns. If that takes too long, it raises `Rejected` (UNAVAILABLE).
        """

    def count(self, family: str) -> int:
        """Return how many rows this shard holds of a family that declares `counted`."""

    @deprecated("since 0.2: write get_rows(family, keys), and build the answers of the rows")
    def get_spliced(self, family: str, keys: Iterable[bytes], splice: Splice) -> list[bytes | None]:
        """Return the rows of keys in their order, as `splice` puts key and revision in front."""

    def scan(
        self,
        family: str,
        start: bytes,
        end: bytes,
        *,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[Row]:
        """Yield the rows with `start <= key < end` in key order, or in reverse.

        A limit yields at most that number, as they are at this call. Without one, rows are read a
        hundred at a time: few are in memory, and a write shows in the rows not read by then.
        """


class Txn(Reader, Protocol):
    """The whole world of a handler: the rows of its shard, and the writes of its command.

    Reads see the command's own writes. Nothing is kept when the handler raises. A handler runs
    once, on the leader, and its writes are replicated: it changes nothing but this object, and
    remembers nothing outside it, since the next command may run on another node.
    """

    @property
    def proposed_at_ms(self) -> int:
        """The logical time of this command: it never runs backwards within a shard."""

    @property
    def generation(self) -> int:
        """How many times the cluster was restored from a backup: part of every fence."""

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Write a row; of a family that declares a `row` message this is also an event."""

    def put_each(self, family: str, rows: Mapping[bytes, bytes]) -> None:
        """Write rows in the order given, as `put` does; much less work than one `put` for each."""

    def put_joined(self, family: str, keys: Collection[bytes], *parts: Iterable[bytes]) -> None:
        """Write rows as `put_each` does, of keys no two of which are equal.

        Each value is joined of one of each of the `parts`, which saves a copy of it.
        """

    def delete(self, family: str, key: bytes) -> None:
        """Delete a row, if there is one; of a family that declares `row` also an event."""

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Delete every row with `start <= key < end` of a private family."""

    def next_id(self, sequence: str) -> int:
        """Return the next number of a named sequence, unique in the whole group.

        The shard's number stands in the top 16 bits. It leaps at a restore, and never goes back.
        """

    def schedule(
        self, timer: str, key: bytes, at_ms: int | None, *, ttl_ms: int | None = None
    ) -> None:
        """Set the deadline of `key` under a declared timer, or cancel it with None.

        `ttl_ms` is the grace of a liveness timer: the time that a renewal is good for.
        """

    def schedule_each(self, timer: str, times: Mapping[bytes, int | None]) -> None:
        """Set the deadlines of keys, as `schedule` does; much less work than one call for each."""

    def emit(self, event: Message) -> None:
        """Publish an event that is not the change of a row."""

    def raise_fence(self, name: bytes, token: int, *, held: bool = False) -> None:
        """Refuse from now on the commands of this shard that carry an older token of the name.

        A token is remembered for seven days after this; a `held` token until it is raised, or
        raised to itself without `held`.
        """

    def carry_out(self, command: Command) -> bytes | None:
        """Execute a public command of any plugin as a part of this one, and return its reply.

        It has the fence that it carries, and no session; its writes stay only if those of this one
        do. Raises `Rejected` when it is refused: then it wrote nothing, and this one goes on.
        None: it cannot be executed here, since this shard does not hold all of its rows or the
        plugin is not enabled; propose it from a controller then.
        """


class UndeclaredFamilyError(Exception):
    """A family was named that the plugin neither owns in this group nor declares under `reads`."""
