"""Placement of tasks: pure functions of the workers' tasks and the waiting tasks.

A load is the number of tasks of a worker.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heapreplace
from typing import Final

from quorate_connector.families import labels_of
from quorate_connector.v1.scheduling_pb2 import Candidate, Placeable


class Fleet:
    """The workers that accept tasks."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._slots: Final = {each.worker: each for each in candidates if each.available}
        self._eligible: Final[dict[bytes, Sequence[str]]] = {}

    def slot(self, worker: str) -> Candidate:
        """Return the registration of a worker."""
        return self._slots[worker]

    def eligible(self, kind: bytes) -> Sequence[str]:
        """Return the workers eligible for tasks of a kind, by name."""
        found = self._eligible.get(kind)
        if found is None:
            wanted = labels_of(kind)
            found = [
                name for name in sorted(self._slots) if wanted.issubset(self._slots[name].labels)
            ]
            self._eligible[kind] = found
        return found


def place(
    fleet: Fleet, loads: Counter[str], waiting: Mapping[bytes, Sequence[Placeable]]
) -> Iterator[tuple[Placeable, Candidate]]:
    """Place each waiting task, by kind, on an eligible worker, if there is one.

    Updates `loads` as if the tasks were assigned. Kinds with the fewest eligible workers come
    first. Loads are evened out first; within that, tasks return to their preferred worker.
    """
    for kind in sorted(waiting, key=lambda kind: (len(fleet.eligible(kind)), kind)):
        workers = fleet.eligible(kind)
        if workers:
            for task, worker in _place(workers, loads, waiting[kind]):
                yield task, fleet.slot(worker)


def even_out(
    fleet: Fleet, shares: Mapping[str, Counter[bytes]], most: int
) -> dict[str, Counter[bytes]]:
    """Return how many tasks of each kind are to leave each worker to even out the loads.

    They are at most `most`. `shares` holds the number of tasks of each kind by worker, and is not
    changed. A task moves only between two eligible workers whose loads differ by at least two.
    """
    shares = {worker: Counter(kinds) for worker, kinds in shares.items()}
    loads = Counter({worker: kinds.total() for worker, kinds in shares.items()})
    kinds = sorted({kind for share in shares.values() for kind in share})
    leaving: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
    for _ in range(most):
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
        leaving[fullest][kind] += 1
    return leaving


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
    """Return the number of tasks for each worker; on equal load, the most preferred comes first."""
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
    """Return the largest load gap for a kind, with the source, the target and the kind."""
    having = [worker for worker in workers if shares[worker][kind]]
    if not having:
        return None
    fullest = max(having, key=lambda worker: loads[worker])
    emptiest = min(workers, key=lambda worker: loads[worker])
    return loads[fullest] - loads[emptiest], fullest, emptiest, kind
