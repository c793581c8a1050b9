"""Makes the rows of a batch command by running its handler without existing rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from google.protobuf.message import Message

from quorate.apply.layers import Layer
from quorate.apply.program import Program
from quorate.apply.txn import NOTHING, ShardTxn
from quorate.plugin import Rejected
from quorate.plugin.advanced import ColumnLoad
from quorate.plugin.catalog import Catalog
from quorate.storage.events import EventRow
from quorate.storage.families import COUNTS, DEADLINE_KEYS, DEADLINES, SEQUENCES
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.files_pb2 import OpenFilesResponse

#: The rows of a family by key, as a shard stores them.
MadeRows = dict[bytes, bytes]

_DEADLINES: Final = frozenset({DEADLINES, DEADLINE_KEYS})


class DuplicateKeyError(Exception):
    """Two items have the same row."""


class RowMaker:
    """Runs the handler of a batch command for a shard in which no item has a row.

    `family` is the one of the table: each item makes one row of it.
    """

    def __init__(
        self,
        catalog: Catalog,
        group: str,
        shard: int,
        family: str,
        opened: OpenFilesResponse,
    ) -> None:
        program = Program.of(catalog, group)
        self._set: Final = opened.set
        self._handler: Final = program.handlers[opened.set.command]
        self._shard: Final = shard
        self._family: Final = family
        #: The rows that handlers read and the load does not change.
        self._facts: Final = Layer(NOTHING)
        for each in opened.facts:
            self._facts.put(each.family, each.key, each.value)
        #: The families of rows that belong to a slot.
        self._of_slots: Final = _DEADLINES | {
            name
            for name, each in catalog.families.items()
            if each.group == group and each.shard_key is not None
        }
        self._layer = Layer(self._facts)

    def make(self, command: Message) -> BatchReply:
        """Make the rows of a command's items, and return its reply.

        Raises what the handler raises, and `DuplicateKeyError`.
        """
        before, txn = self._made, self._txn()
        reply: Any = self._handler.apply(txn, command)
        txn.end()
        assert isinstance(reply, BatchReply)
        if self._made - before != reply.items - len(reply.refusals):
            raise DuplicateKeyError
        return reply

    def make_columns(
        self, load: ColumnLoad, shard_keys: list[bytes], columns: Sequence[Sequence[Any]]
    ) -> Mapping[str, int] | None:
        """Make the rows of columns, and return their number by name.

        None: a row was refused, and none was made. Raises `DuplicateKeyError`.
        """
        before, txn = self._made, self._txn()
        try:
            counts = load.make(txn, shard_keys, *columns)
        except Rejected:
            return None
        txn.end()
        if self._made - before != len(shard_keys):
            raise DuplicateKeyError
        return counts

    @property
    def _made(self) -> int:
        """The number of rows of the table."""
        return len(self._layer.table(self._family).rows)

    def _txn(self) -> ShardTxn:
        return ShardTxn(
            self._layer,
            self._handler.scope,
            EventRow(),
            revision=self._set.revision,
            at_ms=self._set.now_ms,
            shard=self._shard,
            generation=self._set.generation,
        )

    def take(self) -> Mapping[str, MadeRows]:
        """Return the rows made so far, by family, and start afresh.

        Raises `ValueError` if the handler drew numbers or deleted rows, which files cannot hold.
        """
        taken: dict[str, MadeRows] = {}
        for family, table in self._layer.tables.items():
            if family == SEQUENCES:
                raise ValueError("its handler draws numbers, which only its shard has")
            if family not in self._of_slots or family == COUNTS:
                continue
            if table.ranges or None in table.rows.values():
                raise ValueError(f"its handler deletes rows of {family}")
            if table.rows:
                # Only rows are left.
                taken[family] = table.rows  # type: ignore[assignment]
        self._layer = Layer(self._facts)
        return taken


def ranges_of(keys: list[bytes], most: int, least_rows: int) -> list[tuple[bytes, bytes]]:
    """Return the first and the last key of consecutive parts of sorted keys."""
    step = max(least_rows, -(-len(keys) // most))
    return [(keys[at], keys[min(at + step, len(keys)) - 1]) for at in range(0, len(keys), step)]
