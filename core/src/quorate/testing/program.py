"""A program that a test starts, signals and kills, and that does not outlive the test."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Final

from quorate.testing.forking import Fork
from quorate.testing.waiting import PATIENCE_S

#: The module `time`, as the modules of Quorate see it from the first shift on.
_seen: Final = SimpleNamespace(**vars(time))


def shift(seconds: str) -> None:
    """Shift `time.time` for the code of Quorate; of several numbers, the last counts.

    Libraries keep the machine's time: gRPC makes deadlines from `time.time`, and its native code
    compares them with the machine's clock, which is not shifted.
    """
    off_s = float(seconds.split()[-1])
    _seen.time = lambda: time.time() + off_s
    for name, module in [*sys.modules.items()]:
        if name.startswith("quorate") and name != __name__ and vars(module).get("time") is time:
            vars(module)["time"] = _seen


class Program:
    """A program that can be run repeatedly; its output is appended to one file."""

    def __init__(self, name: str, log: Path) -> None:
        self._name: Final = name
        self._log: Final = log
        self._running: subprocess.Popen[bytes] | Fork | None = None

    @property
    def said(self) -> str:
        """Its standard output and error, of all its runs."""
        return self._log.read_text() if self._log.exists() else ""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._alive().pid

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._running is not None and self._running.poll() is None

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it in its own session: its child processes end with it."""
        with self._begun() as log:
            self._running = subprocess.Popen(
                command,
                # The pipe ends with the test: see `end_with_parent`.
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=dict(environment),
            )

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start `quorate` with arguments, as `start` would with `end_with_parent(shift)`.

        It is forked from a process that has imported what a node needs, the plugins too.
        """
        with self._begun() as log:
            self._running = Fork(arguments, environment, log)

    def _begun(self) -> IO[bytes]:
        """Return the file of its output, for one more run."""
        if self.runs:
            raise RuntimeError(f"{self._name} is already running; kill or stop it first")
        self._let_go()
        self._log.parent.mkdir(parents=True, exist_ok=True)
        return self._log.open("ab")

    def tell(self, line: str) -> None:
        """Send it a line: see `end_with_parent`."""
        said = self._alive().stdin
        assert said is not None
        said.write(f"{line}\n".encode())
        said.flush()

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, such as SIGSTOP."""
        os.killpg(self._alive().pid, number)

    def wait(self) -> int:
        """Wait until it ends by itself, and return its exit code."""
        return self._alive().wait(PATIENCE_S)

    def end(self, number: signal.Signals) -> int:
        """Send it a signal unless it has ended, wait until it has, and return its exit code."""
        running = self._alive()
        if running.poll() is None:
            os.killpg(running.pid, number)
        return running.wait(PATIENCE_S)

    def close(self) -> None:
        """Kill it, if it runs."""
        if self._running is not None:
            self.end(signal.SIGKILL)
            self._let_go()

    def _let_go(self) -> None:
        if self._running is not None and self._running.stdin is not None:
            self._running.stdin.close()

    def _alive(self) -> "subprocess.Popen[bytes] | Fork":
        if self._running is None:
            raise RuntimeError(f"{self._name} was not started")
        return self._running


def end_with_parent(hear: Callable[[str], None] = lambda said: None) -> None:
    """Kill this process when its standard input ends: `Program` holds the other end of the pipe.

    A thread reads the lines of `Program.tell` meanwhile; several lines may arrive as one.
    """
    threading.Thread(target=_listen, args=(hear,), daemon=True).start()


def _listen(hear: Callable[[str], None]) -> None:
    while said := os.read(sys.stdin.fileno(), 4_096):
        hear(said.decode())
    os.kill(os.getpid(), signal.SIGKILL)
