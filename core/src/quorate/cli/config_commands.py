"""`quorate config`: shows, checks and describes the configuration."""

import json
import tomllib

import click

from quorate.cli.options import flag
from quorate.cli.serve import catalog_of, demand_startable, workers_in
from quorate.cli.terminal import Terminal


@click.group("config")
def command() -> None:
    """Show and check the configuration: a file, the environment, and the defaults."""


@command.command("get")
@flag("--schema", "Print the JSON schema, with the sections of all plugins.")
@click.pass_obj
def get(terminal: Terminal, schema: bool) -> None:
    """Print the effective configuration with every default, as TOML or as JSON."""
    from quorate.config import render, schema as schema_of

    if schema:
        click.echo(json.dumps(schema_of(terminal.plugins.section_models()), indent=2))
        return
    document = render(terminal.settings())
    if terminal.json:
        terminal.print_json(tomllib.loads(document))
    else:
        click.echo(document, nl=False)


@command.command("check")
@click.pass_obj
def check(terminal: Terminal) -> None:
    """Check the configuration as a starting node does, and list every problem."""
    settings = terminal.settings()
    workers = workers_in(terminal, settings)
    catalog = catalog_of(terminal, frozenset(settings.plugins.enabled))
    try:
        demand_startable(workers[0].settings if workers else settings, catalog)
    except ModuleNotFoundError as error:
        terminal.warn(
            f"certificates, members and groups are not checked: a node needs {error.name}, which"
            " is not installed; pip install 'quorate[server]'"
        )
    file = terminal.chosen_config()
    caution = settings.timing.caution
    if caution is not None:
        terminal.warn(caution)
    terminal.print(
        [
            {
                "file": None if file is None else str(file),
                "plugins": list(settings.plugins.enabled),
                "result": "right",
            }
        ]
    )
