"""The reads: they run where the pairs are, and splice their answers from the rows."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from quorate.builtin.kv.families import LAST, PAIRS
from quorate.plugin import Reader, keys
from quorate.plugin.advanced import Splice, read_range, read_spliced
from quorate.plugin.splicing import embedded, head, number, spliced
from quorate.v1 import kv_pb2 as pb

#: Maximum number of pairs in a page.
LARGEST_PAGE: Final = 1_000
#: A page ends after the pair that fills it.
PAGE_BYTES: Final = 1 << 20
#: The field of a pair in GetPairResponse, ListedPair and ListPairsResponse: the service joins the
#: answers of shards into its own.
PAIR: Final = pb.ListedPair.PAIR_FIELD_NUMBER
#: The first bytes of a ListedPair that more pairs follow.
MORE: Final = number(pb.ListedPair.MORE_FIELD_NUMBER, True)

#: The fields of a KeyedPair besides those of its row, which have the same numbers.
SPLICE: Final = Splice(pb.KeyedPair.KEY_FIELD_NUMBER, pb.KeyedPair.REVISION_FIELD_NUMBER)
_RESPONSES: Final = pb.GetPairsResponse.RESPONSES_FIELD_NUMBER
#: A GetPairsResponse whose one response has no pair.
ABSENT: Final = head(_RESPONSES, 0)


def get_pair(reader: Reader, query: pb.GetPair) -> Iterator[bytes]:
    """Yield the pair, if there is one, as a GetPairResponse."""
    [pair] = reader.get_spliced(PAIRS, [query.key], SPLICE)
    if pair is not None:
        yield embedded(PAIR, _named(pair) if query.keys_only else pair)


def get_pairs(reader: Reader, query: pb.GetPairs) -> Iterator[bytes]:
    """Yield a GetPairsResponse with one response for each key, in the order of the query."""
    keys_only = query.keys_only
    for pair in read_spliced(reader, PAIRS, list(query.keys), SPLICE):
        if pair is None:
            yield ABSENT
            continue
        if keys_only:
            pair = _named(pair)
        yield _response_head(len(pair)) + pair


def list_pairs(reader: Reader, query: pb.ListPairs) -> Sequence[bytes]:
    """Return a page of this shard's pairs as ListedPairs; the last one says whether more follow.

    The flag comes before the pair.
    """
    limit = min(query.limit or LARGEST_PAGE, LARGEST_PAGE)
    page: list[bytes] = []
    room = PAGE_BYTES
    for row in read_range(reader, PAIRS, *_bounds(query)):
        if len(page) == limit or room <= 0:
            page[-1] = MORE + page[-1]
            break
        key, stored, revision = row
        pair = spliced(SPLICE, key, revision, stored)
        page.append(embedded(PAIR, _named(pair) if query.keys_only else pair))
        room -= len(page[-1])
    return page


def listed_key(listed: bytes) -> bytes:
    """Return the key by which the pages of several shards are merged."""
    return pb.ListedPair.FromString(listed).pair.key


def _bounds(query: pb.ListPairs) -> tuple[bytes, bytes]:
    start, end = max(query.start, query.prefix), query.end or LAST
    if query.after:
        start = max(start, keys.successor(query.after))
    # Nothing but longer keys of the same bytes is larger than a prefix of 0xff alone.
    if query.prefix.rstrip(b"\xff"):
        end = min(end, keys.after(query.prefix))
    return start, end


@lru_cache(maxsize=4_096)
def _response_head(size: int) -> bytes:
    """Return the first bytes of a GetPairsResponse whose pair has this size."""
    pair = head(PAIR, size)
    return head(_RESPONSES, len(pair) + size) + pair


def _named(pair: bytes) -> bytes:
    """Return a pair without its value."""
    named = pb.KeyedPair.FromString(pair)
    named.ClearField("value")
    return named.SerializeToString()
