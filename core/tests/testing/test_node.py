from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from itertools import count
from types import ModuleType
from typing import Any, TypeVar

import pytest
from google.protobuf.empty_pb2 import Empty
from pydantic import ValidationError
from quorate.plugin import Caller, Invalid, NodeApi, Rejected, RowEvent, keys
from quorate.plugin.advanced import SessionRef, UndeclaredFamilyError, WatchedEvent
from quorate.plugin.catalog import Catalog
from quorate.shards.watching.tokens import InvalidTokenError
from quorate.testing import InternalError, MemoryNode
from quorate.v1.batch_pb2 import BatchReply

NOTES = "sample.notes"
T = TypeVar("T")


def run(test: Awaitable[T]) -> T:
    """Run to the end; what waits for an event that never comes fails."""

    async def bounded() -> T:
        async with asyncio.timeout(10):
            return await test

    return asyncio.run(bounded())


@pytest.fixture
def node(catalog: Catalog) -> MemoryNode:
    return MemoryNode(catalog=catalog, shards={"sample": 4}, at_ms=1_000)


@pytest.fixture
def pb(sample: ModuleType) -> Any:
    return sample.pb


def owners(names: str, pb: Any) -> Any:
    return pb.WriteNotes(notes=[pb.WriteNote(owner=name) for name in names])


def test_ordered_commands_are_applied_one_after_the_other(node: MemoryNode, pb: Any) -> None:
    async def propose() -> list[Any]:
        ordered = node.ordered()
        said = [pb.WriteNote(owner="ada", text="hi"), pb.WriteNote(owner="bob", text="ho")]
        wrong = pb.WriteNote()
        futures = [ordered.propose(each, pb.Note) for each in (said[0], wrong, said[1])]
        found = await asyncio.gather(*futures, return_exceptions=True)
        await ordered.close()
        return list(found)

    first, wrong, second = run(propose())
    assert isinstance(wrong, Invalid)
    assert [first.text, second.text] == ["hi", "ho"]
    assert list(node.rows(NOTES)) == [keys.pack("ada"), keys.pack("bob")]


def test_a_command_is_validated_applied_and_answered(node: MemoryNode, pb: Any) -> None:
    api: NodeApi = node
    note = run(api.propose(pb.WriteNote(owner="ada", text="hi"), pb.Note))
    assert (note.owner, note.text) == ("ada", "hi")
    assert list(node.rows(NOTES)) == [keys.pack("ada")]
    assert [type(event) for event in node.events] == [RowEvent]
    with pytest.raises(Invalid, match="owner: must not be empty"):
        run(api.propose(pb.WriteNote(), pb.Note))
    assert len(node.proposals) == 1


def test_a_reply_is_passed_on_unparsed_if_bytes_are_asked_for(node: MemoryNode, pb: Any) -> None:
    content = run(node.propose(pb.WriteNote(owner="ada", text="hi"), bytes))
    assert pb.Note.FromString(content).text == "hi"
    with pytest.raises(Rejected, match="NOT_FOUND: bob"):
        run(node.propose(pb.EraseNote(owner="bob"), bytes))


def test_a_refusal_reaches_the_proposer(node: MemoryNode, pb: Any) -> None:
    with pytest.raises(Rejected, match="NOT_FOUND: ada"):
        run(node.propose(pb.EraseNote(owner="ada"), Empty))
    assert node.events == []


def test_a_handler_that_answers_nothing_is_answered_with_an_empty_reply(
    node: MemoryNode, pb: Any
) -> None:
    run(node.propose(pb.WriteNote(owner="ada"), pb.Note))
    assert run(node.propose(pb.EraseNote(owner="ada"), Empty)) == Empty()


def test_a_bug_reaches_the_proposer_with_its_command(catalog: Catalog, pb: Any) -> None:
    name = "kit_sample.v1.EraseNote"
    routes = {**catalog.routes, name: replace(catalog.routes[name], apply=lambda *_: 1 / 0)}  # type: ignore[arg-type]
    node = MemoryNode(catalog=replace(catalog, routes=routes))
    with pytest.raises(InternalError, match=f"{name} failed at index 1 with ZeroDivisionError"):
        run(node.propose(pb.EraseNote(owner="a"), Empty))


def test_a_reply_of_another_type_is_refused(node: MemoryNode, pb: Any) -> None:
    with pytest.raises(TypeError, match=r"answered with kit_sample\.v1\.Note; quorate"):
        run(node.propose(pb.WriteNote(owner="ada"), BatchReply))


def test_whoever_needs_no_reply_asks_for_none(node: MemoryNode, pb: Any) -> None:
    assert run(node.propose(pb.WriteNote(owner="ada"), Empty)) == Empty()


def test_a_batch_is_split_and_joined_in_request_order(node: MemoryNode, pb: Any) -> None:
    run(node.propose(pb.WriteNote(owner="c"), pb.Note))

    reply = run(node.propose(owners("abcdefgh", pb), BatchReply))

    assert reply.items == 8
    assert [(refusal.item, refusal.code) for refusal in reply.refusals] == [(2, "ALREADY_EXISTS")]
    answered = [pb.Note.FromString(each).owner for each in reply.replies]
    assert answered == ["a", "b", "", "d", "e", "f", "g", "h"]
    assert [revision.shard for revision in reply.revisions] == [0, 1, 2, 3]
    assert all(revision.revision >= 1 << 20 for revision in reply.revisions)


def test_a_share_that_is_refused_as_a_whole_refuses_its_items(catalog: Catalog, pb: Any) -> None:
    def refuse(txn: Any, command: Any) -> BatchReply:
        if txn.next_id("x") >> 48 == 1:
            raise Rejected("FULL", "no room")
        return BatchReply(items=len(command.notes))

    name = "kit_sample.v1.WriteNotes"
    routes = {**catalog.routes, name: replace(catalog.routes[name], apply=refuse)}
    node = MemoryNode(catalog=replace(catalog, routes=routes), shards={"sample": 2})

    reply = run(node.propose(owners("abcdefgh", pb), BatchReply))

    assert reply.items == 8
    assert 0 < len(reply.refusals) < 8
    assert {refusal.code for refusal in reply.refusals} == {"FULL"}


def test_an_empty_batch_is_answered(node: MemoryNode, pb: Any) -> None:
    assert run(node.propose(pb.WriteNotes(), BatchReply)) == BatchReply()


def test_an_item_that_repeats_a_key_is_refused_in_its_place(node: MemoryNode, pb: Any) -> None:
    reply = run(node.propose(owners("aba", pb), BatchReply))
    assert (reply.items, [refusal.item for refusal in reply.refusals]) == (3, [2])
    assert len(node.events) == 2


def test_a_proposal_of_an_earlier_term_is_refused(node: MemoryNode, pb: Any) -> None:
    leader = node.leader("sample", 2)
    run(node.propose(pb.WriteNote(owner="a"), pb.Note, if_leader=leader))
    assert node.elect("sample", 2) == replace(leader, term=2)
    with pytest.raises(Rejected, match="ABORTED: shard 2 of sample is led in term 2"):
        run(node.propose(pb.WriteNote(owner="b"), pb.Note, if_leader=leader))
    assert len(node.rows(NOTES)) == 1


def test_an_operation_of_a_session_is_carried_out_once(node: MemoryNode, pb: Any) -> None:
    ref = SessionRef(session=node.open_session(), sequence=1, lowest_unanswered=1)
    first = run(node.propose(pb.WriteNote(owner="a"), pb.Note, session=ref))
    again = run(node.propose(pb.WriteNote(owner="a"), pb.Note, session=ref))
    assert first == again
    assert len(node.events) == 1


def test_a_shard_that_is_unreadable_fails_alone(node: MemoryNode, pb: Any) -> None:
    run(node.propose(owners("abcdefgh", pb), BatchReply))
    api: NodeApi = node

    async def read(**how: Any) -> list[tuple[int, str, str]]:
        return [
            (
                each.shard,
                "".join(row.owner for row in each.rows),
                each.failure.code if each.failure else "",
            )
            async for each in api.read_shards(pb.ListNotes(), pb.Note, **how)
        ]

    whole = run(read())
    assert [shard for shard, _, _ in whole] == [0, 1, 2, 3]
    assert sorted("".join(rows for _, rows, _ in whole)) == list("abcdefgh")
    assert run(read(shards={2})) == [whole[2]]
    node.unreadable.add(("sample", 1))
    assert run(read()) == [whole[0], whole[2], whole[3], (1, "", "UNAVAILABLE")]
    with pytest.raises(Exception, match="sample/1 has no leader"):
        run(read(shards=[1]))
    with pytest.raises(Exception, match="sample/1 has no leader"):
        run(api.read(pb.ListNotes(), pb.Note))


def test_a_query_merges_the_shards_in_its_order(node: MemoryNode, pb: Any) -> None:
    run(node.propose(owners("hgfedcba", pb), BatchReply))

    async def listed(of: MemoryNode, min_revision: int = 0) -> str:
        query = of.query(pb.ListNotes(), pb.Note, min_revision=min_revision)
        return "".join([note.owner async for note in query])

    assert run(listed(node)) == "abcdefgh"
    # A number does not name one of several shards, which are read as they are then.
    assert run(listed(node, min_revision=1 << 40)) == "abcdefgh"
    with pytest.raises(TimeoutError, match="has not reached revision"):
        run(listed(MemoryNode(catalog=node.catalog, shards={"sample": 1}), min_revision=1 << 40))


def test_what_is_not_declared_is_named(node: MemoryNode, pb: Any) -> None:
    wrong: list[tuple[str, Awaitable[object]]] = [
        ("command google.protobuf.Empty", node.propose(Empty(), Empty)),
        ("query google.protobuf.Empty", anext(node.query(Empty(), Empty))),
        ("controller sample.none", node.run_controller("sample.none")),
    ]
    for named, call in wrong:
        with pytest.raises(LookupError, match=f"{named} is not declared"):
            run(_awaited(call))
    with pytest.raises(UndeclaredFamilyError, match=r"no column family sample\.sizes with a row"):
        run(_awaited(anext(node.watch("sample.sizes"))))
    with pytest.raises(LookupError, match=r"service no\.Such is not declared"):
        node.servicer("no.Such")
    with pytest.raises(LookupError, match="has the model int"):
        node.config(int)  # type: ignore[type-var]


async def _awaited(call: Awaitable[object]) -> object:
    return await call


def test_deadlines_are_proposed_when_they_have_come_in_batches(node: MemoryNode, pb: Any) -> None:
    notes = [pb.WriteNote(owner=name, ttl_ms=10) for name in "abcdefgh"]
    run(node.propose(pb.WriteNotes(notes=notes), BatchReply))

    run(node.advance(9))
    assert len(node.proposals) == 1
    run(node.advance(1))

    due: list[Any] = node.proposals[1:]
    assert all(isinstance(each, pb.ExpireNotes) and len(each.keys) <= 2 for each in due)
    assert sorted(key for each in due for key in each.keys) == [keys.pack(n) for n in "abcdefgh"]
    assert (node.rows(NOTES), node.now_ms) == ({}, 1_010)
    with pytest.raises(ValueError, match="never runs backwards"):
        run(node.advance(-1))


def test_a_deadline_whose_handler_does_nothing_is_proposed_once(catalog: Catalog, pb: Any) -> None:
    name = "kit_sample.v1.ExpireNotes"
    routes = {**catalog.routes, name: replace(catalog.routes[name], apply=lambda *_: None)}
    node = MemoryNode(catalog=replace(catalog, routes=routes))
    run(node.propose(pb.WriteNote(owner="a", ttl_ms=1), pb.Note))
    run(node.advance(5))
    assert len(node.proposals) == 2


def test_a_new_leader_gives_liveness_one_more_ttl(catalog: Catalog, pb: Any) -> None:
    def beat(txn: Any, command: Any) -> None:
        txn.schedule("sample.expiry", b"a", txn.proposed_at_ms + 10, ttl_ms=10)

    name = "kit_sample.v1.EraseNote"
    routes = {**catalog.routes, name: replace(catalog.routes[name], apply=beat)}
    timers = {"sample.expiry": replace(catalog.timers["sample.expiry"], liveness=True)}
    node = MemoryNode(catalog=replace(catalog, routes=routes, timers=timers), shards={"sample": 1})
    run(node.propose(pb.EraseNote(owner="a"), Empty))
    run(node.advance(5))
    node.elect("sample")

    run(node.advance(9))
    assert len(node.proposals) == 1
    run(node.advance(1))
    assert len(node.proposals) == 2


def test_a_watch_lists_then_follows_without_a_gap(node: MemoryNode, pb: Any) -> None:
    async def scenario() -> list[WatchedEvent]:
        await node.propose(pb.WriteNote(owner="a"), pb.Note)
        watch = node.watch(NOTES)
        found = [await anext(watch), await anext(watch)]
        pending = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        await node.propose(pb.WriteNote(owner="b"), pb.Note)
        await node.propose(pb.EraseNote(owner="a"), Empty)
        found += [await pending, await anext(watch)]
        again = node.watch(NOTES, token=found[1].token)
        assert [await anext(again), await anext(again)] == found[2:]
        return found

    row, bookmark, written, erased = run(scenario())
    assert [_key(event) for event in (row, bookmark, written, erased)] == ["a", "", "b", "a"]
    assert isinstance(erased.event, RowEvent)
    assert erased.event.value is None
    assert erased.event.previous
    assert bookmark.token


def _key(watched: WatchedEvent) -> str:
    return str(keys.unpack(watched.event.key)[0]) if isinstance(watched.event, RowEvent) else ""


def test_a_token_within_a_command_gives_its_other_events_again(catalog: Catalog, pb: Any) -> None:
    async def scenario() -> list[str]:
        node = MemoryNode(catalog=catalog, shards={"sample": 1})
        watch = node.watch(NOTES)
        await anext(watch)
        await node.propose(owners("ab", pb), BatchReply)
        first, last = await anext(watch), await anext(watch)
        again = node.watch(NOTES, token=first.token)
        found = [_key(await anext(again)), _key(await anext(again))]
        await node.propose(pb.WriteNote(owner="c"), pb.Note)
        return [*found, _key(await anext(node.watch(NOTES, token=last.token)))]

    assert run(scenario()) == ["a", "b", "c"]


def test_a_watch_is_of_one_prefix(node: MemoryNode, pb: Any) -> None:
    async def scenario() -> list[str]:
        await node.propose(owners("ab", pb), BatchReply)
        watch = node.watch(NOTES, prefix=keys.pack("b"))
        return [_key(await anext(watch)), _key(await anext(watch))]

    assert run(scenario()) == ["b", ""]


def test_a_watcher_that_missed_history_is_told_to_list_again(
    node: MemoryNode, catalog: Catalog, pb: Any
) -> None:
    async def scenario() -> None:
        watch = node.watch(NOTES)
        bookmark = await anext(watch)
        await node.propose(pb.WriteNote(owner="a"), pb.Note)
        node.forget_history("sample")
        other = MemoryNode(catalog=catalog, shards={"sample": 4})
        for late in (
            watch,
            node.watch(NOTES, token=bookmark.token),
            other.watch(NOTES, token=bookmark.token),
        ):
            assert [event.resync async for event in late] == [True]
        with pytest.raises(InvalidTokenError):
            await anext(other.watch(NOTES, token=b"x"))

    run(scenario())


def test_caches_controllers_configuration_and_extensions(
    catalog: Catalog, sample: ModuleType, pb: Any
) -> None:
    node = MemoryNode(catalog=catalog, config={"sample": {"banned": "eve"}})
    run(node.propose(owners("ab", pb), BatchReply))
    run(node.propose(pb.WriteNote(owner="eve"), pb.Note))
    assert node.cache(sample.Texts).by_key == node.rows(NOTES)

    run(node.run_controller("sample.note_erasing"))

    assert sorted(node.cache(sample.Texts).by_key) == [keys.pack("a"), keys.pack("b")]
    assert node.extensions("sample.words", str) == {"greeting": "hello"}
    assert node.extensions("no.such", str) == {}
    assert node.config(sample.SampleConfig).banned == "eve"


def test_wrong_configuration_is_refused(catalog: Catalog) -> None:
    with pytest.raises(ValidationError, match="colour"):
        MemoryNode(catalog=catalog, config={"sample": {"colour": "red"}})
    with pytest.raises(LookupError, match="config is given for other"):
        MemoryNode(catalog=catalog, config={"other": {}})
    with pytest.raises(LookupError, match="shards are given for other"):
        MemoryNode(catalog=catalog, shards={"other": 2})


def test_a_servicer_runs_without_sockets(node: MemoryNode) -> None:
    service = node.servicer("kit_sample.v1.NoteService")
    assert run(service.write("ada", "hi")).owner == "ada"
    assert node.metrics == {'quorate_sample_notes_total{owner="ada"}': 1}
    assert node.servicer("kit_sample.v1.NoteService") is service


def test_metrics_are_held_to_their_declaration(node: MemoryNode) -> None:
    node.observe("quorate_sample_note_bytes", 3)
    node.observe("quorate_sample_note_bytes", 4)
    assert node.metrics == {
        "quorate_sample_note_bytes_count": 2,
        "quorate_sample_note_bytes_sum": 7,
    }
    with pytest.raises(LookupError, match="metric none is not declared"):
        node.count("none")
    with pytest.raises(ValueError, match="is a histogram: use observe"):
        node.count("quorate_sample_note_bytes")
    with pytest.raises(ValueError, match=r"has the labels \['owner'\], not \[\]"):
        node.count("quorate_sample_notes_total")
    with pytest.raises(ValueError, match="a counter never falls"):
        node.count("quorate_sample_notes_total", -1, owner="a")


def test_lifespans_surround_the_node(node: MemoryNode, sample: ModuleType) -> None:
    sample.OPENED.clear()

    async def scenario() -> None:
        async with node:
            assert sample.OPENED == ["in"]

    run(scenario())
    assert sample.OPENED == ["in", "out"]


@pytest.fixture
def mirroring(catalog: Catalog) -> Catalog:
    """Notes are mirrored into `metadata`, where `ExpireNotes` reads them."""
    name = "kit_sample.v1.ExpireNotes"

    def look(txn: Any, command: Any) -> BatchReply:
        rows = [txn.get(NOTES, key) or b"" for key in command.keys]
        return BatchReply(items=len(rows), replies=rows)

    reader = replace(catalog.routes[name], group="metadata", reads=frozenset({NOTES}), apply=look)
    return replace(
        catalog,
        families={**catalog.families, NOTES: replace(catalog.families[NOTES], mirrored=True)},
        commands={**catalog.commands, name: replace(catalog.commands[name], group="metadata")},
        routes={**catalog.routes, name: reader},
    )


def test_mirrored_rows_reach_handlers_of_other_groups_by_a_mirror(
    mirroring: Catalog, pb: Any
) -> None:
    async def scenario() -> None:
        node = MemoryNode(catalog=mirroring)
        key = keys.pack("a")

        async def looked() -> bytes:
            reply = await node.propose(pb.ExpireNotes(keys=[key]), BatchReply)
            return bytes(reply.replies[0])

        await node.propose(pb.WriteNote(owner="a"), pb.Note)
        row = node.rows(NOTES)[key]
        assert await looked() == row
        node.mirrors_lag = True
        await node.propose(pb.EraseNote(owner="a"), Empty)
        assert await looked() == row
        node.mirror()
        assert await looked() == b""

    run(scenario())


def test_a_mirrored_row_has_the_revision_of_its_source(mirroring: Catalog, pb: Any) -> None:
    node = MemoryNode(catalog=mirroring)
    run(node.propose(pb.WriteNote(owner="a"), pb.Note))
    [metadata] = node.replicas.of("metadata")
    found = [row for shard in node.replicas.of("sample") for row in shard.rows(NOTES)]
    assert metadata.rows(NOTES) == found


def test_a_session_expires_by_logical_time(catalog: Catalog, pb: Any) -> None:
    node = MemoryNode(catalog=catalog, shards={"sample": 1})
    session = node.open_session(ttl_ms=100)

    def write(sequence: int) -> Any:
        ref = SessionRef(session=session, sequence=sequence, lowest_unanswered=1)
        return run(node.propose(pb.WriteNote(owner=str(sequence)), pb.Note, session=ref))

    run(node.advance(100))
    write(1)
    run(node.advance(100))
    write(2)
    run(node.advance(101))
    with pytest.raises(Rejected, match="SESSION_EXPIRED"):
        write(3)
    assert list(node.rows(NOTES)) == [keys.pack("1"), keys.pack("2")]


def test_a_named_session_is_the_same_each_time(node: MemoryNode, pb: Any) -> None:
    session = node.open_session("load 7")
    run(node.advance(1 << 40))
    assert node.open_session("load 7") == session
    assert node.open_session("load 8") != session


def test_an_answer_that_is_too_large_to_keep_is_given_once(node: MemoryNode, pb: Any) -> None:
    ref = SessionRef(session=node.open_session(), sequence=1, lowest_unanswered=1)
    long = pb.WriteNote(owner="a", text="x" * 5_000)
    assert run(node.propose(long, pb.Note, session=ref)).owner == "a"
    assert run(node.propose(long, pb.Note, session=ref)) == pb.Note()
    batch = pb.WriteNotes(notes=[pb.WriteNote(owner="b", text="x" * 5_000)])
    ref = replace(ref, sequence=2)
    assert run(node.propose(batch, BatchReply, session=ref)).items == 1
    assert run(node.propose(batch, BatchReply, session=ref)) == BatchReply()
    assert len(node.events) == 2


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"key_bytes": 9}, "key of 11 bytes"),
        ({"key_bytes": 9, "value_bytes": 20}, "at most 20 allowed"),
        ({"key_bytes": 9, "value_bytes": 9, "command_bytes": 20}, "at most 20 allowed"),
        ({"batch_items": 1}, "a batch of 2 items"),
    ],
)
def test_what_is_over_the_limits_is_invalid(
    catalog: Catalog, pb: Any, limits: dict[str, object], said: str
) -> None:
    node = MemoryNode(catalog=catalog, limits=limits)
    text = "x" * 30 if "value_bytes" in limits else ""
    note = pb.WriteNote(owner="ada okono", text=text)
    batch = "batch_items" in limits
    command = pb.WriteNotes(notes=[note, note]) if batch else note
    with pytest.raises(Invalid, match=said):
        run(node.propose(command, BatchReply if batch else pb.Note))
    assert node.proposals == []


def test_a_change_of_its_family_wakes_a_controller(catalog: Catalog, pb: Any) -> None:
    name = "sample.note_erasing"
    waking = replace(catalog.controllers[name], wake_on=(NOTES,))
    node = MemoryNode(catalog=replace(catalog, controllers={name: waking}))

    async def scenario() -> None:
        assert not node.woken
        await node.propose(pb.WriteNote(owner="banned"), pb.Note)
        assert node.woken == (name,)
        await node.run_woken()
        assert not node.rows(NOTES)
        assert not list(node.woken)

    run(scenario())


def test_a_controller_that_wakes_itself_for_ever_is_found(catalog: Catalog, pb: Any) -> None:
    async def write(api: NodeApi, _: Any) -> None:
        await api.propose(pb.WriteNote(owner=str(next(numbers))), pb.Note)

    numbers = count()

    name = "sample.note_erasing"
    waking = replace(catalog.controllers[name], wake_on=(NOTES,), run_once=write)
    node = MemoryNode(catalog=replace(catalog, controllers={name: waking}))
    run(node.propose(pb.WriteNote(owner="a"), pb.Note))
    with pytest.raises(RuntimeError, match=r"sample\.note_erasing is woken again"):
        run(node.run_woken())


def admitting(catalog: Catalog, admit: Any) -> MemoryNode:
    name = "kit_sample.v1.WriteNote"
    command = replace(catalog.commands[name], admit=admit)
    return MemoryNode(catalog=replace(catalog, commands={**catalog.commands, name: command}))


def test_a_command_is_admitted_as_on_a_node(catalog: Catalog, sample: ModuleType, pb: Any) -> None:
    seen: list[Caller] = []

    async def admit(node: NodeApi, caller: Caller, note: Any) -> Any:
        seen.append(caller)
        banned = node.config(sample.SampleConfig).banned
        if note.owner == banned:
            raise Rejected("BANNED", note.owner)
        return None if note.text else pb.WriteNote(owner=note.owner, text="by default")

    node = admitting(catalog, admit)
    stored = run(node.execute(pb.WriteNote(owner="ada"), pb.Note, caller=Caller(name="them")))
    assert stored.text == "by default"
    assert run(node.propose(pb.WriteNote(owner="ben", text="own"), pb.Note)).text == "own"
    with pytest.raises(Rejected, match="BANNED"):
        run(node.execute(pb.WriteNote(owner="banned"), pb.Note))
    assert seen == [Caller(name="them"), Caller(via="service", node=True), Caller()]
    assert len(node.proposals) == 2


def test_a_client_sends_no_internal_command(node: MemoryNode, pb: Any) -> None:
    with pytest.raises(Invalid, match="internal"):
        run(node.execute(pb.EraseNote(owner="ada"), Empty))


def test_admit_leaves_what_it_is_given_as_it_is(catalog: Catalog, pb: Any) -> None:
    async def admit(_: NodeApi, __: Caller, note: Any) -> None:
        note.text = "changed in place"

    with pytest.raises(Rejected, match="in place of returning another"):
        run(admitting(catalog, admit).execute(pb.WriteNote(owner="ada"), pb.Note))
