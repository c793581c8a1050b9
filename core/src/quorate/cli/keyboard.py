"""The keys that are pressed at a terminal while a command shows something live."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pressed() -> Iterator[asyncio.Queue[str]]:
    """Yield a queue of the keys that are pressed, without waiting for Enter.

    Where standard input is no terminal, none is. Ctrl-C stays what it is.
    """
    keys: asyncio.Queue[str] = asyncio.Queue()
    if not sys.stdin.isatty():
        yield keys
        return
    import termios
    import tty

    stdin, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(stdin)

    def read() -> None:
        for key in os.read(stdin, 64).decode(errors="ignore"):
            keys.put_nowait(key)

    tty.setcbreak(stdin)
    loop.add_reader(stdin, read)
    try:
        yield keys
    finally:
        loop.remove_reader(stdin)
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
