"""How a query is run on the shards that hold its rows."""

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message

from quorate.groups.routing.queries import QueryPart, bounded, joined, reads_of
from quorate.plugin import Query
from quorate.plugin.catalog import Catalog
from quorate.testing.shard import MemoryShard


def run_query(
    catalog: Catalog,
    message: Message,
    asked: Sequence[tuple[MemoryShard, QueryPart]],
    min_revision: int,
) -> Sequence[Any]:
    """Ask each shard what it is asked of a query; return what `query.run` yields on all of them.

    Raises `TimeoutError` when no shard has reached `min_revision`: nothing in memory is on its way.
    """
    name = message.DESCRIPTOR.full_name
    query: Query[Any] = catalog.queries[name]
    if max((shard.revision for shard, _ in asked), default=min_revision) < min_revision:
        raise TimeoutError(f"query {name} waits for revision {min_revision}, not yet reached")
    reads = reads_of(catalog, query)
    answers = [
        bounded(name, query.run(shard.reader(reads), part.message), encoded=query.row is not None)
        for shard, part in asked
    ]
    return joined(query, [part for _, part in asked], answers)
