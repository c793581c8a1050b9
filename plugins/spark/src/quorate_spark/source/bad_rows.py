"""The bad rows of a partition: how many there may be, and where they go."""

from __future__ import annotations

from typing import Final

from quorate_spark.source import dead_letters
from quorate_spark.source.dead_letters import BadRow
from quorate_spark.source.errors import SourceError
from quorate_spark.source.options import LoadingOptions, WriteOptions

_MOST_NAMED: Final = 3


class BadRows:
    """The bad rows of a partition: malformed rows, and rows that the cluster refused."""

    def __init__(
        self, options: LoadingOptions, load_id: str, partition: int, found: list[BadRow], then: str
    ) -> None:
        self._options: Final = options
        self._load_id: Final = load_id
        self._partition: Final = partition
        #: All until now.
        self.found: Final = found
        #: What to do when there are too many.
        self._then: Final = then

    def check(self) -> None:
        """Raise `SourceError` when there are too many."""
        options, bad = self._options, self.found
        if len(bad) <= (0 if options.bad_rows == "fail" else options.max_bad_rows):
            return
        first = sorted(bad, key=lambda each: each.row)[:_MOST_NAMED]
        more = f" (and {len(bad) - len(first)} more)" if len(bad) > len(first) else ""
        raise SourceError(
            f"partition {self._partition} of load {self._load_id} has bad rows: "
            f"{'; '.join(map(str, first))}{more}. {self._then}"
        )

    def write(self) -> None:
        """Write them to their destination."""
        if self._options.bad_rows == "dead_letter":
            dead_letters.write(
                self._options.dead_letter_path, self._load_id, self._partition, self.found
            )


def bad_rows_of(
    options: WriteOptions, partition: int, found: list[BadRow], *, by_files: bool = False
) -> BadRows:
    """Return the bad rows of a partition of a write."""
    fix = (
        "correct them, or set bad_rows to dead_letter to load the others"
        if options.bad_rows == "fail"
        else f"max_bad_rows is {options.max_bad_rows}; they stand in {options.dead_letter_path}"
    )
    then = (
        f"No row is loaded; {fix}"
        if by_files
        else f"What came before them may be loaded under this load id; {fix}, and load corrected"
        " rows under another load id"
    )
    return BadRows(options, options.load_id, partition, found, then)
