"""Rows that belong to others: they need them, are counted, and are deleted with them in steps."""

from __future__ import annotations

from asyncio import run
from typing import Any

import pytest
from quorate.client import RejectedError
from quorate.plugin import RowEvent
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.plugin.resource import removing
from quorate.plugin.rows import message_of, resource_of
from quorate.testing import MemoryClient, MemoryNode

from core.tests.plugin.rows.conftest import Written, written

__all__ = ["written"]

LIBRARY = """
@app.resource("houses")
class House(Row):
    house: Key[Name]

@app.resource("rooms", parent=House, limit=2)
class Room(Row):
    house: Key[Name]
    room: Key[Name]

@app.resource("books", parent=Room, ttl="lives_ms", history=3)
class Book(Row):
    house: Key[Name]
    room: Key[Name]
    book: Key[Name]
    title: str = ""
    lives_ms: int = 0

@Book.verb()
def rename(txn: Txn, book: Book, *, title: str) -> Book:
    book.title = title
    return book
"""


class Library:
    """A node with a house of two rooms, and clients of all."""

    def __init__(self, written: Written) -> None:
        written.say(LIBRARY)
        written.generate()
        self.module = written.module()
        plugin = Plugin(name="shelves", distribution="a", version="1", module=self.module)
        self.node = MemoryNode(catalog=build([plugin]), shards={"shelves": 2}, at_ms=1_000)
        q = MemoryClient(self.node)
        self.houses: Any = q.records(resource_of(self.module.House))
        self.rooms: Any = q.records(resource_of(self.module.Room))
        self.books: Any = q.records(resource_of(self.module.Book))
        states = self.node.catalog.declared["shelves"].resources[-1]
        self.states: Any = q.records(states)

    async def build(self, books: int = 2) -> None:
        await self.houses.create(message_of(self.module.House(house="h")))
        for room in ("r", "s"):
            await self.rooms.create(message_of(self.module.Room(house="h", room=room)))
        rows = [self.book(str(number)) for number in range(books)]
        reply = await self.books.create(rows)
        assert not reply.refusals

    def book(self, name: str, **more: Any) -> Any:
        return message_of(self.module.Book(house="h", room="r", book=name, **more))


@pytest.fixture
def library(written: Written) -> Library:
    return Library(written)


def test_a_parent_must_be_there_and_bounds_its_children(library: Library) -> None:
    async def go() -> None:
        with pytest.raises(RejectedError, match="NOT_FOUND: there is no room r of h: create it"):
            await library.books.put(library.book("a"))
        await library.build()
        third = message_of(library.module.Room(house="h", room="t"))
        with pytest.raises(RejectedError, match="LIMIT_REACHED: house h has 2 of its 2 rooms"):
            await library.rooms.create(third)
        await library.rooms.delete("h", "s")
        await library.rooms.create(third)

    run(go())


def test_children_go_with_their_parent_at_once_where_they_are_few(library: Library) -> None:
    async def go() -> None:
        await library.build()
        await library.houses.delete("h")
        assert await rows_of(library) == (0, 0, 0, 0)
        # Nothing is counted any longer.
        await library.build()

    run(go())


def test_many_children_go_in_steps_and_take_nothing_new(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removing, "AT_ONCE", 3)

    async def go() -> None:
        await library.build(books=8)
        await library.houses.delete("h")
        [house] = [each async for each in library.houses.list()]
        assert house.deleting_at_ms == 1_000
        for write, row in (
            (library.books.put, library.book("new")),
            (library.books.put, library.book("4")),
            (library.rooms.create, message_of(library.module.Room(house="h", room="x"))),
        ):
            with pytest.raises(RejectedError, match="house h is being deleted: it takes nothing"):
                await write(row)
        with pytest.raises(RejectedError, match="being deleted: wait until it is gone"):
            await library.houses.create(message_of(library.module.House(house="h")))
        # It is no fault to delete it again.
        await library.houses.delete("h")
        steps = 0
        while any(await rows_of(library)):
            before = sum(await rows_of(library))
            await library.node.advance(10)
            steps += 1
            assert 0 < before - sum(await rows_of(library)) <= 4
        assert steps > 2
        await library.build()

    run(go())


def test_a_row_lives_from_its_last_write_and_ends_with_an_event(library: Library) -> None:
    async def go() -> None:
        await library.build(books=0)
        rename: Any = library.books._item_of("Rename")
        await library.books.create(library.book("a", lives_ms=1_000))
        await library.node.advance(900)
        await library.books.do("Rename", rename(house="h", room="r", book="a", title="b"))
        await library.node.advance(900)
        assert await library.books.get("h", "r", "a") is not None
        before = len(library.node.events)
        await library.node.advance(200)
        assert await library.books.get("h", "r", "a") is None
        told: list[Any] = [
            each for each in library.node.events[before:] if not isinstance(each, RowEvent)
        ]
        assert [each.message.row.title for each in told] == ["b"]
        await library.books.create(library.book("a", lives_ms=0))
        await library.node.advance(10**9)
        assert await library.books.get("h", "r", "a") is not None

    run(go())


def test_the_last_states_are_kept_and_go_with_the_row(library: Library) -> None:
    async def go() -> None:
        await library.build(books=0)
        for title in "abcde":
            await library.books.put(library.book("a", title=title))
        states = [(each.number, each.state.title) async for each in library.states.list(house="h")]
        assert states == [(3, "c"), (4, "d"), (5, "e")]
        one = await library.states.get("h", "r", "a", 4)
        assert one.state.title == "d"
        await library.books.delete("h", "r", "a")
        assert await library.states.get("h", "r", "a", 4) is None

    run(go())


async def rows_of(library: Library) -> tuple[int, ...]:
    return (
        await library.houses.count(),
        await library.rooms.count(),
        await library.books.count(),
        len([each async for each in library.states.list()]),
    )
