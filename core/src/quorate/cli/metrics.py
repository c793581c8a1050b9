"""`quorate metrics`: alert rules for Prometheus and a dashboard for Grafana."""

from __future__ import annotations

import json

import click

from quorate.cli.failures import not_installed
from quorate.cli.terminal import Terminal
from quorate.plugin import Metric


@click.group("metrics")
def command() -> None:
    """Print Prometheus rules and a Grafana dashboard for core and the installed plugins."""


@command.command("export")
@click.argument("document", type=click.Choice(["alerts", "dashboard"]))
@click.pass_obj
def export(terminal: Terminal, document: str) -> None:
    """Print alert rules, a file for rule_files of Prometheus, or a dashboard for Grafana."""
    from quorate.observe.prometheus import dashboard, rules

    metrics = _metrics(terminal)
    if document == "alerts":
        click.echo(rules(alert for metric in metrics if (alert := metric.alert)), nl=False)
    else:
        click.echo(json.dumps(dashboard(metrics), indent=1))


def _metrics(terminal: Terminal) -> list[Metric]:
    try:
        from quorate.node.metrics import declared
    except ModuleNotFoundError as error:
        raise not_installed(error, "metrics") from error
    terminal.warn_of_broken()
    return [*declared(), *(each for plugin in terminal.plugins.sound for each in plugin.metrics)]
