"""What writers were told, and what watchers were given."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What one command did to the rows of a family; None stands for a deletion.

    Without a revision its outcome is not known: it may have happened or not.
    """

    rows: Mapping[bytes, bytes | None]
    revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One event: a row was written, or deleted."""

    revision: int
    key: bytes
    value: bytes | None
    #: Whether the watcher was told that the row is new; None: it was not told.
    created: bool | None = None
    #: The value before, where the family keeps it.
    previous: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One row as it was when the watch began."""

    revision: int
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came at once, and the revision that its token stands behind; None: it had no token."""

    changes: tuple[Change, ...] = ()
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One call of a watcher, from the token that it began with or from a list."""

    #: The revision of the token; None: it began with the rows that are listed.
    begun_at: int | None
    prefix: bytes = b""
    rows: tuple[Listed, ...] = ()
    responses: list[Response] = field(default_factory=list)
