"""`quorate tenant`: whose data there is, and how much of it there may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from quorate.cli.asking import ask
from quorate.cli.deferred import terminal_of

if TYPE_CHECKING:
    from quorate.client import AsyncClient
    from quorate.v1.tenant_pb2 import Tenant

_MOST: Final = (1 << 64) - 1

_name = click.argument("name")


def _limits_of(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    limits: dict[str, int] = {}
    for each in given:
        name, _equals, number = each.rpartition("=")
        if not name or not number.isdecimal() or int(number) > _MOST:
            raise click.BadParameter(f"{each!r} is no limit; write mqtt.topics=10, say")
        limits[name] = int(number)
    return limits


_limits = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=NUMBER",
    callback=_limits_of,
    help="A limit; may be repeated.",
)


@click.group("tenant")
def command() -> None:
    """Show, write and delete tenants."""


@command.command("list")
@click.argument("prefix", default="")
@click.pass_context
def list_tenants(ctx: click.Context, prefix: str) -> None:
    """List the tenants whose names begin with PREFIX, or all."""

    async def rows(q: AsyncClient) -> list[Mapping[str, object]]:
        return [_row(tenant) async for tenant in q.tenants.list(prefix)]

    terminal_of(ctx).print(ask(ctx, rows))


@command.command("put")
@_name
@click.option("--description", default="")
@_limits
@click.pass_context
def put(ctx: click.Context, name: str, description: str, limits: dict[str, int]) -> None:
    """Make the tenant NAME, or replace what is said of it."""
    written = ask(ctx, lambda q: q.tenants.put(name, description=description, limits=limits))
    terminal_of(ctx).print([_row(written)])


@command.command("update")
@_name
@click.option("--description", help="Default: unchanged.")
@_limits
@click.option("--no-limits", is_flag=True, help="Remove all limits.")
@click.pass_context
def update(
    ctx: click.Context,
    name: str,
    description: str | None,
    limits: dict[str, int],
    no_limits: bool,
) -> None:
    """Change what is given of the tenant NAME; given limits replace all."""
    if limits and no_limits:
        raise click.UsageError("Give either --limit or --no-limits")
    given = limits if limits or no_limits else None
    written = ask(ctx, lambda q: q.tenants.update(name, description=description, limits=given))
    terminal_of(ctx).print([_row(written)])


@command.command("delete")
@_name
@click.option("--cascade", is_flag=True, help="Also delete everything the tenant holds.")
@click.option("--missing-ok", is_flag=True, help="Succeed if the tenant does not exist.")
@click.pass_context
def delete(ctx: click.Context, name: str, cascade: bool, missing_ok: bool) -> None:
    """Mark the tenant NAME for deletion; `waits_for` says whose parts are still to be done."""
    marked = ask(ctx, lambda q: q.tenants.delete(name, cascade=cascade, missing_ok=missing_ok))
    terminal_of(ctx).print([_row(marked)] if marked.name else [])


def _row(tenant: Tenant) -> Mapping[str, object]:
    return {
        "name": tenant.name,
        "description": tenant.description,
        "limits": dict(sorted(tenant.limits.items())),
        "deleting": bool(tenant.deleting_at_ms),
        "waits_for": list(tenant.cascades),
    }
