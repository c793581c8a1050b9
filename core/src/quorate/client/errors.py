"""The errors of calls, by the caller's next step."""

from collections.abc import Awaitable
from typing import Final, TypeVar

R = TypeVar("R")


class QuorateError(Exception):
    """The base of the errors that failed calls raise."""

    #: The id of the call on the node that answered, for `quorate explain request`; "": unknown.
    request: str = ""


class InvalidError(QuorateError):
    """The request is invalid in any state of the rows; nothing was done. Send another."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field: Final = field
        self.reason: Final = reason


class RejectedError(QuorateError):
    """The cluster refused: `code` says why, and trying again without a change is useless.

    `code` is a canonical gRPC status (`NOT_FOUND`) or a reason of a plugin (`REVISION_MISMATCH`).
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code: Final = code
        self.message: Final = message


class UnavailableError(QuorateError):
    """Nothing was done, now or later: trying again is safe."""


class OtherClusterError(UnavailableError):
    """The answering nodes belong to another cluster than the one this client met first."""

    def __init__(self, address: str, met: bytes, there: bytes) -> None:
        super().__init__(
            f"{address} belongs to cluster {there.hex()}, and this client to {met.hex()}: nothing"
            " was sent; name the endpoints of one cluster alone, and make another client where a"
            " cluster was founded anew or restored"
        )


class DeadlineError(UnavailableError, TimeoutError):
    """The time was over before anything was done: trying again is safe."""


class OutcomeUnknownError(QuorateError):
    """It may have been done, or may still be: read before trying again.

    A client with `exactly_once=True` tries again by itself, and raises this only at the deadline,
    or when the session has expired meanwhile.
    """


class UnansweredError(OutcomeUnknownError, TimeoutError):
    """The time was over after it was sent: it may have been done, or may still be."""


class ClosedError(QuorateError):
    """The client is closed, or belongs to another process or event loop: make another one."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why or "the client is closed; make another one with connect() or Client()")


async def or_none(asked: Awaitable[R], missing: str = "NOT_FOUND") -> R | None:
    """Return the answer to a call; None if it is refused with the code `missing`."""
    try:
        return await asked
    except RejectedError as error:
        if error.code == missing:
            return None
        raise
