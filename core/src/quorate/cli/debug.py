"""`quorate debug`: collects diagnostics for engineers without access to the cluster."""

from __future__ import annotations

import json
import platform
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

import click
from google.protobuf.json_format import MessageToDict

from quorate.cli import doctor, recorded
from quorate.cli.failures import Failure, failure
from quorate.cli.options import option
from quorate.cli.statuses import Silent
from quorate.cli.terminal import Terminal
from quorate.observe.recorder import Record
from quorate.v1 import admin_pb2 as pb

#: Size of the end of a log file that is included.
_LOG_BYTES: Final = 16 * 2**20


@click.group("debug")
def command() -> None:
    """Collect diagnostics."""


@command.command("bundle")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@option(
    "--recorder recorders",
    "The flight recorder of a node that does not answer, or its node.dir; may be repeated.",
    click.Path(path_type=Path, exists=True),
    multiple=True,
)
@option(
    "--log logs",
    "Include the last 16 MiB of this log of a node; may be repeated.",
    click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
)
@click.pass_obj
def bundle(
    terminal: Terminal, file: Path, logs: tuple[Path, ...], recorders: tuple[Path, ...]
) -> None:
    """Write FILE, a zip archive of diagnostics without rows, secrets or tokens.

    It has the status, shards, metrics and flight recorder of each node, the findings of `quorate
    doctor`, the local configuration in effect without its secrets, and the installed versions.
    """
    if file.exists():
        raise failure(f"{file} already exists", "name another file, or remove it")
    parts = _of_cluster(terminal.ask(doctor.gather))
    for node, records in terminal.ask(recorded.of_nodes).items():
        parts[f"nodes/{node}/recorder.ndjson"] = recorded.lines(_without_names(records))
    for number, each in enumerate(recorders, 1):
        records = recorded.of_file(each, last=recorded.MOST)
        parts[f"recorders/{number}.ndjson"] = recorded.lines(_without_names(records))
    parts["versions.json"] = _shown(_versions())
    try:
        from quorate.config import render

        parts["configuration.toml"] = render(terminal.settings())
    except (Failure, ImportError) as error:
        parts["configuration.txt"] = str(error)
    for number, log in enumerate(logs, 1):
        parts[f"logs/{number}-{log.name}"] = _end_of(log)
    with zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    file.chmod(0o600)
    terminal.print({"file": str(file), "part": name} for name in parts)


@command.command("recorder")
@click.argument("source", metavar="PATH|NODE")
@option("--kind kinds", "Records of a kind; may be repeated.", multiple=True)
@option("--shard", "Records about a shard.", default="")
@option("--request", "Records about a call, by its id.", default="")
@option("--last", "Number of newest records; 0: all.", click.IntRange(0, 1_000_000), 1_000)
@click.pass_obj
def show_recorder(
    terminal: Terminal, source: str, kinds: tuple[str, ...], shard: str, request: str, last: int
) -> None:
    """Show the last minutes of a node, oldest first.

    PATH is its file `recorder`, or its node.dir, whether or not the node runs; NODE is asked.
    """
    path = Path(source)
    if path.exists():
        records = recorded.of_file(path, kinds=kinds, shard=shard, request=request, last=last)
    else:
        wanted = pb.RecordedRequest(kinds=kinds, shard=shard, request=request, last=last)
        records = terminal.ask(lambda client: recorded.of_node(client, source, wanted))
    if terminal.json:
        terminal.print(records)
    else:
        terminal.print(map(recorded.row, records))


def _without_names(records: Iterable[Record]) -> Iterator[Record]:
    for each in records:
        yield {name: value for name, value in each.items() if name != "caller"}


def _of_cluster(reports: doctor.Reports) -> dict[str, str]:
    parts = {
        "topology.json": _shown(MessageToDict(reports.topology)),
        "doctor.json": _shown([asdict(each) for each in doctor.of_cluster(reports)]),
        "taken.json": _shown({"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}),
    }
    for node, status in reports.statuses.items():
        if isinstance(status, Silent):
            parts[f"nodes/{node}/status.txt"] = str(status)
            continue
        parts[f"nodes/{node}/status.json"] = _shown(MessageToDict(status))
        metrics = reports.metrics[node]
        parts[f"nodes/{node}/metrics.txt"] = (
            metrics if isinstance(metrics, str) else f"they cannot be read: {metrics}\n"
        )
    return parts


def _versions() -> Mapping[str, object]:
    installed = {each.metadata["Name"]: each.version for each in distributions()}
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "distributions": dict(sorted(installed.items())),
    }


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LOG_BYTES))
        return file.read().decode(errors="replace")


def _shown(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
