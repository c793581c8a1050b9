"""The command group `quorate connector`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import click
from google.protobuf.field_mask_pb2 import FieldMask
from quorate.plugin import Console
from quorate.plugin.console import first_rows, limit_option, time_text, word_of, words_of

from quorate_connector.client import SyncConnectors
from quorate_connector.definition_file import read
from quorate_connector.v1 import connectors_pb2 as pb, tasks_pb2

#: The largest page; each page costs a call.
_PAGE: Final = 1_000
#: The largest task or version number: the fields have 32 bits.
_LARGEST: Final = (1 << 32) - 1
#: One day: a task that has not stopped by then never will.
_LONGEST_S: Final = 86_400
_STATES: Final = words_of(tasks_pb2.TaskState.DESCRIPTOR)

R = TypeVar("R", bound=Callable[..., None])

_file = click.option(
    "-f",
    "--file",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="TOML file with the definition.",
)
_discard = click.option(
    "--discard-progress",
    is_flag=True,
    help="Discard the progress of tasks that are removed or change their type.",
)


def _named(run: R) -> R:
    """Add the arguments TENANT and NAME of a connector to a command."""
    return click.argument("tenant")(click.argument("name")(run))


@click.group()
def connector() -> None:
    """Define connectors, inspect their tasks, and drain workers."""


@connector.command()
@_file
@click.option("--replace", is_flag=True, help="Replace the connector if it already exists.")
@click.pass_obj
def create(console: Console, path: Path, replace: bool) -> None:
    """Create a connector from a definition file; its tasks start at once."""
    wanted = read(path)
    fields = {**wanted.named, "target": f"TARGET_{wanted.target.upper()}"}
    connectors = _connectors(console)
    if replace:
        _show(console, connectors.put(pb.PutConnectorRequest(**fields)))
    else:
        _show(console, connectors.create(pb.CreateConnectorRequest(**fields)))


@connector.command()
@_file
@click.option(
    "--expected-version",
    type=click.IntRange(1, _LARGEST),
    help="Fail unless this is the newest version.",
)
@_discard
@click.pass_obj
def update(
    console: Console, path: Path, expected_version: int | None, discard_progress: bool
) -> None:
    """Replace the definition of a connector by a file's; its tasks restart with it."""
    request = pb.UpdateConnectorRequest(
        **read(path).named,
        expected_version=expected_version or 0,
        discard_progress=discard_progress,
        update_mask=FieldMask(paths=["definition"]),
    )
    _show(console, _connectors(console).update(request))


@connector.command("roll-back")
@_named
@click.argument("version", type=click.IntRange(1, _LARGEST))
@_discard
@click.pass_obj
def roll_back(
    console: Console, tenant: str, name: str, version: int, discard_progress: bool
) -> None:
    """Restore the definition of an earlier VERSION of the connector NAME of TENANT."""
    connectors = _connectors(console)
    _show(console, connectors.roll_back(tenant, name, version, discard_progress=discard_progress))


@connector.command("list")
@click.argument("tenant", default="")
@click.option("--prefix", default="", help="Only connectors whose names begin with this.")
@click.option("--type", "kind", default="", help="Only connectors of this type.")
@limit_option
@click.pass_obj
def list_connectors(console: Console, tenant: str, prefix: str, kind: str, limit: int) -> None:
    """List the connectors of TENANT, or of all tenants."""
    found = _connectors(console).list(
        tenant=tenant, name_prefix=prefix, type=kind, page_size=min(limit, _PAGE)
    )
    console.print(map(_row, first_rows(found, limit)))


@connector.command()
@_named
@click.pass_obj
def get(console: Console, tenant: str, name: str) -> None:
    """Show the definition of the connector NAME of TENANT."""
    found = _connectors(console).get(tenant, name)
    if found is None:
        raise click.UsageError(
            f"there is no connector {name} of tenant {tenant}; see quorate connector list"
        )
    more = {
        "failures_max": found.definition.failures_max,
        "backoff_ms": found.definition.backoff_ms,
        "config": found.definition.config,
        "created_at": time_text(found.created_at_ms),
    }
    console.print([{**_row(found), **more}])


@connector.group("version")
def version_() -> None:
    """List the retained versions of a connector."""


@version_.command("list")
@_named
@click.pass_obj
def list_versions(console: Console, tenant: str, name: str) -> None:
    """List the retained versions of the connector NAME of TENANT, newest first."""
    console.print(
        {
            "version": each.version,
            "type": each.definition.type,
            "tasks_max": each.definition.tasks_max,
            "labels": _labels(each.definition.labels),
            "config": each.definition.config,
            "created_at": time_text(each.created_at_ms),
        }
        for each in _connectors(console).versions(tenant, name)
    )


@connector.command()
@_named
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--missing-ok", is_flag=True, help="Succeed if the connector does not exist.")
@click.pass_obj
def delete(console: Console, tenant: str, name: str, yes: bool, missing_ok: bool) -> None:
    """Delete the connector NAME of TENANT with its versions, tasks, progress and history."""
    if not yes:
        click.confirm(
            f"The progress of the tasks of {name} of {tenant} will be lost. Continue?",
            abort=True,
            err=True,
        )
    _connectors(console).delete(tenant, name, missing_ok=missing_ok)


def _aiming(verb: str, help: str) -> None:
    """Add a command that sets the target of a connector's tasks."""

    @connector.command(verb, help=help)
    @_named
    @click.pass_obj
    def run(console: Console, tenant: str, name: str) -> None:
        _show(console, getattr(_connectors(console), verb)(tenant, name))


_aiming(
    "pause",
    "Pause the tasks of the connector NAME of TENANT; they keep their workers.",
)
_aiming("resume", "Resume the tasks of the connector NAME of TENANT, paused or stopped.")
_aiming("stop", "Take the tasks of the connector NAME of TENANT from their workers.")


@connector.command()
@_named
@click.argument("tasks", type=click.IntRange(0, _LARGEST), nargs=-1)
@click.pass_obj
def restart(console: Console, tenant: str, name: str, tasks: tuple[int, ...]) -> None:
    """Restart TASKS of the connector NAME of TENANT, or all of them, failed tasks included."""
    _show(console, _connectors(console).restart(tenant, name, tasks))


@connector.group("type")
def type_() -> None:
    """List the types of connectors."""


@type_.command("list")
@click.pass_obj
def list_types(console: Console) -> None:
    """List the available connector types with their configuration fields."""
    console.print(
        {
            "type": each.name,
            "fields": list(schema["properties"]),
            "required": schema.get("required", []),
        }
        for each in _connectors(console).types()
        for schema in [json.loads(each.json_schema)]
    )


@connector.group()
def task() -> None:
    """Inspect the tasks of connectors."""


@task.command("list")
@click.argument("tenant", default="")
@click.argument("name", default="")
@click.option("--worker", default="", help="Only tasks of this worker.")
@click.option("--state", type=click.Choice(list(_STATES)), help="Only tasks in this state.")
@limit_option
@click.pass_obj
def list_tasks(
    console: Console, tenant: str, name: str, worker: str, state: str | None, limit: int
) -> None:
    """List the tasks of the connector NAME of TENANT, of all connectors of TENANT, or of all."""
    found = _connectors(console).tasks.list(
        tenant=tenant,
        connector=name,
        worker=worker,
        state=None if state is None else _STATES[state],
        page_size=min(limit, _PAGE),
    )
    console.print(
        {
            "tenant": task.id.tenant,
            "connector": task.id.connector,
            "task": task.id.number,
            "state": _state(task.state),
            "target": _target(task.target),
            "version": task.version,
            "worker": task.worker,
            "epoch": task.epoch,
            "failures": task.failures,
            "reason": task.reason,
            "changed_at": time_text(task.changed_at_ms),
        }
        for task in first_rows(found, limit)
    )


@task.command("history")
@_named
@click.argument("task", type=click.IntRange(0, _LARGEST), default=0)
@click.pass_obj
def list_changes(console: Console, tenant: str, name: str, task: int) -> None:
    """List the state changes of a TASK of the connector NAME of TENANT, newest first."""
    console.print(
        {
            "at": time_text(each.at_ms),
            "from": _state(getattr(each, "from")),
            "to": _state(each.to),
            "worker": each.worker,
            "epoch": each.epoch,
            "reason": each.reason,
        }
        for each in _connectors(console).tasks.history(tenant, name, task)
    )


@connector.group()
def worker() -> None:
    """List and drain workers."""


@worker.command("list")
@click.pass_obj
def list_workers(console: Console) -> None:
    """List workers with their numbers of tasks."""
    console.print(
        {**_worker(each.worker), "registered": each.registered, "tasks": each.tasks}
        for each in _connectors(console).workers.list()
    )


@worker.command("drain")
@click.argument("worker")
@click.option(
    "--release-timeout",
    type=click.FloatRange(0, _LONGEST_S, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Time each task has to stop cleanly.",
)
@click.pass_obj
def drain(console: Console, worker: str, release_timeout: float) -> None:
    """Move the tasks of WORKER to other workers, and assign it no new ones."""
    timeout_ms = max(1, round(release_timeout * 1_000))
    drained = _connectors(console).workers.drain(worker, release_timeout_ms=timeout_ms)
    console.print([_worker(drained)])


@worker.command("undrain")
@click.argument("worker")
@click.pass_obj
def undrain(console: Console, worker: str) -> None:
    """Assign tasks to WORKER again."""
    console.print([_worker(_connectors(console).workers.undrain(worker))])


def _connectors(console: Console) -> SyncConnectors:
    return SyncConnectors(console.client())


def _show(console: Console, shown: pb.Connector) -> None:
    console.print([_row(shown)])


def _row(shown: pb.Connector) -> Mapping[str, object]:
    definition = shown.definition
    return {
        "tenant": shown.tenant,
        "name": shown.name,
        "type": definition.type,
        "version": shown.version,
        "target": _target(shown.target),
        "tasks_max": definition.tasks_max,
        "labels": _labels(definition.labels),
        "updated_at": time_text(shown.updated_at_ms),
    }


def _worker(worker: tasks_pb2.Worker) -> Mapping[str, object]:
    return {
        "worker": worker.name,
        "epoch": worker.epoch,
        "draining": worker.draining,
        "silent": worker.silent,
    }


def _labels(labels: Iterable[pb.Label]) -> list[str]:
    """Return the labels that a worker must have."""
    return [f"{label.name}={label.value}" for label in labels]


def _target(target: int) -> str:
    return word_of(pb.Target.DESCRIPTOR, target)


def _state(state: int) -> str:
    return word_of(tasks_pb2.TaskState.DESCRIPTOR, state)
