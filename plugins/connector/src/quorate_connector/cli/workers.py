"""`quorate connector workers`, `drain` and `undrain`: who runs tasks."""

from __future__ import annotations

from typing import Final

import click
from quorate.plugin import Console

from quorate_connector.client import SyncConnectors
from quorate_connector.v1.tasks_pb2 import Worker

#: A day: a task that has not stopped by then never does.
_LONGEST_S: Final = 86_400


@click.command("workers")
@click.pass_obj
def list_workers(console: Console) -> None:
    """List workers, and how many tasks each has."""
    console.print(
        {**_row(each.worker), "registered": each.registered, "tasks": each.tasks}
        for each in SyncConnectors(console.client()).workers.list()
    )


@click.command()
@click.argument("worker")
@click.option(
    "--release-timeout",
    type=click.FloatRange(0, _LONGEST_S, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="So long each task has to stop in order.",
)
@click.pass_obj
def drain(console: Console, worker: str, release_timeout: float) -> None:
    """Move the tasks of WORKER to others, and give it no new ones."""
    workers = SyncConnectors(console.client()).workers
    drained = workers.drain(worker, release_timeout_ms=max(1, round(release_timeout * 1_000)))
    console.print([_row(drained)])


@click.command()
@click.argument("worker")
@click.pass_obj
def undrain(console: Console, worker: str) -> None:
    """Let WORKER have tasks again."""
    console.print([_row(SyncConnectors(console.client()).workers.undrain(worker))])


def _row(worker: Worker) -> dict[str, object]:
    return {
        "worker": worker.name,
        "epoch": worker.epoch,
        "draining": worker.draining,
        "silent": worker.silent,
    }


COMMANDS: Final = (list_workers, drain, undrain)
