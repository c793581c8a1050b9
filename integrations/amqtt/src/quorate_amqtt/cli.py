"""The command `quorate-amqtt`."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path

import click
from quorate.client import QuorateError

from quorate_amqtt.config import Settings
from quorate_amqtt.serving import serve


@click.command()
@click.option(
    "--config",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file of the broker, in YAML.",
)
@click.option("--verbose", is_flag=True, help="Log connects, and the reasons for refusals.")
def main(config: Path, verbose: bool) -> None:
    """Run an MQTT broker that keeps its state in Quorate."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("transitions").setLevel(logging.WARNING)
    try:
        settings = Settings.of_file(config)
    except ValueError as error:
        raise click.ClickException(f"{config}: {error}") from error
    try:
        why = asyncio.run(_until_told(settings))
    except QuorateError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{settings.name} cannot listen: {error}") from error
    if why:
        raise click.ClickException(f"{settings.name} has stopped serving: {why}")


async def _until_told(settings: Settings) -> str:
    """Serve until SIGINT or SIGTERM comes, or the registration is over; returns why it is."""
    loop = asyncio.get_running_loop()
    serving = loop.create_task(serve(settings, lambda line: click.echo(line)))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.cancel)
    try:
        return await serving
    except asyncio.CancelledError:
        return ""
