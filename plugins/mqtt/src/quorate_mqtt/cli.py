"""The command group `quorate mqtt`, which the commands of the resources complete."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any, Final

import click
from quorate.plugin import Console
from quorate.plugin.console import columns_of, words_of

from quorate_mqtt.client import Access, Action, SyncMqtt
from quorate_mqtt.v1 import blacklist_pb2 as blacklist
from quorate_mqtt.v1.users_pb2 import CreateUserRequest, UpdateUserRequest

_KINDS: Final = words_of(blacklist.DESCRIPTOR.enum_types_by_name["BlacklistKind"])
#: A hundred years: an entry that is to last longer needs no end.
_LONGEST_S: Final = 100 * 365 * 86_400

_password = click.password_option(
    help="Better left out: the prompt hides the password from the screen and from other users."
)


@click.group()
def mqtt() -> None:
    """Show and change the metadata of MQTT brokers."""


@mqtt.group("user")
def users() -> None:
    """Manage the users of clients, and their passwords."""


@users.command("create")
@click.argument("tenant")
@click.argument("name")
@_password
@click.option("--superuser", is_flag=True, help="Exempt the user from ACL rules.")
@click.option("--description", default="")
@click.option("--replace", is_flag=True, help="Replace an existing user of that name.")
@click.pass_obj
def create_user(console: Console, /, password: str, replace: bool, **given: Any) -> None:
    """Create the user NAME of TENANT."""
    users = SyncMqtt(console.client()).users
    write = users.put if replace else users.create
    request = CreateUserRequest(password=password.encode(), **given)
    console.print([dict(columns_of(write(request)))])


@users.command("set-password")
@click.argument("tenant")
@click.argument("name")
@_password
@click.pass_obj
def set_password(console: Console, tenant: str, name: str, password: str) -> None:
    """Change the password of the user NAME of TENANT."""
    change = UpdateUserRequest(tenant=tenant, name=name, password=password.encode())
    console.print([dict(columns_of(SyncMqtt(console.client()).users.update(change)))])


@mqtt.group("blacklist-entry")
def blacklist_entries() -> None:
    """Block clients."""


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
    help="Lifetime in seconds; default: until the entry is deleted.",
)
@click.option("--description", default="")
@click.option("--replace", is_flag=True, help="Replace an existing entry of that name.")
@click.pass_obj
def create_entry(
    console: Console, /, kind: str, seconds: int | None, replace: bool, **given: Any
) -> None:
    """Block the clients of TENANT that KIND and SUBJECT match, with the entry NAME."""
    entry = blacklist.BlacklistEntry(
        kind=blacklist.BlacklistKind.Name(_KINDS[kind]),
        ends_at_ms=0 if seconds is None else round((time.time() + seconds) * 1_000),
        **given,
    )
    entries = SyncMqtt(console.client()).blacklist
    console.print([dict(columns_of(entries.put(entry) if replace else entries.create(entry)))])


@mqtt.command("check")
@click.argument("tenant")
@click.argument("client_id")
@click.argument("action", type=click.Choice([action.value for action in Action]))
@click.argument("topic", default="")
@click.option("--username", default="", help="User name of the client.")
@click.option("--address", default="", help="IP address of the client.")
@click.option("--qos", type=click.IntRange(0, 2), default=0, show_default=True)
@click.option("--retain", is_flag=True, help="The message has the retain flag.")
@click.option("--deny-unmatched", is_flag=True, help="Deny if no rule matches.")
@click.pass_obj
def check(
    console: Console, /, tenant: str, action: str, deny_unmatched: bool, **given: Any
) -> None:
    """Show whether CLIENT_ID may do ACTION on TOPIC, and which rule decides."""
    access = Access(action=Action(action), **given)
    decision = SyncMqtt(console.client()).check_access(
        tenant, access, allow_unmatched=not deny_unmatched
    )
    console.print([asdict(decision)])


@mqtt.group("session")
def sessions() -> None:
    """Show and end the sessions of clients."""


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
