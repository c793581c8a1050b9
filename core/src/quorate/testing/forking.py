"""Forks processes from one that has imported what a node needs, most of the work of its start.

Unlike separate processes, forks share the seed of hashes, and the code of plugins as it was at the
first fork.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Lock
from typing import IO, Final

#: What the process of origin runs, with the number of its socket.
_ORIGIN: Final = "import sys; from quorate.testing.forking import serve; serve(int(sys.argv[1]))"
#: Interval between two looks at whether a fork has ended.
_POLL_S: Final = 0.01


class Fork:
    """A process that runs `quorate`, in its own session, and ends with its standard input."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], log: IO[bytes]
    ) -> None:
        """Start it, with its output in a file."""
        self._reports, its = Pipe()
        read, written = os.pipe()
        self.stdin: Final[IO[bytes]] = os.fdopen(written, "wb")
        try:
            with its, os.fdopen(read) as stdin:
                origin = _origin_of(environment.get("PYTHONPATH"))
                origin.fork([its.fileno(), stdin.fileno(), log.fileno()])
            self._reports.send((tuple(arguments), dict(environment), os.getcwd()))
            self.pid: Final[int] = self._reports.recv()
        except (EOFError, OSError) as error:
            self.stdin.close()
            raise RuntimeError(
                "the process that nodes are forked from has ended: its traceback is above; mend its"
                " cause, or start nodes with forked=False"
            ) from error
        self._code: int | None = None
        # Tests have threads that look at nodes, and others that end them.
        self._polling: Final = Lock()

    def poll(self) -> int | None:
        """Return its exit code, negative after a signal; None while it runs."""
        with self._polling:
            if self._code is None and self._reports.poll():
                self._code = self._reports.recv()
                # Its parent buries it then, and ends.
                with self._reports, suppress(EOFError, OSError):
                    self._reports.send(None)
                    self._reports.recv()
            return self._code

    def wait(self, timeout: float) -> int:
        """Wait until it ends, and return its exit code; raises `subprocess.TimeoutExpired`."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(_POLL_S)
        return code


class _Origin:
    """The process that is forked; it ends with the one that started it."""

    def __init__(self, path: str | None) -> None:
        self._lock: Final = Lock()
        self._asked, its = socket.socketpair()
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        with its:
            self._process: Final = subprocess.Popen(
                [sys.executable, "-c", _ORIGIN, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=[its.fileno()],
                env=environment if path is None else environment | {"PYTHONPATH": path},
            )
        atexit.register(self._end)

    def fork(self, files: Sequence[int]) -> None:
        with self._lock:
            socket.send_fds(self._asked, [b"."], files)

    def _end(self) -> None:
        self._asked.close()
        self._process.wait()


@cache
def _origin_of(path: str | None) -> _Origin:
    """Return the origin of processes with a PYTHONPATH."""
    return _Origin(path)


# In the process of origin, and in those that it forks.


def serve(number: int) -> None:
    """Fork whenever a socket asks for it; a fork runs the command line, and leaves by `SystemExit`.

    Two processes come of each request: the one that was asked for, and its parent, which tells of
    its end.
    """
    _import()
    # A fork neither looks at what is there nor copies it.
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=number) as asked:
        while files := socket.recv_fds(asked, 1, 3)[1]:
            if not os.fork():
                asked.close()
                _fork(*files)
            for each in files:
                os.close(each)


def _fork(report: int, stdin: int, log: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with Connection(report) as reports:
        arguments, environment, directory = reports.recv()
        if pid := os.fork():
            os.close(stdin)
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            assert ended is not None
            by_itself = ended.si_code == os.CLD_EXITED
            # It keeps its id until its end is known, so that no signal misses it.
            with suppress(EOFError, OSError):
                reports.send(ended.si_status if by_itself else -ended.si_status)
                reports.recv()
            os.waitpid(pid, 0)
            os._exit(0)
        os.setsid()
        reports.send(os.getpid())
    for at, file in enumerate((stdin, log, log)):
        os.dup2(file, at)
    os.close(stdin)
    os.close(log)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    _run()


def _import() -> None:
    from quorate.cli.console import html, site  # noqa: F401
    from quorate.node import process  # noqa: F401
    from quorate.plugin.discovery import installed

    installed()


def _run() -> None:
    from quorate.cli.main import main
    from quorate.observe.failpoints import VARIABLE, arm_from
    from quorate.testing.program import end_with_parent, shift

    # It was imported with another environment.
    arm_from(os.environ.get(VARIABLE, ""))
    end_with_parent(shift)
    sys.exit(main())
