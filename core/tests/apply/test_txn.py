from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from hypothesis import given, settings, strategies as st
from quorate.apply.deadlines import Deadline, deadline_of, schedule, timers_moved
from quorate.apply.layers import Layer
from quorate.apply.scope import UNLIMITED, Scope
from quorate.apply.txn import NOTHING, ROW_BYTES, ShardTxn
from quorate.plugin import Rejected, Row
from quorate.plugin.advanced import UndeclaredFamilyError
from quorate.plugin.batches import AT_A_TIME
from quorate.plugin.catalog import Catalog
from quorate.storage.events import EventRow, decode
from quorate.v1.control_pb2 import RaiseGeneration

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine


def new_txn(scope: Scope = UNLIMITED, *, at_ms: int = 7) -> tuple[ShardTxn, EventRow]:
    events = EventRow()
    return ShardTxn(Layer(NOTHING), scope, events, revision=9, at_ms=at_ms, shard=2), events


def test_own_writes_are_visible(machine: Machine) -> None:
    assert machine.read(
        ["put", "tested.rows", "b", "1"],
        ["put", "tested.rows", "a", "2"],
        ["get", "tested.rows", "b"],
        ["scan", "tested.rows", "a", "z", 9, False],
        ["delete", "tested.rows", "b"],
        ["get", "tested.rows", "b"],
        ["scan", "tested.rows", "a", "z", 9, True],
    ) == ["1", "a=2 b=1", "", "a=2"]


def test_writes_of_the_batch_are_visible_to_later_commands(machine: Machine) -> None:
    entries = [machine.script(["put", "tested.rows", "a", "1"])]
    entries.append(machine.script(["get", "tested.rows", "a"], ["delete", "tested.rows", "a"]))
    entries.append(machine.script(["scan", "tested.rows", "a", "z", 9, False]))
    outcomes = machine.apply(*entries)

    assert [machine.answers(outcome) for outcome in outcomes] == [[], ["1"], [""]]


def test_a_renewal_is_good_for_no_longer_than_there_is_time() -> None:
    layer = Layer(NOTHING)
    schedule(layer, "bell", b"k", Deadline(7, 1 << 64))

    assert deadline_of(layer, "bell", b"k") == Deadline(7, (1 << 63) - 2)


@given(
    st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from([b"", b"k", b"k\0", b"l"]),
                st.sampled_from([None, -(1 << 64), -1, 0, 7, 8, 1 << 64]),
            ),
            st.sampled_from([None, 5]),
        ),
        max_size=4,
    )
)
def test_deadlines_that_are_set_together_are_those_set_one_by_one(
    steps: list[tuple[dict[bytes, int | None], int | None]],
) -> None:
    (one, _), (all_, _) = new_txn(), new_txn()
    for times, ttl_ms in steps:
        for txn in (one, all_):
            txn.schedule("bell", b"k", 7, ttl_ms=ttl_ms)
            txn.schedule("bells", b"k", 6)
        for key, at_ms in times.items():
            one.schedule("bell", key, at_ms)
        all_.schedule_each("bell", times)

    rows = {name: table.rows for name, table in one.layer.tables.items()}
    assert {name: table.rows for name, table in all_.layer.tables.items()} == rows


def test_deadlines_that_are_set_together_are_refused_before_one_is_set(catalog: Catalog) -> None:
    txn, _ = new_txn(Scope.of_route(catalog, catalog.routes[StringValue.DESCRIPTOR.full_name]))
    with pytest.raises(ValueError, match="timer other is not declared"):
        txn.schedule_each("other", {b"k": 1})
    with pytest.raises(TypeError, match="a key must be bytes, not str"):
        txn.schedule_each("tested.bell", {b"k": 1, "l": 1})  # type: ignore[dict-item]

    assert not txn.layer.tables


def test_the_earliest_deadline_of_each_timer_is_found() -> None:
    layer = Layer(NOTHING)
    assert not timers_moved(layer)
    for timer, key, at_ms in (("bell", b"k", 9), ("bells", b"a", 3), ("bell", b"l", -8)):
        schedule(layer, timer, key, Deadline(at_ms))
    schedule(layer, "gong", b"k", Deadline(1))
    schedule(layer, "gong", b"k", None)

    assert timers_moved(layer) == {"bell": -8, "bells": 3}


def test_a_row_carries_the_revision_of_its_command_and_a_private_one_none() -> None:
    txn, _ = new_txn()
    txn.put("any.rows", b"k", b"v")

    assert txn.get_row("any.rows", b"k") == Row(b"k", b"v", 9)
    assert txn.get_row("any.rows", b"l") is None


def test_a_view_knows_its_shard(machine: Machine) -> None:
    txn, _ = new_txn()

    assert txn.shard == 2
    assert machine.applier.reader(frozenset()).shard == machine.shard.number


def test_many_rows_are_those_of_each_key(machine: Machine) -> None:
    machine.do(["put", "tested.rows", "a", "1"], ["put", "tested.marks", "a", "m"])
    machine.do(["put", "tested.rows", "b", "2"])
    reader = machine.applier.reader(frozenset({"tested.marks", "tested.rows"}))

    assert reader.get_rows("tested.rows", [b"b", b"c", b"a", b"b"]) == [
        Row(b"b", b"2", 2 << 20),
        None,
        Row(b"a", b"1", 1 << 20),
        Row(b"b", b"2", 2 << 20),
    ]
    assert reader.get_rows("tested.marks", iter([b"a", b"b"])) == [Row(b"a", b"m", 0), None]


def test_many_rows_are_those_of_the_call(catalog: Catalog) -> None:
    txn, _ = new_txn()
    txn.put("any.rows", b"k", b"v")
    found = txn.get_rows("any.rows", [b"k", b"l"])
    txn.delete("any.rows", b"k")

    assert found == [Row(b"k", b"v", 9), None]
    assert txn.get_rows("any.rows", [b"k"]) == [None]
    declared, _ = new_txn(Scope.of_route(catalog, catalog.routes[StringValue.DESCRIPTOR.full_name]))
    with pytest.raises(UndeclaredFamilyError):
        declared.get_rows("other.rows", [b"k"])


def test_many_values_are_those_of_the_rows_of_the_call(catalog: Catalog) -> None:
    txn, _ = new_txn(Scope.of_route(catalog, catalog.routes[StringValue.DESCRIPTOR.full_name]))
    for family in ("tested.rows", "tested.marks"):
        txn.put(family, b"k", b"v")
        found = txn.get_values(family, iter([b"l", b"k", b"k"]))
        txn.delete(family, b"k")

        assert found == [None, b"v", b"v"]
        assert txn.get_values(family, [b"k"]) == [None]
    with pytest.raises(UndeclaredFamilyError):
        txn.get_values("other.rows", [b"k"])
    with pytest.raises(TypeError, match="a key must be bytes, not str"):
        txn.get_values("tested.rows", ["k"])  # type: ignore[list-item]


def test_the_starts_of_values_are_those_of_whole_values(catalog: Catalog) -> None:
    txn, _ = new_txn(Scope.of_route(catalog, catalog.routes[StringValue.DESCRIPTOR.full_name]))
    for family in ("tested.rows", "tested.marks"):
        many = [b"%d" % at for at in range(2 * AT_A_TIME + 1)]
        txn.put_each(family, {key: key * 3 for key in many[1:]})
        starts = txn.get_starts(family, many, 4)
        assert starts == [value and value[:4] for value in txn.get_values(family, many)]
        assert starts[:2] == [None, b"111"]
    with pytest.raises(UndeclaredFamilyError):
        txn.get_starts("other.rows", [b"k"], 1)


@pytest.mark.parametrize("family", ["tested.rows", "tested.olds", "tested.marks"])
def test_rows_that_are_put_together_are_those_put_one_by_one(catalog: Catalog, family: str) -> None:
    scope = Scope.of_route(catalog, catalog.routes[StringValue.DESCRIPTOR.full_name])
    rows = {b"l": b"1", b"k": b"", b"m": b"3"}
    (one, alone), (all_, together), (parts, joined) = (new_txn(scope) for _ in range(3))
    for txn in (one, all_, parts):
        txn.put(family, b"l", b"before")
        txn.put("tested.rows", b"a", b"")
    for key, value in rows.items():
        one.put(family, key, value)
    all_.put_each(family, rows)
    all_.put_each(family, {})
    parts.put_joined(family, list(rows), [b"1", b"", b""], iter([b"", b"", b"3"]))
    parts.put_joined(family, [], [], [])
    for txn in (one, all_, parts):
        txn.put(family, b"n", b"")
        txn.put("tested.rows", b"z", b"")

    assert joined.encode(7) == together.encode(7) == alone.encode(7)
    for txn in (all_, parts):
        for (name, table), (named, expected) in zip(
            txn.layer.tables.items(), one.layer.tables.items(), strict=True
        ):
            assert (name, list(table.rows.items())) == (named, list(expected.rows.items()))


def test_rows_that_are_put_together_are_refused_before_one_is_written(catalog: Catalog) -> None:
    txn, events = new_txn(Scope.of_route(catalog, catalog.routes[StringValue.DESCRIPTOR.full_name]))
    with pytest.raises(UndeclaredFamilyError):
        txn.put_each("tested.facts", {b"k": b"v"})
    for rows, what in (({b"k": b"v", "l": b"v"}, "key"), ({b"k": b"v", b"l": None}, "value")):
        with pytest.raises(TypeError, match=f"a {what} must be bytes"):
            txn.put_each("tested.rows", rows)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a key must be bytes"):
        txn.put_joined("tested.rows", [b"k", "l"], [b"v", b"v"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        txn.put_joined("tested.rows", [b"k"], [None])  # type: ignore[list-item]
    for values in ([b"v"], [b"v"] * 3):
        with pytest.raises(ValueError, match="zip"):
            txn.put_joined("tested.rows", [b"k", b"l"], values)
    with pytest.raises(Rejected, match="a row of tested"):
        txn.put_joined("tested.rows", [b"k"], [b"v" * ROW_BYTES], [b"v"])

    assert not txn.layer.tables
    assert not events.parts
    txn.end()
    with pytest.raises(RuntimeError, match="has ended"):
        txn.put_each("tested.rows", {b"k": b"v"})
    assert not events.parts


def test_private_rows_are_stored_as_they_are(machine: Machine) -> None:
    machine.do(["put", "tested.marks", "k", "v"], ["put", "tested.rows", "k", "v"])

    assert machine.rows("tested.marks") == {b"k": b"v"}
    assert machine.rows("tested.rows") == {b"k": (1 << 20).to_bytes(8) + b"v"}
    reader = machine.applier.reader(frozenset({"tested.marks", "tested.rows"}))
    assert reader.get_row("tested.marks", b"k") == Row(b"k", b"v", 0)
    assert reader.get_row("tested.rows", b"k") == Row(b"k", b"v", 1 << 20)
    assert reader.get("tested.rows", b"k") == b"v"


def test_a_private_row_is_deleted_without_a_look_at_it(catalog: Catalog) -> None:
    class Unread(Layer):
        def get(self, family: str, key: bytes) -> bytes | None:
            raise AssertionError(f"{family} was read")

    scope = Scope.of_route(catalog, catalog.routes[StringValue.DESCRIPTOR.full_name])
    layer, events = Unread(NOTHING), EventRow()
    txn = ShardTxn(layer, scope, events, revision=9, at_ms=7, shard=2)
    txn.delete("tested.marks", b"k")
    with pytest.raises(AssertionError, match=r"tested\.rows was read"):
        txn.delete("tested.rows", b"k")

    assert layer.tables["tested.marks"].rows == {b"k": None}
    assert not events.parts


def test_undeclared_families_and_timers_are_refused(catalog: Catalog) -> None:
    route = catalog.routes[StringValue.DESCRIPTOR.full_name]
    txn, _ = new_txn(Scope.of_route(catalog, route))

    with pytest.raises(UndeclaredFamilyError, match=r"its own are tested\.marks, tested\.olds"):
        txn.put("other.rows", b"", b"")
    with pytest.raises(UndeclaredFamilyError, match="not the plugin's own"):
        txn.put("tested.facts", b"", b"")
    with pytest.raises(UndeclaredFamilyError, match="nor declared under reads"):
        txn.get("other.rows", b"")
    with pytest.raises(UndeclaredFamilyError, match="nor declared under reads"):
        txn.scan("other.rows", b"", b"", limit=1)
    with pytest.raises(ValueError, match="timer other is not declared"):
        txn.schedule("other", b"", 1)
    assert txn.get("tested.facts", b"") is None


def test_scans_are_bounded() -> None:
    txn, _ = new_txn()
    for number in range(5):
        txn.put("any.rows", b"%d" % number, b"")

    assert [row.key for row in txn.scan("any.rows", b"1", b"4", limit=2)] == [b"1", b"2"]
    assert [row.key for row in txn.scan("any.rows", b"1", b"4", limit=2, reverse=True)] == [
        b"3",
        b"2",
    ]
    with pytest.raises(ValueError, match="the limit must be at least 1"):
        txn.scan("any.rows", b"", b"9", limit=0)
    for limit in (1, None):
        assert list(txn.scan("any.rows", b"9", b"1", limit=limit)) == []


def test_a_scan_shows_the_rows_as_they_are_at_its_call() -> None:
    txn, _ = new_txn()
    txn.put("any.rows", b"a", b"")
    found = txn.scan("any.rows", b"a", b"z", limit=9)
    txn.put("any.rows", b"b", b"")

    assert [row.key for row in found] == [b"a"]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("many", [0, 1, 99, 100, 101, 250])
def test_a_scan_without_a_limit_reads_a_whole_range(many: int, reverse: bool) -> None:
    txn, _ = new_txn()
    named = [b"a%03d" % number for number in range(many)]
    for key in (b"a", *named, b"b"):
        txn.put("any.rows", key, b"v")

    found = [row.key for row in txn.scan("any.rows", b"a000", b"b", reverse=reverse)]

    assert found == (named[::-1] if reverse else named)


def test_rows_of_a_scan_without_a_limit_are_read_in_turn() -> None:
    txn, _ = new_txn()
    for number in range(250):
        txn.put("any.rows", b"%03d" % number, b"before")
    rows = txn.scan("any.rows", b"", b"\xff")
    assert next(rows).key == b"000"
    txn.put("any.rows", b"249", b"after")

    assert [row.value for row in rows][-2:] == [b"before", b"after"]
    for row in txn.scan("any.rows", b"", b"\xff"):
        txn.delete("any.rows", row.key)
    assert list(txn.scan("any.rows", b"", b"\xff")) == []


@pytest.mark.parametrize("part", ["text", bytearray(b"k"), None])
def test_keys_and_values_are_bytes(part: object) -> None:
    txn, events = new_txn()
    for act in (
        lambda: txn.put("any.rows", part, b""),  # type: ignore[arg-type]
        lambda: txn.put("any.rows", b"", part),  # type: ignore[arg-type]
        lambda: txn.get("any.rows", part),  # type: ignore[arg-type]
        lambda: txn.get_row("any.rows", part),  # type: ignore[arg-type]
        lambda: txn.delete("any.rows", part),  # type: ignore[arg-type]
        lambda: txn.scan("any.rows", part, b"z", limit=1),  # type: ignore[arg-type]
        lambda: txn.scan("any.rows", b"", part),  # type: ignore[arg-type]
        lambda: txn.schedule("any", part, 1),  # type: ignore[arg-type]
        lambda: txn.deadline("any", part),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="must be bytes, not"):
            act()

    assert not events.parts


def test_a_transaction_that_has_ended_is_of_no_use() -> None:
    txn, _ = new_txn()
    txn.put("any.rows", b"", b"")
    txn.end()
    for act in (
        lambda: txn.put("any.rows", b"", b""),
        lambda: txn.get("any.rows", b""),
        lambda: txn.delete("any.rows", b""),
        lambda: txn.scan("any.rows", b"", b"z", limit=1),
        lambda: txn.next_id("any"),
        lambda: txn.schedule("any", b"", 1),
        lambda: txn.emit(StringValue()),
    ):
        with pytest.raises(RuntimeError, match="this transaction has ended"):
            act()


def test_delete_range_is_for_private_families(machine: Machine) -> None:
    machine.do(*(["put", "tested.marks", key, "v"] for key in "abc"))
    [listed] = machine.read(
        ["put", "tested.marks", "bb", "own"],
        ["clear", "tested.marks", "b", "c"],
        ["put", "tested.marks", "b", "again"],
        ["scan", "tested.marks", "a", "z", 9, False],
    )

    assert listed == "a=v b=again c=v"
    assert machine.rows("tested.marks") == {b"a": b"v", b"b": b"again", b"c": b"v"}
    outcome = machine.do(["clear", "tested.rows", "a", "z"])
    assert outcome.refusal is not None
    assert "rows are watched" in str(machine.failed[0][2])


def test_ids_are_unique_in_the_group_and_go_on(machine: Machine) -> None:
    first = machine.read(["id", "x"], ["id", "x"], ["id", "y"])
    machine.open()

    assert first == [3 << 48 | 1, 3 << 48 | 2, 3 << 48 | 1]
    assert machine.read(["id", "x"]) == [3 << 48 | 3]


def test_events_are_derived_in_order(machine: Machine) -> None:
    machine.do(["put", "tested.olds", "k", "old"])
    outcome = machine.do(
        ["put", "tested.rows", "a", "1"],
        ["put", "tested.rows", "a", "2"],
        ["put", "tested.marks", "private", ""],
        ["emit", "said"],
        ["put", "tested.olds", "k", "new"],
        ["delete", "tested.rows", "none"],
        ["delete", "tested.rows", "a"],
        ["delete", "tested.olds", "k"],
        ["put", "tested.rows", "a", "3"],
        at_ms=77,
    )

    row = machine.rows("core.events")[(2).to_bytes(8)]
    events = list(decode(row))
    assert {(event.revision, event.at_ms) for event in events} == {(outcome.revision, 77)}
    assert [tuple(event.change) for event in events] == [
        ("tested.rows", b"a", b"1", None),
        ("tested.rows", b"a", b"2", None),
        ("google.protobuf.StringValue", StringValue(value="said").SerializeToString()),
        ("tested.olds", b"k", b"new", b"old"),
        ("tested.rows", b"a", None, None),
        ("tested.olds", b"k", None, b"new"),
        ("tested.rows", b"a", b"3", None),
    ]


def test_counts_are_exact(machine: Machine) -> None:
    machine.do(*(["put", "tested.tallies", key, "v"] for key in "abca"))
    machine.do(["put", "tested.olds", "k", "v"], ["delete", "tested.olds", "none"])
    machine.do(["delete", "tested.tallies", "a"], ["reject", "NO"])
    machine.do(["clear", "tested.tallies", "b", "z"], ["put", "tested.tallies", "z", ""])

    assert machine.counts() == {"tested.olds": 1, "tested.tallies": 2}
    reader = machine.applier.reader(frozenset({"tested.olds", "tested.tallies", "tested.rows"}))
    assert (reader.count("tested.olds"), reader.count("tested.tallies")) == (1, 2)
    with pytest.raises(ValueError, match=r"tested\.rows is not counted"):
        reader.count("tested.rows")
    with pytest.raises(UndeclaredFamilyError):
        machine.applier.reader(frozenset()).count("tested.olds")


def test_a_transaction_counts_its_own_writes() -> None:
    txn, _ = new_txn()
    assert txn.count("any.rows") == 0
    txn.put("any.rows", b"a", b"1")
    txn.put("any.rows", b"a", b"2")
    txn.put_each("any.rows", {b"b": b"1", b"c": b"1"})
    txn.delete("any.rows", b"b")

    assert txn.count("any.rows") == 2


def test_a_reader_sees_deadlines(machine: Machine) -> None:
    machine.do(["at", "k", 70])
    reader = machine.applier.reader(frozenset())

    assert reader.deadline("tested.bell", b"k") == 70
    assert reader.deadline("tested.bell", b"l") is None
    with pytest.raises(ValueError, match=r"timer tested\.bel is not declared"):
        reader.deadline("tested.bel", b"k")


_KEYS = st.sampled_from("abcde")
_STEP = st.one_of(
    st.tuples(st.just("put"), _KEYS),
    st.tuples(st.just("delete"), _KEYS),
    st.tuples(st.just("clear"), _KEYS, _KEYS),
    st.just(("merge",)),
    st.just(("drop",)),
)


@settings(max_examples=200)
@given(st.lists(_STEP, max_size=30))
def test_layers_show_what_a_plain_dict_would(steps: list[tuple[str, ...]]) -> None:
    batch = Layer(NOTHING)
    kept: dict[bytes, bytes] = {}
    top, shown = Layer(batch), dict(kept)
    for number, (name, *parts) in enumerate(steps):
        keys = sorted(part.encode() for part in parts)
        if name == "put":
            top.put("f", keys[0], b"%d" % number)
            shown[keys[0]] = b"%d" % number
        elif name == "delete":
            top.delete("f", keys[0])
            shown.pop(keys[0], None)
        elif name == "clear":
            top.delete_range("f", *keys)
            shown = {k: v for k, v in shown.items() if not keys[0] <= k < keys[1]}
        else:
            if name == "merge":
                top.merge_into(batch)
                kept = shown
            top, shown = Layer(batch), dict(kept)
        assert list(top.iterate("f", b"b", b"e")) == [
            row for row in sorted(shown.items()) if b"b" <= row[0] < b"e"
        ]
        assert list(top.iterate("f", b"", None, reverse=True)) == sorted(shown.items())[::-1]
        assert {k: top.get("f", k) for k in (b"a", b"c")} == {k: shown.get(k) for k in (b"a", b"c")}
        several = [b"c", b"a", b"b", b"c", b"z"]
        assert top.get_many("f", several) == [shown.get(key) for key in several]


def test_sequences_leap_with_the_generation(machine: Machine) -> None:
    assert machine.read(["id", "x"]) == [3 << 48 | 1]
    for generation in (1, 2):
        machine.control(RaiseGeneration(generation=generation))
        assert machine.read(["id", "x"], ["id", "x"], ["id", f"new {generation}"]) == [
            3 << 48 | generation << 32 | 1,
            3 << 48 | generation << 32 | 2,
            3 << 48 | generation << 32 | 1,
        ]
