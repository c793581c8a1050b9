"""The context of a call, as the servicer of its method sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class CallContext(Protocol):
    """A call that is being served.

    Codes are those of `quorate.http2.grpc.codes.Code` or of `grpc.StatusCode`.
    """

    def peer(self) -> str:
        """Return the other end of the connection: ipv4:ADDRESS:PORT, ipv6:… or unix:."""

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """Return the names in the caller's certificate, and the certificate; empty without one."""

    def invocation_metadata(self) -> Any:
        """Return the metadata of the caller, as pairs."""

    def time_remaining(self) -> float | None:
        """Return the seconds until the caller's deadline; None: no deadline."""

    def cancelled(self) -> bool:
        """Whether the caller does not wait any more."""

    def done(self) -> bool:
        """Whether the call has its status."""

    def code(self) -> Any:
        """Return the code of the status that was set; None: none was."""

    def set_code(self, code: Any) -> None:
        """Set the code that the call ends with when its servicer returns."""

    def set_details(self, details: str) -> None:
        """Set the text that the call ends with when its servicer returns."""

    def set_trailing_metadata(self, metadata: Any) -> None:
        """Set the metadata that is sent with the status."""

    async def send_initial_metadata(self, metadata: Any) -> None:
        """Send metadata before the first answer."""

    async def read(self) -> Any:
        """Return the next request of a stream; at the end a value that is not a message."""

    async def write(self, message: Any) -> None:
        """Send an answer of a stream; waits until the caller takes earlier ones."""

    async def abort(self, code: Any, details: str = "", trailing_metadata: Any = ()) -> Any:
        """End the call with a status; raises an exception that the servicer lets pass."""
