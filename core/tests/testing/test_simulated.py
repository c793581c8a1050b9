from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.message import Message
from quorate.apply.applier import Applier
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin import Rejected, keys
from quorate.plugin.catalog import Catalog
from quorate.testing import simulate
from quorate.testing.simulated import Acknowledged, Ended
from quorate.v1.batch_pb2 import BatchReply

NAME = "kit_sample.v1.EraseNote"


@pytest.fixture
def log(catalog: Catalog) -> list[Message]:
    return [each for command in catalog.commands.values() for each in command.examples]


def test_every_fault_happens_and_commands_are_answered(
    catalog: Catalog, log: list[Message]
) -> None:
    counts: Counter[str] = Counter()
    for seed in range(1, 6):
        counts.update(simulate(catalog, log, seed=seed, seconds=3.0))
    assert counts["faults"] > 15
    # A caller whose leader is replaced gets no answer.
    assert 100 < counts["acknowledged"] < counts["proposals"] * 1.1
    for what in ("crashes", "power losses", "replaced disks", "elections", "clock jumps"):
        assert counts[what]


def test_a_run_is_the_same_each_time(catalog: Catalog, log: list[Message]) -> None:
    first, second = (simulate(catalog, log, seed=2, seconds=1.0) for _ in range(2))
    assert first == second


def with_handler(catalog: Catalog, apply: Callable[[Any, Any], Message | None]) -> Catalog:
    return replace(
        catalog, routes={**catalog.routes, NAME: replace(catalog.routes[NAME], apply=apply)}
    )


def test_a_handler_that_remembers_is_found_with_its_seed(
    catalog: Catalog, log: list[Message]
) -> None:
    seen: list[int] = []

    def remember(txn: Any, command: Any) -> None:
        seen.append(1)
        txn.put("sample.sizes", b"k", str(len(seen)).encode())

    with pytest.raises(AssertionError, match=r"group sample, seed 3, at .*ends with other rows"):
        simulate(with_handler(catalog, remember), log, seed=3, seconds=3.0)


def test_an_answer_that_depends_on_more_than_rows_is_found(
    catalog: Catalog, log: list[Message]
) -> None:
    seen: list[int] = []

    def answer(txn: Any, command: Any) -> BatchReply:
        seen.append(1)
        return BatchReply(items=len(seen))

    with pytest.raises(AssertionError, match=r"seed 3, at .*EraseNote was answered .*, and comes"):
        simulate(with_handler(catalog, answer), log, seed=3, seconds=3.0)


def test_replicas_that_differ_are_found(
    catalog: Catalog, log: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Applier.apply

    def forgetful(applier: Applier, entries: Any, *evaluated: Any) -> Any:
        if len(entries) == 3:
            entries = [Entry(each.index, each.term, EntryKind.NOOP, b"") for each in entries]
        return right(applier, entries, *evaluated)

    monkeypatch.setattr(Applier, "apply", forgetful)
    with pytest.raises(AssertionError, match=r"differs? from its leader|was answered|other rows"):
        simulate(catalog, log, seed=3, seconds=3.0)


def test_a_judge_of_the_plugin_is_heard(catalog: Catalog, log: list[Message]) -> None:
    def nobody_is_answered(fact: Acknowledged | Ended) -> None:
        assert not isinstance(fact, Acknowledged), f"{fact.shard} answers"

    with pytest.raises(AssertionError, match=r"seed 1, at .*: sample/\d answers"):
        simulate(catalog, log, seed=1, seconds=3.0, judges=[nobody_is_answered])


def test_a_judge_sees_the_rows_that_every_replica_ends_with(
    catalog: Catalog, sample: Any, log: list[Message]
) -> None:
    ended: dict[tuple[str, str], Ended] = {}

    def note(fact: Acknowledged | Ended) -> None:
        if isinstance(fact, Ended):
            ended[fact.shard, fact.replica] = fact

    simulate(catalog, log, seed=1, seconds=1.0, judges=[note])
    assert {replica for _, replica in ended} == {"n0", "n1", "n2"}
    assert any(fact.rows[sample.NOTES] for fact in ended.values())
    assert len({(shard, repr(fact.rows)) for (shard, _), fact in ended.items()}) == len(
        {shard for shard, _ in ended}
    )


def test_handlers_read_the_copied_rows_of_another_group(catalog: Catalog, sample: Any) -> None:
    found: set[bytes] = set()

    def looks(fact: Acknowledged | Ended) -> None:
        if isinstance(fact, Acknowledged) and fact.outcome.refusal is None:
            found.update(BatchReply.FromString(fact.outcome.reply).replies)

    def look(txn: Any, command: Any) -> BatchReply:
        return BatchReply(items=1, replies=[txn.get(sample.NOTES, command.keys[0]) or b""])

    name, notes = "kit_sample.v1.ExpireNotes", catalog.families[sample.NOTES]
    reading = replace(
        catalog.routes[name], group="metadata", reads=frozenset({sample.NOTES}), apply=look
    )
    simulate(
        replace(
            catalog,
            families={**catalog.families, sample.NOTES: replace(notes, mirrored=True)},
            commands={**catalog.commands, name: replace(catalog.commands[name], group="metadata")},
            routes={**catalog.routes, name: reading},
            timers={},
        ),
        [sample.pb.ExpireNotes(keys=[b"k"])],
        seed=4,
        seconds=2.0,
        judges=[looks],
        copied={sample.NOTES: {b"k": b"row"}},
    )
    assert b"row" in found


def refuse_without_note(sample: Any) -> Callable[[Any, Any], None]:
    def erase(txn: Any, command: Any) -> None:
        if txn.get(sample.NOTES, keys.pack(command.owner)) is None:
            raise Rejected("NO_NOTE", "there is no note")

    return erase


def of_type(log: list[Message], name: str) -> list[Message]:
    return [each for each in log if type(each).__name__ == name]


def test_a_run_begins_with_committed_commands(catalog: Catalog, sample: Any) -> None:
    erasing = with_handler(catalog, refuse_without_note(sample))
    # Of one owner, and so of one shard; the note has no time to live.
    erasures = [sample.pb.EraseNote(owner="w")]
    notes = [sample.pb.WriteNote(owner="w", text="x")]
    for seed in range(1, 6):
        without = simulate(erasing, erasures, seed=seed, seconds=1.0)
        begun = simulate(erasing, erasures, seed=seed, seconds=1.0, begun=notes)
        assert (without.get("carried out", 0), begun.get("refused", 0)) == (0, 0)
        assert begun["carried out"] == begun["acknowledged"] > 0


def test_slots_are_committed_before_the_first_election(
    catalog: Catalog, log: list[Message]
) -> None:
    notes = of_type(log, "WriteNote")[:1]
    for seed in range(1, 41):
        misrouted: list[str] = []

        def note(fact: Acknowledged | Ended, misrouted: list[str] = misrouted) -> None:
            if isinstance(fact, Acknowledged) and fact.outcome.refusal is not None:
                misrouted.append(fact.outcome.refusal.code)

        simulate(catalog, notes, seed=seed, seconds=0.5, judges=[note])
        assert "WRONG_SHARD" not in misrouted, f"seed {seed}"


def test_shards_are_replaced_after_so_many_passes(catalog: Catalog, log: list[Message]) -> None:
    def once(txn: Any, command: Any) -> None:
        if txn.get("sample.sizes", b"k") is not None:
            raise Rejected("TWICE", "it was carried out before")
        txn.put("sample.sizes", b"k", b"1")

    erasures = of_type(log, "EraseNote")[:1]
    for_ever = simulate(with_handler(catalog, once), erasures, seed=1, seconds=2.0)
    anew = simulate(with_handler(catalog, once), erasures, seed=1, seconds=2.0, passes=1)
    assert for_ever["refused"] > for_ever["carried out"]
    assert anew.get("refused", 0) == 0
    assert anew["carried out"] > 3
