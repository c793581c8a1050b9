"""The command group `quorate mqtt`: what a cluster keeps for MQTT brokers."""

import click

from quorate_mqtt.cli.access import blacklist_entries, check
from quorate_mqtt.cli.clients import sessions, subscriptions, wills
from quorate_mqtt.cli.users import users


@click.group()
def mqtt() -> None:
    """See and change what the cluster keeps for MQTT brokers."""


for _command in (
    blacklist_entries,
    check,
    sessions,
    subscriptions,
    users,
    wills,
):
    mqtt.add_command(_command)
