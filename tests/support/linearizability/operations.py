"""What clients ask of a key, and what they are told."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Get:
    """Reads the pair of a key."""


@dataclass(frozen=True, slots=True)
class Put:
    """Writes a pair; with an expected revision only if that is the pair's, 0 meaning no pair."""

    value: bytes
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes a pair, if there is one; with an expected revision as `Put`."""

    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """There was this pair; no revision: there was none."""

    value: bytes = b""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """The pair was written at a revision."""

    revision: int
    created: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    """No pair is there any more; whether one was."""

    deleted: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """The pair had another revision than was expected."""


Call: TypeAlias = Get | Put | Delete
Outcome: TypeAlias = Read | Written | Deleted | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call of one client, from the moment before it was sent to the one after its answer.

    Without an outcome nobody knows what became of it: it takes effect at any time after it was
    sent, or never. A call that surely had no effect and told nothing belongs in no history.
    """

    client: int
    key: bytes
    call: Call
    sent: float
    #: Does not count when there is no outcome.
    answered: float = float("inf")
    outcome: Outcome | None = None
