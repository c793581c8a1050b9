"""Checks of request fields, shared by all plugins; each refusal names its field."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from quorate.plugin.outcomes import Invalid

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference

LONGEST_NAME: Final = 128
LONGEST_DESCRIPTION: Final = 1_024
#: In bytes: no key of a row is longer.
LONGEST_KEY: Final = 4_096
#: The default number of rows in a page.
PAGE: Final = 100
#: Maximum number of rows in a page, and of keys in a lookup.
LARGEST_PAGE: Final = 1_000

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


def check_each(field: str, items: Sequence[I], check: Callable[[I, str], None]) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    for position, item in enumerate(items):
        check(item, f"{field}[{position}].")


def check_count(field: str, items: Sequence[object], most: int) -> None:
    """Refuse a batch of more than `most` items; one without items is right everywhere."""
    check_most(field, len(items), most)


def check_name(field: str, name: str) -> None:
    """Refuse an invalid name; names are up to 128 letters, digits, dots, underscores and dashes."""
    if len(name) <= LONGEST_NAME and _is_name(name):
        return
    if not name:
        raise Invalid(field, "must not be empty")
    check_longest(field, name, LONGEST_NAME)
    raise Invalid(field, "must be letters, digits, '.', '_' and '-'")


def check_text(field: str, text: str, longest: int) -> None:
    """Refuse text that is empty, too long in bytes, or has control characters."""
    if not text:
        raise Invalid(field, "must not be empty")
    # Few texts are long enough for their bytes to be counted.
    if len(text) * 4 > longest and (size := len(text.encode())) > longest:
        raise Invalid(field, f"must have at most {longest} bytes, not {size}")
    # Nearly every text can be printed, which is known at once.
    if not text.isprintable() and _CONTROL.search(text):
        raise Invalid(field, "must not have control characters")


def check_longest(field: str, text: str, longest: int) -> None:
    """Refuse text of too many characters."""
    if len(text) > longest:
        raise Invalid(field, f"must have at most {longest} characters, not {len(text)}")


def check_description(field: str, description: str) -> None:
    """Refuse a description that is too long."""
    check_longest(field, description, LONGEST_DESCRIPTION)


def check_most(field: str, value: int, most: int) -> None:
    """Refuse a number that is too large."""
    if value > most:
        raise Invalid(field, f"must be at most {most}, not {value}")


def check_range(field: str, value: int, most: int) -> None:
    """Refuse a number that is not from 1 to `most`."""
    if not 1 <= value <= most:
        raise Invalid(field, f"must be from 1 to {most}, not {value}")


def check_bytes(field: str, value: bytes, most: int) -> None:
    """Refuse a value of too many bytes."""
    if len(value) > most:
        raise Invalid(field, f"must have at most {most} bytes, not {len(value)}")


def check_choice(field: str, value: int, choices: EnumTypeWrapper) -> None:
    """Refuse a value of an enumeration that is unspecified or unknown here."""
    if not value or value not in choices.values():
        raise Invalid(field, f"must be one of {', '.join(choices.keys()[1:])}")


def check_page_size(field: str, size: int) -> None:
    """Refuse a page that is too large."""
    check_most(field, size, LARGEST_PAGE)


@lru_cache(maxsize=1_024)
def _is_name(name: str) -> bool:
    """Return whether short text is a name; thousands of rows name few tenants."""
    return _NAME.fullmatch(name) is not None
