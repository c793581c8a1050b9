"""The scheduler's queries, which run on the shard that holds the rows."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from quorate.plugin import Reader, keys

from quorate_connector import counters, families
from quorate_connector.v1 import scheduling_pb2 as pb
from quorate_connector.v1.tasks_pb2 import Task, TaskState
from quorate_connector.workers import registrations

#: The most tasks that one query returns.
MOST: Final = 1_000


def survey(reader: Reader, query: pb.SurveyQuery) -> Iterator[pb.Survey]:
    """Yield one survey: candidates, tasks by registration, waiting tasks, and tasks by state."""
    yield pb.Survey(
        candidates=_candidates(reader),
        holdings=_holdings(reader),
        waiting=[pb.KindCount(kind=kind, tasks=count) for kind, count in counters.waiting(reader)],
        states=[
            pb.StateCount(state=TaskState.Name(state), tasks=count)
            for state, count in counters.states(reader)
        ],
    )


def find_waiting(reader: Reader, query: pb.FindWaitingQuery) -> Iterator[pb.Placeable]:
    """Yield waiting tasks of a kind."""
    opening = families.waiting_key(query.kind, b"")
    start = keys.successor(opening + query.after) if query.after else opening
    rows = reader.scan(families.WAITING, start, opening + b"\xff", limit=query.limit or MOST)
    found = [row.key[len(opening) :] for row in rows]
    for key, row in zip(found, reader.get_rows(families.TASKS, found), strict=True):
        assert row is not None, f"{key.hex()} is waiting but has no task row"
        yield _placeable(key, row.value)


def find_held(reader: Reader, query: pb.FindHeldQuery) -> Iterator[pb.Placeable]:
    """Yield tasks of a registration."""
    opening = keys.pack(query.worker, query.worker_epoch)
    start = keys.successor(opening + query.after) if query.after else opening
    for row in reader.scan(
        families.ASSIGNMENTS, start, opening + b"\xff", limit=query.limit or MOST
    ):
        yield _placeable(row.key[len(opening) :], row.value)


def _candidates(reader: Reader) -> Iterator[pb.Candidate]:
    for broker in registrations.registered(reader):
        worker = registrations.read(reader, broker.name)
        silent = registrations.is_silent(worker, broker.epoch)
        yield pb.Candidate(
            worker=broker.name,
            worker_epoch=broker.epoch,
            labels=[families.of_labels([label]) for label in sorted(broker.labels.items())],
            available=not (silent or worker.draining),
        )


def _holdings(reader: Reader) -> Iterator[pb.Holding]:
    held = counters.held(reader)
    for (name, epoch), counts in groupby(held, key=lambda each: (each[0], each[1])):
        worker = registrations.read(reader, name)
        yield pb.Holding(
            worker=name,
            worker_epoch=epoch,
            tasks=[pb.KindCount(kind=kind, tasks=count) for _, _, kind, count in counts],
            leaving=counters.read(reader, counters.of_leaving(name, epoch)),
            lost=registrations.is_lost(reader, name, epoch),
            draining=worker.draining,
            release_timeout_ms=worker.release_timeout_ms,
        )


def _placeable(key: bytes, value: bytes) -> pb.Placeable:
    task = Task.FromString(value)
    return pb.Placeable(
        task=task.id,
        key=key,
        epoch=task.epoch,
        preferred_worker=task.preferred_worker,
        kind=families.kind_of(task),
        leaving=task.release_by_ms > 0,
    )
