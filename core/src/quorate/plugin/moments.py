"""Which fields of rows are moments, and in which unit: their names say it.

A field is a moment when its name ends in `_at_` or `_since_` and a unit, as `ends_at_ms` does: a
number of these units since the beginning of 1970 in UTC. The console shows how long ago it was, and
the derived table of a resource has a timestamp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from quorate.plugin.declarations import MomentUnit

#: By unit: a number is multiplied by the first and divided by the second to get microseconds.
MICROSECONDS: Final[Mapping[MomentUnit, tuple[int, int]]] = {
    "s": (1_000_000, 1),
    "ms": (1_000, 1),
    "us": (1, 1),
    "ns": (1, 1_000),
}
_ENDS: Final = ("_at", "_since")


def unit_of(name: str) -> MomentUnit | None:
    """Return the unit of a field that is a moment; None for any other field."""
    head, _, unit = name.rpartition("_")
    return cast("MomentUnit", unit) if unit in MICROSECONDS and head.endswith(_ENDS) else None


def to_us(value: int, unit: MomentUnit) -> int:
    """Return a moment in microseconds; what is finer is cut off."""
    times, parts = MICROSECONDS[unit]
    return value * times // parts


def from_us(us: int, unit: MomentUnit) -> int:
    """Return microseconds in a unit; what is finer is cut off."""
    times, parts = MICROSECONDS[unit]
    return us * parts // times
