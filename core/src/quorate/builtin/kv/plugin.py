"""The declarations of the domain."""

from __future__ import annotations

from collections.abc import Sequence

from quorate.builtin.kv import families, fences, service, tables, vocabulary
from quorate.plugin import Declaration, hookimpl


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        families.FAMILY,
        *vocabulary.COMMANDS,
        *vocabulary.QUERIES,
        families.EXPIRY,
        service.KV,
        tables.EXTENSION,
        fences.OF_CALLERS,
    ]
