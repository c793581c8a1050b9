"""How a query is run on the shards that hold its rows."""

from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.message import Message

from quorate.groups.routing.queries import bounded, merge, reads_of
from quorate.plugin import Query
from quorate.plugin.catalog import Catalog
from quorate.testing.shard import MemoryShard


def run_query(
    catalog: Catalog, message: Message, shards: Sequence[MemoryShard], min_revision: int
) -> Iterator[Message]:
    """Run a query on the shards it is meant for, its answers merged by the query's `order`.

    Raises `TimeoutError` when no shard has reached `min_revision`: nothing in memory is on its way.
    """
    name = message.DESCRIPTOR.full_name
    query: Query[Any] = catalog.queries[name]
    if max(shard.revision for shard in shards) < min_revision:
        raise TimeoutError(f"query {name} waits for revision {min_revision}, not yet reached")
    reads = reads_of(catalog, query)
    answers = [bounded(name, query.run(shard.reader(reads), message)) for shard in shards]
    return merge(query, answers)
