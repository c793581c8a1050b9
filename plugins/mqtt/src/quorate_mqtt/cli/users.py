"""`quorate mqtt users`."""

from __future__ import annotations

import click
from quorate.plugin import Console

from quorate_mqtt.cli.showing import limited, show, show_some
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.users_pb2 import ListUsersRequest

_password = click.password_option(
    help="Better left out: what is typed is not shown, and no other user of the machine reads it."
)


@click.group("users")
def users() -> None:
    """Say who may connect, and with which password."""


@users.command("list")
@click.argument("tenant", default="")
@click.option("--prefix", default="", help="Only users whose names begin with this.")
@limited
@click.pass_obj
def list_users(console: Console, tenant: str, prefix: str, limit: int) -> None:
    """List the users of TENANT, or of all tenants."""
    request = ListUsersRequest(tenant=tenant, prefix=prefix)
    show_some(console, SyncMqtt(console.client()).users.list(request), limit)


@users.command("create")
@click.argument("tenant")
@click.argument("name")
@_password
@click.option("--superuser", is_flag=True, help="ACL rules do not bind the user.")
@click.option("--description", default="")
@click.option("--replace", is_flag=True, help="Replace the user of that name, if there is one.")
@click.pass_obj
def create(
    console: Console,
    tenant: str,
    name: str,
    password: str,
    superuser: bool,
    description: str,
    replace: bool,
) -> None:
    """Make the user NAME of TENANT."""
    users = SyncMqtt(console.client()).users
    write = users.put if replace else users.create
    made = write(tenant, name, password.encode(), superuser=superuser, description=description)
    show(console, [made])


@users.command("set-password")
@click.argument("tenant")
@click.argument("name")
@_password
@click.pass_obj
def set_password(console: Console, tenant: str, name: str, password: str) -> None:
    """Give the user NAME of TENANT another password."""
    users = SyncMqtt(console.client()).users
    show(console, [users.update(tenant, name, password=password.encode())])


@users.command("delete")
@click.argument("tenant")
@click.argument("name")
@click.option("--missing-ok", is_flag=True, help="A user that is not there is no failure.")
@click.pass_obj
def delete(console: Console, tenant: str, name: str, missing_ok: bool) -> None:
    """Delete the user NAME of TENANT."""
    SyncMqtt(console.client()).users.delete(tenant, name, missing_ok=missing_ok)
