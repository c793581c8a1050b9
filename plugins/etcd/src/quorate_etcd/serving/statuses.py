"""The status that a client gets for an exception."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from quorate.plugin import Invalid, Rejected

from quorate_etcd import errors

#: The numbers of gRPC's codes.
CODES: Final[Mapping[str, int]] = {
    "CANCELLED": 1,
    "UNKNOWN": 2,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "FAILED_PRECONDITION": 9,
    "ABORTED": 10,
    "OUT_OF_RANGE": 11,
    "UNIMPLEMENTED": 12,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "DATA_LOSS": 15,
    "UNAUTHENTICATED": 16,
}
#: What the node's own refusals are, by the codes that they have.
_OF_THE_NODE: Final[Mapping[str, errors.Refusal]] = {
    "RESOURCE_EXHAUSTED": errors.TOO_MANY_REQUESTS,
    "DEADLINE_EXCEEDED": errors.TIMED_OUT,
    "UNAVAILABLE": errors.LEADER_CHANGED,
}


def status_of(error: Exception) -> tuple[int, str] | None:
    """Return the code and the text of an exception; None: it is a bug."""
    if isinstance(error, Rejected):
        if error.code in CODES:
            return CODES[error.code], error.message
        return CODES["FAILED_PRECONDITION"], f"{errors.PREFIX}{error.message or error.code}"
    if isinstance(error, Invalid):
        return CODES["INVALID_ARGUMENT"], f"{errors.PREFIX}{error}"
    refusal = _OF_THE_NODE.get(getattr(error, "code", ""))
    return None if refusal is None else (CODES[refusal.code], refusal.text)
