"""Fields of requests: one that is missing, or of another kind, is None as it is in Java."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_LONG: Final = range(-(1 << 63), 1 << 63)

Fields = Mapping[str, str | None]


def text(fields: Fields, name: str) -> str:
    """Return a field; "" when it is missing."""
    return fields.get(name) or ""


def number(fields: Fields, name: str) -> int | None:
    """Return a field that is a number."""
    try:
        value = int(fields.get(name) or "")
    except ValueError:
        return None
    return value if value in _LONG else None


def flag(fields: Fields, name: str) -> bool | None:
    """Return a field that is true or false."""
    value = fields.get(name)
    return None if value is None else value.lower() == "true"
