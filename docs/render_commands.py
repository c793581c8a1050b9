"""Renders `reference/commands.md`: what commands print on a terminal, in a pipe and as JSON.

`python docs/render_commands.py > docs/reference/commands.md` writes it: each of the three runs all
commands once, in their order, on a new cluster of one node. With `--times` it first measures anew
how long commands take, and keeps that in `reference/commands-times.txt`.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from unittest.mock import patch

from quorate.cli import tables
from quorate.cli.main import main
from quorate.testing.cluster import Cluster

REFERENCE: Final = Path(__file__).with_name("reference")
#: A command on each line; one that begins with `#` is the title of a section.
COMMANDS: Final = REFERENCE.joinpath("commands.txt").read_text(encoding="utf-8")
#: When and where the times were measured, and for each command its seconds, in all and of the
#: processor.
TIMES: Final = REFERENCE / "commands-times.txt"
#: How many processes of each command are timed.
ROUNDS: Final = 5
WIDTH: Final = 80
#: Maximum number of lines of one output.
SHOWN: Final = 14
PLUGINS: Final = (
    "connector",
    "coordination",
    "mqtt",
    "name_server",
    "offset",
    "storage_engine",
)
#: What differs from run to run: ids of requests, drawn ids, numbers, and how wide columns are.
VOLATILE: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]+\b|\b[0-9a-f]{16}\b|\d+")
BETWEEN: Final = re.compile(r"[ ━─┳╇┴]+")
FORMS: Final = ("terminal", "pipe", "json")

OPENING: Final = """\
# What commands print

You will know the output of each command before you run it: on a terminal of 80 columns, in a pipe,
and with `-o json`. All of them ran on a new cluster of one node, one after the other; revisions,
times and addresses are different on yours.

[The command line](cli.md) explains the commands, and [the table](#times) at the end tells how long
each takes; `python docs/render_commands.py` writes this page.
"""
#: The title of the table of times.
LAST: Final = "Times"


@contextmanager
def new_cluster() -> Iterator[None]:
    """Have commands call a new cluster of one node."""
    with (
        TemporaryDirectory() as directory,
        Cluster(Path(directory), nodes=1, plugins=PLUGINS) as cluster,
    ):
        cluster.ready()
        place = {"QUORATE_ENDPOINTS": cluster.endpoints, "COLUMNS": str(WIDTH), "NO_COLOR": "1"}
        with patch.dict(os.environ, place):
            yield


def outputs(form: str) -> list[str]:
    """Run all commands on a new cluster, and return what each prints in this form."""
    with new_cluster(), patch.object(tables, "is_terminal", lambda: form == "terminal"):
        return [_output(words, form) for _, words in commands() if words]


def measure() -> str:
    """Return the text of the file of times: medians of processes on a new cluster each."""
    rounds = []
    for _ in range(ROUNDS):
        with new_cluster():
            rounds.append([(line, *_time(words)) for line, words in commands() if words])
    today, python = datetime.now(UTC).date(), platform.python_version()
    busy = f"{os.getloadavg()[1]:.0f} runnable processes beside it"
    lines = [f"{today}, {os.cpu_count()} cores ({platform.machine()}), Python {python}, {busy}"]
    for timed in zip(*rounds, strict=True):
        [line, *_], walls, processors = zip(*timed, strict=True)
        wall, processor = statistics.median(walls), statistics.median(processors)
        lines.append(f"{wall:.2f} {processor:.2f} {line}")
    return "\n".join(lines) + "\n"


def _time(words: Sequence[str]) -> tuple[float, float]:
    """Return the seconds of a process that runs a command, and those of the processor."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    program = [sys.executable, "-m", "quorate.cli", *words]
    subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table_of_times() -> str:
    """Return the table of the times that were measured last."""
    where, *lines = TIMES.read_text(encoding="utf-8").splitlines()
    rows = [line.split(" ", 2) for line in lines]
    return "\n".join(
        [
            f"## {LAST}\n",
            f"Medians of {ROUNDS} processes each, from their start to their end:\n{where}.\n"
            "On a busy machine the seconds of the processor tell more.\n",
            "| command | seconds | of the processor |",
            "|---|---|---|",
            *(f"| `{line}` | {wall} | {processor} |" for wall, processor, line in rows),
            "",
        ]
    )


def commands() -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the line of each section without words, and that of each command with its words."""
    for line in COMMANDS.splitlines():
        if line.startswith("#"):
            yield line.removeprefix("#").strip(), ()
        elif line:
            yield line, shlex.split(line)[1:]


def _output(words: Sequence[str], form: str) -> str:
    written = TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(written), redirect_stderr(written):
        code = main([*words, "-o", "json"] if form == "json" else words)
    lines = [line.rstrip() for line in _text(written).splitlines()]
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"… {len(lines) - SHOWN} more lines"]
    return "\n".join([*lines, *([f"exit code {code}"] if code else [])])


def shape(text: str) -> list[str]:
    """Return the lines of an output without what differs from run to run."""
    return [BETWEEN.sub(" ", VOLATILE.sub("0", line)) for line in text.splitlines()]


def _text(written: TextIOWrapper) -> str:
    written.seek(0)
    return written.read()


def render() -> str:
    """Return the page."""
    printed = {form: iter(outputs(form)) for form in FORMS}
    parts = [OPENING]
    for line, words in commands():
        if not words:
            parts.append(f"## {line}\n")
            continue
        shown = {form: next(printed[form]) for form in FORMS}
        parts.append(f"### `{line}`\n")
        if shape(shown["terminal"]) == shape(shown["pipe"]):
            parts.append(_block("text", shown["terminal"]))
        else:
            parts.append(_block("text", shown["terminal"], "On a terminal:"))
            parts.append(_block("text", shown["pipe"], "In a pipe:"))
        parts.append(_block("text", shown["json"], "With `-o json`:"))
    return "\n".join([*parts, table_of_times()])


def _block(language: str, text: str, title: str = "") -> str:
    if not text:
        return f"{title} nothing.\n" if title else "It prints nothing.\n"
    return f"{title}\n\n```{language}\n{text}\n```\n".lstrip()


if __name__ == "__main__":
    if "--times" in sys.argv[1:]:
        TIMES.write_text(measure(), encoding="utf-8")
    sys.stdout.write(render())
