"""The page on the first cluster: its commands answer as it says, on a cluster of `quorate dev`."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-cluster.md"
#: What is typed, and what is answered.
STEPS = re.findall(
    r"^\$ quorate (.+)\n((?:(?!\$|```).+\n)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)
QUORATE = (sys.executable, "-m", "quorate.cli")


@pytest.mark.ci
def test_the_commands_of_the_page_answer_as_it_says(tmp_path: Path) -> None:
    names = [command.split()[0] for command, _ in STEPS]
    assert names == ["dev", "kv", "kv", "kv", "status", "watch", "kv", "dev", "dev", "kv"]
    port = free_ports(0, 1, 2, 100, 101, 102)[0]
    endpoints = ",".join(f"127.0.0.1:{port + number}" for number in range(3))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QUORATE_")}
    environment["QUORATE_ENDPOINTS"] = endpoints
    watch = Program("watch", tmp_path / "watch.out")
    try:
        with developing(tmp_path, port, environment):
            for command, answer in STEPS[1:-1]:
                if command.startswith("watch"):
                    watch.start((*QUORATE, *shlex.split(command)), environment)
                    until(partial(found, watch, answer))
                else:
                    assert matches(answer, said(command, tmp_path, environment))
            until(partial(found, watch, "updated greeting = hi"))
    finally:
        watch.close()
    with developing(tmp_path, port, environment):
        command, answer = STEPS[-1]
        assert matches(answer, said(command, tmp_path, environment))


@contextmanager
def developing(directory: Path, port: int, environment: dict[str, str]) -> Iterator[None]:
    """Run the first command of the page, at ports that are free, and end it with Ctrl-C."""
    dev = Program("quorate dev", directory / "dev.out")
    before = len(dev.said)
    options = ("--dir", str(directory / "quorate-dev"), "--port", str(port))
    dev.start((*QUORATE, *shlex.split(STEPS[0][0]), *options), environment)
    try:
        until(lambda: not dev.runs or "\nready" in dev.said[before:] or None)
        assert dev.runs, dev.said
        assert f"the console is at http://127.0.0.1:{port + 100}/console" in dev.said
        yield
        dev.send_signal(signal.SIGINT)
        assert dev.wait() == 0
    finally:
        dev.close()


def found(program: Program, text: str) -> bool | None:
    return text in program.said or None


def said(command: str, directory: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [*QUORATE, *shlex.split(command)],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def matches(answer: str, text: str) -> bool:
    """Whether the text is as the page shows it; dots stand for anything, and nothing for all."""
    pattern = ".*".join(map(re.escape, answer.strip().split("...")))
    return re.fullmatch(pattern or ".*", text.strip(), re.DOTALL) is not None
