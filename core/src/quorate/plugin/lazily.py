"""Names of a package that are imported from its modules when they are first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazily(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[], list[str]], Callable[[str], object]]:
    """Return `__all__`, `__dir__` and `__getattr__` of a package.

    `homes` has the names that each module defines; those of the package itself are modules in it.
    The package imports each name under `TYPE_CHECKING` as itself, for checkers and editors.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    names = sorted(home_of)

    def get(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object
        if home == package:
            found = importlib.import_module(f"{home}.{name}")
        else:
            found = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, found)
        return found

    return names, lambda: names, get
