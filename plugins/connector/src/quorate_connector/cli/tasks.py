"""`quorate connector status` and `history`: what becomes of tasks."""

from __future__ import annotations

from typing import Final

import click
from quorate.plugin import Console

from quorate_connector.cli.showing import (
    LARGEST,
    PAGE,
    first,
    limited,
    state_word,
    task_row,
    time_of,
)
from quorate_connector.client import SyncConnectors
from quorate_connector.v1.tasks_pb2 import ListTasksRequest, TaskState

_STATES: Final = {name.removeprefix("TASK_STATE_").lower(): name for name in TaskState.keys()[1:]}


@click.command()
@click.argument("tenant", default="")
@click.argument("name", default="")
@click.option("--worker", default="", help="Only tasks that this worker has.")
@click.option("--state", type=click.Choice(list(_STATES)), help="Only tasks in this state.")
@limited
@click.pass_obj
def status(
    console: Console, tenant: str, name: str, worker: str, state: str | None, limit: int
) -> None:
    """List the tasks of the connector NAME of TENANT, of all connectors of TENANT, or of all."""
    request = ListTasksRequest(
        tenant=tenant,
        connector=name,
        worker=worker,
        state=None if state is None else _STATES[state],
        page_size=min(limit, PAGE),
    )
    tasks = SyncConnectors(console.client()).tasks.list(request)
    console.print(
        {"tenant": task.id.tenant, "connector": task.id.connector, **task_row(task)}
        for task in first(tasks, limit)
    )


@click.command()
@click.argument("tenant")
@click.argument("name")
@click.argument("task", type=click.IntRange(0, LARGEST), default=0)
@click.pass_obj
def history(console: Console, tenant: str, name: str, task: int) -> None:
    """List what became of a TASK of the connector NAME of TENANT, the newest first."""
    console.print(
        {
            "at": time_of(each.at_ms),
            "from": state_word(getattr(each, "from")),
            "to": state_word(each.to),
            "worker": each.worker,
            "epoch": each.epoch,
            "reason": each.reason,
        }
        for each in SyncConnectors(console.client()).tasks.history(tenant, name, task)
    )


COMMANDS: Final = (status, history)
