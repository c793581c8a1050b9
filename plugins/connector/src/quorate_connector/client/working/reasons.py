"""Why a task has failed, in words that the cluster keeps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

#: In bytes; the cluster keeps no more.
LONGEST: Final = 4_096
_MASK: Final = "***"
#: What is shorter stands in too many words, and protects nothing.
_SHORTEST_SECRET: Final = 4


def reason_of(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """Say what an error says, without the secrets that its task has read."""
    said = "; ".join(f"{type(each).__name__}: {_told(each)}" for each in _leaves(error))
    hidden = {
        spelling
        for secret in secrets
        if len(secret) >= _SHORTEST_SECRET
        for spelling in _spellings(secret)
    }
    for spelling in sorted(hidden, key=len, reverse=True):
        said = said.replace(spelling, _MASK)
    return said.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore")


def _told(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as failure:  # noqa: BLE001 - without a reason the task would never be reported
        return f"it cannot be told, for {type(failure).__name__}"


def _spellings(secret: str) -> Iterator[str]:
    """Yield how errors show a text: as it is, as a literal, and as part of an address."""
    yield secret
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    yield quote(secret, errors="replace")
    yield quote(secret, safe="", errors="replace")
    yield quote_plus(secret, errors="replace")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error
