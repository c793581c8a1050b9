"""The `.proto` file of row classes: its numbers are kept, and what would break them is refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from quorate.cli.failures import Failure

if TYPE_CHECKING:
    from core.tests.plugin.rows.conftest import Written

BOOK = """
@app.resource("books")
class Book(Row):
    name: Key[Name]
    title: str = ""
    pages: int = 0
    lent: bool = False
"""


def fields(text: str, message: str) -> dict[str, int]:
    [body] = re.findall(rf"message {message} {{(.*?)\n}}", text, re.S)
    return {name: int(number) for name, number in re.findall(r"(\w+) = (\d+);", body)}


def test_numbers_stay_and_new_ones_follow(written: Written) -> None:
    written.say(BOOK)
    assert fields(written.generate(), "Book") == {"name": 1, "title": 2, "pages": 3, "lent": 4}

    written.say(BOOK.replace('    title: str = ""\n', '    shelf: str = ""\n    title: str = ""\n'))
    again = written.generate()

    assert fields(again, "Book") == {"name": 1, "title": 2, "pages": 3, "lent": 4, "shelf": 5}
    assert written.generate() == again


def test_the_number_of_a_removed_field_is_reserved_for_ever(written: Written) -> None:
    written.say(BOOK)
    written.generate()
    written.say(BOOK.replace("    pages: int = 0\n", ""))
    text = written.generate()
    assert '  reserved 3;\n  reserved "pages";\n' in text
    assert fields(text, "Book") == {"name": 1, "title": 2, "lent": 4}

    written.say(BOOK.replace("pages: int = 0", "chapters: int = 0"))
    assert fields(written.generate(), "Book")["chapters"] == 5
    written.say(BOOK)
    assert "Book.pages was removed once" in refused(written)


CHANGED = {
    "renamed": (
        ("pages: int = 0", "sheets: int = 0"),
        "Book.sheets is new where pages (number 3) is gone: a renamed field would lose what rows "
        "hold; name it pages again",
    ),
    "another type": (
        ("pages: int = 0", 'pages: str = ""'),
        "Book.pages was int64 and became string; rows and clients hold it as number 3; give it "
        "back its type",
    ),
    "without a default": (
        ("lent: bool = False", "lent: bool = False\n    place: Name"),
        "Book.place is new and needs a value, which rows and callers before it do not give; give "
        "it a default",
    ),
    "a part of the key": (
        ("name: Key[Name]", "name: Key[Name]\n    part: Key[Name]"),
        "the key of Book was name and became name, part; rows are found by it",
    ),
}


@pytest.mark.parametrize("change", CHANGED)
def test_what_would_break_rows_is_refused(written: Written, change: str) -> None:
    (old, new), reason = CHANGED[change]
    written.say(BOOK)
    before = written.generate()
    written.say(BOOK.replace(old, new))

    found = refused(written)

    assert reason in found
    assert re.search(r"plugin\.py:\d+: ", found)
    assert (written.folder / "src" / written.package / "v1" / "rows.proto").read_text() == before


WRONG = {
    "no message holds it": (
        "    title: complex = 0",
        "plugin.py:13: Book.title: no message holds complex; use str, bytes,",
    ),
    "a default that means something": (
        "    pages: int = 10",
        "plugin.py:13: Book.pages has the default 10, and rows and callers without it mean 0; let "
        "its default be 0",
    ),
    "a list that may be absent": (
        "    titles: list[str] | None = None",
        "Book.titles: a list or map is empty where it is absent",
    ),
    "a key of many": ("    part: Key[list[str]]", "Book.part is a part of the key"),
    "a name of requests": (
        "    prefix: str",
        "Book.prefix has a name that requests or classes need",
    ),
    "a name in capitals": ('    Title: str = ""', "Book.Title cannot name a field"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_class_that_is_no_row_is_refused_with_its_line(written: Written, wrong: str) -> None:
    line, reason = WRONG[wrong]
    head = BOOK.partition('    title: str = ""\n')[0]
    written.say(f"{head}{line}\n")

    assert reason in refused(written)


def test_a_number_used_twice_is_refused_by_its_line(written: Written) -> None:
    written.say(BOOK)
    text = written.generate()
    proto = written.folder / "src" / written.package / "v1" / "rows.proto"
    proto.write_text(text.replace("int64 pages = 3", "int64 pages = 2"))
    written.forget()

    found = refused(written)

    assert re.search(r"rows\.proto:\d+:\d+: Field number 2 has already been used", found)


def test_choices_keep_their_numbers(written: Written) -> None:
    held = """
class Genre(Choice):
    NOVEL = 1
    POEM = 2
"""
    used = BOOK + "    genre: Genre | None = None\n"
    written.say(held + used)
    assert "GENRE_POEM = 2;" in written.generate()
    written.say(held.replace("POEM = 2", "PLAY = 2") + used)
    assert "2 is GENRE_PLAY, and was GENRE_POEM" in refused(written)
    written.say(held.replace("    POEM = 2\n", "    PLAY = 3\n") + used)
    assert '  reserved 2;\n  reserved "GENRE_POEM";' in written.generate()


def test_two_classes_of_one_name_are_refused(written: Written) -> None:
    written.say(BOOK + BOOK.replace('"books"', '"others"'))

    assert "both need the message Book; rename one of the classes" in refused(written)


def refused(written: Written) -> str:
    with pytest.raises(Failure) as failed:
        written.generate()
    written.forget()
    return str(failed.value)
