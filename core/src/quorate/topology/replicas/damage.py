"""Errors of replicas that must not continue: damage, and a stop for good."""

from typing import Final

from quorate.apply.outcomes import RowsDifferError
from quorate.consensus.journal import JournalDamagedError
from quorate.consensus.refusals import MemoryLostError, ReplicaStoppedError
from quorate.storage.engine.port import DamagedError


class StoppedBeforeError(Exception):
    """A replica stopped for good: a restart does not help."""

    def __init__(self, reason: str, *, damaged: bool = False) -> None:
        super().__init__(f"it stopped, and a restart does not help: {reason}")
        #: Whether it stopped because its data or log is damaged.
        self.damaged: Final = damaged


def is_damage(error: BaseException) -> bool:
    """Whether an error reports that the files of a replica are damaged."""
    if isinstance(error, StoppedBeforeError):
        return error.damaged
    lies = (RowsDifferError, JournalDamagedError, DamagedError, MemoryLostError)
    return isinstance(error, lies) or isinstance(error.__cause__, DamagedError)


def is_of_node(error: BaseException) -> bool:
    """Whether an error of one replica reports that the whole directory has changed."""
    return isinstance(error, MemoryLostError)


def stays(error: Exception) -> bool:
    """Whether a replica that stopped with this error must not be restarted: its data is wrong."""
    lies = (RowsDifferError, JournalDamagedError, DamagedError, ReplicaStoppedError)
    return isinstance(error, lies) or isinstance(error.__cause__, DamagedError)
