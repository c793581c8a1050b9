"""`quorate connector create`, and what else is done with definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click
from google.protobuf.field_mask_pb2 import FieldMask
from quorate.plugin import Console

from quorate_connector.cli.definition_file import read
from quorate_connector.cli.showing import (
    LARGEST,
    PAGE,
    connector_row,
    first,
    labels_of,
    limited,
    time_of,
)
from quorate_connector.client import SyncConnectors
from quorate_connector.v1.connectors_pb2 import (
    Connector,
    CreateConnectorRequest,
    ListConnectorsRequest,
    PutConnectorRequest,
    UpdateConnectorRequest,
)

_file = click.option(
    "-f",
    "--file",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="The definition, in TOML.",
)
_discard = click.option(
    "--discard-progress",
    is_flag=True,
    help="Have tasks that go, or that get another type, forget how far they have come.",
)


@click.command()
@_file
@click.option(
    "--replace", is_flag=True, help="Replace the connector of that name, if there is one."
)
@click.pass_obj
def create(console: Console, path: Path, replace: bool) -> None:
    """Make a connector as a file defines it; its tasks begin at once."""
    wanted = read(path)
    connectors = _connectors(console)
    if replace:
        put = PutConnectorRequest(
            tenant=wanted.tenant,
            name=wanted.name,
            definition=wanted.definition,
            target=wanted.first_target,
        )
        _show(console, connectors.put(put))
        return
    request = CreateConnectorRequest(
        tenant=wanted.tenant,
        name=wanted.name,
        definition=wanted.definition,
        target=wanted.first_target,
    )
    _show(console, connectors.create(request))


@click.command()
@_file
@click.option(
    "--expected-version",
    type=click.IntRange(1, LARGEST),
    help="Refuse when another version is the newest.",
)
@_discard
@click.pass_obj
def update(
    console: Console, path: Path, expected_version: int | None, discard_progress: bool
) -> None:
    """Give a connector the definition of a file; its tasks begin again with it."""
    wanted = read(path)
    request = UpdateConnectorRequest(
        tenant=wanted.tenant,
        name=wanted.name,
        definition=wanted.definition,
        expected_version=expected_version or 0,
        discard_progress=discard_progress,
        update_mask=FieldMask(paths=["definition"]),
    )
    _show(console, _connectors(console).update(request))


@click.command("roll-back")
@click.argument("tenant")
@click.argument("name")
@click.argument("version", type=click.IntRange(1, LARGEST))
@_discard
@click.pass_obj
def roll_back(
    console: Console, tenant: str, name: str, version: int, discard_progress: bool
) -> None:
    """Give the connector NAME of TENANT the definition of an earlier VERSION again."""
    connectors = _connectors(console)
    _show(console, connectors.roll_back(tenant, name, version, discard_progress=discard_progress))


@click.command("list")
@click.argument("tenant", default="")
@click.option("--prefix", default="", help="Only connectors whose names begin with this.")
@click.option("--type", "kind", default="", help="Only connectors of this type.")
@limited
@click.pass_obj
def list_connectors(console: Console, tenant: str, prefix: str, kind: str, limit: int) -> None:
    """List the connectors of TENANT, or of all tenants."""
    request = ListConnectorsRequest(
        tenant=tenant, name_prefix=prefix, type=kind, page_size=min(limit, PAGE)
    )
    console.print(map(connector_row, first(_connectors(console).list(request), limit)))


@click.command()
@click.argument("tenant")
@click.argument("name")
@click.pass_obj
def show(console: Console, tenant: str, name: str) -> None:
    """Show the definition of the connector NAME of TENANT."""
    connector = _connectors(console).get(tenant, name)
    if connector is None:
        raise click.UsageError(
            f"there is no connector {name} of tenant {tenant}; see quorate connector list"
        )
    definition = connector.definition
    console.print(
        [
            {
                **connector_row(connector),
                "failures_max": definition.failures_max,
                "backoff_ms": definition.backoff_ms,
                "config": definition.config,
                "created_at": time_of(connector.created_at_ms),
            }
        ]
    )


@click.command()
@click.argument("tenant")
@click.argument("name")
@click.pass_obj
def versions(console: Console, tenant: str, name: str) -> None:
    """List the versions that are kept of the connector NAME of TENANT, the newest first."""
    console.print(
        {
            "version": each.version,
            "type": each.definition.type,
            "tasks_max": each.definition.tasks_max,
            "labels": labels_of(each.definition),
            "config": each.definition.config,
            "created_at": time_of(each.created_at_ms),
        }
        for each in _connectors(console).versions(tenant, name)
    )


@click.command()
@click.argument("tenant")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask whether progress may be lost.")
@click.option("--missing-ok", is_flag=True, help="A connector that is not there is no failure.")
@click.pass_obj
def delete(console: Console, tenant: str, name: str, yes: bool, missing_ok: bool) -> None:
    """Delete the connector NAME of TENANT with its versions, tasks, progress and history."""
    if not yes:
        click.confirm(
            f"How far the tasks of {name} of {tenant} have come is lost. Go on?",
            abort=True,
            err=True,
        )
    _connectors(console).delete(tenant, name, missing_ok=missing_ok)


@click.command()
@click.argument("tenant")
@click.argument("name")
@click.pass_obj
def pause(console: Console, tenant: str, name: str) -> None:
    """Have the tasks of the connector NAME of TENANT do nothing; they keep their workers."""
    _show(console, _connectors(console).pause(tenant, name))


@click.command()
@click.argument("tenant")
@click.argument("name")
@click.pass_obj
def resume(console: Console, tenant: str, name: str) -> None:
    """Have the tasks of the connector NAME of TENANT run, also after it was stopped."""
    _show(console, _connectors(console).resume(tenant, name))


@click.command()
@click.argument("tenant")
@click.argument("name")
@click.pass_obj
def stop(console: Console, tenant: str, name: str) -> None:
    """Take the tasks of the connector NAME of TENANT from their workers."""
    _show(console, _connectors(console).stop(tenant, name))


@click.command()
@click.argument("tenant")
@click.argument("name")
@click.argument("tasks", type=click.IntRange(0, LARGEST), nargs=-1)
@click.pass_obj
def restart(console: Console, tenant: str, name: str, tasks: tuple[int, ...]) -> None:
    """Start TASKS of the connector NAME of TENANT again, or all; also those that have failed."""
    _show(console, _connectors(console).restart(tenant, name, tasks))


@click.command()
@click.pass_obj
def types(console: Console) -> None:
    """List the types that can be used, with the fields of their configuration."""
    console.print(
        {
            "type": each.name,
            "fields": list(schema["properties"]),
            "required": schema.get("required", []),
        }
        for each in _connectors(console).types()
        for schema in [json.loads(each.json_schema)]
    )


def _connectors(console: Console) -> SyncConnectors:
    return SyncConnectors(console.client())


def _show(console: Console, connector: Connector) -> None:
    console.print([connector_row(connector)])


COMMANDS: Final = (
    create,
    update,
    roll_back,
    list_connectors,
    show,
    versions,
    delete,
    pause,
    resume,
    stop,
    restart,
    types,
)
