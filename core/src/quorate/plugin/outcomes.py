"""The two refusals of plugin code; any other exception is a bug of the plugin."""

from typing import Final


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
