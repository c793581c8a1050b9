"""Finds secrets in a configuration that should be references to them."""

import re
from collections.abc import Iterator
from typing import Any, Final

from quorate_connector.api import SecretRef
from quorate_connector.types.faults import path_of

_NAME: Final = re.compile(
    r"passw(or)?d|passphrase|secret|credential|(^|_)token$|(api|access|private|secret)_?key$",
    re.I,
)
#: What a value cannot be but a secret, whatever its field is called.
_VALUES: Final = (
    (re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s@]*:[^/?#\s@]+@", re.I), "holds a password in a URL"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"), "holds a private key"),
    (re.compile(r"\b(Bearer|Basic) [A-Za-z0-9+/=._~-]{8,}"), "holds what proves who asks"),
)
_REPAIR: Final = "refer to it, as env:NAME or file:/PATH, in a field that the type has for that"


def clear_text(value: Any, *parts: int | str) -> Iterator[tuple[str, str]]:
    """Yield the path of each secret within a value, and why it is one, without repeating it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from clear_text(inner, *parts, key)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from clear_text(inner, *parts, position)
    elif isinstance(value, str) and value and not _is_reference(value):
        why = next((said for pattern, said in _VALUES if pattern.search(value)), None)
        if why is None and any(isinstance(each, str) and _NAME.search(each) for each in parts):
            why = "is a secret by its name"
        if why is not None:
            yield path_of(parts), f"{why}: {_REPAIR}"


def _is_reference(value: str) -> bool:
    try:
        SecretRef.of(value)
    except ValueError:
        return False
    return True
