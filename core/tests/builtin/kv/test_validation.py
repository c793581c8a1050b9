import pytest
from google.protobuf.message import Message
from quorate.builtin.kv.families import LONGEST_KEY, shard_of
from quorate.builtin.kv.validation import LONGEST_TTL_MS, MOST_STEPS
from quorate.plugin import Invalid
from quorate.plugin.catalog import Catalog
from quorate.v1.kv_pb2 import (
    CommitPairs,
    CommitPairsBatch,
    DeletePair,
    DeletePairs,
    PairComparison,
    PairOperation,
    PutPair,
    PutPairs,
    TouchPair,
    TouchPairs,
)

LONG = b"k" * (LONGEST_KEY + 1)


def deletes(*keys: bytes) -> list[PairOperation]:
    return [PairOperation(delete=DeletePair(key=key)) for key in keys]


def check(catalog: Catalog, command: Message) -> None:
    validate = catalog.commands[command.DESCRIPTOR.full_name].validate
    assert validate is not None
    validate(command)


@pytest.mark.parametrize(
    "command",
    [
        PutPair(key=LONG[1:], ttl_ms=LONGEST_TTL_MS),
        CommitPairs(operations=deletes(*(b"a/%d" % n for n in range(MOST_STEPS)))),
        CommitPairs(comparisons=[PairComparison(key=b"a/1")], operations=deletes(b"a/1", b"a")),
    ],
)
def test_what_is_right_passes(catalog: Catalog, command: Message) -> None:
    check(catalog, command)


@pytest.mark.parametrize(
    ("command", "field", "reason"),
    [
        (PutPair(), "key", "must not be empty"),
        (PutPair(key=LONG), "key", "must have at most 4096 bytes, not 4097"),
        (PutPair(key=b"a", ttl_ms=LONGEST_TTL_MS + 1), "ttl_ms", "must be at most"),
        (PutPairs(pairs=[PutPair(key=b"a"), PutPair()]), "pairs[1].key", "must not be empty"),
        (PutPairs(pairs=[PutPair(key=b"a", ttl_ms=1 << 63)]), "pairs[0].ttl_ms", "at most"),
        (DeletePair(), "key", "must not be empty"),
        (DeletePairs(pairs=[DeletePair(key=LONG)]), "pairs[0].key", "at most 4096"),
        (TouchPair(key=LONG), "key", "at most 4096"),
        (TouchPairs(pairs=[TouchPair()]), "pairs[0].key", "must not be empty"),
        (CommitPairs(), "operations", "must not be empty"),
        (CommitPairs(operations=[PairOperation()]), "operations[0]", "one of put, delete, touch"),
        (CommitPairs(operations=deletes(b"a/1", b"")), "operations[1].delete.key", "be empty"),
        (
            CommitPairs(operations=[PairOperation(put=PutPair(key=b"a", ttl_ms=1 << 63))]),
            "operations[0].put.ttl_ms",
            "at most",
        ),
        (
            CommitPairs(operations=deletes(b"a/1", b"b/1")),
            "operations[1].delete.key",
            "'b/1' lies outside of 'a'",
        ),
        (
            CommitPairs(comparisons=[PairComparison(key=b"b")], operations=deletes(b"a/1")),
            "comparisons[0].key",
            "'b' lies outside of 'a'",
        ),
        (
            CommitPairs(comparisons=[PairComparison()], operations=deletes(b"/a")),
            "comparisons[0].key",
            "must not be empty",
        ),
        (
            CommitPairs(operations=deletes(b"a/1", b"a/2", b"a/1")),
            "operations[2].delete.key",
            "'a/1' is in an earlier operation too",
        ),
        (
            CommitPairs(
                comparisons=[PairComparison(key=b"a")],
                operations=deletes(*(b"a/%d" % n for n in range(MOST_STEPS))),
            ),
            "operations",
            "129 comparisons and operations; at most 128 together allowed",
        ),
        (
            CommitPairsBatch(transactions=[CommitPairs(operations=deletes(b""))]),
            "transactions[0].operations[0].delete.key",
            "must not be empty",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_its_field(
    catalog: Catalog, command: Message, field: str, reason: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        check(catalog, command)

    assert refusal.value.field == field
    assert reason in refusal.value.reason


@pytest.mark.parametrize(
    ("key", "shard"),
    [(b"a", b"a"), (b"a/b", b"a"), (b"a/b/c", b"a"), (b"/a", b""), (b"a//b", b"a")],
)
def test_a_key_goes_by_what_stands_before_its_first_slash(key: bytes, shard: bytes) -> None:
    assert shard_of(key) == shard
