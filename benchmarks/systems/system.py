"""What `peers.py` asks of a system that it measures."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

E = TypeVar("E")

NODES: Final = ("node1", "node2", "node3")
KEYS: Final = 10_000
VALUE_BYTES: Final = 128
#: What `sessions` and `conditional` write: rows of clients, 8,000 of them.
SESSIONS: Final = 8_000
SESSION_BYTES: Final = 120
#: The kinds of loads that write them.
OF_SESSIONS: Final = frozenset({"sessions", "conditional"})
#: Pairs that a call for many reads.
READS_A_CALL: Final = 100
#: How long one attempt of the writer takes that looks for a leader.
ATTEMPT_S: Final = 0.25

_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


class AttemptFailedError(Exception):
    """An attempt to write that was not acknowledged."""


class MissingError(Exception):
    """The machine does not hold what a system needs; the text says how to install it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What came of operations that were kept in flight for a time."""

    seconds: float
    #: One an operation that succeeded.
    latencies_s: list[float]
    failures: int
    #: Processor time of the processes that asked, beside the one that measures.
    askers_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """An operation, repeated by as many callers as there are to be in flight."""

    #: Takes the number of callers and the seconds.
    run: Callable[[int, float], Awaitable[Took]]
    #: Pairs that one operation writes or reads.
    pairs: int = 1


class Nodes(Protocol):
    """Three nodes of one system."""

    name: str
    version: str

    def start(self) -> None:
        """Start the nodes, and wait until they serve; raises `MissingError`."""

    def close(self) -> None:
        """End whatever was started."""

    def pids(self) -> list[int]:
        """Return the processes of the nodes that run."""

    def leader(self) -> str:
        """Wait for a leader, and return the name of the node."""

    def kill(self, node: str) -> None:
        """Kill a node as `kill -9` does."""

    def revive(self, node: str) -> None:
        """Start a node again, and wait until it serves."""


class System(Nodes, Protocol):
    """Three nodes, and a generator's connection to their leader.

    It is made with a directory of its own, and with the kinds of loads that it is to be ready for.
    """

    async def connect(self) -> None:
        """Connect to the leader, and to all nodes for `write`; each key has a value after it."""

    async def disconnect(self) -> None:
        """End the connections."""

    def load(self, kind: str) -> Load | None:
        """Return the load of a kind that `peers.py` names; None: there is no such."""

    async def write(self) -> None:
        """Write one value through some node; raises `AttemptFailedError` after `ATTEMPT_S`."""


def values(count: int, size: int = VALUE_BYTES) -> list[bytes]:
    """Return values that do not compress, the same ones for each system."""
    rng = random.Random(7)
    return [rng.randbytes(size) for _ in range(count)]


def batches(sequence: Sequence[E], size: int) -> list[Sequence[E]]:
    """Cut a sequence into pieces of one size, without what is left over."""
    return [sequence[first : first + size] for first in range(0, len(sequence) - size + 1, size)]


class Used(NamedTuple):
    """What passed, and what servers and the process that asks took of the processors meanwhile."""

    seconds: float
    servers_s: float
    asker_s: float

    def each_us(self, count: int) -> tuple[float, float]:
        """Return the processor time of the servers, and of the asker, for one of so many."""
        return self.servers_s / count * 1e6, self.asker_s / count * 1e6


class Meter:
    """Measures servers and this process from here on."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids: Final = [*pids]
        self._before: Final = self._now()

    def read(self) -> Used:
        """Return what was used until now."""
        return Used(*(now - was for now, was in zip(self._now(), self._before, strict=True)))

    def _now(self) -> tuple[float, float, float]:
        return time.perf_counter(), server_cpu_s(self._pids), time.process_time()


def server_cpu_s(pids: Iterable[int]) -> float:
    """Return the processor time that processes took until now, in user and system mode."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS_A_SECOND
