"""`quorate coordinator`: which broker coordinates which key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from quorate.cli.asking import ask
from quorate.cli.deferred import terminal_of

if TYPE_CHECKING:
    from quorate.client import AsyncClient
    from quorate.v1.coordinator_pb2 import Coordinator


@click.group("coordinator")
def command() -> None:
    """See which broker coordinates a key, and release keys."""


@command.command("get")
@click.argument("role")
@click.argument("key")
@click.option("--cluster-name", default="", help="Only brokers of this cluster name.")
@click.option(
    "--label", "labels", multiple=True, metavar="NAME=VALUE", help="Only brokers with this label."
)
@click.pass_context
def get(ctx: click.Context, role: str, key: str, cluster_name: str, labels: Sequence[str]) -> None:
    """Show the coordinator of KEY among the brokers of ROLE; one is assigned if there is none."""
    wanted = dict(map(_label, labels))
    found = ask(
        ctx,
        lambda client: client.coordinators.get(role, key, cluster_name=cluster_name, labels=wanted),
    )
    terminal_of(ctx).print([_row(found)])


@command.command("list")
@click.argument("role", default="")
@click.option("--broker", default="", help="Only keys that this broker coordinates.")
@click.pass_context
def list_coordinators(ctx: click.Context, role: str, broker: str) -> None:
    """List the keys that have a coordinator, of ROLE or of all roles."""

    async def rows(client: AsyncClient) -> list[Mapping[str, object]]:
        found = client.coordinators.list(role=role, broker=broker)
        return [_row(each) async for each in found]

    terminal_of(ctx).print(ask(ctx, rows))


@command.command("release")
@click.argument("role")
@click.argument("key")
@click.option("--epoch", type=click.IntRange(0), default=0, help="Only if it has this epoch.")
@click.pass_context
def release(ctx: click.Context, role: str, key: str, epoch: int) -> None:
    """Forget KEY of ROLE: it has no coordinator until somebody asks for one."""
    ask(ctx, lambda client: client.coordinators.release(role, key, epoch=epoch))
    terminal_of(ctx).report(f"{key} is released", {"role": role, "key": key, "released": True})


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--label")
    return name, value


def _row(coordinator: Coordinator) -> Mapping[str, object]:
    return {
        "role": coordinator.role,
        "key": coordinator.key,
        "broker": coordinator.broker,
        "broker_epoch": coordinator.broker_epoch,
        "epoch": coordinator.epoch,
    }
