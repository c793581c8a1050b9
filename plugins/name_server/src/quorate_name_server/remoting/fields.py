"""Fields of requests: as in Java, a missing field or one of another type is None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_LONG: Final = range(-(1 << 63), 1 << 63)

Fields = Mapping[str, str | None]


def text(fields: Fields, name: str) -> str:
    """Return a text field; empty if it is missing."""
    return fields.get(name) or ""


def number(fields: Fields, name: str) -> int | None:
    """Return a numeric field, or None."""
    try:
        value = int(fields.get(name) or "")
    except ValueError:
        return None
    return value if value in _LONG else None


def flag(fields: Fields, name: str) -> bool | None:
    """Return a boolean field, or None if it is missing."""
    value = fields.get(name)
    return None if value is None else value.lower() == "true"
