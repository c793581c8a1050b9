"""The process of a node of `quorate dev`: `quorate serve`, which ends when `quorate dev` does."""

import os
import sys
import threading

from quorate.cli.main import main


def end_with_parent() -> None:
    """End this process at once when its standard input ends, which only the parent holds open.

    The kernel closes the other side whatever ends the parent, `kill -9` included. An orderly stop
    would keep the ports in use, and the next start waits for nobody; what was acknowledged is on
    the disk.
    """
    threading.Thread(target=_await_parent, name="parent", daemon=True).start()


def _await_parent() -> None:
    try:
        while os.read(0, 1):
            pass
    except ConnectionResetError:
        pass
    os.write(2, b"error: the `quorate dev` that started this node has ended; ending with it\n")
    os._exit(1)


if __name__ == "__main__":
    end_with_parent()
    sys.exit(main())
