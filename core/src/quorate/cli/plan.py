"""`quorate plan`: the machines a workload needs, and the first limit reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final, TypeVar

import click

from quorate.cli.costs import GB, PLANNED, ClusterPlan, Demand, Machine, plan
from quorate.cli.failures import failures
from quorate.cli.options import option
from quorate.cli.terminal import Terminal

_POWERS: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


_C = TypeVar("_C", bound=Callable[..., Any])


class _Amount(click.ParamType[float]):
    """A number with a unit of thousands after it, as in 50k or 1.5M."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip().lower()
        digits = text.rstrip("kmg")
        try:
            amount = float(digits) * _POWERS[text[len(digits) :]]
        except (KeyError, ValueError):
            amount = -1.0
        if not 0 <= amount <= 1e15:
            self.fail(f"{value!r} is not a number such as 50000, 50k or 1.5M", param, ctx)
        return amount


def _amount(name: str, help: str) -> Callable[[_C], _C]:
    return click.option(name, type=_Amount(), default=0.0, metavar="NUMBER", help=help)


@click.command("plan")
@_amount("--sessions", "Stored rows, each like an MQTT session.")
@_amount("--writes", "Writes per second, one per call.")
@_amount("--batched", "Rows per second written in batches of 1,000.")
@_amount("--reads", "Linearizable reads per second, one per call.")
@_amount("--watches", "Open watches.")
@_amount("--events", "Changes per second delivered, summed over watches.")
@click.option("--replicas", type=click.IntRange(1, 9), default=3, show_default=True)
@option("--nodes", "Machines; default: the fewest that suffice.", click.IntRange(1, 100_000))
@option("--cores", "Cores per machine.", click.IntRange(1, 1_024), 16)
@option(
    "--memory", "Bytes of memory per machine; default: 64G.", _Amount(), 64e9, show_default=False
)
@option("--disk", "Bytes of disk per machine; default: 1000G.", _Amount(), 1e12, show_default=False)
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    nodes: int | None,
    cores: int,
    memory: float,
    disk: float,
    replicas: int,
    **asked: float,
) -> None:
    """Estimate the machines a workload needs, from measured figures.

    It calls no cluster. If the machines do not suffice, it names the bottleneck and exits with 1.
    """
    if nodes is not None and nodes < replicas:
        raise click.UsageError(f"{replicas} replicas need as many machines, but --nodes is {nodes}")
    demand = Demand(replicas=replicas, **asked)
    machine = Machine(cores=cores, memory=memory, disk=disk)
    found = plan(demand, machine, nodes)
    if terminal.json:
        terminal.print_json(_parts(found))
    else:
        click.echo(
            f"{found.nodes} machines with {cores} cores and {memory / GB:g} GB,"
            f" [node] workers = {found.workers}, {found.shards} shards of {replicas} replicas"
        )
        terminal.print(_rows(found))
        click.echo(
            f"{PLANNED:.0%} of each may be used; the first limit reached is"
            f" {found.fullest.what}. docs/explanation/scale.md explains the figures."
        )
    lacking = [each for each in found.uses if not each.fits]
    if lacking:
        raise failures(
            (
                f"{each.what}: {each.needs:,.1f} {each.unit} are needed, but at most"
                f" {each.has:,.1f} may be used",
                "reduce the workload, or choose other machines",
            )
            for each in lacking
        )


def _parts(found: ClusterPlan) -> dict[str, object]:
    return {
        "nodes": found.nodes,
        "workers": found.workers,
        "shards": found.shards,
        "fits": found.fits,
        "first_to_break": found.fullest.what,
        "uses": [asdict(each) for each in found.uses],
    }


def _rows(found: ClusterPlan) -> list[dict[str, object]]:
    return [
        {
            "what": each.what,
            "needs": f"{each.needs:,.2f} {each.unit}",
            "may use": None if each.has is None else f"{each.has:,.2f} {each.unit}",
            "share": None if not each.has else f"{each.needs / each.has:.0%}",
        }
        for each in found.uses
    ]
