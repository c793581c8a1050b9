"""Runs the coroutine of a call from where it begins, without a task."""

from __future__ import annotations

import asyncio
from asyncio import _enter_task, _leave_task
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Final

#: Gets the result of the coroutine, or the exception that ended it.
Ended = Callable[[Any, BaseException | None], None]


class Running:
    """Runs a coroutine as a task does, but its first step is done at once, by `start`.

    One that ends without waiting costs neither a future nor a turn of the loop. Within it this is
    the current task, with the methods of one that timeouts and groups of tasks use.
    """

    __slots__ = (
        "__weakref__",
        "_cancelling",
        "_context",
        "_coroutine",
        "_done",
        "_ended",
        "_future",
        "_loop",
        "_must_cancel",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: Context,
        coroutine: Coroutine[Any, None, Any],
        ended: Ended,
    ) -> None:
        self._loop: Final = loop
        self._context: Final = context
        self._coroutine: Final = coroutine
        self._ended: Ended | None = ended
        #: Callbacks of waiters other than the starter of the call.
        self._done: list[Callable[[Any], object]] = []
        #: The future that it waits for.
        self._future: asyncio.Future[Any] | None = None
        self._must_cancel = False
        self._cancelling = 0

    def start(self) -> None:
        """Do the first step; called once, outside of any task."""
        self._context.run(self._step)

    def cancel(self, msg: object = None) -> bool:
        """Raise `CancelledError` where the coroutine waits."""
        if self._ended is None:
            return False
        self._cancelling += 1
        if self._future is None or not self._future.cancel(msg):
            self._must_cancel = True
        return True

    def cancelling(self) -> int:
        """Return how many requests to cancel were not taken back."""
        return self._cancelling

    def uncancel(self) -> int:
        """Take a request to cancel back."""
        self._cancelling = max(0, self._cancelling - 1)
        return self._cancelling

    def done(self) -> bool:
        """Whether the coroutine has ended."""
        return self._ended is None

    def cancelled(self) -> bool:
        """Whether it has ended by being cancelled; its caller takes the cancellation."""
        return False

    def add_done_callback(
        self, called: Callable[[Any], object], *, context: Context | None = None
    ) -> None:
        """Call a function in a later turn of the loop once the coroutine has ended."""
        if self._ended is None:
            self._loop.call_soon(called, self, context=context)
        else:
            self._done.append(called)

    def remove_done_callback(self, called: Callable[[Any], object]) -> int:
        """Do not call a function; return how often it would have been called."""
        kept = [each for each in self._done if each != called]
        removed, self._done = len(self._done) - len(kept), kept
        return removed

    def get_coro(self) -> Coroutine[Any, None, Any]:
        """Return the coroutine."""
        return self._coroutine

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop that it runs on."""
        return self._loop

    def get_name(self) -> str:
        """Return a name for logs."""
        return getattr(self._coroutine, "__qualname__", "call")

    def _step(self, error: BaseException | None = None) -> None:
        if self._must_cancel:
            self._must_cancel = False
            if not isinstance(error, asyncio.CancelledError):
                error = asyncio.CancelledError()
        self._future = None
        _enter_task(self._loop, self)  # type: ignore[arg-type]  # it stands in for a task
        try:
            coroutine = self._coroutine
            found = coroutine.send(None) if error is None else coroutine.throw(error)
        except StopIteration as stop:
            self._end(stop.value, None)
        except (KeyboardInterrupt, SystemExit):
            self._ended = None
            raise
        except BaseException as raised:  # noqa: BLE001 - the call's owner answers with it
            self._end(None, raised)
        else:
            self._wait(found)
        finally:
            _leave_task(self._loop, self)  # type: ignore[arg-type]
            # Or the exception and this frame would keep each other.
            error = None

    def _end(self, result: Any, error: BaseException | None) -> None:
        ended, self._ended = self._ended, None
        assert ended is not None
        ended(result, error)
        for called in self._done:
            self._loop.call_soon(called, self)
        self._done.clear()

    def _wait(self, found: Any) -> None:
        if found is None:
            # It gives way for a turn of the loop.
            self._loop.call_soon(self._step, context=self._context)
            return
        if not getattr(found, "_asyncio_future_blocking", False):
            problem = RuntimeError(f"a call waits for {found!r}, which is no future")
            self._loop.call_soon(self._step, problem, context=self._context)
            return
        found._asyncio_future_blocking = False
        self._future = found
        found.add_done_callback(self._wake, context=self._context)
        if self._must_cancel and found.cancel():
            self._must_cancel = False

    def _wake(self, future: asyncio.Future[Any]) -> None:
        try:
            future.result()
        except BaseException as error:  # noqa: BLE001 - the coroutine takes it
            self._step(error)
        else:
            self._step()
