from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.message import Message
from quorate.apply.entries import revision_of
from quorate.apply.outcomes import Outcome, Refusal
from quorate.consensus.messages import Entry, EntryKind, Peer
from quorate.plugin import Row
from quorate.plugin.catalog import Catalog
from quorate.testing.shard import command_of
from quorate.v1.batch_pb2 import BatchReply

from tests.support.sim import facts
from tests.support.sim.history import Violation
from tests.support.sim.hosting import Hosting
from tests.support.sim.plugins import Undisturbed, simulate

PEER = Peer("n0", 1)
SHARD = "sample/0"
NAME = "kit_sample.v1.EraseNote"


@pytest.fixture
def log(catalog: Catalog) -> list[Message]:
    return [each for command in catalog.commands.values() for each in command.examples]


def test_faults_happen_and_commands_are_answered(catalog: Catalog, log: list[Message]) -> None:
    counts = simulate(catalog, log, seed=1, seconds=3.0)
    assert counts["faults"] > 3
    assert counts["acknowledged"] > 10


def test_a_run_is_the_same_each_time(catalog: Catalog, log: list[Message]) -> None:
    first, second = (simulate(catalog, log, seed=2, seconds=1.0) for _ in range(2))
    assert first == second


def test_a_handler_that_remembers_is_found_with_its_seed(
    catalog: Catalog, log: list[Message]
) -> None:
    seen: list[int] = []

    def remember(txn: Any, command: Any) -> None:
        seen.append(1)
        txn.put("sample.sizes", b"k", str(len(seen)).encode())

    routes = {**catalog.routes, NAME: replace(catalog.routes[NAME], apply=remember)}
    said = r"group sample, seed 3, at .*(ends with other rows|was answered)"
    with pytest.raises(AssertionError, match=said):
        simulate(replace(catalog, routes=routes), log, seed=3, seconds=3.0)


def test_a_judge_of_the_plugin_is_heard(catalog: Catalog, log: list[Message]) -> None:
    class Silence:
        name = "nobody is answered"
        judges = (facts.Acknowledged,)

        def see(self, fact: facts.Fact) -> None:
            raise Violation(self.name, fact.shard)

    with pytest.raises(AssertionError, match=r"seed 1, at .*nobody is answered: sample/\d"):
        simulate(catalog, log, seed=1, seconds=3.0, judges=[Silence()])


def test_handlers_read_the_copied_rows_of_another_group(catalog: Catalog, sample: Any) -> None:
    found: set[bytes] = set()

    class Looks:
        name = "looks"
        judges = (facts.Acknowledged,)

        def see(self, fact: facts.Fact) -> None:
            if isinstance(fact, facts.Acknowledged) and fact.outcome.refusal is None:
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
        judges=[Looks()],
        copied={sample.NOTES: {b"k": b"row"}},
    )
    assert b"row" in found


@pytest.fixture
def judged(catalog: Catalog, sample: Any) -> Callable[..., None]:
    """Judge facts behind an entry that writes one note."""
    judge = Undisturbed(Hosting(catalog, "sample"))
    command = command_of(sample.pb.WriteNote(owner="a"))
    payload = b"what the leader logged"
    judge.see(facts.Evaluated(SHARD, PEER, 1, payload, (command,), 5))
    judge.see(facts.Applied(SHARD, PEER, Entry(1, 1, EntryKind.COMMAND, payload)))

    def see(kind: Any, *told: Any) -> None:
        if kind is facts.Acknowledged:
            told = (command, *told)
        judge.see(kind(SHARD, PEER, *told))

    return see


def test_an_answer_that_the_log_does_not_give_is_found(
    judged: Callable[..., None], sample: Any
) -> None:
    note = sample.pb.Note(owner="a", id=1)
    given = Outcome(revision_of(1, 0), note.SerializeToString(deterministic=True))
    judged(facts.Acknowledged, given)
    for other in (
        given._replace(revision=revision_of(2, 0)),
        given._replace(reply=b""),
        given._replace(refusal=Refusal("NO", "")),
    ):
        with pytest.raises(Violation, match="WriteNote was answered"):
            judged(facts.Acknowledged, other)


def test_rows_that_the_log_does_not_give_are_found(
    judged: Callable[..., None], sample: Any
) -> None:
    key = sample.note_key("a")
    note = sample.pb.Note(owner="a", id=1).SerializeToString(deterministic=True)
    right = Row(key, note, revision_of(1, 0))
    judged(facts.Ended, 1, 0, {sample.NOTES: {key: right}})
    for wrong in ({}, {key: right._replace(revision=0)}):
        with pytest.raises(Violation, match=r"ends with other rows of sample\.notes"):
            judged(facts.Ended, 1, 0, {sample.NOTES: wrong})
