"""The checks that follow from the types of fields, made on messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from quorate.plugin.outcomes import Invalid
from quorate.plugin.rows.shapes import MISSING, Field, shape_of
from quorate.plugin.rows.types import Role

#: Refuses a value, and is given the path of its field.
CheckField = Callable[[str, Any], None]
#: Refuses a message, and is given what stands before the names of its fields.
CheckMessage = Callable[[Any, str], None]


def check_of(fields: Iterable[Field]) -> CheckMessage:
    """Return the check of a message with these fields; parts of its key have checks of their own.

    A field with a default may be empty.
    """
    parts = [
        (each.name, each.present, each.default is not MISSING or each.optional, check)
        for each in fields
        if each.role is not Role.KEY
        for check in _checks(each)
    ]

    def check(message: Any, path: str) -> None:
        for name, present, may_be_empty, refuse in parts:
            if present and not message.HasField(name):
                continue
            value = getattr(message, name)
            if value or not may_be_empty:
                refuse(f"{path}{name}", value)

    return check


def checks_of_key(fields: Iterable[Field]) -> dict[str, CheckField]:
    """Return the checks of the parts of a key by their names."""
    return {each.name: _all(list(_checks(each))) for each in fields if each.role is Role.KEY}


def _all(checks: list[CheckField]) -> CheckField:
    def check(path: str, value: Any) -> None:
        for each in checks:
            each(path, value)

    return check


def _checks(field: Field) -> Iterator[CheckField]:
    """Yield the checks of a field; those of its items are one."""
    for bound in field.outer:
        yield bound.check
    own: list[CheckField] = [bound.check for bound in field.bounds]
    if field.chosen:
        own.insert(0, _choice(field.kind))
    elif field.nested:
        own.insert(0, _within(field.kind))
    if not field.many:
        yield from own
    elif field.many == "dict":
        yield _pairs(_all([bound.check for bound in field.key_bounds]), _all(own))
    elif own:
        yield _each(_all(own))


def _choice(kind: Any) -> CheckField:
    known = frozenset(int(each) for each in kind)
    names = ", ".join(each.name for each in kind)

    def check(path: str, value: Any) -> None:
        if value not in known:
            raise Invalid(path, f"must be one of {names}")

    return check


def _within(kind: Any) -> CheckField:
    made: list[CheckMessage] = []

    def check(path: str, value: Any) -> None:
        # A row may hold rows of its own kind.
        if not made:
            made.append(check_of(shape_of(kind).values()))
        made[0](value, f"{path}.")

    return check


def _each(check: CheckField) -> CheckField:
    def check_each(path: str, values: Any) -> None:
        for position, value in enumerate(values):
            check(f"{path}[{position}]", value)

    return check_each


def _pairs(check_key: CheckField, check_value: CheckField) -> CheckField:
    def check_pairs(path: str, values: Any) -> None:
        for key, value in values.items():
            check_key(f"{path}[{key!r}]", key)
            check_value(f"{path}[{key!r}]", value)

    return check_pairs
