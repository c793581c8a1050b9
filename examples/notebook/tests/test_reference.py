"""What an author gets from `quorate plugin reference notebook`."""

import pytest
from quorate.cli.main import main
from quorate_notebook.notes import NOTES


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["plugin", "reference", "notebook"]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_declaration_is_told(printed: list[str]) -> None:
    assert printed[0] == "## `notebook`"
    assert printed[printed.index("### `notebook.notes`") + 2] == (
        "The row: it stays on disk, so add fields, and reserve what you remove."
    )
    assert {
        "| Noun | note |",
        "| Key | `name` |",
        "| Shard key | `name` |",
        "| Python | `from quorate_notebook.notes import NOTES`, then `client.records(NOTES)` |",
        r"| Command line | `quorate notebook note append\|create\|delete\|get\|list\|put\|update"
        r"\|watch` |",
        "| Spark | table `notebook.notes` |",
    } <= set(printed)


def test_every_field_and_method_has_a_row(printed: list[str]) -> None:
    names = [line.split("`")[1] for line in printed if line.startswith("| `")]

    fields = [each.name for each in NOTES.row.DESCRIPTOR.fields]
    assert names == [*fields, *(each.name for each in NOTES.service.methods)]
    assert "| `color` | `NoteColor` | One of `NOTE_COLOR_YELLOW`, `NOTE_COLOR_GREEN`. |" in printed
    assert "| `Append` | Append | batch | `AppendToNotes` | `BatchReply` |  |" in printed
    assert "| `Get` | Get | batch | `GetNotes` | `NotePage` |  |" in printed
    assert "Conditions of `List`, `Count`: `prefix`, `color`." in printed
