"""PySyncObj's transport seam: holds messages until what they promise is durable."""

from typing import Final

import pysyncobj.transport

from quorate.consensus.messages import Message


class Outbox(pysyncobj.transport.Transport):
    """Holds each message until the write that it depends on is durable."""

    def __init__(self) -> None:
        super().__init__(None, None, [])
        self._held: Final[list[tuple[int, Message]]] = []

    @property
    def ready(self) -> bool:
        """Do nothing: the streams belong to the driver."""
        return True

    def hold(self, message: Message, needs: int) -> None:
        """Keep a message until the write numbered `needs` is durable."""
        self._held.append((needs, message))

    def release(self, synced: int) -> list[Message]:
        """Return the messages that may be sent, in order."""
        free = [message for needs, message in self._held if needs <= synced]
        if free:
            self._held[:] = [held for held in self._held if held[0] > synced]
        return free
