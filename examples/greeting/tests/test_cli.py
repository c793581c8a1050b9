from collections.abc import Iterator

import pytest
from quorate.testing import Cli, MemoryNode


@pytest.fixture
def quorate() -> Iterator[Cli]:
    with Cli(MemoryNode(["greeting"])) as cli:
        yield cli


def test_salutations_are_listed_with_their_wording(quorate: Cli) -> None:
    rows = quorate.run("greeting", "salutation", "list").rows
    assert {"salutation": "moin", "wording": "Moin, {name}!"} in rows


def test_a_salute_shows_what_is_said(quorate: Cli) -> None:
    assert quorate.run("greeting", "salute", "Ada").rows == [
        {"salutation": "hello", "name": "Ada", "text": "Hello, Ada!"}
    ]
    [row] = quorate.run("greeting", "salute", "{name}", "--salutation", "moin").rows
    assert row["text"] == "Moin, {name}!"


def test_an_unknown_salutation_is_a_usage_error(quorate: Cli) -> None:
    ran = quorate.run("greeting", "salute", "Ada", "--salutation", "oi")
    assert (ran.exit_code, ran.rows) == (2, [])
    assert "'oi' is not one of" in ran.error
