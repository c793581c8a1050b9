"""Counts what is wrong at present."""

from collections import Counter
from collections.abc import Iterator

from quorate.plugin import Reader, keys, read_range

from quorate_storage_engine.families import DROPS, THIN, UNAVAILABLE
from quorate_storage_engine.v1.queries_pb2 import GetHealthQuery, Health, OverdueDrops
from quorate_storage_engine.v1.rows_pb2 import Drop


def get_health(reader: Reader, query: GetHealthQuery) -> Iterator[Health]:
    """Yield how many segments and drops somebody has to look at."""
    until_ms = reader.now_ms - query.overdue_after_ms
    overdue: Counter[str] = Counter()
    for row in read_range(reader, DROPS, *keys.prefix()):
        drop = Drop.FromString(row.value)
        overdue[drop.engine] += drop.requested_at_ms <= until_ms
    yield Health(
        unavailable_segments=sum(1 for _ in read_range(reader, UNAVAILABLE, *keys.prefix())),
        thin_segments=sum(1 for _ in read_range(reader, THIN, *keys.prefix())),
        overdue_drops=[
            OverdueDrops(engine=engine, drops=drops) for engine, drops in sorted(overdue.items())
        ],
    )
