"""What became of commands."""

from dataclasses import dataclass
from typing import Final, NamedTuple

#: The codes of refusals that are core's own; a plugin's `Rejected` brings its code with it.
INTERNAL: Final = "INTERNAL"
WRONG_SHARD: Final = "WRONG_SHARD"
SESSION_EXPIRED: Final = "SESSION_EXPIRED"
OUT_OF_RANGE: Final = "OUT_OF_RANGE"
SESSION_SEALED: Final = "SESSION_SEALED"
OTHER_COMMAND: Final = "OTHER_COMMAND"
#: What a command would write or answer is over a bound: the same again is refused again.
TOO_LARGE: Final = "TOO_LARGE"
#: A command took so long to evaluate that the leader was replaced meanwhile: so it would be again.
TOO_SLOW: Final = "TOO_SLOW"
#: No plugin that is enabled on the leader declares the command.
UNKNOWN_COMMAND: Final = "UNKNOWN_COMMAND"
#: The refusal would rest on a copy that may be old: nothing of the command was carried out, nor of
#: those after it in the same write.
COPY_BEHIND: Final = "COPY_BEHIND"
#: What an operation of a session is refused with before it is looked at: a batch as a whole.
OF_SESSION: Final = frozenset({SESSION_EXPIRED, SESSION_SEALED, OTHER_COMMAND})
#: What core acts on when it hears it: no handler of a plugin refuses with one of these.
RESERVED: Final = frozenset({WRONG_SHARD, SESSION_EXPIRED, COPY_BEHIND})


class Refusal(NamedTuple):
    """Why a command wrote nothing: a canonical status name or a reason of the plugin's own."""

    code: str
    message: str


class Outcome(NamedTuple):
    """The outcome of a command; a refused command wrote nothing."""

    revision: int
    #: The serialized reply; b"" of a handler that returned None.
    reply: bytes = b""
    refusal: Refusal | None = None
    #: It was applied before, and its answer is not kept: there is no reply to give.
    forgotten: bool = False


class CopyBehind(BaseException):
    """Ends a handler or a query that is to run again once the shard's copies are fresh.

    It is no error, and no handler may catch it as one.
    """


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry whose effects are stored."""

    index: int
    term: int
    #: The shard's logical time there.
    at_ms: int


class ReplicaStoppedError(Exception):
    """This replica cannot go on with its log; others may. Says at which index, and what to do."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index: Final = index


class RowsDifferError(ReplicaStoppedError):
    """The rows of this replica are not those of its leader: they must not be read any more."""
