"""What a write can be fenced with."""

from typing import Protocol

from quorate.plugin import Fence


class Fencing(Protocol):
    """A `Fence`, or something that has one: a lock that is held."""

    @property
    def fence(self) -> Fence:
        """What refuses a write once its token is old."""
