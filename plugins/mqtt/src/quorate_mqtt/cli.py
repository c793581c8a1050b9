"""The command group `quorate mqtt`, which the commands of the resources complete."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Final

import click
from quorate.plugin import Console
from quorate.plugin.console import columns_of, words_of

from quorate_mqtt.client import Access, Action, SyncMqtt
from quorate_mqtt.v1 import blacklist_pb2 as blacklist
from quorate_mqtt.v1.users_pb2 import CreateUserRequest, UpdateUserRequest

_KINDS: Final = words_of(blacklist.DESCRIPTOR.enum_types_by_name["BlacklistKind"])
#: A hundred years: what is to last longer has no end.
_LONGEST_S: Final = 100 * 365 * 86_400

_password = click.password_option(
    help="Better left out: what is typed is not shown, and no other user of the machine reads it."
)


@click.group()
def mqtt() -> None:
    """See and change what the cluster keeps for MQTT brokers."""


@mqtt.group("users")
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
def create_user(
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
    request = CreateUserRequest(
        tenant=tenant,
        name=name,
        password=password.encode(),
        superuser=superuser,
        description=description,
    )
    console.print([dict(columns_of(write(request)))])


@users.command("set-password")
@click.argument("tenant")
@click.argument("name")
@_password
@click.pass_obj
def set_password(console: Console, tenant: str, name: str, password: str) -> None:
    """Give the user NAME of TENANT another password."""
    change = UpdateUserRequest(tenant=tenant, name=name, password=password.encode())
    console.print([dict(columns_of(SyncMqtt(console.client()).users.update(change)))])


@mqtt.group("blacklist-entries")
def blacklist_entries() -> None:
    """Keep clients out."""


@blacklist_entries.command("create")
@click.argument("tenant")
@click.argument("name")
@click.argument("kind", type=click.Choice(list(_KINDS)))
@click.argument("subject")
@click.option(
    "--for",
    "seconds",
    type=click.IntRange(1, _LONGEST_S),
    metavar="S",
    help="For how many seconds; default: until the entry is deleted.",
)
@click.option("--description", default="")
@click.option("--replace", is_flag=True, help="Replace the entry of that name, if there is one.")
@click.pass_obj
def create_entry(
    console: Console,
    tenant: str,
    name: str,
    kind: str,
    subject: str,
    seconds: int | None,
    description: str,
    replace: bool,
) -> None:
    """Keep whom KIND and SUBJECT name from all that is TENANT's, under the entry NAME."""
    entry = blacklist.BlacklistEntry(
        tenant=tenant,
        name=name,
        description=description,
        kind=blacklist.BlacklistKind.Name(_KINDS[kind]),
        subject=subject,
        ends_at_ms=0 if seconds is None else round((time.time() + seconds) * 1_000),
    )
    entries = SyncMqtt(console.client()).blacklist
    console.print([dict(columns_of(entries.put(entry) if replace else entries.create(entry)))])


@mqtt.command("check")
@click.argument("tenant")
@click.argument("client_id")
@click.argument("action", type=click.Choice([action.value for action in Action]))
@click.argument("topic", default="")
@click.option("--username", default="", help="The user name that the client gives.")
@click.option("--address", default="", help="The IP address that it comes from.")
@click.option("--qos", type=click.IntRange(0, 2), default=0, show_default=True)
@click.option("--retain", is_flag=True, help="The message is to be retained.")
@click.option("--deny-unmatched", is_flag=True, help="Deny where no rule says anything.")
@click.pass_obj
def check(
    console: Console,
    tenant: str,
    client_id: str,
    action: str,
    topic: str,
    username: str,
    address: str,
    qos: int,
    retain: bool,
    deny_unmatched: bool,
) -> None:
    """Show whether CLIENT_ID may do ACTION with TOPIC, and which rule decides that."""
    access = Access(
        client_id=client_id,
        username=username,
        address=address,
        action=Action(action),
        topic=topic,
        qos=qos,
        retain=retain,
    )
    decision = SyncMqtt(console.client()).check_access(
        tenant, access, allow_unmatched=not deny_unmatched
    )
    console.print([asdict(decision)])


@mqtt.group("sessions")
def sessions() -> None:
    """See and end the sessions of clients."""


@sessions.command("count")
@click.pass_obj
def count_connections(console: Console) -> None:
    """Count the connected clients of each registration of a broker."""
    q = console.client()
    names = {broker.epoch: broker.name for broker in q.brokers.list()}
    console.print(
        {"broker": names.get(epoch, ""), "broker_epoch": epoch, "connections": connections}
        for epoch, connections in SyncMqtt(q).sessions.connections().items()
    )
