"""`quorate bench`: bounded loads of writes, batches, reads and watched changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec

import click

from quorate.cli.asking import ask
from quorate.cli.bench.delivery import deliver
from quorate.cli.bench.load import Bounds, Measured, run
from quorate.cli.bench.pairs import BenchPairs
from quorate.cli.deferred import terminal_of
from quorate.cli.progress import calls_done

if TYPE_CHECKING:
    from quorate.client import AsyncClient

P = ParamSpec("P")
Load = Callable[[BenchPairs, Bounds, Callable[[int], None]], Awaitable[Measured]]

#: What the reads go round in.
_READ_PAIRS: Final = 10_000
#: More of them would only wait for one another.
_BATCHES_AT_ONCE: Final = 4

_OPTIONS: Final = (
    click.option(
        "--count",
        type=click.IntRange(1, 10_000_000),
        default=10_000,
        show_default=True,
        help="Number of calls.",
    ),
    click.option(
        "--seconds",
        type=click.FloatRange(0.1, 3_600),
        default=10.0,
        show_default=True,
        help="Duration.",
    ),
    click.option(
        "--size",
        type=click.IntRange(0, 1 << 20),
        default=128,
        show_default=True,
        help="Size of a value in bytes.",
    ),
    click.option(
        "--prefix",
        default="bench/",
        show_default=True,
        help="Prefix of the keys; the rest is random, and every key with the prefix is removed.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The options of every load."""

    bounds: Bounds
    size: int
    prefix: str


def _planned(
    command: Callable[Concatenate[Plan, P], None], *, at_once: int = 100
) -> Callable[..., None]:
    """Give a command the options that all loads have."""

    @wraps(command)
    def with_plan(
        count: int,
        seconds: float,
        concurrency: int,
        size: int,
        prefix: str,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        bounds = Bounds(calls=count, seconds=seconds, concurrency=concurrency)
        command(Plan(bounds=bounds, size=size, prefix=prefix), *args, **kwargs)

    optioned: Callable[..., None] = with_plan
    concurrency_option = click.option(
        "--concurrency",
        type=click.IntRange(1, 10_000),
        default=at_once,
        show_default=True,
        help="Concurrent calls.",
    )
    for option in reversed((*_OPTIONS, concurrency_option)):
        optioned = option(optioned)
    return optioned


@click.group("bench")
def command() -> None:
    """Measure what the cluster carries: calls a second, and how long they take.

    A load ends after --count calls or --seconds, whichever comes first, and removes what it wrote.
    """


@command.command("writes")
@_planned
def writes(plan: Plan) -> None:
    """Write pairs one by one; the client sends those together that wait together."""
    _measure(plan, lambda pairs, bounds, done: run(pairs.put, bounds, done))


@command.command("batch")
@click.option(
    "--items",
    type=click.IntRange(1, 10_000),
    default=1_000,
    show_default=True,
    help="Pairs per call.",
)
@partial(_planned, at_once=_BATCHES_AT_ONCE)
def batch(plan: Plan, items: int) -> None:
    """Write pairs in batches, each of them one command."""

    def load(pairs: BenchPairs, bounds: Bounds, done: Callable[[int], None]) -> Awaitable[Measured]:
        return run(partial(pairs.put_many, items=items), bounds, done)

    _measure(plan, load)


@command.command("reads")
@click.option(
    "--items",
    type=click.IntRange(1, 1_000),
    default=1,
    show_default=True,
    help="Pairs per call.",
)
@_planned
def reads(plan: Plan, items: int) -> None:
    """Read pairs, linearizably."""

    async def load(pairs: BenchPairs, bounds: Bounds, done: Callable[[int], None]) -> Measured:
        there = min(bounds.calls * items, _READ_PAIRS)
        await pairs.fill(there)
        return await run(partial(pairs.get_many, items=items, of=there), bounds, done)

    _measure(plan, load)


@command.command("watch")
@_planned
def watch(plan: Plan) -> None:
    """Write pairs under a watch: the times are those from the call to the event."""
    _measure(plan, deliver)


def _measure(plan: Plan, load: Load) -> None:
    ctx = click.get_current_context()
    name = str(ctx.info_name)

    async def measured(client: AsyncClient) -> Measured:
        pairs = BenchPairs(client, plan.prefix, plan.size)
        try:
            with calls_done(name, plan.bounds.calls) as done:
                return await load(pairs, plan.bounds, done)
        finally:
            await pairs.remove()

    terminal_of(ctx).print([ask(ctx, measured).row(name)])
