"""The reads: they run where the rows are, on one shard each."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, keys

from quorate_greeting.families import GREETINGS, greeting_key
from quorate_greeting.v1.queries_pb2 import CountGreetingsQuery, ListGreetingsQuery, SalutationCount
from quorate_greeting.v1.rows_pb2 import Greeting

#: Rows that are read at a time, when a query does not say how many.
CHUNK: Final = 1_000


def list_greetings(reader: Reader, query: ListGreetingsQuery) -> Iterator[Greeting]:
    """Yield the greetings of a town by the prefix of their names."""
    start, end = keys.opening(query.town, query.name_prefix)
    if query.after_name:
        start = max(start, keys.successor(greeting_key(query.town, query.after_name)))
    for row in reader.scan(GREETINGS, start, end, limit=query.limit or CHUNK):
        yield Greeting.FromString(row.value)


def count_greetings(reader: Reader, _: CountGreetingsQuery) -> Iterator[SalutationCount]:
    """Yield how often each salutation stands in this shard, in the order of `count_order`."""
    rows = reader.scan(GREETINGS, *keys.prefix())
    counted = Counter(Greeting.FromString(row.value).salutation for row in rows)
    for salutation in sorted(counted):
        yield SalutationCount(salutation=salutation, greetings=counted[salutation])


def count_order(count: SalutationCount) -> bytes:
    """Return the key by which the counts of several shards are merged."""
    return keys.pack(count.salutation)
