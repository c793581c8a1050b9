"""`python -m tests.support.sim`: run seeds, say what they covered, and what they found."""

import sys
from functools import partial

import click

from tests.support.sim.bugs import BUGS
from tests.support.sim.profile import USUAL_S
from tests.support.sim.report import Coverage, failure
from tests.support.sim.seeds import run_seed, run_seeds, run_split_seed


def _read_range(_: click.Context, __: click.Parameter, value: str | None) -> range | None:
    """Read two numbers with a dash between them, both included."""
    if value is None:
        return None
    first, _dash, last = value.partition("-")
    if not (first.isdecimal() and last.isdecimal()):
        raise click.BadParameter(f"{value!r} is no range of seeds; write it as 1-300")
    return range(int(first), int(last) + 1)


@click.command()
@click.option("--seed", type=int, help="Run this one seed.")
@click.option("--seeds", metavar="A-B", callback=_read_range, help="Run these seeds, in parallel.")
@click.option("--minutes", type=float, default=USUAL_S / 60, help="Virtual minutes under faults.")
@click.option("--splits", is_flag=True, help="Simulate clusters whose shards are split.")
@click.option("--bug", type=click.Choice(sorted(BUGS)), help="Switch on, in its own profile.")
def main(
    seed: int | None, seeds: range | None, minutes: float, splits: bool, bug: str | None
) -> None:
    """Simulate clusters; the exit code is 1 when an invariant does not hold."""
    if (seed is None) == (seeds is None):
        raise click.UsageError("give either --seed or --seeds")
    seconds, covered, failed = minutes * 60, Coverage(), False
    run = run_split_seed if splits else partial(run_seed, bug=bug)
    one = (run(number, seconds=seconds) for number in seeds or (seed or 0,))
    outcomes = one if seeds is None or bug else run_seeds(seeds, seconds=seconds, one=run)
    for outcome in outcomes:
        covered.add(outcome)
        if outcome.violation is not None:
            failed = True
            click.echo(failure(outcome, seconds, bug, splits=splits))
    click.echo(str(covered))
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
