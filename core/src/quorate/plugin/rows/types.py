"""The types of a row's fields: what they are for, and what they may hold.

They are plain annotations: a type checker sees the type within, `Key[Name]` is a `str`.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Annotated, Any, Final, TypeVar

from quorate.plugin.checking import check_bytes, check_longest, check_name, check_text
from quorate.plugin.outcomes import Invalid

T = TypeVar("T")

#: The bounds of text, bytes, lists and maps that name none.
LONGEST_TEXT: Final = 1_024
LONGEST_BYTES: Final = 65_536
MOST_ITEMS: Final = 1_000


class Role(Enum):
    """The purpose of a field."""

    KEY = "key"
    FILTER = "filter"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class IsName:
    """Text that is a name: up to 128 letters, digits, dots, underscores and dashes."""

    def check(self, path: str, value: Any) -> None:
        """Refuse any other text."""
        check_name(path, value)


@dataclass(frozen=True, slots=True)
class Text:
    """Text of a maximum size, without control characters: `Annotated[str, Text(256)]`."""

    longest: int

    def check(self, path: str, value: Any) -> None:
        """Refuse any other text."""
        check_text(path, value, self.longest)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Text that a regular expression matches as a whole; `example` is one that it matches."""

    expression: str
    example: str

    def check(self, path: str, value: Any) -> None:
        """Refuse any other text."""
        check_longest(path, value, LONGEST_TEXT)
        if re.fullmatch(self.expression, value) is None:
            raise Invalid(path, f"must match {self.expression}")


@dataclass(frozen=True, slots=True)
class Range:
    """A number from `low` to `high`: `Annotated[int, Range(1, 100)]`."""

    low: float
    high: float

    def check(self, path: str, value: Any) -> None:
        """Refuse any other number."""
        if not self.low <= value <= self.high:
            raise Invalid(path, f"must be from {self.low} to {self.high}, not {value}")


@dataclass(frozen=True, slots=True)
class Most:
    """A maximum number of bytes, items of a list, or entries of a map."""

    most: int

    def check(self, path: str, value: Any) -> None:
        """Refuse more."""
        if isinstance(value, bytes):
            check_bytes(path, value, self.most)
        elif isinstance(value, Sized) and len(value) > self.most:
            raise Invalid(path, f"must have at most {self.most} items, not {len(value)}")


#: What may stand in an annotation to bound its value.
Bound = IsName | Text | Pattern | Range | Most

#: A part of the key, in the order of the key; with `parent=` the first parts are the parent's.
Key = Annotated[T, Role.KEY]
#: Lists may ask for rows with this value; of a list or a map, with these items.
Filter = Annotated[T, Role.FILTER]
#: Callers cannot set it: verbs and controllers do.
Internal = Annotated[T, Role.INTERNAL]
#: Text that is a name.
Name = Annotated[str, IsName()]


class Choice(IntEnum):
    """A choice of a field; its numbers, from 1 on, are those on disk and on the wire.

    A number that a newer release has stored is kept, and shown as `UNKNOWN_<number>`.
    """

    @classmethod
    def _missing_(cls, value: object) -> Choice | None:
        if not isinstance(value, int) or value < 0:
            return None
        made = int.__new__(cls, value)
        made._name_ = f"UNKNOWN_{value}" if value else "UNSPECIFIED"
        made._value_ = value
        return made
