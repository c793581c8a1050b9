"""Why a task has failed, in words that the cluster keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

#: In bytes; the cluster keeps no more.
LONGEST: Final = 4_096
_MASK: Final = "***"
#: What is shorter stands in too many words, and protects nothing.
_SHORTEST_SECRET: Final = 4


def reason_of(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """Say what an error says, without the secrets that its task has read."""
    said = "; ".join(f"{type(each).__name__}: {each}" for each in _leaves(error))
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            said = said.replace(secret, _MASK)
    return said.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error
