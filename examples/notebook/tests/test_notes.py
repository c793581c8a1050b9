"""One resource from its declaration to the command line, over shards in memory."""

from __future__ import annotations

from asyncio import run
from collections.abc import Iterator

import pytest
from quorate.client import InvalidError, RejectedError
from quorate.plugin import Rejected
from quorate.testing import Cli, MemoryClient, MemoryNode, MemoryTxn
from quorate_notebook.notes import NOTES, append
from quorate_notebook.v1.notes_pb2 import NOTE_COLOR_GREEN, Addition, Note, UpdateNotes

MILK = Note(name="milk", text="two bottles", color=NOTE_COLOR_GREEN)
BREAD = Note(name="bread", text="one loaf")


@pytest.fixture
def node() -> MemoryNode:
    return MemoryNode(["notebook"], shards={"notebook": 4}, at_ms=1_000)


@pytest.fixture
def cli(node: MemoryNode) -> Iterator[Cli]:
    with Cli(node) as cli:
        yield cli


def test_the_verb_alone() -> None:
    txn = MemoryTxn(at_ms=1_000, plugin="notebook")

    with pytest.raises(Rejected, match="NOT_FOUND: there is no note milk"):
        append(txn, Addition(name="milk", text="of a litre"))


def test_notes_through_the_client(node: MemoryNode) -> None:
    async def keep_notes() -> None:
        notes = MemoryClient(node).records(NOTES)

        made = await notes.create(MILK)
        assert (made.created_at_ms, made.updated_at_ms) == (1_000, 1_000)
        with pytest.raises(RejectedError, match="note milk already exists"):
            await notes.create(MILK)
        with pytest.raises(InvalidError, match=r"^text: must not be empty"):
            await notes.put(Note(name="milk"))
        reply = await notes.create([MILK, BREAD, Note(name="eggs", text="six")])
        assert [(each.item, each.code) for each in reply.refusals] == [(0, "ALREADY_EXISTS")]

        longer = await notes.do("Append", Addition(name="milk", text="of a litre"), Note)
        assert longer.text == "two bottles of a litre"
        node.now_ms = 2_000
        changed = await notes.update(Note(name="milk", text="none"), fields=["text", "color"])
        assert changed == Note(name="milk", text="none", created_at_ms=1_000, updated_at_ms=2_000)
        put = await notes.put(MILK)
        assert (put.text, put.created_at_ms) == ("two bottles", 1_000)

        assert await notes.get("milk") == put
        assert await notes.get("tea") is None
        found = await notes.get(["milk", "tea", "bread"])
        assert [each and each.name for each in found] == ["milk", None, "bread"]
        assert [each.name async for each in notes.list(page_size=2)] == ["bread", "eggs", "milk"]
        assert [each.name async for each in notes.list(color=NOTE_COLOR_GREEN)] == ["milk"]
        assert [each.name async for each in notes.list(prefix="e")] == ["eggs"]
        assert await notes.count() == 3
        assert await notes.count(color=NOTE_COLOR_GREEN) == 1

        await notes.delete("milk")
        with pytest.raises(RejectedError, match="NOT_FOUND: there is no note milk"):
            await notes.delete("milk")
        await notes.delete("milk", missing_ok=True)
        gone = await notes.delete(["milk", "bread"])
        assert [(each.item, each.code) for each in gone.refusals] == [(0, "NOT_FOUND")]
        assert await notes.count() == 1

    run(keep_notes())


def test_the_service_refuses_items_in_their_places(node: MemoryNode) -> None:
    run(node.servicer("quorate_notebook.v1.NoteService").Create(_notes(MILK), None))

    update = UpdateNotes(notes=[Note(name="milk", text="one"), Note(name="a b"), Note(name="tea")])
    reply = run(node.servicer("quorate_notebook.v1.NoteService").Update(update, None))

    assert [(each.item, each.code) for each in reply.refusals] == [
        (1, "INVALID_ARGUMENT"),
        (2, "NOT_FOUND"),
    ]
    assert reply.refusals[0].message.startswith("notes[1].name: ")
    assert Note.FromString(reply.replies[0]).text == "one"


def test_notes_on_the_command_line(cli: Cli) -> None:
    made = cli.run("notebook", "note", "create", "milk", "--text", "two", "--color", "green")
    assert (made.exit_code, made.rows[0]["color"]) == (0, "green")
    assert cli.run("notebook", "note", "create", "milk", "--text", "two").exit_code != 0
    cli.run("notebook", "note", "create", "milk", "--text", "three", "--replace")
    cli.run("notebook", "note", "append", "milk", "--text", "bottles")
    cli.run("notebook", "note", "update", "milk", "--color", "yellow")

    [shown] = cli.run("notebook", "note", "get", "milk").rows
    assert (shown["text"], shown["color"]) == ("three bottles", "yellow")
    assert not cli.run("notebook", "note", "list", "--color", "green").rows
    assert len(cli.run("notebook", "note", "list", "--color", "yellow").rows) == 1
    wrong = cli.run("notebook", "note", "update", "milk", "--color", "red")
    assert wrong.exit_code == 2
    assert "--color" in wrong.error
    cli.run("notebook", "note", "update", "milk", "--text", "one", "--clear", "color")
    assert cli.run("notebook", "note", "get", "milk").rows[0]["color"] == "unspecified"
    assert cli.run("notebook", "note", "delete", "milk").exit_code == 0
    assert cli.run("notebook", "note", "get", "milk").error.startswith("NOT_FOUND")


def test_notes_are_a_table(node: MemoryNode) -> None:
    table = node.catalog.extensions["spark.tables"]["notebook.notes"]
    assert [each.name for each in table.columns] == ["name", "text", "color"]  # type: ignore[attr-defined]  # a Table
    item = table.to_item("milk", "two bottles", "GREEN")  # type: ignore[attr-defined]  # a Table
    assert item == MILK
    row = item.SerializeToString()
    assert table.from_row(b"", row) == ("milk", "two bottles", "GREEN")  # type: ignore[attr-defined]  # a Table


def _notes(*notes: Note) -> object:
    from quorate_notebook.v1.notes_pb2 import CreateNotes

    return CreateNotes(notes=notes)
