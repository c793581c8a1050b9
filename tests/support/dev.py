"""`quorate dev` as a user runs it: ports that are free, and Ctrl-C at its end."""

from __future__ import annotations

import os
import random
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

#: How many nodes it starts.
NODES: Final = 3
#: Below the ports that a machine gives to callers.
PORTS: Final = range(20_000, 32_000)


@contextmanager
def running(command: str, directory: Path) -> Iterator[None]:
    """Run a command that goes on, from when it says ready until Ctrl-C ends it."""
    said: list[str] = []
    with subprocess.Popen(
        shlex.split(command),
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                said.append(line)
                # It says "not ready yet" where a busy machine lets it wait.
                if "ready;" in line:
                    break
            assert process.poll() is None, "".join(said)
            yield
        finally:
            os.killpg(process.pid, signal.SIGINT)
            rest = process.stdout.read()
    assert process.returncode == 0, "".join(said) + rest


def free_port() -> int:
    """Return the first of the ports of a cluster, all of which nobody listens on."""
    while True:
        first = random.choice(PORTS)
        with ExitStack() as held:
            try:
                for port in (*range(first, first + NODES), *range(first + 100, first + 103)):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
