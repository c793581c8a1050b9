"""Notifications to systemd, or to any supervisor that listens like systemd."""

import asyncio
import os
import socket
from typing import Final

#: The supervisor's socket, the longest allowed silence, and the supervised process.
_SOCKET: Final = "NOTIFY_SOCKET"
_WATCHDOG: Final = "WATCHDOG_USEC"
_OF: Final = "WATCHDOG_PID"


def unheard() -> dict[str, str]:
    """Return the environment for a child that must not notify, as this process does."""
    return {key: value for key, value in os.environ.items() if key not in (_SOCKET, _WATCHDOG, _OF)}


def tell(state: str) -> None:
    """Send a state, such as `READY=1`, if there is a listener."""
    address = os.environ.get(_SOCKET)
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notified:
        # A leading @ denotes an abstract socket.
        notified.connect(f"\0{address[1:]}" if address[0] == "@" else address)
        notified.send(state.encode())


async def keep_alive() -> None:
    """Notify the watchdog that the loop runs, twice per allowed silence."""
    allowed = os.environ.get(_WATCHDOG, "")
    if not allowed.isdecimal() or os.environ.get(_OF, str(os.getpid())) != str(os.getpid()):
        return
    while True:
        tell("WATCHDOG=1")
        await asyncio.sleep(int(allowed) / 2e6)
