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
#: What an operation of a session is refused with before it is looked at: a batch as a whole.
OF_SESSION: Final = frozenset({SESSION_EXPIRED, SESSION_SEALED, OTHER_COMMAND})
#: What core acts on when it hears it: no handler of a plugin refuses with one of these.
RESERVED: Final = frozenset({WRONG_SHARD, SESSION_EXPIRED})


class Refusal(NamedTuple):
    """Why a command wrote nothing: a canonical status name or a reason of the plugin's own."""

    code: str
    message: str


class Outcome(NamedTuple):
    """What became of a command, alike on every replica; with a refusal nothing was written."""

    revision: int
    #: The serialized reply; b"" of a handler that returned None.
    reply: bytes = b""
    refusal: Refusal | None = None
    #: It was applied before, and its answer is not kept: there is no reply to give.
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class AppliedEntry:
    """An entry that was applied and stored, with the outcome of each of its commands."""

    index: int
    term: int
    outcomes: tuple[Outcome, ...]
    #: The shard's logical time there.
    at_ms: int


class ReplicaStoppedError(Exception):
    """This replica cannot go on with its log; others may. Says at which index, and what to do."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index: Final = index
