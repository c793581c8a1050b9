"""`quorate upgrade`: the releases of the nodes, and the feature levels of the cluster."""

from __future__ import annotations

import sys

import click
from google.protobuf import json_format

from quorate.cli.failures import failure, failures
from quorate.cli.options import flag
from quorate.cli.tables import Keyed
from quorate.cli.terminal import Terminal
from quorate.plugin.console import dry_run_option
from quorate.v1 import admin_pb2 as pb
from quorate.v1.levels_pb2 import Feature


@click.group("upgrade")
def command() -> None:
    """Check the progress of an upgrade of the nodes, and finish it."""


@command.command("check")
@click.pass_obj
def check(terminal: Terminal) -> None:
    """Show the release and levels of every node, the levels that would rise, and obstacles.

    It changes nothing, and exits with 1 while a node keeps a level from rising.
    """
    found = terminal.admin("Levels", pb.LevelsRequest(), pb.LevelsResponse)
    versions = {node.node: node.version or "an older release" for node in found.nodes}
    shown = [each for each in found.features if each.next > 1]
    if terminal.json:
        terminal.print_json(
            json_format.MessageToDict(
                found,
                always_print_fields_with_no_presence=True,
                preserving_proto_field_name=True,
            )
        )
    else:
        terminal.print(
            {
                "node": node.node,
                "release": versions[node.node],
                "state": "answers" if node.answers else "does not answer",
                **{
                    each.name: next((at.level for at in node.levels if at.feature == each.name), 1)
                    for each in shown
                },
            }
            for node in found.nodes
        )
        terminal.print(
            {"feature": each.name, "in force": each.level, "then": each.next, "state": _state(each)}
            for each in shown
        )
    blocked = sorted({node for each in found.features for node in each.lacking})
    if blocked:
        raise failures(
            (
                f"{node} runs {versions[node]}, which {_lack(node, found)}",
                "upgrade it, or remove it from the cluster",
            )
            for node in blocked
        )


def _lack(node: str, found: pb.LevelsResponse) -> str:
    """Say which levels a node keeps from rising: builds of one version may differ in them."""
    [of_node] = (each for each in found.nodes if each.node == node)
    levels = {at.feature: at.level for at in of_node.levels}
    return ", and ".join(
        f"supports level {levels.get(each.name, 1)} of {each.name} and keeps it from rising to"
        f" {each.next}"
        for each in found.features
        if node in each.lacking
    )


@command.command("finish")
@flag("--yes", "Do not ask.")
@dry_run_option
@click.pass_obj
def finish(terminal: Terminal, yes: bool, plan: bool) -> None:
    """Raise the cluster's levels to its nodes' release; older releases are refused from then on.

    It is refused, and raises nothing, while a node does not support it.
    """
    if plan:
        levels = terminal.admin("Levels", pb.LevelsRequest(), pb.LevelsResponse)
        rows = (
            {"feature": each.name, "level": each.level, "next": each.next, "state": _state(each)}
            for each in levels.features
            if each.next > each.level
        )
        terminal.print(Keyed(rows, key=("feature",), noun="levels to raise"))
        return
    asked = "Afterwards no node can return to an older release. Continue?"
    if not yes and (not sys.stdin.isatty() or not click.confirm(asked, err=True)):
        raise failure("nothing was raised", "confirm it with --yes")
    found = terminal.admin("FinishUpgrade", pb.FinishUpgradeRequest(), pb.FinishUpgradeResponse)
    raised = {each.feature: each.level for each in found.raised}
    text = ", ".join(f"{name} is at level {level}" for name, level in raised.items())
    terminal.report(text or "there was nothing left to raise", {"raised": raised})


def _state(feature: Feature) -> str:
    if feature.lacking:
        return f"waits for {', '.join(feature.lacking)}"
    return "to be finished" if feature.next > feature.level else "in force"
