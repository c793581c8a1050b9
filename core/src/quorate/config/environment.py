"""Settings that come from the environment: `QUORATE__SECTION__KEY=value`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quorate.config.problems import ConfigProblem

#: What the name of every overriding variable begins with.
PREFIX: Final = "QUORATE__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One variable: the key that it sets, and the value."""

    variable: str
    path: tuple[str, ...]
    value: Any


def overrides(environ: Mapping[str, str]) -> tuple[Sequence[Override], Sequence[ConfigProblem]]:
    """Return the overrides in the order of their names, and the names that are not understood."""
    found: list[Override] = []
    problems: list[ConfigProblem] = []
    for variable in sorted(name for name in environ if name.startswith(PREFIX)):
        segments = variable.removeprefix(PREFIX).split("__")
        if len(segments) < 2 or not all(segments) or variable != variable.upper():
            problems.append(
                ConfigProblem(
                    variable=variable,
                    what="is not the name of a setting",
                    fix=f"write {PREFIX}SECTION__KEY in capitals, or unset it",
                )
            )
        else:
            path = tuple(segment.lower() for segment in segments)
            found.append(
                Override(variable=variable, path=path, value=read_value(environ[variable]))
            )
    return found, problems


def read_value(text: str) -> Any:
    """Read a TOML value; what is none, as a bare word, is a string."""
    try:
        document = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return document["value"] if list(document) == ["value"] else text


def overlay(tree: dict[str, Any], override: Override) -> bool:
    """Set the value in the tree; return False where something that is no table is in the way."""
    table = tree
    for segment in override.path[:-1]:
        child = table.setdefault(segment, {})
        if not isinstance(child, dict):
            return False
        table = child
    table[override.path[-1]] = override.value
    return True
