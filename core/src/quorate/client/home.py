"""Where a client can be used: in the process that made it, and in one event loop."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from quorate.client.errors import ClosedError

#: The process in which gRPC was first used. Its threads do not come along with a fork, and what
#: they held stays held: a connection of a child would never stand.
_grpc_process: int | None = None

_FORK: Final = (
    'start processes with multiprocessing.get_context("spawn") or "forkserver", or fork before '
    "the first client is used, and make a client in each"
)


def begin_connections() -> None:
    """Remember that this process uses gRPC; raises `ClosedError` if one that it came of did."""
    global _grpc_process
    if _grpc_process is None:
        _grpc_process = os.getpid()
    check_fork()


def check_fork() -> None:
    """Raise `ClosedError` in a process that was forked from one that had used a client."""
    if _grpc_process not in (None, os.getpid()):
        raise ClosedError(
            f"process {os.getpid()} was forked from {_grpc_process}, which had used a client by "
            f"then: gRPC works in no such process; {_FORK}"
        )


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
        """Whether this is another process than the one that made the client."""
        return os.getpid() != self.process

    def check_process(self) -> None:
        """Raise `ClosedError` in another process than the one that made the client."""
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
        was = "has ended" if self._loop.is_closed() else "is another one"
        raise ClosedError(
            f"the event loop that the client was first used in {was}: make one client for each "
            "loop (each `asyncio.run`), with `async with connect()` in it, or use Client, which "
            "any thread may call"
        )
