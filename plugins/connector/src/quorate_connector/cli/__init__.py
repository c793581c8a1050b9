"""The command group `quorate connector`."""

from __future__ import annotations

import click

from quorate_connector.cli import connectors, tasks, workers


@click.group()
def connector() -> None:
    """Define connectors, see what becomes of their tasks, and drain workers."""


for _command in (*connectors.COMMANDS, *tasks.COMMANDS, *workers.COMMANDS):
    connector.add_command(_command)
