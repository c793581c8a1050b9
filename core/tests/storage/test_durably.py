import os
from pathlib import Path

import pytest
from quorate.storage import durably


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was synced, with what a directory held, in order."""
    seen: list[str] = []

    def fsync(opened: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{opened}"))
        held = [each.name for each in path.iterdir()] if path.is_dir() else path.read_text()
        seen.append(f"{path.name}: {held}")

    monkeypatch.setattr(os, "fsync", fsync)
    return seen


def test_a_file_is_replaced_when_its_content_is_synced_and_then_its_name(
    tmp_path: Path, synced: list[str]
) -> None:
    path = tmp_path / "kept.json"
    path.write_text("old")

    durably.replace(path, b"new")

    assert path.read_text() == "new"
    assert synced == ["kept.new: new", f"{tmp_path.name}: ['kept.json']"]


def test_a_content_that_is_not_synced_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept"
    path.write_text("old")

    def fails(_: int) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space"):
        durably.replace(path, b"new")

    assert path.read_text() == "old"


def test_a_write_syncs_the_content_alone(tmp_path: Path, synced: list[str]) -> None:
    durably.write(tmp_path / "part", b"content")

    assert synced == ["part: content"]
