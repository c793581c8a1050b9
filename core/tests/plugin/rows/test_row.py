"""A row class: a typed front to its message."""

from __future__ import annotations

from asyncio import run
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from quorate.client import InvalidError
from quorate.plugin import Invalid
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.plugin.problems import PluginErrors
from quorate.plugin.rows import carry_out, message_of, resource_of, row_of
from quorate.testing import MemoryClient, MemoryNode

if TYPE_CHECKING:
    from core.tests.plugin.rows.conftest import Written

SHELF = """
class Genre(Choice):
    NOVEL = 1
    POEM = 2

class Loan(Row):
    reader: Annotated[str, Text(8)]
    days: Annotated[int, Range(1, 30)] = 0

@app.resource("books")
class Book(Row):
    shelf: Key[Name]
    number: Key[int]
    genre: Filter[Genre]
    isbn: Annotated[str, Pattern("[0-9]{3}", "123")] = ""
    pages: int | None = None
    weight: float = 0.0
    cover: Annotated[bytes, Most(4)] = b""
    authors: Annotated[list[Name], Most(2)] = []
    labels: dict[Name, str] = {}
    loan: Loan | None = None
    loans: Internal[list[Loan]] = []

@Book.verb(level=2)
def lend(txn: Txn, book: Book, *, reader: Annotated[str, Text(8)], days: int | None = None) -> Book:
    book.loans.append(Loan(reader=reader, days=days or 0))
    return book
"""


BOOK = """
@app.resource("books")
class Book(Row):
    name: Key[Name]
"""


@pytest.fixture
def shelf(written: Written) -> Any:
    written.say(SHELF)
    written.generate()
    return written.module()


def book(shelf: Any, **more: Any) -> Any:
    return shelf.Book(**{"shelf": "a", "number": 1, "genre": shelf.Genre.NOVEL, **more})


def test_fields_are_those_of_the_message(shelf: Any) -> None:
    made = book(shelf, pages=0, labels={"of": "ada"}, loan=shelf.Loan(reader="bob"))
    assert (made.shelf, made.number, made.genre) == ("a", 1, shelf.Genre.NOVEL)
    assert (made.pages, made.weight, made.cover, made.authors) == (0, 0.0, b"", [])
    assert made.loan is not None
    assert (made.loan.reader, made.loans) == ("bob", [])

    made.authors.append("eve")
    made.labels["in"] = "oslo"
    made.loan.days = 3
    made.pages = made.loan = None
    made.loans = [shelf.Loan(reader="ada", days=2)]
    made.loans[0].days = 4
    message = message_of(made)

    assert (list(message.authors), dict(message.labels)) == (["eve"], {"of": "ada", "in": "oslo"})
    assert not message.HasField("pages")
    assert not message.HasField("loan")
    assert message.loans[0].days == 4
    assert row_of(shelf.Book, type(message).FromString(message.SerializeToString())) == made
    assert repr(made).startswith("Book(shelf='a', number=1, genre=<Genre.NOVEL: 1>")


def test_wrong_names_and_missing_ones_are_refused(shelf: Any) -> None:
    with pytest.raises(TypeError, match="Book has no field 'gerne': did you mean genre"):
        book(shelf, gerne=1)
    with pytest.raises(TypeError, match="Loan needs reader"):
        shelf.Loan(days=1)
    with pytest.raises(AttributeError):
        book(shelf).gerne = 1
    with pytest.raises(TypeError, match="must be real number"):
        book(shelf).weight = "heavy"


WRONG = {
    "genre": 9,
    "isbn": "12",
    "cover": b"12345",
    "authors": ["a", "b", "c"],
    "authors[0]": ["a b"],
    "labels['a b']": {"a b": ""},
    "loan.days": "Loan(reader='ada', days=31)",
}


@pytest.mark.parametrize("field", WRONG)
def test_checks_follow_from_the_types(shelf: Any, field: str) -> None:
    value: Any = WRONG[field]
    if isinstance(value, str) and value.startswith("Loan"):
        value = shelf.Loan(reader="ada", days=31)
    name = field.partition(".")[0].partition("[")[0]
    made = message_of(book(shelf, **{name: value}))
    check = resource_of(shelf.Book).check
    assert check is not None

    with pytest.raises(Invalid) as refused:
        check(made, "rows[0].")

    assert refused.value.field == f"rows[0].{field}"


def test_a_choice_of_a_newer_release_is_kept_and_shown(shelf: Any) -> None:
    message = message_of(book(shelf))
    message.genre = 7
    read = row_of(shelf.Book, message)
    assert (read.genre.name, int(read.genre)) == ("UNKNOWN_7", 7)
    assert message_of(read).genre == 7


def test_a_row_of_a_newer_release_is_kept_whole(shelf: Any, written: Written) -> None:
    """It is read, changed by a verb and by an update, and written back with what is unknown."""
    newer = newer_message(resource_of(shelf.Book).row)
    node = node_of(written)

    async def go() -> bytes:
        books = MemoryClient(node).records(resource_of(shelf.Book))
        stored = newer(shelf="a", number=1, genre=1, added="new", loan={"reader": "eve"})
        stored.loan.added = "within"
        given = resource_of(shelf.Book).row.FromString(stored.SerializeToString())
        await books.create(given)
        lend: Any = books._item_of("Lend")
        await books.do("Lend", lend(shelf="a", number=1, reader="ada"))
        await books.update(resource_of(shelf.Book).row(shelf="a", number=1, isbn="123"))
        found: Any = await books.get("a", 1)
        return bytes(found.SerializeToString())

    read = newer.FromString(run(go()))
    assert (read.added, read.isbn) == ("new", "123")
    assert (read.loan.added, [each.reader for each in read.loans]) == ("within", ["ada"])


def test_a_verb_checks_its_parameters_and_has_its_level(shelf: Any, written: Written) -> None:
    node = node_of(written)
    assert node.catalog.declared["shelves"].level == 2

    async def go() -> None:
        books = MemoryClient(node).records(resource_of(shelf.Book))
        await books.create(message_of(book(shelf)))
        lend: Any = books._item_of("Lend")
        with pytest.raises(InvalidError, match="reader: must have at most 8 bytes"):
            await books.do("Lend", lend(shelf="a", number=1, reader="somebody else"))

    run(go())


def test_code_that_is_not_generated_is_a_problem_with_its_repair(written: Written) -> None:
    written.say(SHELF)
    written.generate()
    written.say(SHELF.replace("    pages: int", "    chapters: int = 0\n    pages: int"))

    with pytest.raises(PluginErrors) as refused:
        node_of(written)

    [problem] = refused.value.exceptions
    assert "the generated code lacks Book.chapters; run `quorate plugin protos`" in str(problem)
    assert "plugin.py:" in str(problem)


DECLARED = {
    "one family twice": (
        BOOK + BOOK.replace("class Book", "class Tome"),
        "Tome and Book both are the family shelves.books; give one of them another plural",
    ),
    "a parent below": (
        BOOK.replace('"books"', '"books", parent=Shelf').replace(
            "\n@", "\nclass Shelf(Row):\n    a: Key[Name]\n@", 1
        ),
        "Book has a parent that is no resource yet; decorate the parent above it",
    ),
    "a tenant that is not named": (
        BOOK.replace('"books"', '"books", parent=Tenant'),
        "Book has the parent Tenant and no `tenant: Key[Name]`; begin its fields with it",
    ),
    "a limit of nobody": (
        BOOK.replace('"books"', '"books", limit=True'),
        "Book has limit=True, and its rows belong to no tenant; write limit=<number",
    ),
    "a life without a field": (
        BOOK.replace('"books"', '"books", ttl="life_ms"'),
        "Book has ttl='life_ms', which is no number of its rows; name a field",
    ),
}


@pytest.mark.parametrize("wrong", DECLARED)
def test_a_wrong_resource_is_a_problem_with_its_line(written: Written, wrong: str) -> None:
    source, reason = DECLARED[wrong]
    written.say(BOOK.replace("class Book", "class Tome") + BOOK.replace('"books"', '"others"'))
    written.generate()
    written.say(source)

    with pytest.raises(PluginErrors) as refused:
        node_of(written)

    told = [str(each) for each in refused.value.exceptions]
    assert any(reason in each for each in told), told


def node_of(written: Written) -> MemoryNode:
    plugin = Plugin(
        name="shelves", distribution="acme-shelves", version="1", module=written.module()
    )
    return MemoryNode(catalog=build([plugin]))


def newer_message(kind: Any) -> Any:
    """Return the message as a newer release has it: each message has a field more."""
    pool = DescriptorPool()
    file = FileDescriptorProto.FromString(kind.DESCRIPTOR.file.serialized_pb)
    for name in file.dependency:
        for each in _with_imports(kind.DESCRIPTOR.file, name):
            pool.AddSerializedFile(each)
    for message in file.message_type:
        if message.name in ("Book", "Loan"):
            message.field.add(
                name="added",
                number=100,
                type=FieldDescriptorProto.TYPE_STRING,
                label=FieldDescriptorProto.LABEL_OPTIONAL,
            )
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(kind.DESCRIPTOR.full_name))


def _with_imports(file: Any, name: str) -> list[bytes]:
    found = next(each for each in file.dependencies if each.name == name)
    return [
        *(each for inner in found.dependencies for each in _with_imports(found, inner.name)),
        found.serialized_pb,
    ]


def test_parameters_of_a_verb_are_not_taken_by_position() -> None:
    def lend(txn: object, row: object, *, days: int) -> None: ...

    given: Any = carry_out
    with pytest.raises(TypeError, match="parameters of lend by their names"):
        run(given(None, None, lend, [object()], 7))
