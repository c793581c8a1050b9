"""A call of a servicer within the process, on behalf of a request over HTTP."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from google.protobuf.message import Message
from quorate.plugin.advanced import HttpRequest

#: Headers that go along as metadata, with what gRPC's own clients call them.
_METADATA: Final = ("authorization", "token", "hasleader", "client-api-version")
_END: Final = object()


class AbortedError(Exception):
    """A servicer has ended its call with a status."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code: Final = code
        self.text: Final = text


class Call:
    """The context of a call, and the requests of its stream."""

    def __init__(self, request: HttpRequest, requests: Iterable[Message]) -> None:
        self._request: Final = request
        self._requests: Final = deque(requests)
        self._metadata: Final = tuple(
            (name, request.headers[name]) for name in _METADATA if name in request.headers
        )
        #: One answer waits until it is sent.
        self._answers: Final[asyncio.Queue[Any]] = asyncio.Queue(1)

    # --- as its servicer sees it

    def peer(self) -> str:
        """Return the other end of the connection."""
        return self._request.peer

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """Return nothing: the gateway passes no certificate on."""
        return {}

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the headers that servicers look at."""
        return self._metadata

    def time_remaining(self) -> float | None:
        """Return None: there is no deadline."""
        return None

    def cancelled(self) -> bool:
        """Return False: the task of the call is cancelled when the client leaves."""
        return False

    def done(self) -> bool:
        """Return False: a call ends when its servicer returns."""
        return False

    def code(self) -> Any:
        """Return None: no code was set."""
        return None

    def set_code(self, code: Any) -> None:
        """Ignore the code of a call that succeeds."""

    def set_details(self, details: str) -> None:
        """Ignore the text of a call that succeeds."""

    def set_trailing_metadata(self, metadata: Any) -> None:
        """Ignore metadata."""

    async def send_initial_metadata(self, metadata: Any) -> None:
        """Ignore metadata."""

    async def read(self) -> Any:
        """Return the next request; None at the end."""
        return self._requests.popleft() if self._requests else None

    async def write(self, message: Any) -> None:
        """Send an answer; waits until the one before it is taken."""
        await self._answers.put(message)

    async def abort(self, code: Any, details: str = "", trailing_metadata: Any = ()) -> Any:
        """End the call with a status."""
        value = code.value if hasattr(code, "value") else code
        raise AbortedError(value[0] if isinstance(value, tuple) else int(value), details)

    def __aiter__(self) -> AsyncIterator[Message]:
        """Return the requests."""
        return self

    async def __anext__(self) -> Message:
        """Return the next request."""
        if not self._requests:
            raise StopAsyncIteration
        return self._requests.popleft()

    # --- as the gateway sees it

    async def answers(self, serve: Any, request: Any) -> AsyncIterator[Message]:
        """Yield the answers of a servicer's method that streams them; raises what it raises."""
        working = asyncio.get_running_loop().create_task(self._work(serve, request))
        try:
            while (answer := await self._answers.get()) is not _END:
                yield answer
            await working
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await working

    async def _work(self, serve: Any, request: Any) -> None:
        try:
            found = serve(request, self)
            if hasattr(found, "__aiter__"):
                async for each in found:
                    await self._answers.put(each)
            else:
                await found
        finally:
            await self._answers.put(_END)
