"""Outcomes of commands."""

from typing import Final, NamedTuple, Self

from quorate.v1.files_pb2 import FileSet

#: Core's own codes of refusals; a plugin's `Rejected` has its own.
INTERNAL: Final = "INTERNAL"
WRONG_SHARD: Final = "WRONG_SHARD"
SESSION_EXPIRED: Final = "SESSION_EXPIRED"
OUT_OF_RANGE: Final = "OUT_OF_RANGE"
SESSION_SEALED: Final = "SESSION_SEALED"
OTHER_COMMAND: Final = "OTHER_COMMAND"
#: The session is another caller's.
NOT_OWNER: Final = "PERMISSION_DENIED"
#: The writes or the reply of a command exceed a limit: a retry is refused, too.
TOO_LARGE: Final = "TOO_LARGE"
#: A command took so long to evaluate that its leader was replaced: a retry would be, too.
TOO_SLOW: Final = "TOO_SLOW"
#: No plugin enabled on the leader declares the command.
UNKNOWN_COMMAND: Final = "UNKNOWN_COMMAND"
#: The refusal would be based on a stale copy: neither the command nor those after it in the same
#: write were carried out.
COPY_BEHIND: Final = "COPY_BEHIND"
#: The shard knows a newer token of the command's fence.
FENCED: Final = "FENCED"
#: Refusals of an operation by its session, of a batch as a whole.
OF_SESSION: Final = frozenset({SESSION_EXPIRED, SESSION_SEALED, OTHER_COMMAND})
#: Codes that core acts on; handlers of plugins must not refuse with them.
RESERVED: Final = frozenset({WRONG_SHARD, SESSION_EXPIRED, COPY_BEHIND})


class Refusal(NamedTuple):
    """Why a command was refused: a canonical status name or a plugin's own code, and a message."""

    code: str
    message: str


class Outcome(NamedTuple):
    """The outcome of a command; a refused command wrote nothing."""

    revision: int
    #: The serialized reply; b"" of a handler that returned None.
    reply: bytes = b""
    refusal: Refusal | None = None
    #: It was applied before, and its reply was not kept.
    forgotten: bool = False

    @classmethod
    def refused(cls, revision: int, code: str, message: str) -> Self:
        """Return the outcome of a refused command."""
        return cls(revision, refusal=Refusal(code, message))


class CopyBehind(BaseException):
    """Ends a handler or a query, to run it again once the shard's copies are fresh.

    It is not an `Exception`, so that handlers do not catch it.
    """


class StoredEntry(NamedTuple):
    """An entry whose effects are stored."""

    index: int  # type: ignore[assignment]  # it hides the method of tuples
    term: int
    #: The shard's logical time there.
    at_ms: int


class ReplicaStoppedError(Exception):
    """This replica cannot continue with its log; the text has the index and a remedy."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index: Final = index


class FilesNeededError(Exception):
    """The next entry puts files in place, which must be here and prepared for."""

    def __init__(self, files: FileSet) -> None:
        super().__init__(f"the files of {files.name} are put in place at {files.ingested_at}")
        self.files: Final = files


class RowsDifferError(ReplicaStoppedError):
    """The rows of this replica differ from its leader's: they must not be read any more."""
