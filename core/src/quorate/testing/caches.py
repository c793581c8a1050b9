"""The contract of a cache: updated by changes, it equals one that is built from the rows."""

from __future__ import annotations

from collections.abc import Mapping

from quorate.plugin import Cache, CacheView
from quorate.plugin.node import CompleteCacheView
from quorate.testing.node import MemoryNode


def differences(node: MemoryNode, plugin: str) -> list[str]:
    """Return the faults of the plugin's caches, after the node has applied a log."""
    found = []
    for cache in node.catalog.declared[plugin].caches:
        rows = {family: node.rows(family) for family in cache.families}
        kept, rebuilt = node.caches[cache.name], _built(cache, rows)
        if _held(kept) != _held(rebuilt):
            found.append(
                f"cache {cache.name} holds {_held(kept)} when it was fed every change, and "
                f"{_held(rebuilt)} when it is built from the rows; a cache is a function of its "
                "rows (give it __eq__ if its attributes cannot be compared)"
            )
            continue
        empty = _held(_built(cache, {}))
        for family, content in rows.items():
            for key in content:
                rebuilt.delete(family, key)
        kept.reset()
        _complete(kept)
        for held, after in ((_held(rebuilt), "every row was deleted"), (_held(kept), "reset()")):
            if held != empty:
                found.append(f"cache {cache.name} still holds {held} after {after}")
    return found


def _built(cache: Cache, rows: Mapping[str, Mapping[bytes, bytes]]) -> CacheView:
    view = cache.factory()
    view.reset()
    for family, content in rows.items():
        for key, row in content.items():
            view.put(family, key, row)
    _complete(view)
    return view


def _complete(view: CacheView) -> None:
    if isinstance(view, CompleteCacheView):
        view.listed()


def _held(view: CacheView) -> object:
    """Return the value to compare a cache by: its attributes, unless it defines `__eq__`."""
    if type(view).__eq__ is not object.__eq__:
        return view
    slots = [name for kind in type(view).__mro__ for name in getattr(kind, "__slots__", ())]
    attributes = {name: getattr(view, name) for name in slots if hasattr(view, name)}
    return attributes | dict(getattr(view, "__dict__", {}))
