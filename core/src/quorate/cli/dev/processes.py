"""The processes of `quorate dev`: each runs a node, and says how it ended."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Final

from quorate.cli.dev.nodes import DevNode
from quorate.cli.failures import ExitCode, Problem
from quorate.config import PREFIX

#: An orderly end hands over leaders and finishes calls, each within its bound.
END_S: Final = 25.0

_TAIL_LINES: Final = 8
_TAIL_BYTES: Final = 16_384


class NodeProcess:
    """`quorate serve` of one node, under the interpreter of this process."""

    def __init__(self, node: DevNode, process: asyncio.subprocess.Process, begin: int) -> None:
        self.node: Final = node
        self._process: Final = process
        #: Where in the log the lines of this process begin.
        self._begin: Final = begin
        #: Whether `quorate dev kill` or `stop` has ended it: its end is no news then.
        self.requested = False

    @classmethod
    async def start(cls, node: DevNode) -> NodeProcess:
        """Start the node; its output is appended to its log.

        It gets no settings of the environment: all nodes would share one port.
        """
        environment = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX)}
        with node.log.open("ab") as log:
            begin = log.tell()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "quorate.cli.dev.child", "serve", "--config"),
                str(node.config),
                # Nothing is written to it: the node ends when it is closed in any way.
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
            )
        return cls(node, process, begin)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code; that of a signal is negative. None: it runs."""
        return self._process.returncode

    async def ended(self) -> int:
        """Wait until the process ends, and return its exit code."""
        return await self._process.wait()

    async def stop(self) -> int:
        """Ask the process to end, and kill it when it does not in time; return its exit code."""
        if self._process.returncode is None:
            self._process.terminate()
        try:
            async with asyncio.timeout(END_S):
                return await self._process.wait()
        except TimeoutError:
            self.kill()
            return await self._process.wait()

    def kill(self) -> None:
        """End the process at once, if it has not ended."""
        if self._process.returncode is None:
            self._process.kill()

    def last_lines(self) -> list[str]:
        """Return the last lines that it wrote."""
        with self.node.log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._begin, end - _TAIL_BYTES))
            text = log.read().decode(errors="replace")
        return text.splitlines()[-_TAIL_LINES:]


def ended(process: NodeProcess, code: int, again: str) -> Problem:
    """Say how a node ended while the others went on, and the command that starts it again."""
    if code == ExitCode.REMOVED:
        return _removed(process)
    said = cut_short(process, code)
    return Problem(f"{said.sentence}\nstart it again with `{again}`", said.parts)


def cut_short(process: NodeProcess, code: int) -> Problem:
    """Say how a node ended, with the end of its log."""
    node, lines = process.node, process.last_lines()
    how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    return Problem(
        "\n  ".join([f"{node.name} ended with {how}; {node.log} ends with:", *lines]),
        {
            "what": f"{node.name} ended with {how}",
            "fix": f"read {node.log}",
            "node": node.name,
            "exit_code": code,
            "log": lines,
        },
    )


def _removed(process: NodeProcess) -> Problem:
    """Return the problem of a removed node, with its last log line, which names the fix."""
    [*_, last] = ["", *process.last_lines()]
    name = process.node.name
    sentence = f"{name} has ended: {last.removeprefix('error: ')}"
    parts = {"node": name, "exit_code": int(ExitCode.REMOVED)}
    return Problem(sentence, {"what": sentence, "fix": "", **parts})
