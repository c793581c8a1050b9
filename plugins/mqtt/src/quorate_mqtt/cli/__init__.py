"""The command group `quorate mqtt`, which the commands of the resources complete."""

import click

from quorate_mqtt.cli.access import blacklist_entries, check
from quorate_mqtt.cli.clients import sessions
from quorate_mqtt.cli.users import users


@click.group()
def mqtt() -> None:
    """See and change what the cluster keeps for MQTT brokers."""


for _command in (blacklist_entries, check, sessions, users):
    mqtt.add_command(_command)
