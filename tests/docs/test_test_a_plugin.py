"""The page on the kit names checks that there are, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

from quorate.testing import MemoryNode, PluginConformance
from quorate.testing.installed import catalog_of
from quorate_greeting.vocabulary import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-a-plugin.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_check_that_is_told_is_there() -> None:
    told = re.findall(r"^\| `(test_\w+)` \| .+ \|$", TEXT, re.MULTILINE)

    assert len(told) > 5
    assert [name for name in told if not hasattr(PluginConformance, name)] == []


def test_the_node_has_what_is_told_of_it() -> None:
    table, _, _ = TEXT.partition("## What every plugin promises")
    told = re.findall(r"`(\w+)(?:\([^`]*\))?`", "".join(re.findall(r"^\| (`.+?) \|", table, re.M)))
    node = MemoryNode(["greeting"])

    assert len(told) > 5
    assert [name for name in told if not hasattr(node, name)] == []


def test_the_example_runs() -> None:
    [example] = re.findall(r"```python\n(.+?)```", TEXT, re.DOTALL)
    log = [example for command in COMMANDS for example in command.examples]

    # A virtual minute takes long, and is the reader's to choose.
    short, changed = re.subn(r"seconds=[\d.]+", "seconds=1.0", example)
    assert changed == 1
    exec(short, {"catalog": catalog_of(["greeting"]), "log": log})
