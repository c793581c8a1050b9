"""What a client has published, on its way to those who have subscribed to it."""

from __future__ import annotations

from typing import NamedTuple


class Message(NamedTuple):
    """A message for subscribers."""

    topic: str
    payload: bytes
    #: The quality of service that it was published with; nobody gets it with a higher one.
    qos: int = 0
    #: It is given to a new subscriber because it was retained.
    retained: bool = False
    #: It was sent on an earlier connection, and not acknowledged there.
    again: bool = False
