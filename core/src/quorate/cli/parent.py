"""Ends a process when its parent process ends."""

import os
import threading


def end_with_parent(parent: str) -> None:
    """End this process at once when its standard input ends, which only the parent holds open.

    The kernel closes the other side whatever ends the parent, `kill -9` included. An orderly stop
    would keep the ports in use, and the next start waits for nobody; what was acknowledged is on
    the disk.
    """
    threading.Thread(target=_await_end, args=(parent,), name="parent", daemon=True).start()


def _await_end(parent: str) -> None:
    try:
        while os.read(0, 1):
            pass
    except ConnectionResetError:
        pass
    text = f"error: the `{parent}` that started this node has ended; ending with it\n"
    os.write(2, text.encode())
    os._exit(1)
