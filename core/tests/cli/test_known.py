"""What is remembered of plugins holds for as long as they are what they were."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.cli import installed

from core.tests.cli.conftest import SOUND
from core.tests.cli.test_main import BROKEN, COMMANDS

if TYPE_CHECKING:
    from core.tests.cli.conftest import Install, Run


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list with an item for each time that all plugins are imported."""
    times: list[object] = []
    find = installed.find

    def counted() -> installed.InstalledPlugins:
        times.append(None)
        return find()

    monkeypatch.setattr(installed, "find", counted)
    return times


def test_the_commands_of_plugins_are_remembered(
    run: Run, install: Install, found: list[object]
) -> None:
    install("notes", commands=COMMANDS)

    texts = [run("--help").out for _ in range(3)]

    assert texts[0] == texts[1] == texts[2]
    assert "Look at notes." in texts[0]
    assert run("notes", "count").code == 0
    assert len(found) == 1


def test_a_plugin_that_is_edited_or_installed_is_seen(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)
    assert "Look at tasks." not in run("--help").out

    install("tasks", SOUND.replace("notes", "tasks"), commands=COMMANDS)

    assert "tasks" in run("--help").out


def test_a_broken_plugin_is_asked_again_each_time(
    run: Run, install: Install, found: list[object]
) -> None:
    install("torn", BROKEN)

    assert "plugin torn is broken" in run("--help").err
    assert "plugin torn is broken" in run("--help").err
    assert len(found) == 2


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"digest": 3}', "\xff"])
def test_a_damaged_memory_is_written_anew(run: Run, found: list[object], text: str) -> None:
    run("--help")
    file = Path(os.environ["XDG_CACHE_HOME"], "quorate", "commands.json")
    whole = file.read_text()
    file.write_bytes(text.encode("latin-1"))

    assert run("--help").code == 0
    assert file.read_text() == whole
    assert len(found) == 2


def test_a_home_that_cannot_be_written_is_no_failure(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))

    assert run("--help").code == 0
