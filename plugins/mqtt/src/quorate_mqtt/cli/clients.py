"""`quorate mqtt sessions`, `subscriptions`, `wills` and `groups`: what there is of clients."""

from __future__ import annotations

import click
from quorate.plugin import Console

from quorate_mqtt.cli.showing import limited, show_some
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.sessions_pb2 import ListSessionsRequest
from quorate_mqtt.v1.subscriptions_pb2 import ListSubscriptionsRequest
from quorate_mqtt.v1.wills_pb2 import ListWillDeliveriesRequest


@click.group("sessions")
def sessions() -> None:
    """See and end the sessions of clients."""


@sessions.command("list")
@click.argument("tenant", default="")
@click.option("--prefix", default="", help="Only clients whose ids begin with this.")
@click.option("--broker", default="", help="Only clients that this broker serves, or served last.")
@limited
@click.pass_obj
def list_sessions(console: Console, tenant: str, prefix: str, broker: str, limit: int) -> None:
    """List the sessions of TENANT, or of all tenants."""
    request = ListSessionsRequest(tenant=tenant, client_prefix=prefix, broker=broker)
    show_some(console, SyncMqtt(console.client()).sessions.list(request), limit)


@sessions.command("delete")
@click.argument("tenant")
@click.argument("client_id")
@click.pass_obj
def delete(console: Console, tenant: str, client_id: str) -> None:
    """End the session of CLIENT_ID with its subscriptions; its will is not published."""
    deleted = SyncMqtt(console.client()).sessions.delete(tenant, client_id)
    console.print([{"tenant": tenant, "client_id": client_id, "deleted": deleted}])


@sessions.command("count")
@click.pass_obj
def count(console: Console) -> None:
    """Count the connected clients of each registration of a broker."""
    q = console.client()
    names = {broker.epoch: broker.name for broker in q.brokers.list()}
    console.print(
        [
            {"broker": names.get(epoch, ""), "broker_epoch": epoch, "connections": connections}
            for epoch, connections in SyncMqtt(q).sessions.connections().items()
        ]
    )


@click.group("subscriptions")
def subscriptions() -> None:
    """See the subscriptions of clients."""


@subscriptions.command("list")
@click.argument("tenant", default="")
@click.argument("client_id", default="")
@limited
@click.pass_obj
def list_subscriptions(console: Console, tenant: str, client_id: str, limit: int) -> None:
    """List the subscriptions of CLIENT_ID, of TENANT, or of all tenants."""
    request = ListSubscriptionsRequest(tenant=tenant, client_id=client_id)
    show_some(console, SyncMqtt(console.client()).subscriptions.list(request), limit)


@click.group("wills")
def wills() -> None:
    """See the last wills that brokers have to publish."""


@wills.command("list")
@click.argument("tenant", default="")
@click.option("--broker", default="", help="Only those that this broker is to publish.")
@limited
@click.pass_obj
def list_wills(console: Console, tenant: str, broker: str, limit: int) -> None:
    """List the wills of TENANT that are due, or of all tenants."""
    request = ListWillDeliveriesRequest(tenant=tenant, assignee=broker)
    show_some(console, SyncMqtt(console.client()).wills.deliveries(request), limit)
