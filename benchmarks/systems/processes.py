"""The processes of nodes: those of other systems, and those of a cluster of Quorate."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Final

from quorate.testing.cluster import Cluster
from quorate.testing.program import Program
from quorate.testing.waiting import until


class Programs:
    """Nodes that are programs; who inherits says how one is called, and whether it serves."""

    def __init__(self, directory: Path) -> None:
        self.version = ""
        self.directory = directory
        self._exit: Final = ExitStack()
        self._programs: Final[dict[str, Program]] = {}

    def close(self) -> None:
        """End the nodes."""
        self._exit.close()

    def pids(self) -> list[int]:
        """Return the processes of the nodes that run."""
        return [program.pid for program in self._programs.values() if program.runs]

    def kill(self, node: str) -> None:
        """Kill a node as `kill -9` does."""
        self._programs[node].end(signal.SIGKILL)

    def revive(self, node: str) -> None:
        """Start a node again, and wait until it serves."""
        self._run(node)
        until(lambda: self._serves(node) or None)

    def _add(self, node: str) -> None:
        self._programs[node] = Program(node, self.directory / f"{node}.log")
        self._exit.callback(self._programs[node].close)

    def _run(self, node: str) -> None:
        self._programs[node].start(self._command(node), {**os.environ})

    def _command(self, node: str) -> list[str]:
        raise NotImplementedError

    def _serves(self, node: str) -> bool:
        raise NotImplementedError


class Served:
    """Nodes of a cluster of Quorate, one of which leads a shard."""

    shard = "metadata/0"
    _cluster: Cluster

    def __init__(self) -> None:
        self.version = version("quorate")
        self._exit: Final = ExitStack()

    def close(self) -> None:
        """End the nodes."""
        self._exit.close()

    def pids(self) -> list[int]:
        """Return the processes of the nodes that run."""
        return [node.pid for node in self._cluster.nodes.values() if node.runs]

    def leader(self) -> str:
        """Wait for a leader, and return its name."""
        return self._cluster.leader(self.shard).name

    def kill(self, node: str) -> None:
        """Kill a node as `kill -9` does."""
        self._cluster.nodes[node].kill()

    def revive(self, node: str) -> None:
        """Start a node again, and wait until it serves."""
        self._cluster.nodes[node].start()
        self._cluster.nodes[node].ready()
