"""The reads: they run where the pairs are, and splice their answers from the rows."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final

from quorate.builtin.kv.families import LAST, PAIRS
from quorate.plugin import Reader, Row, keys
from quorate.plugin.batches import AT_A_TIME, in_parts
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

#: Returns a row as a KeyedPair: the fields of both have the same numbers, and nothing is parsed.
_keyed: Final = partial(spliced, pb.KeyedPair.KEY_FIELD_NUMBER, pb.KeyedPair.REVISION_FIELD_NUMBER)
_RESPONSES: Final = pb.GetPairsResponse.RESPONSES_FIELD_NUMBER
#: A GetPairsResponse whose one response has no pair.
ABSENT: Final = head(_RESPONSES, 0)


def get_pair(reader: Reader, query: pb.GetPair) -> Iterator[bytes]:
    """Yield the pair, if there is one, as a GetPairResponse."""
    row = reader.get_row(PAIRS, query.key)
    if row is not None:
        yield embedded(PAIR, _form(query)(row))


def get_pairs(reader: Reader, query: pb.GetPairs) -> Iterator[bytes]:
    """Yield a GetPairsResponse with one response for each key, in the order of the query."""
    form = _form(query)
    for part in in_parts(query.keys, AT_A_TIME):
        for row in reader.get_rows(PAIRS, part):
            if row is None:
                yield ABSENT
                continue
            pair = form(row)
            yield _response_head(len(pair)) + pair


def response_in(answer: bytes) -> bytes:
    """Return the GetPairResponse of a GetPairsResponse with one alone."""
    begin = 1
    while answer[begin] & 0x80:
        begin += 1
    return answer[begin + 1 :]


def list_pairs(reader: Reader, query: pb.ListPairs) -> Sequence[bytes]:
    """Return a page of this shard's pairs as ListedPairs; the last one says whether more follow.

    The flag comes before the pair.
    """
    limit = min(query.limit or LARGEST_PAGE, LARGEST_PAGE)
    page: list[bytes] = []
    form = _form(query)
    room = PAGE_BYTES
    for row in reader.scan(PAIRS, *_bounds(query)):
        if len(page) == limit or room <= 0:
            page[-1] = MORE + page[-1]
            break
        page.append(embedded(PAIR, form(row)))
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


def _form(query: pb.GetPair | pb.GetPairs | pb.ListPairs) -> Callable[[Row], bytes]:
    """Return the function that makes a row a KeyedPair, which may be without its value."""
    return _named if query.keys_only else _keyed


def _named(row: Row) -> bytes:
    named = pb.KeyedPair.FromString(_keyed(row))
    named.ClearField("value")
    return named.SerializeToString()
