"""What a type checker finds of the mistakes of authors and brokers: all of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from core.tests.plugin.rows.conftest import Written

CORE = Path(__file__).parents[4] / "core" / "src"

SHELF = """
class Genre(Choice):
    NOVEL = 1

class Loan(Row):
    reader: Name

@app.resource("books")
class Book(Row):
    shelf: Key[Name]
    number: Key[int]
    genre: Filter[Genre]
    title: Annotated[str, Text(64)] = ""
    loans: Internal[list[Loan]] = []

@Book.verb()
def lend(txn: Txn, book: Book, *, loans: list[Loan], since: int | None = None) -> Book:
    book.loans = [*book.loans, *loans]
    return book
"""
USES = """
from __future__ import annotations

from quorate.client import AsyncClient, Client
from quorate.plugin import NodeApi, ShardRef, Txn
from quorate.plugin.rows import carry_out, rows_of

from {package}.plugin import Book, Genre, Loan, lend
from {package}.v1.rows_client import Books, SyncBooks


async def right(q: AsyncClient, node: NodeApi, shard: ShardRef, txn: Txn) -> str:
    books = Books(q)
    await books.create(Book(shelf="a", number=1, genre=Genre.NOVEL))
    async for each in books.list(shelf="a", genre=Genre.NOVEL):
        lend(txn, each, loans=[Loan(reader="ada")])
    async for held in rows_of(node, Book, "a"):
        await carry_out(node, shard, lend, [held], loans=[])
    lent = await books.lend("a", 1, loans=[Loan(reader="ada")], since=1)
    await books.update("a", 1, title="b")
    found = await books.get("a", 1)
    return lent.title if found is None else found.title


def waiting(q: Client) -> list[str]:
    books = SyncBooks(q)
    books.put(Book(shelf="a", number=1, genre=Genre.NOVEL))
    books.lend("a", 1, loans=[])
    return [each.title for each in books.list(genre=Genre.NOVEL)]


async def wrong(
    q: AsyncClient, node: NodeApi, shard: ShardRef, txn: Txn, book: Book, sync: SyncBooks
) -> None:
    books = Books(q)
    await books.get("a", "1")  # wrong key type
    await books.get("a")  # missing key part
    book.tilte = "b"  # unknown field in a change
    book.title = 7  # wrong type of a field
    await books.lend("a", 1, loan=[])  # wrong verb parameter name
    await books.lend("a", 1, loans=["ada"])  # wrong verb parameter type
    [each async for each in books.list(gerne=Genre.NOVEL)]  # wrong condition name
    (await books.lend("a", 1, loans=[])).tilte  # wrong result attribute
    await books.lned("a", 1, loans=[])  # unknown verb
    Book(shelf="a", genre=Genre.NOVEL)  # missing field of a new row
    await books.update("a", 1, tilte="b")  # unknown field in an update
    lend(txn, book, loan=[])  # wrong parameter of the function
    await carry_out(node, shard, lend, [book], loans=7)  # wrong parameter of a controller
    sync.get("a", "1")  # wrong key type, without await
"""


@pytest.fixture
def uses(written: Written) -> Path:
    written.say(SHELF.replace("import *", "import *  # noqa"))
    written.generate()
    path = written.folder / "uses.py"
    path.write_text(USES.replace("{package}", written.package))
    return path


def planted(path: Path) -> set[int]:
    lines = path.read_text().splitlines()
    return {number for number, line in enumerate(lines, start=1) if re.search(r"  # \w", line)}


@pytest.mark.ci
def test_mypy_finds_every_mistake_and_nothing_else(uses: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed here; `tox -e lint` has it")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(uses)],
        cwd=uses.parent,
        env={**os.environ, "MYPYPATH": f"{uses.parent / 'src'}{os.pathsep}{CORE}"},
        capture_output=True,
        text=True,
        check=False,
    )

    # Stubs of messages answer to protoc.
    found = re.findall(r"^(\S+?):(\d+): error: ", ran.stdout, re.M)
    errors = {(name, int(line)) for name, line in found if not name.endswith("_pb2.pyi")}
    assert errors == {("uses.py", line) for line in planted(uses)}, ran.stdout + ran.stderr


@pytest.mark.ci
def test_pyright_finds_every_mistake_and_nothing_else(uses: Path) -> None:
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed here")
    (uses.parent / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [str(uses.parent / "src"), str(CORE)]})
    )
    ran = subprocess.run(
        [pyright, "--outputjson", str(uses)],
        cwd=uses.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    found = json.loads(ran.stdout)["generalDiagnostics"]
    errors = {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}
    assert errors == planted(uses), ran.stdout
