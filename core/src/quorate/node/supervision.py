"""Notifications to systemd, or to any supervisor that listens like systemd."""

import asyncio
import os
import socket
from typing import Final

#: Where it listens, how long the node may be silent, and which process it means.
_SOCKET: Final = "NOTIFY_SOCKET"
_WATCHDOG: Final = "WATCHDOG_USEC"
_OF: Final = "WATCHDOG_PID"


def unheard() -> dict[str, str]:
    """Return the environment of a child that must not notify: this process does."""
    return {key: value for key, value in os.environ.items() if key not in (_SOCKET, _WATCHDOG, _OF)}


def tell(state: str) -> None:
    """Send a state, such as `READY=1`, if there is a listener."""
    address = os.environ.get(_SOCKET)
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notified:
        # A leading @ stands for a name without a file.
        notified.connect(f"\0{address[1:]}" if address[0] == "@" else address)
        notified.send(state.encode())


async def keep_alive() -> None:
    """Say that the loop runs, twice in the time after which it would be ended."""
    allowed = os.environ.get(_WATCHDOG, "")
    if not allowed.isdecimal() or os.environ.get(_OF, str(os.getpid())) != str(os.getpid()):
        return
    while True:
        tell("WATCHDOG=1")
        await asyncio.sleep(int(allowed) / 2e6)
