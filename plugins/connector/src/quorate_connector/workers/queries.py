"""The reads: they run where the rows are."""

from collections import Counter
from collections.abc import Iterator

from quorate.plugin import Reader, keys, read_range

from quorate_connector import tallies
from quorate_connector.v1.task_queries_pb2 import ListWorkersQuery
from quorate_connector.v1.tasks_pb2 import Worker, WorkerLoad
from quorate_connector.workers import brokers
from quorate_connector.workers.families import WORKERS


def list_workers(reader: Reader, query: ListWorkersQuery) -> Iterator[WorkerLoad]:
    """Yield the workers that are registered or have rows, by name."""
    kept = (Worker.FromString(row.value) for row in read_range(reader, WORKERS, *keys.prefix()))
    rows = {worker.name: worker for worker in kept}
    registered = {broker.name for broker in brokers.registered(reader)}
    loads: Counter[str] = Counter()
    for name, _, _, count in tallies.held(reader):
        loads[name] += count
    for name in sorted(rows.keys() | registered):
        yield WorkerLoad(
            worker=rows.get(name) or Worker(name=name),
            registered=name in registered,
            tasks=loads[name],
        )
