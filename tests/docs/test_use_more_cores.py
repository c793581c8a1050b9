"""The page on workers: its file, its table and its figures are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from quorate.config import load
from quorate.config.workers import workers_of
from quorate.node import machine, supervisor

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "use-more-cores.md").read_text()
#: It does not matter where lines end.
PROSE = " ".join(PAGE.split())


def test_the_file_is_one_and_its_workers_are_those_of_the_table(tmp_path: Path) -> None:
    [text] = re.findall(r"```toml\n(\[node\].*?)```", PAGE, re.DOTALL)
    file = tmp_path / "quorate.toml"
    file.write_text(text.replace("workers =", "peer_port = 7601\nworkers ="))
    workers = workers_of(load(file, {"mqtt": None}, {}), file)
    assert len(workers) == 4
    rows = re.findall(
        r"^\| worker `([\w.]+)` \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| `(.*)` \|$",
        PAGE,
        re.MULTILINE,
    )
    assert [
        (name, int(client), int(port), int(http), int(peer), Path(directory))
        for name, client, port, http, peer, directory in rows
    ] == [
        (
            each.name,
            each.client_port,
            each.settings.node.port,
            each.settings.node.http_port,
            each.settings.node.peer_port,
            each.settings.node.dir,
        )
        for each in workers[:2]
    ]


def test_what_it_says_of_ends_is_so() -> None:
    assert (supervisor.PAUSE_S, supervisor.MOST_ENDS, supervisor.WINDOW_S) == (0.2, 5, 60.0)
    assert "after 0.2 seconds" in PROSE
    assert "more than five times within a minute" in PROSE


def test_its_metrics_are_those_of_the_machine(tmp_path: Path) -> None:
    file = tmp_path / "quorate.toml"
    file.write_text("[node]\nworkers = 2\n")
    workers = workers_of(load(file, {}, {}))
    made = machine.Machine(workers, None, lambda: [("node1.1", True, 1, "")])
    shown = {each.name for each in made._own()}
    named = set(re.findall(r"`(quorate_worker_\w+?)(?:_total)?`", PAGE))
    assert named == shown
