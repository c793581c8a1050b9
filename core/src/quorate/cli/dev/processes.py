"""The node processes of `quorate dev`: begun, watched over, and ended with it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Final

from quorate.config import PREFIX

if TYPE_CHECKING:
    from quorate.cli.dev.layout import DevNode

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

    @classmethod
    async def start(cls, node: DevNode) -> NodeProcess:
        """Start the node; what it says goes to the end of its log.

        Settings in the environment are kept from it: one port for all nodes would be no cluster.
        """
        environment = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX)}
        with node.log.open("ab") as log:
            begin = log.tell()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "quorate.cli.dev.child", "serve", "--config"),
                str(node.config),
                # Nothing is written to it: the node ends when it is closed, by whatever end.
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
            )
        return cls(node, process, begin)

    async def ended(self) -> int:
        """Wait until the process ends, and return its exit code; that of a signal is negative."""
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
