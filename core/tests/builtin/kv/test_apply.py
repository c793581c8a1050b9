import pytest
from quorate.builtin.kv import apply
from quorate.builtin.kv.families import PAIRS, TTL
from quorate.plugin import Rejected, RowEvent
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryTxn
from quorate.v1.kv_pb2 import (
    CommitPairs,
    CommitPairsBatch,
    DeletePair,
    DeletePairReply,
    DeletePairs,
    ExpirePairs,
    Pair,
    PairComparison,
    PairOperation,
    PutPair,
    PutPairs,
    TouchPair,
    TouchPairReply,
    TouchPairs,
)


@pytest.fixture
def txn(catalog: Catalog) -> MemoryTxn:
    return MemoryTxn(at_ms=1_000, plugin="kv", catalog=catalog)


def stored(txn: MemoryTxn) -> dict[bytes, Pair]:
    return {key: Pair.FromString(row) for key, row in txn.rows(PAIRS).items()}


def values(txn: MemoryTxn) -> dict[bytes, bytes]:
    return {key: pair.value for key, pair in stored(txn).items()}


def test_a_pair_keeps_the_revision_at_which_it_was_created(txn: MemoryTxn) -> None:
    first = apply.put_pair(txn, PutPair(key=b"a", value=b"1"))
    later = txn.then(1_000)
    second = apply.put_pair(later, PutPair(key=b"a", value=b"2"))

    assert (first.created, second.created) == (True, False)
    assert first.revision == txn.revision < second.revision == later.revision
    assert stored(later) == {b"a": Pair(value=b"2", created_revision=first.revision)}


def test_a_pair_that_was_deleted_is_created_anew(txn: MemoryTxn) -> None:
    apply.put_pair(txn, PutPair(key=b"a"))
    apply.delete_pair(txn, DeletePair(key=b"a"))
    later = txn.then(1_000)

    assert apply.put_pair(later, PutPair(key=b"a")).created
    assert stored(later)[b"a"].created_revision == later.revision


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (0, "REVISION_MISMATCH: 'a' has revision 2097152, and none was expected"),
        (7, "REVISION_MISMATCH: 'a' has revision 2097152, and revision 7 was expected"),
    ],
)
def test_a_put_of_another_revision_is_refused(txn: MemoryTxn, expected: int, said: str) -> None:
    apply.put_pair(txn, PutPair(key=b"a", value=b"1"))
    later = txn.then(1_000)

    with pytest.raises(Rejected) as refusal:
        apply.put_pair(later, PutPair(key=b"a", value=b"2", expected_revision=expected))

    assert str(refusal.value) == said
    assert values(later) == {b"a": b"1"}


def test_a_put_of_the_expected_revision_is_carried_out(txn: MemoryTxn) -> None:
    apply.put_pair(txn, PutPair(key=b"a", value=b"1", expected_revision=0))
    later = txn.then(1_000)

    apply.put_pair(later, PutPair(key=b"a", value=b"2", expected_revision=txn.revision))

    assert values(later) == {b"a": b"2"}


def test_nothing_has_no_revision(txn: MemoryTxn) -> None:
    with pytest.raises(Rejected, match="MISMATCH: 'a' is absent, and revision 7 was expected"):
        apply.put_pair(txn, PutPair(key=b"a", expected_revision=7))


def test_a_batch_names_what_it_refuses_and_does_the_rest(txn: MemoryTxn) -> None:
    apply.put_pair(txn, PutPair(key=b"b", value=b"1"))
    later = txn.then(1_000)

    reply = apply.put_pairs(
        later,
        PutPairs(
            pairs=[
                PutPair(key=b"a", value=b"2", ttl_ms=5),
                PutPair(key=b"b", value=b"2", expected_revision=0),
                PutPair(key=b"c", value=b"2"),
            ]
        ),
    )

    assert [(refusal.item, refusal.code) for refusal in reply.refusals] == [(1, apply.MISMATCH)]
    assert reply.items == 3
    assert values(later) == {b"a": b"2", b"b": b"1", b"c": b"2"}
    assert later.deadlines == {(TTL, b"a"): 1_005}


def test_a_batch_keeps_of_each_pair_what_a_put_of_it_alone_would(txn: MemoryTxn) -> None:
    apply.put_pairs(txn, PutPairs(pairs=[PutPair(key=b"a"), PutPair(key=b"b", ttl_ms=5)]))
    later = txn.then(1_000)

    apply.put_pairs(
        later,
        PutPairs(
            pairs=[
                PutPair(key=b"b", value=b"2"),
                PutPair(key=b"c", value=b"3", ttl_ms=300),
                PutPair(key=b"a", value=b"1", ttl_ms=7, expected_revision=txn.revision),
            ]
        ),
    )

    assert stored(later) == {
        b"a": Pair(value=b"1", ttl_ms=7, created_revision=txn.revision),
        b"b": Pair(value=b"2", created_revision=txn.revision),
        b"c": Pair(value=b"3", ttl_ms=300, created_revision=later.revision),
    }
    assert later.deadlines == {(TTL, b"a"): 1_007, (TTL, b"c"): 1_300}


def test_a_deletion_says_whether_there_was_something(txn: MemoryTxn) -> None:
    apply.put_pair(txn, PutPair(key=b"a", ttl_ms=5))
    apply.put_pair(txn, PutPair(key=b"b"))

    pairs = [
        DeletePair(key=b"a"),
        DeletePair(key=b"b", expected_revision=7),
        DeletePair(key=b"c"),
    ]
    reply = apply.delete_pairs(txn, DeletePairs(pairs=pairs))

    assert [DeletePairReply.FromString(each).deleted for each in reply.replies] == [
        True,
        False,
        False,
    ]
    assert [(refusal.item, refusal.code) for refusal in reply.refusals] == [(1, apply.MISMATCH)]
    assert set(stored(txn)) == {b"b"}
    assert txn.deadlines == {}


def test_a_put_without_a_time_to_live_ends_the_one_before(txn: MemoryTxn) -> None:
    apply.put_pair(txn, PutPair(key=b"a", ttl_ms=5))
    assert txn.deadlines == {(TTL, b"a"): 1_005}

    apply.put_pair(txn, PutPair(key=b"a"))

    assert txn.deadlines == {}


def test_a_touch_moves_the_deadline_and_nothing_else(txn: MemoryTxn) -> None:
    apply.put_pair(txn, PutPair(key=b"a", ttl_ms=500))
    before = stored(txn)
    later = txn.then(1_300)

    reply = apply.touch_pair(later, TouchPair(key=b"a", expected_revision=txn.revision))

    assert reply.expires_at_ms == 1_800
    assert later.deadlines == {(TTL, b"a"): 1_800}
    assert stored(later) == before
    assert later.events == []


def test_what_cannot_be_touched_is_refused(txn: MemoryTxn) -> None:
    for key, ttl_ms in ((b"a", 500), (b"b", 500), (b"forever", 0)):
        apply.put_pair(txn, PutPair(key=key, ttl_ms=ttl_ms))
    pairs = [
        TouchPair(key=b"a"),
        TouchPair(key=b"b", expected_revision=7),
        TouchPair(key=b"forever"),
        TouchPair(key=b"gone"),
    ]
    later = txn.then(1_100)

    reply = apply.touch_pairs(later, TouchPairs(pairs=pairs))

    assert [(refusal.item, refusal.code) for refusal in reply.refusals] == [
        (1, "REVISION_MISMATCH"),
        (2, "FAILED_PRECONDITION"),
        (3, "NOT_FOUND"),
    ]
    assert TouchPairReply.FromString(reply.replies[0]).expires_at_ms == 1_600
    assert later.deadlines == {(TTL, b"a"): 1_600, (TTL, b"b"): 1_500}


def test_expiry_looks_at_the_deadline_again(txn: MemoryTxn) -> None:
    for key in (b"due", b"touched"):
        apply.put_pair(txn, PutPair(key=key, ttl_ms=500))
    apply.put_pair(txn, PutPair(key=b"forever"))
    later = txn.then(1_400)
    apply.touch_pair(later, TouchPair(key=b"touched"))
    later = later.then(1_500)

    reply = apply.expire_pairs(later, ExpirePairs(keys=[b"due", b"touched", b"forever", b"gone"]))

    assert (reply.items, list(reply.refusals)) == (4, [])
    assert set(stored(later)) == {b"touched", b"forever"}
    assert later.deadlines == {(TTL, b"touched"): 1_900}
    assert later.events == [RowEvent(family=PAIRS, key=b"due", value=None)]


def jobs(*operations: PairOperation, taken: int = 0) -> CommitPairs:
    comparison = PairComparison(key=b"jobs/lock", expected_revision=taken)
    return CommitPairs(comparisons=[comparison], operations=operations)


def put(key: bytes, value: bytes, **more: int) -> PairOperation:
    return PairOperation(put=PutPair(key=key, value=value, **more))


def test_a_transaction_does_all_of_its_operations(txn: MemoryTxn) -> None:
    apply.put_pair(txn, PutPair(key=b"jobs/2"))
    apply.put_pair(txn, PutPair(key=b"jobs/3", ttl_ms=500))
    later = txn.then(1_200)

    reply = apply.commit_pairs(
        later,
        jobs(
            put(b"jobs/1", b"new"),
            PairOperation(delete=DeletePair(key=b"jobs/2")),
            PairOperation(delete=DeletePair(key=b"jobs/never")),
            PairOperation(touch=TouchPair(key=b"jobs/3")),
            put(b"jobs/4", b"lease", ttl_ms=7),
        ),
    )

    assert reply.revision == later.revision
    assert values(later) == {b"jobs/1": b"new", b"jobs/3": b"", b"jobs/4": b"lease"}
    assert later.deadlines == {(TTL, b"jobs/3"): 1_700, (TTL, b"jobs/4"): 1_207}


@pytest.mark.parametrize(
    ("transaction", "code"),
    [
        (jobs(put(b"jobs/1", b"no"), taken=7), "REVISION_MISMATCH"),
        (jobs(put(b"jobs/1", b"no"), put(b"jobs/2", b"", expected_revision=7)), apply.MISMATCH),
        (
            jobs(
                put(b"jobs/1", b"no"),
                PairOperation(delete=DeletePair(key=b"jobs/2", expected_revision=7)),
            ),
            apply.MISMATCH,
        ),
        (
            jobs(put(b"jobs/1", b"no"), PairOperation(touch=TouchPair(key=b"jobs/gone"))),
            "NOT_FOUND",
        ),
        (jobs(put(b"jobs/1", b"no"), PairOperation()), "INVALID_ARGUMENT"),
    ],
)
def test_a_transaction_that_is_refused_in_a_batch_leaves_nothing_behind(
    txn: MemoryTxn, transaction: CommitPairs, code: str
) -> None:
    transactions = [transaction, jobs(put(b"jobs/9", b"yes"))]

    reply = apply.commit_pairs_batch(txn, CommitPairsBatch(transactions=transactions))

    assert [(refusal.item, refusal.code) for refusal in reply.refusals] == [(0, code)]
    assert values(txn) == {b"jobs/9": b"yes"}


def test_a_transaction_sees_those_before_it_in_its_batch(txn: MemoryTxn) -> None:
    take = jobs(put(b"jobs/lock", b"mine"))

    reply = apply.commit_pairs_batch(txn, CommitPairsBatch(transactions=[take, take]))

    assert [(refusal.item, refusal.code) for refusal in reply.refusals] == [(1, apply.MISMATCH)]
