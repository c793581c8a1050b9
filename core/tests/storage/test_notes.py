from __future__ import annotations

from pathlib import Path

import pytest
from quorate.storage.engine.port import DamagedError
from quorate.storage.notes import FileNotes, MemoryNotes, Note, Notes


@pytest.fixture(params=["files", "memory"])
def notes(request: pytest.FixtureRequest, tmp_path: Path) -> Notes:
    return FileNotes(tmp_path / "notes") if request.param == "files" else MemoryNotes()


def test_a_note_is_that_which_was_written_last(notes: Notes) -> None:
    assert notes.read("toy/0") == Note(0, "")
    notes.write("toy/0", Note(3))
    notes.write("toy/0", Note(4, "it lies"))
    assert notes.read("toy/0") == Note(4, "it lies")
    assert notes.read("toy/1") == Note()


def test_a_note_outlives_the_process(tmp_path: Path) -> None:
    FileNotes(tmp_path).write("toy/0", Note(1, "why"))
    assert FileNotes(tmp_path).read("toy/0") == Note(1, "why")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff"])
def test_a_note_that_cannot_be_read_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    notes = FileNotes(tmp_path)
    notes.write("toy/0", Note(1, "why"))
    (tmp_path / "toy%2F0").write_bytes(content)
    with pytest.raises(DamagedError, match="quorate member replace"):
        notes.read("toy/0")
