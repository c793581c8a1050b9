"""The reads: they run where the pairs are."""

from collections.abc import Iterator, Sequence
from typing import Final

from quorate.builtin.kv.families import LAST, PAIRS
from quorate.plugin import Reader, Row, keys, read_each, read_range
from quorate.v1.kv_pb2 import GetPair, GetPairs, KeyedPair, ListedPair, ListPairs

#: The most pairs of a page.
LARGEST_PAGE: Final = 1_000
#: A page ends behind the pair that fills it.
PAGE_BYTES: Final = 1 << 20


def get_pair(reader: Reader, query: GetPair) -> Iterator[KeyedPair]:
    """Yield the pair, if there is one."""
    row = reader.get_row(PAIRS, query.key)
    if row is not None:
        yield _keyed(row, keys_only=query.keys_only)


def get_pairs(reader: Reader, query: GetPairs) -> Iterator[KeyedPair]:
    """Yield the pairs that this shard has, in the order of their keys."""
    for row in read_each(reader, PAIRS, sorted(set(query.keys))):
        if row is not None:
            yield _keyed(row, keys_only=query.keys_only)


def list_pairs(reader: Reader, query: ListPairs) -> Sequence[ListedPair]:
    """Return a page of this shard's pairs; its last one says whether there are more."""
    limit = min(query.limit or LARGEST_PAGE, LARGEST_PAGE)
    page: list[ListedPair] = []
    room = PAGE_BYTES
    for row in read_range(reader, PAIRS, *_bounds(query)):
        if len(page) == limit or room <= 0:
            page[-1].more = True
            break
        pair = _keyed(row, keys_only=query.keys_only)
        room -= pair.ByteSize()
        page.append(ListedPair(pair=pair))
    return page


def key_of(pair: KeyedPair) -> bytes:
    """Return the key by which pairs of several shards are merged."""
    return pair.key


def listed_key(listed: ListedPair) -> bytes:
    """Return the key by which the pages of several shards are merged."""
    return listed.pair.key


def _bounds(query: ListPairs) -> tuple[bytes, bytes]:
    start, end = max(query.start, query.prefix), query.end or LAST
    if query.after:
        start = max(start, keys.behind(query.after))
    # Nothing but longer keys of the same bytes is larger than a prefix of 0xff alone.
    if query.prefix.rstrip(b"\xff"):
        end = min(end, keys.after(query.prefix))
    return start, end


def _keyed(row: Row, *, keys_only: bool) -> KeyedPair:
    """Return a pair; the fields of its row have the same numbers here."""
    pair = KeyedPair.FromString(row.value)
    pair.key, pair.revision = row.key, row.revision
    if keys_only:
        pair.ClearField("value")
    return pair
