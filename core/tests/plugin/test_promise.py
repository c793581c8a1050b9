"""What a plugin may rely on: the public names, with their signatures, as a file has them.

`python core/tests/plugin/test_promise.py` writes the file anew. A name that is new is no break; one
that goes, or changes, needs a fragment `breaking`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).with_name("promise.txt")
MODULES: Final = ("quorate.plugin", "quorate.plugin.advanced", "quorate.plugin.rows")
KIT: Final = "quorate.testing"


def promised() -> str:
    """Return a line for each public name, and for each of its fields and methods."""
    lines = [line for name in (*MODULES, KIT) for line in _of_module(import_module(name))]
    return "\n".join(lines) + "\n"


def _of_module(module: Any) -> Iterator[str]:
    for name in sorted(module.__all__):
        yield from _of(f"{module.__name__}.{name}", getattr(module, name))


def _of(name: str, found: Any) -> Iterator[str]:
    if inspect.isclass(found):
        yield f"{name}: class"
        if is_dataclass(found):
            yield from (
                f"{name}.{each.name}: {_text(each.type)}"
                for each in fields(found)
                if each.name[0] != "_"
            )
        # A base in another package of core keeps the promises of the port that it implements.
        own_rooms = (MODULES[0], KIT)
        bases = [
            each for each in found.__mro__ if each is found or each.__module__.startswith(own_rooms)
        ]
        members = {own: value for each in reversed(bases) for own, value in vars(each).items()}
        for own, value in sorted(members.items()):
            if own[0] != "_" and inspect.isfunction(value):
                yield f"{name}.{own}{_signature(value)}"
            elif own[0] != "_" and isinstance(value, property):
                yield f"{name}.{own}: property"
    elif inspect.isfunction(found):
        yield f"{name}{_signature(found)}"
    elif inspect.ismodule(found):
        functions = inspect.getmembers(found, inspect.isfunction)
        yield from (f"{name}.{own}{_signature(each)}" for own, each in functions if own[0] != "_")
    else:
        yield f"{name}: {type(found).__name__}"


def _signature(function: Any) -> str:
    """Return the parameters with `...` for defaults, which are no part of the promise."""
    made = inspect.signature(function)
    takes = [
        each if each.default is inspect.Parameter.empty else each.replace(default=...)
        for each in made.parameters.values()
    ]
    return str(made.replace(parameters=takes)).replace("'", "").replace("Ellipsis", "...")


def _text(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else str(getattr(annotation, "__name__", "_"))


def test_no_public_signature_changes_unseen() -> None:
    assert promised() == FILE.read_text(), f"write it anew with: python {Path(__file__).name}"


def test_few_names_are_enough_for_most_plugins() -> None:
    assert len(import_module("quorate.plugin").__all__) <= 40


if __name__ == "__main__":
    FILE.write_text(promised())
