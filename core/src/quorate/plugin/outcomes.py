"""How a command fails: the two refusals of plugin code, and the two failures of the node.

Any other exception out of plugin code is a bug of the plugin.
"""

from typing import ClassVar, Final


class Rejected(Exception):
    """Raised by a data-route handler: the command's writes are dropped, its caller gets `code`.

    A refusal is a normal outcome: the leader reaches it, and answers once the entry is stored.
    `code` is a name in capitals, a canonical gRPC status (`NOT_FOUND`) or a reason of the plugin's
    own (`FENCED`).
    WRONG_SHARD and SESSION_EXPIRED are core's: a handler that raises one has failed (INTERNAL).
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code: Final = code
        self.message: Final = message


class Invalid(Exception):
    """Raised by a command's `validate`: the message is refused before anything is logged."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field: Final = field
        self.reason: Final = reason


class NotProposedError(Exception):
    """The command was not and will not be logged: a retry is safe, also without a session."""

    #: The gRPC status for clients.
    code: ClassVar[str] = "UNAVAILABLE"


class OutcomeUnknownError(Exception):
    """The command was logged and its answer lost: it may be carried out, now or later.

    A retry is safe only with a session.
    """

    #: The gRPC status for clients.
    code: ClassVar[str] = "UNAVAILABLE"
