"""What the scheduler looks at: it runs where the rows are."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from quorate.plugin import Reader, keys

from quorate_connector import tallies
from quorate_connector.tasks.families import ASSIGNMENTS, TASKS, WAITING, waiting_key
from quorate_connector.tasks.kinds import kind_of, of_labels
from quorate_connector.v1.scheduling_pb2 import (
    Candidate,
    FindHeldQuery,
    FindWaitingQuery,
    Holding,
    KindCount,
    Placeable,
    StateCount,
    Survey,
    SurveyQuery,
)
from quorate_connector.v1.tasks_pb2 import Task, TaskState
from quorate_connector.workers import brokers, standing

#: The most tasks that one query finds.
MOST: Final = 1_000


def survey(reader: Reader, query: SurveyQuery) -> Iterator[Survey]:
    """Yield who could have tasks, who has how many, and how many wait."""
    yield Survey(
        candidates=_candidates(reader),
        holdings=_holdings(reader),
        waiting=[KindCount(kind=kind, tasks=count) for kind, count in tallies.waiting(reader)],
        states=[
            StateCount(state=TaskState.Name(state), tasks=count)
            for state, count in tallies.states(reader)
        ],
    )


def find_waiting(reader: Reader, query: FindWaitingQuery) -> Iterator[Placeable]:
    """Yield tasks of a kind that wait for a worker."""
    opening = waiting_key(query.kind, b"")
    start = keys.behind(opening + query.after) if query.after else opening
    rows = reader.scan(WAITING, start, opening + b"\xff", limit=query.limit or MOST)
    found = [row.key[len(opening) :] for row in rows]
    for key, row in zip(found, reader.get_rows(TASKS, found), strict=True):
        assert row is not None, f"{key.hex()} waits and is no task"
        yield _placeable(key, row.value)


def find_held(reader: Reader, query: FindHeldQuery) -> Iterator[Placeable]:
    """Yield tasks that a registration has."""
    opening = keys.pack(query.worker, query.worker_epoch)
    start = keys.behind(opening + query.after) if query.after else opening
    for row in reader.scan(ASSIGNMENTS, start, opening + b"\xff", limit=query.limit or MOST):
        yield _placeable(row.key[len(opening) :], row.value)


def _candidates(reader: Reader) -> Iterator[Candidate]:
    for broker in brokers.registered(reader):
        worker = standing.read(reader, broker.name)
        silent = standing.is_silent(worker, broker.epoch)
        yield Candidate(
            worker=broker.name,
            worker_epoch=broker.epoch,
            labels=[of_labels([label]) for label in sorted(broker.labels.items())],
            available=not (silent or worker.draining),
        )


def _holdings(reader: Reader) -> Iterator[Holding]:
    held = tallies.held(reader)
    for (name, epoch), counts in groupby(held, key=lambda each: (each[0], each[1])):
        worker = standing.read(reader, name)
        yield Holding(
            worker=name,
            worker_epoch=epoch,
            tasks=[KindCount(kind=kind, tasks=count) for _, _, kind, count in counts],
            leaving=tallies.read(reader, tallies.of_leaving(name, epoch)),
            lost=standing.is_lost(reader, name, epoch),
            draining=worker.draining,
            release_timeout_ms=worker.release_timeout_ms,
        )


def _placeable(key: bytes, value: bytes) -> Placeable:
    task = Task.FromString(value)
    return Placeable(
        task=task.id,
        key=key,
        epoch=task.epoch,
        preferred_worker=task.preferred_worker,
        kind=kind_of(task),
        leaving=task.release_by_ms > 0,
    )
