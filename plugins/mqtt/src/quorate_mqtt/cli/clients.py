"""`quorate mqtt sessions count`: how many clients each broker serves."""

from __future__ import annotations

import click
from quorate.plugin import Console

from quorate_mqtt.client import SyncMqtt


@click.group("sessions")
def sessions() -> None:
    """See and end the sessions of clients."""


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
