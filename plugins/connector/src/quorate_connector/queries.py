"""The queries that are not derived; they run on the shard that holds the rows."""

from collections import Counter
from collections.abc import Iterator

from quorate.plugin import Reader, keys

from quorate_connector import counters
from quorate_connector.connectors.apply import MOST_VERSIONS
from quorate_connector.families import CURSORS, HISTORY, VERSIONS, WORKERS, key_of
from quorate_connector.tasks.states import KEPT
from quorate_connector.v1 import queries_pb2 as asked, tasks_pb2 as pb
from quorate_connector.v1.connectors_pb2 import Version
from quorate_connector.workers import registrations


def list_versions(reader: Reader, query: asked.ListVersionsQuery) -> Iterator[Version]:
    """Yield the versions of a connector, newest first."""
    numbers = [query.version] if query.version else []
    start, end = keys.prefix(query.tenant, query.name, *numbers)
    for row in reader.scan(VERSIONS, start, end, limit=MOST_VERSIONS, reverse=True):
        yield Version.FromString(row.value)


def list_history(reader: Reader, query: asked.ListHistoryQuery) -> Iterator[pb.Transition]:
    """Yield the transitions of a task, newest first."""
    key = key_of(query.task)
    for row in reader.scan(HISTORY, key, key + b"\xff", limit=KEPT, reverse=True):
        yield pb.Transition.FromString(row.value)


def get_cursor(reader: Reader, query: asked.GetCursorQuery) -> Iterator[pb.Cursor]:
    """Yield the cursor of a task, if it has stored one."""
    value = reader.get(CURSORS, key_of(query.task))
    if value is not None:
        yield pb.Cursor.FromString(value)


def list_workers(reader: Reader, query: asked.ListWorkersQuery) -> Iterator[pb.WorkerLoad]:
    """Yield the workers that are registered or have rows, by name."""
    kept = (pb.Worker.FromString(row.value) for row in reader.scan(WORKERS, *keys.prefix()))
    rows = {worker.name: worker for worker in kept}
    registered = {broker.name for broker in registrations.registered(reader)}
    loads: Counter[str] = Counter()
    for name, _, _, count in counters.held(reader):
        loads[name] += count
    for name in sorted(rows.keys() | registered):
        yield pb.WorkerLoad(
            worker=rows.get(name) or pb.Worker(name=name),
            registered=name in registered,
            tasks=loads[name],
        )
