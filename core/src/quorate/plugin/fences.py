"""Names of fences: the plugins that give out their tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quorate.plugin import keys

if TYPE_CHECKING:
    from quorate.plugin.node import Fence, NodeApi

#: The extension point of `FenceNames`.
FENCE_NAMES: Final = "cluster.fence_names"


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceNames:
    """A kind of fences: the type of the extension point `cluster.fence_names`."""

    #: Their names are `keys.pack(word, ...)`; "": every name that begins with no other word.
    word: str
    #: Who sends one needs `write` in this domain.
    domain: str
    #: The key in the domain, from the name of the fence.
    key: Callable[[bytes], str | bytes]
    #: Whether a token was given out: asked on the node that a command enters, once for each token.
    #: None: callers choose tokens themselves.
    given: Callable[[NodeApi, Fence], Awaitable[bool]] | None = None


def prefix_of(names: FenceNames) -> bytes:
    """Return the first bytes of the names of a kind."""
    return keys.prefix(names.word)[0] if names.word else b""
