"""Quorate beside etcd and ZooKeeper: three nodes of each, on the same cores and disk.

All of them run until the end. Before the first round each system is warmed up for each measurement
until its rate no longer rises; then the systems take turns at each measurement, in an order that
differs each round, and the medians count. One process asks for all of them, or `--only` those of
many. What a system needs and the machine does not hold is said, and the others go on.

python benchmarks/peers.py [--systems NAMES] [--only KINDS] [--seconds S] [--rounds N] [--tls]
                           [--directory DIR] [--json]

`--tls` measures Quorate once more, with mutual TLS everywhere and roles, and tells what they cost;
among the systems `quorate-grpcio` is Quorate served by grpcio.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack, ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from figures import Options, run
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from systems.etcd import Etcd
from systems.etcd_nodes import StockNodes
from systems.measuring import WARM_UP_S, Figures, measure, middle, warm_up
from systems.ours import EncryptedQuorate, GrpcioQuorate, Quorate
from systems.outage import Outage, kill_leader
from systems.system import MissingError, System
from systems.zookeeper import ZooKeeper

SYSTEMS: Final[dict[str, Callable[[Path, Collection[str]], System]]] = {
    "etcd": lambda directory, kinds: Etcd(StockNodes(directory), kinds),
    "zookeeper": ZooKeeper,
    "quorate": Quorate,
    "quorate-tls": EncryptedQuorate,
    "quorate-grpcio": GrpcioQuorate,
}
OURS: Final = Quorate.name
ENCRYPTED: Final = EncryptedQuorate.name
FORMER: Final = GrpcioQuorate.name
#: The share of a core from which on the process that asks is taken to be the limit.
BUSY: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A line of the table."""

    name: str
    kind: str
    in_flight: int
    #: Ours divided by the better peer; None: there is none.
    aim: float | None = None
    #: The measurement of the peers that ours is held against, when it is not this one.
    against: str = ""
    #: The peers that count; empty: all.
    peers: tuple[str, ...] = ()


MEASUREMENTS: Final = (
    Measurement(name="write, 1 in flight", kind="write", in_flight=1, aim=0.5, peers=("etcd",)),
    Measurement(name="write, 10 in flight", kind="write", in_flight=10),
    Measurement(name="write, 100 in flight", kind="write", in_flight=100, aim=0.4, peers=("etcd",)),
    Measurement(
        name="client-batched write, 1,000 in flight",
        kind="lanes",
        in_flight=1_000,
        aim=2.5,
        against="write, 100 in flight",
        peers=("etcd",),
    ),
    Measurement(name="write in batches, 8 in flight", kind="batch", in_flight=8, aim=1.3),
    Measurement(name="read, 1 in flight", kind="read", in_flight=1, aim=0.25),
    Measurement(name="read, 100 in flight", kind="read", in_flight=100, aim=0.8),
    Measurement(name="read 100 a call, 8 in flight", kind="reads", in_flight=8, aim=1.0),
    Measurement(name="read, all nodes, 100 in flight", kind="read of all", in_flight=100),
    Measurement(name="read 100 a call, all nodes, 8", kind="reads of all", in_flight=8),
    Measurement(
        name="write, 16 processes of 8", kind="writes of many", in_flight=128, peers=("etcd",)
    ),
    Measurement(
        name="read, 16 processes of 8", kind="reads of many", in_flight=128, peers=("etcd",)
    ),
    Measurement(name="sessions in batches, 8 in flight", kind="sessions", in_flight=8, aim=1.0),
    Measurement(name="conditional sessions, 8 in flight", kind="conditional", in_flight=8, aim=1.0),
)
OUTAGE: Final = "outage"
KINDS: Final = (*dict.fromkeys(each.kind for each in MEASUREMENTS), OUTAGE)


#: By system, by measurement, one a round.
Found = dict[str, dict[str, list[Figures]]]


class Run:
    """Everything that was asked for, round after round."""

    def __init__(self, options: argparse.Namespace, progress: Progress) -> None:
        self._options: Final = options
        self._progress: Final = progress
        self._kinds: Final[Sequence[str]] = options.only
        self._measurements: Final = [each for each in MEASUREMENTS if each.kind in self._kinds]
        steps = len(self._measurements) * (options.rounds + 1) + (OUTAGE in self._kinds)
        self._bar: Final = progress.add_task("", total=len(options.systems) * steps)
        self.found: Final[Found] = {}
        self.outages: Final[dict[str, list[Outage]]] = {}
        self.versions: Final[dict[str, str]] = {}
        self.missing: Final[dict[str, str]] = {}
        #: Measurements of a system whose rate still rose when its warm-up ended.
        self.rising: Final[list[str]] = []

    def run(self) -> None:
        """Start all systems, and measure; one at a time is asked."""
        with TemporaryDirectory(dir=self._options.directory) as directory, ExitStack() as exits:
            systems: list[System] = []
            for name in self._options.systems:
                system = SYSTEMS[name](Path(directory) / name, self._kinds)
                exits.enter_context(closing(system))
                try:
                    self._step(f"{system.name} starts", done=0)
                    system.start()
                except MissingError as error:
                    self.missing[name] = str(error)
                    continue
                systems.append(system)
            run(self._measure(systems))
            self.versions.update({each.name: each.version for each in systems})

    async def _measure(self, systems: Sequence[System]) -> None:
        async with AsyncExitStack() as exits:
            for system in systems:
                exits.push_async_callback(system.disconnect)
                await system.connect()
            for system in systems:
                await self._warm(system)
            for number in range(self._options.rounds):
                order = random.Random(number)
                for each in self._measurements:
                    for system in order.sample(systems, len(systems)):
                        await self._one(system, each)
            for system in systems if OUTAGE in self._kinds else ():
                self._step(f"{system.name}: the leader is killed", done=1)
                for _ in range(self._options.trials):
                    outage = await kill_leader(system)
                    self.outages.setdefault(system.name, []).append(outage)

    async def _warm(self, system: System) -> None:
        for each in self._measurements:
            self._step(f"{system.name} is warmed up: {each.name}", done=1)
            if not await warm_up(system, each.kind, each.in_flight):
                self.rising.append(f"{system.name}: {each.name}")

    async def _one(self, system: System, each: Measurement) -> None:
        self._step(f"{system.name}: {each.name}", done=1)
        figures = await measure(system, each.kind, each.in_flight, self._options.seconds)
        if figures is not None:
            found = self.found.setdefault(system.name, {})
            found.setdefault(each.name, []).append(figures)

    def _step(self, what: str, *, done: int) -> None:
        self._progress.update(self._bar, description=what, advance=done)
        self._progress.refresh()


def ratio(medians: dict[str, dict[str, Figures]], each: Measurement) -> tuple[float, str] | None:
    """Return ours divided by the better peer, and its name."""
    ours = medians.get(OURS, {}).get(each.name)
    peers = {
        name: found[each.against or each.name].per_s
        for name, found in medians.items()
        if name not in (OURS, ENCRYPTED, FORMER)
        and (each.against or each.name) in found
        and (not each.peers or name in each.peers)
    }
    if ours is None or not peers:
        return None
    better = max(peers, key=lambda name: peers[name])
    return ours.per_s / peers[better], better


def table(run: Run, medians: dict[str, dict[str, Figures]]) -> Table:
    """Return what was found, a column a system."""
    names = list(run.versions)
    made = Table(title="Pairs a second; p50 and p99; processor time a pair, servers + asker")
    made.add_column("", no_wrap=True)
    for name in names:
        made.add_column(f"{name} {run.versions[name]}", justify="right", no_wrap=True)
    more = [(head, cell) for other, head, cell in OTHERS if {OURS, other} <= {*names}]
    for head, _ in more:
        made.add_column(head, justify="right")
    made.add_column("ours / peer", justify="right", no_wrap=True)
    made.add_column("aim", justify="right")
    for each in MEASUREMENTS:
        cells = [_cell(medians.get(name, {}).get(each.name)) for name in names]
        if any(cells):
            found = ratio(medians, each)
            told = f"{found[0]:.2f}\n[dim]{found[1]}[/]" if found else ""
            cells += [cell(medians, each) for _, cell in more]
            made.add_row(each.name, *cells, told, "" if each.aim is None else f"{each.aim:g}")
            made.add_section()
    if run.outages:
        made.add_row(
            "leader killed: outage, longest gap",
            *(_outage_cell(run.outages.get(name, [])) for name in names),
            *([""] * (2 + len(more))),
        )
    return made


def _share(medians: dict[str, dict[str, Figures]], each: Measurement) -> str:
    """Return which share of its throughput Quorate keeps with TLS."""
    plain, encrypted = (medians.get(name, {}).get(each.name) for name in (OURS, ENCRYPTED))
    return f"{encrypted.per_s / plain.per_s:.2f}" if plain and encrypted else ""


def _against_former(medians: dict[str, dict[str, Figures]], each: Measurement) -> str:
    """Return the ratios of rate and processor times to those on grpcio."""
    ours, former = (medians.get(name, {}).get(each.name) for name in (OURS, FORMER))
    if ours is None or former is None:
        return ""
    return "  ".join(
        f"{getattr(ours, name) / getattr(former, name):.2f}"
        for name in ("per_s", "server_us", "asker_us")
    )


#: Other ways to serve Quorate, and how a column holds it against them.
OTHERS: Final = (
    (ENCRYPTED, "TLS / plain", _share),
    (FORMER, "ours / on grpcio: rate, servers, asker", _against_former),
)


def _cell(figures: Figures | None) -> str:
    if figures is None:
        return ""
    limit = "[yellow]" if figures.asker_share > BUSY else "[dim]"
    failed = f"\n[red]{figures.failures} failed[/]" if figures.failures else ""
    return (
        f"[bold]{figures.per_s:,.0f}/s[/]\n"
        f"{figures.p50_ms:.2f}  {figures.p99_ms:.2f} ms\n"
        f"{figures.server_us:,.1f} + {limit}{figures.asker_us:,.1f} us[/]{failed}"
    )


def _outage_cell(outages: Sequence[Outage]) -> str:
    return "\n".join(f"{each.outage_s:.2f}  {each.gap_s:.2f} s" for each in outages)


def main() -> None:
    """Measure, and print."""
    parser = Options(
        __doc__,
        seconds=(3.0, "of each measurement"),
        rounds=1,
        trials=(3, "of the leader's kill"),
    )
    parser.add_names("--systems", [*SYSTEMS], ["etcd", "zookeeper", "quorate"])
    parser.add_argument(
        "--tls", action="store_true", help="measure Quorate with TLS and roles, too"
    )
    parser.add_names("--only", KINDS)
    options = parser.parse_args()
    if options.tls and "quorate-tls" not in options.systems:
        options.systems = [*options.systems, "quorate-tls"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.setswitchinterval(0.0003)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    with progress:
        run = Run(options, progress)
        try:
            run.run()
        except KeyboardInterrupt:
            sys.exit(130)
    medians = {
        name: {each: middle(rounds) for each, rounds in found.items()}
        for name, found in run.found.items()
    }
    if options.json:
        print(json.dumps(_told(run, medians)))
        return
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table(run, medians))
    for text in run.missing.values():
        console.print(text)
    for name in run.rising:
        console.print(f"{name}: the rate still rose after {WARM_UP_S:g} s")


def _told(run: Run, medians: dict[str, dict[str, Figures]]) -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": run.versions,
        "missing": run.missing,
        "rising": run.rising,
        "figures": {
            name: {each: asdict(figures) for each, figures in found.items()}
            for name, found in medians.items()
        },
        "ratios": {
            each.name: {"ratio": found[0], "peer": found[1], "aim": each.aim}
            for each in MEASUREMENTS
            if (found := ratio(medians, each)) is not None
        },
        "outages": {
            name: [asdict(each) for each in outages] for name, outages in run.outages.items()
        },
    }


if __name__ == "__main__":
    main()
