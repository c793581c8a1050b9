"""Who gets which task: pure functions of what the workers have and of what waits.

Loads are numbers of tasks by worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Final

from quorate_connector.families import labels_of
from quorate_connector.v1.scheduling_pb2 import Placeable


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSlot:
    """A registration of a worker that can be given tasks."""

    worker: str
    worker_epoch: int
    #: Each as `labels_of` returns it.
    labels: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A task of a kind is to leave a worker, so that another one has it."""

    worker: str
    kind: bytes


class Fleet:
    """The workers that can be given tasks."""

    def __init__(self, slots: Iterable[WorkerSlot]) -> None:
        self._slots: Final = {slot.worker: slot for slot in slots}
        self._eligible: Final[dict[bytes, Sequence[str]]] = {}

    def slot(self, worker: str) -> WorkerSlot:
        """Return the registration of a worker."""
        return self._slots[worker]

    def eligible(self, kind: bytes) -> Sequence[str]:
        """Return the workers that can have tasks of a kind, by name."""
        found = self._eligible.get(kind)
        if found is None:
            wanted = labels_of(kind)
            found = [name for name in sorted(self._slots) if wanted <= self._slots[name].labels]
            self._eligible[kind] = found
        return found


def place(
    fleet: Fleet, loads: Counter[str], waiting: Mapping[bytes, Sequence[Placeable]]
) -> Iterator[tuple[Placeable, WorkerSlot]]:
    """Give each task that waits, by kind, to a worker, if there is one for it.

    `loads` is changed as if it had happened. Kinds with the least choice come first. Workers become
    as even as they can; within that, tasks come back to the worker that they prefer.
    """
    for kind in sorted(waiting, key=lambda kind: (len(fleet.eligible(kind)), kind)):
        workers = fleet.eligible(kind)
        if workers:
            for task, worker in _place(workers, loads, waiting[kind]):
                yield task, fleet.slot(worker)


def even_out(fleet: Fleet, shares: Mapping[str, Counter[bytes]], most: int) -> Sequence[Move]:
    """Return what is to leave which workers, at most `most` tasks.

    `shares` tells of every worker how many tasks of each kind it has, and is not changed. A task
    moves only between two workers that can have it, and of which one has two more at least.
    """
    shares = {worker: Counter(kinds) for worker, kinds in shares.items()}
    loads = Counter({worker: kinds.total() for worker, kinds in shares.items()})
    kinds = sorted({kind for share in shares.values() for kind in share})
    moves: list[Move] = []
    while len(moves) < most:
        widest = max(
            (gap for kind in kinds if (gap := _gap(fleet.eligible(kind), loads, shares, kind))),
            key=lambda gap: gap[0],
            default=None,
        )
        if widest is None or widest[0] < 2:
            break
        _, fullest, emptiest, kind = widest
        for worker, more in ((fullest, -1), (emptiest, 1)):
            loads[worker] += more
            shares[worker][kind] += more
        moves.append(Move(worker=fullest, kind=kind))
    return moves


def _place(
    workers: Sequence[str], loads: Counter[str], waiting: Sequence[Placeable]
) -> Iterator[tuple[Placeable, str]]:
    quotas = _quotas(workers, loads, waiting)
    others = []
    for task in waiting:
        if quotas[task.preferred_worker]:
            quotas[task.preferred_worker] -= 1
            yield task, task.preferred_worker
        else:
            others.append(task)
    free = (worker for worker in workers for _ in range(quotas[worker]))
    yield from zip(others, free, strict=True)


def _quotas(
    workers: Sequence[str], loads: Counter[str], waiting: Sequence[Placeable]
) -> Counter[str]:
    """Return how many tasks each worker gets; of even ones, those that more tasks prefer first."""
    wanted = Counter(task.preferred_worker for task in waiting)
    quotas: Counter[str] = Counter()
    emptiest = [(loads[worker], -wanted[worker], worker) for worker in workers]
    heapify(emptiest)
    for _ in waiting:
        load, unmet, worker = emptiest[0]
        quotas[worker] += 1
        heapreplace(emptiest, (load + 1, min(unmet + 1, 0), worker))
    for worker, more in quotas.items():
        loads[worker] += more
    return quotas


def _gap(
    workers: Sequence[str],
    loads: Counter[str],
    shares: Mapping[str, Counter[bytes]],
    kind: bytes,
) -> tuple[int, str, str, bytes] | None:
    """Return how far apart the workers of a kind are, and between which two a task can move."""
    having = [worker for worker in workers if shares[worker][kind]]
    if not having:
        return None
    fullest = max(having, key=lambda worker: loads[worker])
    emptiest = min(workers, key=lambda worker: loads[worker])
    return loads[fullest] - loads[emptiest], fullest, emptiest, kind
