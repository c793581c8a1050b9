from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from quorate.plugin import RowEvent, Txn
from quorate.plugin.advanced import EmittedEvent, UndeclaredFamilyError
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply

KEY, VALUE = b"k", b"v"


def test_writes_are_seen_by_the_transaction_and_give_events_in_order() -> None:
    txn: Txn = MemoryTxn(at_ms=7)

    txn.put("a.b", KEY, VALUE)
    assert txn.get("a.b", KEY) == VALUE
    txn.delete("a.b", KEY)
    txn.delete("a.b", KEY)
    txn.emit(BatchReply(items=1))

    assert txn.get("a.b", KEY) is None
    assert (txn.proposed_at_ms, txn.now_ms) == (7, 7)
    assert isinstance(txn, MemoryTxn)
    assert txn.events == [
        RowEvent(family="a.b", key=KEY, value=VALUE),
        RowEvent(family="a.b", key=KEY, value=None),
        EmittedEvent(message=BatchReply(items=1)),
    ]


def test_an_emitted_event_is_what_it_was_when_it_was_emitted() -> None:
    txn, event = MemoryTxn(), BatchReply(items=1)
    txn.emit(event)
    event.items = 2
    assert txn.events == [EmittedEvent(message=BatchReply(items=1))]


@pytest.mark.parametrize(
    ("reverse", "limit", "found"),
    [(False, 9, [b"a", b"c", b"d"]), (False, 2, [b"a", b"c"]), (True, 2, [b"d", b"c"])],
)
def test_a_scan_shows_own_writes_over_rows_in_order(
    reverse: bool, limit: int, found: list[bytes]
) -> None:
    txn = MemoryTxn(rows={"a.b": {b"a": b"1", b"b": b"2", b"c": b"3", b"e": b"4"}})
    txn.put("a.b", b"d", b"5")
    txn.put("a.b", b"c", b"6")
    txn.delete("a.b", b"b")

    rows = list(txn.scan("a.b", b"a", b"e", limit=limit, reverse=reverse))

    assert [row.key for row in rows] == found
    assert {row.key: row.value for row in rows}[b"c"] == b"6"


def test_a_scan_shows_the_rows_as_they_were_when_it_was_called() -> None:
    txn = MemoryTxn(rows={"a.b": {b"a": b"1", b"b": b"2"}})
    for row in txn.scan("a.b", b"", b"z", limit=9):
        txn.delete("a.b", row.key)
        txn.put("a.b", row.key + b"x", row.value)
    assert list(txn.rows("a.b")) == [b"ax", b"bx"]


def test_a_scan_of_no_rows_is_refused_at_the_call() -> None:
    with pytest.raises(ValueError, match="limit"):
        MemoryTxn().scan("a.b", b"a", b"b", limit=0)


def test_what_is_no_bytes_is_refused() -> None:
    text: Any = "text"
    with pytest.raises(TypeError, match="a value must be bytes, not str"):
        MemoryTxn().put("a.b", KEY, text)
    with pytest.raises(TypeError, match="a key must be bytes, not str"):
        MemoryTxn().get("a.b", text)


def test_ids_are_counted_by_sequence_below_the_shards_number() -> None:
    txn = MemoryTxn(shard=3)
    assert [txn.next_id("x"), txn.next_id("x"), txn.next_id("y")] == [
        (3 << 48) + 1,
        (3 << 48) + 2,
        (3 << 48) + 1,
    ]


def test_the_transaction_after_goes_on_with_a_later_revision() -> None:
    first = MemoryTxn(at_ms=1)
    first.put("a.b", KEY, VALUE)
    first.schedule("a.t", KEY, 5)
    second = first.then(at_ms=2)
    second.put("a.b", b"l", VALUE)
    second.schedule("a.t", KEY, None)

    assert [event.key for event in second.events if isinstance(event, RowEvent)] == [b"l"]
    assert (first.deadlines, second.deadlines) == ({("a.t", KEY): 5}, {})
    old, new = second.get_row("a.b", KEY), second.get_row("a.b", b"l")
    assert old is not None
    assert new is not None
    assert (old.revision, new.revision) == (first.revision, second.revision)
    assert old.revision < new.revision
    with pytest.raises(ValueError, match="runs backwards"):
        second.then(at_ms=1)


def test_a_plugins_transaction_holds_it_to_its_declarations(catalog: Catalog) -> None:
    txn = MemoryTxn(catalog=catalog, plugin="sample")
    txn.put("sample.notes", KEY, b"old")
    txn.put("sample.notes", KEY, b"new")
    txn.put("sample.sizes", KEY, VALUE)

    assert txn.events[1:] == [
        RowEvent(family="sample.notes", key=KEY, value=b"new", previous=b"old")
    ]
    private = txn.get_row("sample.sizes", KEY)
    assert private is not None
    assert private.revision == 0
    with pytest.raises(UndeclaredFamilyError, match=r"other\.rows is neither owned"):
        txn.get("other.rows", KEY)
    with pytest.raises(UndeclaredFamilyError, match=r"other\.rows is not the plugin's own"):
        txn.put("other.rows", KEY, VALUE)
    with pytest.raises(ValueError, match=r"timer sample\.other is not declared"):
        txn.schedule("sample.other", KEY, 1)
    with pytest.raises(ValueError, match=r"delete_range on column family sample\.notes"):
        txn.delete_range("sample.notes", b"", b"z")


def test_a_range_of_a_private_family_is_deleted(catalog: Catalog) -> None:
    txn = MemoryTxn(
        catalog=catalog, plugin="sample", rows={"sample.sizes": {b"a": b"", b"b": b"", b"c": b""}}
    )
    txn.delete_range("sample.sizes", b"a", b"c")
    assert list(txn.rows("sample.sizes")) == [b"c"]
    assert txn.events == []


def test_a_plugin_that_is_not_installed_is_named() -> None:
    with pytest.raises(LookupError, match="no plugin named nowhere is installed"):
        MemoryTxn(plugin="nowhere")


_WITHOUT_SERVER = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("rocksdict", "pysyncobj", "pytest"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from quorate.testing import MemoryTxn
txn = MemoryTxn(rows={"a.b": {b"k": b"v"}})
txn.delete("a.b", b"k")
print(txn.rows("a.b"), len(txn.events))
"""


def test_a_transaction_needs_no_server() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_SERVER], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("{} 1\n", "")


def test_rows_that_were_there_are_counted(catalog: Catalog) -> None:
    sizes = replace(catalog.families["sample.sizes"], counted=True)
    counting = replace(catalog, families={**catalog.families, "sample.sizes": sizes})
    txn = MemoryTxn(catalog=counting, plugin="sample", rows={"sample.sizes": {KEY: VALUE}})
    txn.delete("sample.sizes", KEY)
    assert txn.rows("sample.sizes") == {}


def test_a_family_that_is_not_there_has_no_rows(catalog: Catalog) -> None:
    assert MemoryTxn(catalog=catalog, plugin="sample").rows("no.such") == {}
