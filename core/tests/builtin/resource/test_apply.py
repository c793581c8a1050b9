import pytest
from hypothesis import given, strategies as st
from quorate.builtin.resource.plugin import RESOURCES
from quorate.plugin import Rejected, keys
from quorate.plugin.resource import derive
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.resource_pb2 import (
    DeleteResource,
    DeleteResources,
    PutResource,
    PutResources,
    Resource,
    StoredResource,
)

FAMILY = RESOURCES.family
HANDLERS = {each.message: each.apply for each in derive("resource", [RESOURCES]).commands}


def put_resources(txn: MemoryTxn, command: PutResources) -> BatchReply:
    reply = HANDLERS[PutResources](txn, command)
    assert isinstance(reply, BatchReply)
    return reply


def delete_resources(txn: MemoryTxn, command: DeleteResources) -> BatchReply:
    reply = HANDLERS[DeleteResources](txn, command)
    assert isinstance(reply, BatchReply)
    return reply


def only(reply: BatchReply) -> StoredResource:
    for refusal in reply.refusals:
        raise Rejected(refusal.code, refusal.message)
    return StoredResource.FromString(reply.replies[0])


def put_resource(txn: MemoryTxn, put: PutResource) -> StoredResource:
    return only(put_resources(txn, PutResources(puts=[put])))


def delete_resource(txn: MemoryTxn, deletion: DeleteResource) -> None:
    only(delete_resources(txn, DeleteResources(deletions=[deletion])))


MQTT = "settings/mqtt"


def value_of(txn: MemoryTxn, path: str) -> bytes | None:
    row = txn.rows(FAMILY).get(keys.pack(path))
    return None if row is None else Resource.FromString(row).value


def test_a_put_stores_the_resource_with_its_time() -> None:
    txn = MemoryTxn(at_ms=1_000)

    stored = put_resource(txn, PutResource(path=MQTT, value=b"a"))

    assert stored.resource == Resource(path=MQTT, value=b"a", updated_at_ms=1_000)
    assert Resource.FromString(txn.rows(FAMILY)[keys.pack(MQTT)]) == stored.resource
    assert stored.revision == txn.revision


def test_a_put_replaces_whatever_there_is() -> None:
    txn = MemoryTxn()
    put_resource(txn, PutResource(path=MQTT, value=b"a"))

    later = txn.then(at_ms=1)
    put_resource(later, PutResource(path=MQTT, value=b"b"))

    assert value_of(later, MQTT) == b"b"


def test_a_put_over_the_expected_revision_is_taken() -> None:
    txn = MemoryTxn()
    first = put_resource(txn, PutResource(path=MQTT, value=b"a", expected_revision=0))
    later = txn.then(at_ms=1)

    second = put_resource(
        later, PutResource(path=MQTT, value=b"b", expected_revision=first.revision)
    )

    assert value_of(later, MQTT) == b"b"
    assert second.revision > first.revision


@pytest.mark.parametrize(("there", "expected"), [(True, 0), (True, 7), (False, 7)])
def test_a_put_over_another_revision_is_refused(there: bool, expected: int) -> None:
    txn = MemoryTxn()
    if there:
        put_resource(txn, PutResource(path=MQTT, value=b"a"))
    later = txn.then(at_ms=1)

    with pytest.raises(Rejected) as refusal:
        put_resource(later, PutResource(path=MQTT, value=b"b", expected_revision=expected))

    assert refusal.value.code == "REVISION_MISMATCH"
    assert MQTT in refusal.value.message
    assert value_of(later, MQTT) == (b"a" if there else None)


def test_what_is_deleted_is_gone_and_can_be_made_anew() -> None:
    txn = MemoryTxn()
    put_resource(txn, PutResource(path=MQTT, value=b"a"))

    delete_resource(txn, DeleteResource(path=MQTT))

    assert txn.rows(FAMILY) == {}
    put_resource(txn, PutResource(path=MQTT, value=b"b", expected_revision=0))
    assert value_of(txn, MQTT) == b"b"


def test_nothing_is_deleted_that_is_not_there() -> None:
    with pytest.raises(Rejected, match="NOT_FOUND"):
        delete_resource(MemoryTxn(), DeleteResource(path=MQTT))


def test_only_the_expected_revision_is_deleted() -> None:
    txn = MemoryTxn()
    stored = put_resource(txn, PutResource(path=MQTT, value=b"a"))
    later = txn.then(at_ms=1)

    with pytest.raises(Rejected, match="REVISION_MISMATCH"):
        delete_resource(later, DeleteResource(path=MQTT, expected_revision=stored.revision + 1))
    assert value_of(later, MQTT) == b"a"

    delete_resource(later, DeleteResource(path=MQTT, expected_revision=stored.revision))
    assert value_of(later, MQTT) is None


def test_a_batch_of_puts_answers_each_item() -> None:
    txn = MemoryTxn()
    put_resource(txn, PutResource(path="b", value=b"old"))
    puts = [
        PutResource(path="a", value=b"1"),
        PutResource(path="b", value=b"2", expected_revision=0),
        PutResource(path="c", value=b"3"),
    ]

    reply = put_resources(txn, PutResources(puts=puts))

    assert reply.items == 3
    assert [(each.item, each.code) for each in reply.refusals] == [(1, "REVISION_MISMATCH")]
    paths = [StoredResource.FromString(each).resource.path for each in reply.replies]
    assert paths == ["a", "", "c"]
    assert [value_of(txn, path) for path in "abc"] == [b"1", b"old", b"3"]


def test_a_batch_of_deletions_answers_each_item() -> None:
    txn = MemoryTxn()
    put_resources(txn, PutResources(puts=[PutResource(path=path) for path in "ac"]))
    deletions = [DeleteResource(path=path) for path in "abc"]

    reply = delete_resources(txn, DeleteResources(deletions=deletions))

    assert (reply.items, list(reply.replies)) == (3, [b"", b"", b""])
    assert [(each.item, each.code) for each in reply.refusals] == [(1, "NOT_FOUND")]
    assert txn.rows(FAMILY) == {}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.binary(max_size=3))))
def test_a_writer_that_lost_the_race_never_wins(
    writes: list[tuple[str, int, bytes]],
) -> None:
    """Writers expect the newest revision, the one before, or none; only the first is right."""
    txn = MemoryTxn()
    model: dict[str, list[tuple[int, bytes]]] = {}
    for path, behind, value in writes:
        txn = txn.then(at_ms=txn.now_ms + 1)
        seen = [(0, b""), *model.get(path, [])]
        expected = seen[-1 - behind][0] if behind < len(seen) else 0
        put = PutResource(path=path, value=value, expected_revision=expected)
        if expected == seen[-1][0]:
            stored = put_resource(txn, put)
            model.setdefault(path, []).append((stored.revision, value))
        else:
            with pytest.raises(Rejected, match="REVISION_MISMATCH"):
                put_resource(txn, put)
    for path, history in model.items():
        assert value_of(txn, path) == history[-1][1]
