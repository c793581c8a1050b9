"""What the exit status of `quorate` says to a script."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The outcome of a command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CONFIGURATION = 3
    PLUGIN = 4
    UNAVAILABLE = 5
    REMOVED = 6
    INTERRUPTED = 130
