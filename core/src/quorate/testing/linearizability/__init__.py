"""Judges whether what clients saw of keys and values can have happened in one order."""

from quorate.testing.linearizability.checking import UndecidedError, check
from quorate.testing.linearizability.operations import (
    Call,
    Delete,
    Deleted,
    Get,
    Operation,
    Outcome,
    Put,
    Read,
    Refused,
    Written,
)
from quorate.testing.linearizability.violation import Violation

__all__ = [
    "Call",
    "Delete",
    "Deleted",
    "Get",
    "Operation",
    "Outcome",
    "Put",
    "Read",
    "Refused",
    "UndecidedError",
    "Violation",
    "Written",
    "check",
]
