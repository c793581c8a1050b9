"""Checks that a shard's data and its log match when they are opened.

The log is cut at or below what the data has applied, which is at or below the log's end. There is
one exception: a snapshot was installed and the process ended before the log was reset to it. The
pointer to the database knows of it, and then the log is reset before anything else.
"""

from quorate.consensus.journal import Journal, JournalDamagedError, Position


def needed_of_log(installed: Position | None, applied: Position) -> int:
    """Return the index that a log must reach if the data is at `applied`."""
    return 0 if applied == installed else applied.index


def log_needs_reset(installed: Position | None, journal: Journal) -> bool:
    """Whether the log lacks the snapshot that was installed last.

    Then it has to be reset to the position of that, before anything is answered or applied.
    """
    if installed is None or journal.sentinel.index > installed.index:
        return False
    return journal.term_of(installed.index) != installed.term


def check(shard: str, applied: Position, journal: Journal) -> None:
    """Check that log and data match, after the log was reset if that was needed.

    Raises `JournalDamagedError`.
    """
    # The term of an index that the log does not have is None.
    if (term := journal.term_of(applied.index)) != applied.term:
        raise JournalDamagedError(
            f"The data of shard {shard} has applied index {applied.index} in term {applied.term},"
            f" and its log, which holds {journal.sentinel.index + 1} to {journal.last.index}, has"
            f" that in term {term}: they do not belong together. Replace this replica with"
            " `quorate member replace`."
        )
