"""Finds the deprecated names of the plugin API that the source of a plugin uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from quorate.plugin.deprecations import Deprecation, deprecation_of
from quorate.plugin.discovery import Plugin
from quorate.plugin.markers import PROJECT

#: The modules that a plugin may rely on.
PROMISED: Final = tuple(
    f"{PROJECT}.{name}" for name in ("plugin", "plugin.advanced", "plugin.rows", "testing")
)


def deprecated_uses(plugin: Plugin) -> Iterator[str]:
    """Yield a sentence for each line in the package of a plugin that uses a deprecated name.

    A method is found by its name alone, in the files that import from the plugin API.
    """
    file = getattr(plugin.module, "__file__", None)
    if plugin.module is None or file is None or plugin.built_in:
        return
    module = Path(file)
    above = plugin.module.__name__.count(".") - (module.stem != "__init__")
    paths = [module] if above < 0 else sorted(module.parents[above].rglob("*.py"))
    for path in paths:
        if path.stem.endswith("_pb2"):
            continue
        for line, used, known in sorted({*_uses(ast.parse(path.read_bytes(), str(path)))}):
            yield (
                f"{path}:{line}: {used} is deprecated since {known.since} and will be removed in "
                f"{known.until}; {known.instead}"
            )


def _uses(tree: ast.AST) -> Iterator[tuple[int, str, Deprecation]]:
    functions, methods = _deprecated()
    imported: dict[str, str] = {}
    relies = False
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{PROJECT}."):
            relies = True
            for each in node.names:
                if each.name in functions:
                    imported[each.asname or each.name] = each.name
                    yield each.lineno, each.name, functions[each.name]
    if not relies:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in imported:
            used = imported[node.id]
            yield node.lineno, used, functions[used]
        elif isinstance(node, ast.Attribute) and node.attr in methods:
            yield node.lineno, node.attr, methods[node.attr]


@cache
def _deprecated() -> tuple[Mapping[str, Deprecation], Mapping[str, Deprecation]]:
    """Return what is deprecated of the names that modules export, and what may be an attribute."""
    functions: dict[str, Deprecation] = {}
    methods: dict[str, Deprecation] = {}
    for module in map(import_module, PROMISED):
        for name in module.__all__:
            found: Any = getattr(module, name)
            _note(functions, name, found)
            if isinstance(found, type):
                for own, method in vars(found).items():
                    _note(methods, own, method)
    return functions, methods | functions


def _note(known: dict[str, Deprecation], name: str, found: object) -> None:
    deprecation = deprecation_of(found)
    if deprecation is not None:
        known[name] = deprecation
