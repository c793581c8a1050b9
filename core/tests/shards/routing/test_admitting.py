"""`Command.admit`: once, where a command enters, before anything is logged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from quorate.plugin import Caller, Command, Invalid, NodeApi, Rejected, ShardRef
from quorate.plugin.advanced import SessionRef
from quorate.plugin.catalog import Catalog
from quorate.shards.refusals import (
    NotAdmittedError,
    NotProposedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    UnreadableError,
)
from quorate.shards.router import Answer, Proposal

from core.tests.shards.routing.conftest import Cluster

if TYPE_CHECKING:
    from core.tests.shards.routing.conftest import FakeShard

Admit = Callable[[NodeApi, Caller, Any], Awaitable[Any]]
Admitted = Callable[[Admit], Cluster]

NODE: Any = SimpleNamespace(name="the node")


@pytest.fixture
def admitted(catalog: Catalog) -> Admitted:
    """Make a cluster whose notes, alone and in batches, are admitted by a function."""

    def make(admit: Admit) -> Cluster:
        def changed(command: Command[Any]) -> Command[Any]:
            noted = command.message.DESCRIPTOR.name in ("WriteNote", "WriteNotes")
            return replace(command, admit=admit) if noted else command

        commands = {name: changed(command) for name, command in catalog.commands.items()}
        cluster = Cluster(replace(catalog, commands=commands))
        cluster.host(2)
        for node in cluster.nodes.values():
            node.groups.admissions.node = NODE
        return cluster

    return make


def texts(cluster: Cluster, pb: Any) -> list[str]:
    """What was logged, shard by shard."""
    shards: list[FakeShard] = [cluster.shard(number) for number in range(2)]
    return [pb.WriteNote.FromString(each.payload).text for of in shards for each in of.proposed]


@pytest.mark.parametrize("on", ["a", "b"])
def test_it_runs_once_and_what_it_returns_is_logged(admitted: Admitted, pb: Any, on: str) -> None:
    seen: list[tuple[object, Caller, str]] = []

    async def admit(node: NodeApi, caller: Caller, note: Any) -> Any:
        seen.append((node, caller, note.text))
        return pb.WriteNote(owner=note.owner, text=note.text or "by default")

    cluster = admitted(admit)
    asked = pb.WriteNote(owner="ada")
    cluster.run(cluster.nodes[on].groups.propose(asked))

    # Node b has no replica: the leader does not ask again.
    assert seen == [(NODE, Caller(via="service", node=True), "")]
    assert texts(cluster, pb) == ["by default"]
    assert asked == pb.WriteNote(owner="ada")


def test_every_way_in_says_how_it_is(admitted: Admitted, pb: Any) -> None:
    seen: list[Caller] = []

    async def admit(_: NodeApi, caller: Caller, __: object) -> None:
        seen.append(caller)

    cluster = admitted(admit)
    groups, note = cluster.nodes["a"].groups, pb.WriteNote(owner="ada")
    ordered = groups.ordered(caller=Caller(name="lane"))
    cluster.run(groups.propose(note, if_leader=ShardRef("sample", 1, 1)))
    cluster.run(
        groups.propose_many([Proposal(note, groups.deadline())], caller=Caller(name="call"))
    )
    ordered.put(Proposal(note, groups.deadline()), lambda _: None)
    cluster.world.run(cluster.world.now + 1)

    assert seen == [
        Caller(via="controller", node=True),
        Caller(name="call", via="client"),
        Caller(name="lane", via="client"),
    ]
    assert len(texts(cluster, pb)) == 3


def test_a_batch_is_admitted_as_a_whole_before_it_is_split(
    admitted: Admitted, batch: Callable[[str], Any], pb: Any
) -> None:
    seen: list[int] = []

    async def admit(_: NodeApi, __: Caller, command: Any) -> Any:
        seen.append(len(command.notes))
        return pb.WriteNotes(
            notes=[pb.WriteNote(owner=each.owner, text="set") for each in command.notes]
        )

    cluster = admitted(admit)
    cluster.run(
        cluster.nodes["a"].groups.propose_many(
            [Proposal(batch("abcdefgh"), cluster.nodes["a"].groups.deadline())]
        )
    )

    logged = [each for number in range(2) for each in cluster.shard(number).proposed]
    assert seen == [8]
    assert len(logged) == 2
    found = [note for each in logged for note in pb.WriteNotes.FromString(each.payload).notes]
    assert sorted(note.owner for note in found) == [*"abcdefgh"]
    assert {note.text for note in found} == {"set"}


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (Rejected("QUOTA", "too much"), NotAdmittedError),
        (Invalid("owner", "nobody"), Invalid),
        (UnreadableError("no leader"), UnreadableError),
        (OutcomeUnknownError("a write of its own"), NotProposedError),
        (KeyError("a bug"), NotAdmittedError),
    ],
)
def test_what_it_raises_is_the_answer_and_nothing_is_logged(
    admitted: Admitted, pb: Any, raised: Exception, told: type[Exception]
) -> None:
    async def admit(_: NodeApi, __: Caller, note: Any) -> None:
        if note.owner == "ada":
            raise raised

    cluster = admitted(admit)
    groups = cluster.nodes["a"].groups
    notes = [pb.WriteNote(owner=owner, text=owner) for owner in ("ada", "ben")]
    answers = cluster.run(
        groups.propose_many([Proposal(note, groups.deadline()) for note in notes])
    )

    assert type(answers[0]) is told
    assert isinstance(answers[1], Answer)
    assert texts(cluster, pb) == ["ben"]


def test_a_wrong_command_never_comes_to_it_and_what_it_makes_wrong_is_refused(
    admitted: Admitted, pb: Any
) -> None:
    seen: list[str] = []

    async def admit(_: NodeApi, __: Caller, note: Any) -> Any:
        seen.append(note.owner)
        return {
            "type": pb.EraseNote(owner="type"),
            "key": pb.WriteNote(owner="another"),
            "size": pb.WriteNote(owner="size", text="x" * (5 << 20)),
        }[note.owner]

    cluster = admitted(admit)
    groups = cluster.nodes["a"].groups
    for owner, why in (
        ("", "owner: must not be empty"),
        ("type", "INTERNAL: .* returned a EraseNote"),
        ("key", "INTERNAL: .* changed its shard key"),
        ("size", "limits.command_bytes"),
    ):
        with pytest.raises((Rejected, Invalid), match=why):
            cluster.run(groups.propose(pb.WriteNote(owner=owner)))

    assert seen == ["type", "key", "size"]
    assert texts(cluster, pb) == []


def test_a_stream_keeps_its_order_while_commands_are_admitted(admitted: Admitted, pb: Any) -> None:
    ready: dict[str, asyncio.Event] = {}

    async def admit(_: NodeApi, __: Caller, note: Any) -> None:
        await ready.setdefault(note.text, asyncio.Event()).wait()

    cluster = admitted(admit)
    groups = cluster.nodes["a"].groups
    ordered, answers = groups.ordered(), list[Answer | Exception]()
    for text in ("1", "2"):
        proposal = Proposal(pb.WriteNote(owner="ada", text=text), groups.deadline())
        ordered.put(proposal, answers.append)
    # No `admit` is declared for it, and it is not to overtake the others.
    ordered.put(Proposal(pb.EraseNote(owner="ada"), groups.deadline()), answers.append)
    cluster.world.run(cluster.world.now + 0.1)
    ready["2"].set()
    cluster.world.run(cluster.world.now + 0.1)
    before = len(answers)
    ready["1"].set()
    cluster.world.run(cluster.world.now + 0.1)

    proposed = [each for number in range(2) for each in cluster.shard(number).proposed]
    assert before == 0
    assert [each.type.rpartition(".")[2] for each in proposed] == [
        "WriteNote",
        "WriteNote",
        "EraseNote",
    ]
    assert [pb.WriteNote.FromString(each.payload).text for each in proposed[:2]] == ["1", "2"]
    assert len(answers) == 3


def test_a_deadline_passes_while_a_command_is_admitted(admitted: Admitted, pb: Any) -> None:
    async def admit(_: NodeApi, __: Caller, ___: object) -> None:
        await asyncio.Event().wait()

    cluster = admitted(admit)
    groups = cluster.nodes["a"].groups

    with pytest.raises(NotProposedInTimeError, match="WriteNote was admitted"):
        cluster.run(groups.propose(pb.WriteNote(owner="ada"), timeout_s=1))
    assert texts(cluster, pb) == []


def test_what_a_closed_stream_was_admitting_is_not_proposed(admitted: Admitted, pb: Any) -> None:
    cancelled: list[bool] = []

    async def admit(_: NodeApi, __: Caller, ___: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    cluster = admitted(admit)
    groups = cluster.nodes["a"].groups
    ordered, answers = groups.ordered(), list[Answer | Exception]()
    ordered.put(Proposal(pb.WriteNote(owner="ada"), groups.deadline()), answers.append)
    cluster.world.run(cluster.world.now + 0.1)
    cluster.run(ordered.close())

    assert cancelled == [True]
    assert (answers, texts(cluster, pb)) == ([], [])


def test_an_operation_of_a_session_is_admitted_and_keeps_its_stamp(
    admitted: Admitted, pb: Any
) -> None:
    async def admit(_: NodeApi, __: Caller, note: Any) -> Any:
        return pb.WriteNote(owner=note.owner, text="set")

    cluster = admitted(admit)
    session = SessionRef(session=7, sequence=3, lowest_unanswered=2)
    cluster.run(cluster.nodes["b"].groups.propose(pb.WriteNote(owner="ada"), session=session))

    [logged] = [each for number in range(2) for each in cluster.shard(number).proposed]
    assert logged.stamp is not None
    assert logged.stamp.sequence == 3
    assert pb.WriteNote.FromString(logged.payload).text == "set"


def test_a_node_that_is_starting_admits_nothing(admitted: Admitted, pb: Any) -> None:
    async def admit(_: NodeApi, __: Caller, ___: object) -> None: ...

    cluster = admitted(admit)
    cluster.nodes["a"].groups.admissions.node = None

    with pytest.raises(NotProposedError, match="is starting"):
        cluster.run(cluster.nodes["a"].groups.propose(pb.WriteNote(owner="ada")))


@pytest.mark.parametrize("way", ["call", "stream"])
def test_what_is_admitted_shares_its_way_into_the_log(
    admitted: Admitted, pb: Any, way: str
) -> None:
    async def admit(_: NodeApi, __: Caller, note: Any) -> Any:
        await asyncio.sleep(0.01)
        return pb.WriteNote(owner=note.owner, text="set")

    cluster = admitted(admit)
    groups = cluster.nodes["a"].groups
    proposals = [
        Proposal(pb.WriteNote(owner=f"owner {number}"), groups.deadline()) for number in range(50)
    ]
    if way == "call":
        cluster.run(groups.propose_many(proposals))
    else:
        ordered = groups.ordered()
        for each in proposals:
            ordered.put(each, lambda _: None)
        cluster.world.run(cluster.world.now + 1)

    calls = [count for number in range(2) for count, _ in cluster.shard(number).calls]
    assert sum(calls) == 50
    assert len(calls) == 2
