"""The bad rows of a partition: how many there may be, and where they go."""

from __future__ import annotations

from typing import Final

from quorate_spark.source import dead_letters
from quorate_spark.source.batching import Batch, Batching
from quorate_spark.source.dead_letters import BadRow
from quorate_spark.source.errors import SourceError
from quorate_spark.source.options import WriteOptions

_MOST_NAMED: Final = 3


class BadRows:
    """The bad rows of a partition: malformed rows, and rows that the cluster refused."""

    def __init__(
        self, options: WriteOptions, partition: int, batching: Batching, *, by_files: bool = False
    ) -> None:
        self._by_files: Final = by_files
        self._options: Final = options
        self._partition: Final = partition
        self._batching: Final = batching
        self._refused: Final[list[BadRow]] = []

    @property
    def found(self) -> list[BadRow]:
        """All until now."""
        return [*self._batching.bad, *self._refused]

    def refused(self, batch: Batch, item: int, reason: str) -> None:
        """Record a refused row of a batch."""
        self._refused.append(batch.bad_row(item, "", reason))

    def check(self) -> None:
        """Raise `SourceError` when there are too many."""
        options, bad = self._options, self.found
        most = 0 if options.bad_rows == "fail" else options.max_bad_rows
        if len(bad) <= most:
            return
        first = sorted(bad, key=lambda each: each.row)[:_MOST_NAMED]
        more = f" (and {len(bad) - len(first)} more)" if len(bad) > len(first) else ""
        fix = (
            "correct them, or set bad_rows to dead_letter to load the others"
            if options.bad_rows == "fail"
            else f"max_bad_rows is {most}; they stand in {options.dead_letter_path}"
        )
        outcome = (
            f"No row is loaded; {fix}"
            if self._by_files
            else f"What came before them may be loaded under this load id; {fix}, and load"
            " corrected rows under another load id"
        )
        raise SourceError(
            f"partition {self._partition} of load {options.load_id} has bad rows: "
            f"{'; '.join(map(str, first))}{more}. {outcome}"
        )

    def write(self) -> None:
        """Write them to their destination."""
        options = self._options
        if options.bad_rows == "dead_letter":
            dead_letters.write(
                options.dead_letter_path, options.load_id, self._partition, self.found
            )
