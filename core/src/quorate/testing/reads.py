"""How a query is run on the shards that hold its rows."""

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from google.protobuf.message import Message

from quorate.plugin import Query
from quorate.plugin.catalog import Catalog
from quorate.testing.routing import shard_of
from quorate.testing.scope import Scope
from quorate.testing.shard import MemoryShard
from quorate.testing.txn import ShardReader


def run_query(
    catalog: Catalog, message: Message, shards: Sequence[MemoryShard], min_revision: int
) -> Iterator[Message]:
    """Run a query on its shard, or on all with the answers merged by the query's `order`.

    Raises `TimeoutError` when no shard has reached `min_revision`: nothing in memory is on its way.
    """
    name = message.DESCRIPTOR.full_name
    query: Query[Any] = catalog.queries[name]
    if query.shard_key is not None:
        shards = [shards[shard_of(query.shard_key(message), len(shards))]]
    if max(shard.revision for shard in shards) < min_revision:
        raise TimeoutError(f"query {name} waits for revision {min_revision}, not yet reached")
    scope = Scope.of_query(catalog, query)
    answers = [list(query.run(_reader(shard, scope), message)) for shard in shards]
    if query.order is None:
        return chain.from_iterable(answers)
    return heapq.merge(*answers, key=query.order)


def _reader(shard: MemoryShard, scope: Scope) -> ShardReader:
    return ShardReader(shard.layer, scope, revision=shard.revision, now_ms=shard.now_ms)
