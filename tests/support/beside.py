"""Functions that run beside a test, each in a thread: what one of them raises, the test raises."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from quorate.testing.waiting import until

T = TypeVar("T")


class Beside:
    """What runs beside a test."""

    def __init__(self, running: Sequence[Future[object]]) -> None:
        self._running = running

    def until(self, find: Callable[[], T | None]) -> T:
        """Wait as `until` does, and no longer once a function has failed: raises its error."""

        def found() -> T | None:
            self.check()
            return find()

        return until(found)

    def check(self) -> None:
        """Raise what a function has raised."""
        for each in self._running:
            if each.done():
                each.result()

    def join(self) -> None:
        """Wait until all functions have returned; raises what one of them has raised."""
        wait(self._running)
        self.check()


@contextmanager
def beside(*functions: Callable[[threading.Event], object]) -> Iterator[Beside]:
    """Run functions beside a block; each returns soon after the event that it is given is set.

    That is at the end of the block. What a function has raised is raised there, whatever the block
    itself raises: it may have waited in vain for the function.
    """
    over = threading.Event()
    with ThreadPoolExecutor(len(functions)) as pool:
        running = Beside([pool.submit(each, over) for each in functions])
        try:
            yield running
        finally:
            over.set()
            running.join()
