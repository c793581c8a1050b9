"""What a misspelt name was meant to be."""

import difflib
import inspect
import re
from collections.abc import Iterable
from typing import Any, Final

#: How alike two names must be, of 1: less is no misspelling.
_NEAR: Final = 0.7
#: What Python says of an argument that a declaration does not take.
_UNEXPECTED: Final = re.compile(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")
_NO_FIELD: Final = re.compile(r"Protocol message (\w+) has no \"(\w+)\" field")
_MISSING: Final = re.compile(r"(\w+)\.__init__\(\) missing .*arguments?: (.*)")


def meant(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the repair of a misspelt name: the nearest known one, or else the known ones."""
    names = [each for each in dict.fromkeys(known) if each]
    if near := difflib.get_close_matches(name, names, n=1, cutoff=_NEAR):
        return f"did you mean {near[0]}?"
    return otherwise or (f"use one of {', '.join(names)}" if names else "correct the name")


def repair_of(error: BaseException, otherwise: str) -> str:
    """Return the repair of an exception of a plugin's code, as far as it tells one."""
    if isinstance(error, AttributeError) and error.obj is not None and error.name:
        return meant(error.name, dir(error.obj), otherwise)
    said = str(error)
    if found := _MISSING.match(said):
        return f"give the {found[1]} its {found[2]}"
    if found := _UNEXPECTED.match(said):
        return meant(found[2], _arguments_of(found[1]), otherwise)
    if found := _NO_FIELD.match(said):
        return f"correct {found[2]!r}, or write it in {found[1]} of the .proto file"
    if isinstance(error, KeyError) and error.args:
        return f"correct the name {error.args[0]!r}"
    return otherwise


def _arguments_of(name: str) -> Iterable[str]:
    # Both import what imports this.
    from quorate.plugin import declarations
    from quorate.plugin.resource import declaration

    kind: Any = getattr(declarations, name, None) or getattr(declaration, name, None)
    return () if kind is None else inspect.signature(kind).parameters
