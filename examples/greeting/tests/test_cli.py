from collections.abc import Iterable, Mapping

from click.testing import CliRunner
from quorate_greeting.cli import greeting


class Printed:
    """Stands in for the host's console, and keeps the rows that it is given."""

    def __init__(self) -> None:
        self.rows: list[Mapping[str, object]] = []

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        self.rows += rows


def run(*arguments: str, exit_code: int = 0) -> list[Mapping[str, object]]:
    printed = Printed()
    result = CliRunner().invoke(greeting, arguments, obj=printed)
    assert result.exit_code == exit_code, result.output
    return printed.rows


def test_salutations_are_listed_with_their_wording() -> None:
    assert {"salutation": "moin", "wording": "Moin, {name}!"} in run("salutations")


def test_a_salute_shows_what_is_said() -> None:
    assert run("salute", "Ada") == [{"salutation": "hello", "name": "Ada", "text": "Hello, Ada!"}]
    [row] = run("salute", "{name}", "--salutation", "moin")
    assert row["text"] == "Moin, {name}!"


def test_an_unknown_salutation_is_a_usage_error() -> None:
    assert run("salute", "Ada", "--salutation", "oi", exit_code=2) == []
