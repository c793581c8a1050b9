"""The catalog of installed plugins that a test names."""

from collections.abc import Sequence
from typing import Any, TypeVar

from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import installed

D = TypeVar("D")


def declarations_of(module: Any, kind: type[D]) -> list[D]:
    """Return the declarations of a kind by the hook `quorate_declarations` of a plugin's module."""
    return [each for each in module.quorate_declarations() if isinstance(each, kind)]


def catalog_of(names: Sequence[str]) -> Catalog:
    """Return the catalog of the installed plugins of these names, and of no others."""
    found = {plugin.name: plugin for plugin in installed()}
    missing = [name for name in names if name not in found]
    if missing:
        raise LookupError(
            f"no plugin named {', '.join(missing)} is installed here; installed are "
            f"{', '.join(found) or 'none'}: install its distribution (pip install -e .)"
        )
    return build([found[name] for name in sorted(set(names))])
