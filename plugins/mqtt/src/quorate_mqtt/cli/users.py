"""`quorate mqtt users`."""

from __future__ import annotations

import click
from quorate.plugin import Console
from quorate.plugin.console import columns_of

from quorate_mqtt.client import SyncMqtt

_password = click.password_option(
    help="Better left out: what is typed is not shown, and no other user of the machine reads it."
)


@click.group("users")
def users() -> None:
    """Say who may connect, and with which password."""


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
    console.print([dict(columns_of(made))])


@users.command("set-password")
@click.argument("tenant")
@click.argument("name")
@_password
@click.pass_obj
def set_password(console: Console, tenant: str, name: str, password: str) -> None:
    """Give the user NAME of TENANT another password."""
    users = SyncMqtt(console.client()).users
    console.print([dict(columns_of(users.update(tenant, name, password=password.encode())))])
