"""The fences of writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from quorate.plugin import Fence


class Fencing(Protocol):
    """A `Fence`, or something that has one: a lock that is held."""

    @property
    def fence(self) -> Fence:
        """The fence that rejects a write once its token is stale."""
