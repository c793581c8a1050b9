"""The declarations of the domain."""

from __future__ import annotations

from collections.abc import Sequence

from quorate.builtin.kv import families, service, tables, vocabulary
from quorate.plugin import Declaration, Extension, hookimpl
from quorate.plugin.advanced import FENCE_NAMES, FenceNames

#: Fences with tokens that callers choose: their names share the space of keys.
_FENCES = FenceNames(word="", domain="kv", key=lambda name: name)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        families.FAMILY,
        *vocabulary.COMMANDS,
        *vocabulary.QUERIES,
        families.EXPIRY,
        service.KV,
        tables.EXTENSION,
        Extension(point=FENCE_NAMES, name="kv.callers", value=_FENCES),
    ]
