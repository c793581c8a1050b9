"""Judges whether what clients saw of keys and values can have happened in one order."""

from tests.support.linearizability.checking import UndecidedError, check
from tests.support.linearizability.operations import (
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
from tests.support.linearizability.violation import Violation

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
