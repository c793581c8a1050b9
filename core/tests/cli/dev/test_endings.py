from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from quorate.cli.dev.nodes import DevNode
from quorate.cli.dev.processes import NodeProcess, ended

if TYPE_CHECKING:
    import asyncio


@pytest.fixture
def node(tmp_path: Path) -> DevNode:
    return DevNode(
        name="node2",
        address="127.0.0.1:7402",
        http_address="127.0.0.1:7502",
        config=tmp_path / "node2.toml",
        log=tmp_path / "node2.log",
    )


class Process:
    """One that is no more, and whose code is known."""

    returncode = 0


def process(node: DevNode, log: str) -> NodeProcess:
    node.log.write_text(log)
    return NodeProcess(node, cast("asyncio.subprocess.Process", Process()), 0)


def test_a_node_that_died_is_to_be_started_again(node: DevNode) -> None:
    told = ended(process(node, "one\ntwo\n"), -9, "quorate dev start node2")

    assert told.sentence.splitlines() == [
        f"node2 ended with signal SIGKILL; {node.log} ends with:",
        "  one",
        "  two",
        "start it again with `quorate dev start node2`",
    ]
    assert told.parts["exit_code"] == -9


def test_a_node_that_was_removed_is_told_in_one_line_with_what_it_said(node: DevNode) -> None:
    log = "INFO stopping\nerror: node2#1 was removed; empty its node.dir\n"
    told = ended(process(node, log), 6, "quorate dev start node2")

    assert told.sentence == "node2 has ended: node2#1 was removed; empty its node.dir"
    assert told.parts["exit_code"] == 6
