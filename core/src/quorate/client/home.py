"""Where a client can be used: in the process that made it, and in one event loop."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from quorate.client.errors import ClosedError

_FORK: Final = "make a client in each process"


class Home:
    """The process that made a client, and the event loop that it is used in."""

    def __init__(self) -> None:
        self.process: Final = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop; raises `ClosedError` where the client cannot be used."""
        loop = asyncio.get_running_loop()
        # After a fork no loop of the parent runs: a process is looked at with a new loop alone.
        if loop is not self._loop:
            self._move_in(loop)
        return loop

    @property
    def is_elsewhere(self) -> bool:
        """Whether this process differs from the one that made the client."""
        return os.getpid() != self.process

    def check_process(self) -> None:
        """Raise `ClosedError` unless this process made the client."""
        if self.is_elsewhere:
            raise ClosedError(
                f"the client was made in process {self.process}, and process {os.getpid()} was "
                f"forked from it: its connections stayed there; {_FORK}"
            )

    def _move_in(self, loop: asyncio.AbstractEventLoop) -> None:
        self.check_process()
        if self._loop is None:
            self._loop = loop
            return
        was = "has ended" if self._loop.is_closed() else "is a different one"
        raise ClosedError(
            f"the event loop that the client was first used in {was}: make one client for each "
            "loop (each `asyncio.run`), with `async with connect()` in it, or use Client, which "
            "any thread may call"
        )
