"""The errors of calls on a channel."""

from __future__ import annotations

from typing import Final

from quorate.http2.grpc.codes import Code

#: Metadata as it was received.
Received = tuple[tuple[str, str | bytes], ...]


class ChannelClosedError(Exception):
    """A call on a channel that is closed; nothing was sent."""

    def __init__(self) -> None:
        super().__init__("the channel is closed")


class CallError(Exception):
    """A call that failed.

    Where `sent` is False, nothing of it can have reached a servicer: it can be called again. Where
    `told` is False, this end found the failure and the server has not said it.
    """

    def __init__(
        self,
        code: Code,
        details: str,
        initial_metadata: Received = (),
        trailing_metadata: Received = (),
        sent: bool = True,
        told: bool = True,
    ) -> None:
        super().__init__(code, details, initial_metadata, trailing_metadata, sent, told)
        self._code: Final = code
        self._details: Final = details
        self._initial: Final = initial_metadata
        self._trailing: Final = trailing_metadata
        self.sent: Final = sent
        self.told: Final = told

    def __str__(self) -> str:
        """Return the code and the text."""
        return f"{self._code.name}: {self._details}"

    def code(self) -> Code:
        """Return the code of the status."""
        return self._code

    def details(self) -> str:
        """Return the text of the status."""
        return self._details

    def initial_metadata(self) -> Received:
        """Return the metadata received before the first answer."""
        return self._initial

    def trailing_metadata(self) -> Received:
        """Return the metadata received with the status."""
        return self._trailing
