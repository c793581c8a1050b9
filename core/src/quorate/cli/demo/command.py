"""`quorate demo`: the command, and which plugins have a part in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from quorate.cli.demo.playing import Pace, Part, Play
from quorate.cli.demo.scene import TENANTS, pairs, scene
from quorate.cli.failures import ExitCode, failure
from quorate.cli.options import option
from quorate.cli.statuses import Silent, Statuses
from quorate.cli.terminal import Terminal
from quorate.plugin.console import Demo

if TYPE_CHECKING:
    from quorate.cli.installed import InstalledPlugins
    from quorate.client import AsyncClient

#: The extension point of the plugins' parts.
POINT: Final = "cluster.demos"


@click.command("demo")
@option(
    "--seconds",
    "Seconds of load once all is made; 0: none. Default: until Ctrl-C.",
    click.FloatRange(0, 86_400),
)
@option(
    "--rate",
    "Limit on steps of the load per second; each is a handful of writes.",
    click.FloatRange(0.1, 100),
    10.0,
)
@click.pass_obj
def command(terminal: Terminal, seconds: float | None, rate: float) -> None:
    """Fill a cluster with something to look at, and keep it moving until Ctrl-C.

    It makes tenants, brokers and pairs, and what the plugins that the cluster has enabled add to
    it. All is in tenants and below keys that begin with `demo`; nothing else is changed.
    """

    async def play(client: AsyncClient) -> None:
        found = _parts(terminal, await _enabled(client))
        playing = Play(found, Pace(rate), tell, terminal.warn)
        async with scene(client) as made:
            tell("core", f"tenants {', '.join(made.tenants)}; brokers {', '.join(made.brokers)}")
            await playing.run(client, made, seconds, ready)
        terminal.report(
            f"the load has ended after {playing.steps} steps; what it made is still there: "
            f"`quorate tenant delete {TENANTS[0]}` deletes a tenant with all its rows",
            {"event": "ended", "steps": playing.steps},
        )

    def tell(part: str, what: str) -> None:
        terminal.report(f"{part}: {what}", {"event": "made", "part": part, "what": what})

    def ready() -> None:
        ends = "Ctrl-C ends it" if seconds is None else f"it ends after {seconds:g} s"
        terminal.report(f"ready; the load runs, and {ends}", {"event": "ready"})

    terminal.follow(play)


async def _enabled(client: AsyncClient) -> frozenset[str]:
    """Return the plugins that every node which answers has enabled."""
    async with Statuses(client.tls, client.token) as statuses:
        found = await statuses.of_members(await client.topology())
    said = [
        frozenset(plugin.name for plugin in each.plugins)
        for each in found.values()
        if not isinstance(each, Silent)
    ]
    if not said:
        raise failure("no node tells which plugins it has", exit_code=ExitCode.UNAVAILABLE)
    return frozenset.intersection(*said)


def _parts(terminal: Terminal, enabled: frozenset[str]) -> dict[str, Part]:
    """Load the parts of enabled plugins, and say which plugins are left out."""
    demos = demos_of(terminal.plugins)
    left_out = sorted([name for name in demos if name not in enabled])
    if left_out:
        terminal.report(
            f"left out, since the cluster has not enabled them: {', '.join(left_out)}",
            {"event": "left out", "plugins": left_out},
        )
    return {
        "core": pairs,
        **{name: demo.load() for name, demo in demos.items() if name in enabled},
    }


def demos_of(plugins: InstalledPlugins) -> dict[str, Demo]:
    """Return the parts of sound plugins by their names."""
    return {
        plugin.plugin.name: each.value
        for plugin in plugins.sound
        for each in plugin.extensions
        if each.point == POINT and isinstance(each.value, Demo)
    }
