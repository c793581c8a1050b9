"""A thread that works for an event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread as _Thread
from typing import Final, Protocol

Work = Callable[[], None]
#: Gets the error of the work, or None.
Done = Callable[[Exception | None], None]


class Thread(Protocol):
    """Does one piece of work after the other."""

    def start(self, work: Work, done: Done) -> None:
        """Do work in the thread, then call `done` on the loop."""

    def close(self) -> None:
        """End the thread once it has done what was started."""


class WorkThread:
    """Takes half of the processor time of an executor, which makes two futures for each piece."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self._loop: Final = loop
        self._queue: Final[SimpleQueue[tuple[Work, Done] | None]] = SimpleQueue()
        # A process whose loop ended by an error must not wait for it.
        self._thread: Final = _Thread(target=self._run, name=name, daemon=True)

    def start(self, work: Work, done: Done) -> None:
        """Do work in the thread, then call `done` on the loop."""
        if self._thread.ident is None:
            self._thread.start()
        self._queue.put((work, done))

    def close(self) -> None:
        """End the thread once it has done what was started, and wait for that."""
        if self._thread.ident is not None:
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (asked := self._queue.get()) is not None:
            work, done = asked
            error: Exception | None = None
            try:
                work()
            except Exception as raised:  # noqa: BLE001 - it is for the loop
                error = raised
            # There is nobody to tell where the loop has ended.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(done, error)
            del asked, work, done, error
