"""The page on the kit names checks that there are, and its example runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quorate.testing import MemoryNode, PluginConformance
from quorate.testing.cluster import Cluster
from quorate.testing.installed import catalog_of
from quorate.testing.subject import Subject
from quorate_greeting.vocabulary import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-a-plugin.md"
TEXT = PAGE.read_text(encoding="utf-8")
#: What is cut out of other files runs there.
EXAMPLES = re.findall(r"(?<!-->\n)```python\n(.+?)```", TEXT, re.DOTALL)

pytest_plugins = ["quorate.testing.fixtures"]


def test_every_check_that_is_told_is_there() -> None:
    told = re.findall(r"^\| `(test_\w+)` \| .+ \|$", TEXT, re.MULTILINE)

    assert len(told) > 5
    assert [name for name in told if not hasattr(PluginConformance, name)] == []


def test_what_an_author_overrides_is_told_and_there() -> None:
    table = TEXT.partition("| Of the class |")[2].partition("\n\n")[0]
    told = set(names_in("| Of the class |" + table))
    public = {name for each in Subject.__mro__ for name in vars(each) if not name.startswith("_")}

    assert told == (public | {"plugin"}) - set(dir(object))


def test_the_node_has_what_is_told_of_it() -> None:
    told = names_in(TEXT.partition("## What every plugin promises")[0])
    node = MemoryNode(["greeting"])

    assert len(told) > 5
    assert [name for name in told if not hasattr(node, name)] == []


def test_clusters_and_their_nodes_have_what_is_told_of_them(tmp_path: Path) -> None:
    clusters, nodes = TEXT.partition("| Part of a cluster |")[2].split("| Part of a node |")
    with Cluster(tmp_path, nodes=2) as cluster:
        node = cluster.nodes["node1"]
        assert [name for name in names_in(clusters) if not hasattr(cluster, name)] == []
        assert [name for name in names_in(nodes) if not hasattr(node, name)] == []


@pytest.mark.ci
def test_the_example_on_a_cluster_passes(cluster: Callable[..., Cluster]) -> None:
    scope: dict[str, Any] = {}
    exec(EXAMPLES[1], scope)
    [test] = [scope[name] for name in scope if name.startswith("test_")]
    test(cluster)


def test_the_example_runs() -> None:
    example, _ = EXAMPLES
    log = [example for command in COMMANDS for example in command.examples]

    # A virtual minute takes long, and is the reader's to choose.
    short, changed = re.subn(r"seconds=[\d.]+", "seconds=1.0", example)
    assert changed == 1
    exec(short, {"catalog": catalog_of(["greeting"]), "log": log})


def names_in(text: str) -> list[str]:
    """The names of what the first column of a table is about."""
    rows = "".join(re.findall(r"^\| (`.+?) \|", text, re.M))
    return re.findall(r"`(\w+)(?:\([^`]*\))?`", rows)
