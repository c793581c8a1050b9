"""What one shard of one node takes: from `Shard.propose` through the synced log to the answer.

`singles`: coroutines that each propose one command at a time, which the batcher joins. `batches`:
commands of 1,000 items of 128 bytes, several under way, with a tight and with a plain handler. The
longest stop is that of the event loop, seen by a timer of a millisecond.

python benchmarks/groups.py [--json] [--seconds S] [--directory DIR] [--profile singles|batches]
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from apply import catalog, command, pairs
from figures import Options, profiled, report, run
from quorate.apply.entries import LoggedCommand
from quorate.apply.program import Program, families_of
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Message, Peer
from quorate.plugin.shard_id import METADATA
from quorate.shards.shard.context import ReplicaContext, ShardHooks
from quorate.shards.shard.log_keeper import open_journal
from quorate.shards.shard.shard import Shard, ShardSettings
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.log.witness import FileWitnesses
from quorate.topology.commands.routes import ROUTES
from systems.system import Meter

COROUTINES: Final = 1_000
ITEMS: Final = 1_000
BATCHES_IN_FLIGHT: Final = 16
AIMS: Final = {"singles": 60_000, "batches, tight": 250_000, "batches, plain": 180_000}

#: A load proposes until the time is over, and returns how many items were answered.
Load = Callable[[Shard, float], Awaitable[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one load gave."""

    load: str
    items_per_s: float
    aim_items_per_s: int
    #: Of one item.
    cpu_us: float
    longest_stop_ms: float
    log_bytes: int
    entries: int


class Alone:
    """The ports of a shard that has no others: nothing is sent."""

    def send(self, shard: object, messages: Sequence[Message]) -> None:
        """Send nothing."""

    def needed(self, shard: object, peers: Sequence[Peer]) -> None:
        """Send nothing."""


class Stops:
    """The longest time in which the loop ran no timer."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.get_running_loop()
        self._then = self._loop.time()
        self.longest_s = 0.0
        self._timer = self._loop.call_later(0.001, self._tick)

    def _tick(self) -> None:
        now = self._loop.time()
        self.longest_s = max(self.longest_s, now - self._then - 0.001)
        self._then = now
        self._timer = self._loop.call_later(0.001, self._tick)

    def end(self) -> float:
        """Return it in milliseconds."""
        self._timer.cancel()
        return self.longest_s * 1e3


async def singles(shard: Shard, until: float) -> int:
    """Propose single commands from many coroutines, each one at a time."""
    clock = asyncio.get_running_loop().time
    answered = 0

    async def propose(number: int) -> None:
        nonlocal answered
        one = [command("Tight", pairs(number, 1))]
        while clock() < until:
            await shard.propose(one)
            answered += 1

    await asyncio.gather(*map(propose, range(COROUTINES)))
    return answered


def batches(case: str) -> Load:
    """Return a load of large commands."""

    async def load(shard: Shard, until: float) -> int:
        clock = asyncio.get_running_loop().time
        answered = 0
        ready: Iterator[LoggedCommand] = iter(prepared * 1_000)

        async def propose() -> None:
            nonlocal answered
            while clock() < until:
                [outcome] = await shard.propose([next(ready)])
                if outcome.refusal is not None:
                    raise RuntimeError(outcome.refusal)
                answered += ITEMS

        await asyncio.gather(*(propose() for _ in range(BATCHES_IN_FLIGHT)))
        return answered

    prepared = [command(case, pairs(number, ITEMS)) for number in range(64)]
    return load


async def measure(directory: Path, name: str, load: Load, seconds: float) -> Row:
    """Measure one load on a new shard."""
    loop = asyncio.get_running_loop()
    log = NodeLog(RocksEngine(directory / "log", [FAMILY]), FileWitnesses(directory / "witness"))
    made = catalog()
    data = ShardData.open(DiskHome(directory / "data"), families_of(made, METADATA.group))
    shards: list[Shard] = []
    syncs = SyncLoop(
        log,
        loop,
        lambda sequence: shards[0].synced(sequence),
        lambda error: shards[0].fail(error),
    )
    me, alone = Peer("one", 1), Alone()
    shard = Shard(
        METADATA,
        me,
        data,
        open_journal(log, str(METADATA), data),
        ReplicaContext(
            catalog=made,
            settings=ShardSettings(),
            loop=loop,
            wall_ms=lambda: int(time.time() * 1_000),
        ),
        ShardHooks(
            send=alone.send,
            request_sync=lambda _: syncs.request(),
            send_snapshots=alone.needed,
        ),
        rng=random.Random(1),
        program=Program.of(made, METADATA.group, ROUTES),
    )
    shards.append(shard)
    shard.start(Configuration.of([Member(me)]))
    while not shard.leads:
        await asyncio.sleep(0.01)
    await load(shard, loop.time() + seconds / 5)
    gc.collect()
    gc.freeze()
    stops, meter = Stops(), Meter(())
    answered = await load(shard, loop.time() + seconds)
    used = meter.read()
    _, cpu_us = used.each_us(answered)
    found = Row(
        load=name,
        items_per_s=answered / used.seconds,
        aim_items_per_s=AIMS[name],
        cpu_us=cpu_us,
        longest_stop_ms=stops.end(),
        log_bytes=shard.status().log_bytes,
        entries=shard.applied,
    )
    await shard.close()
    await syncs.close()
    log.close()
    return found


def main() -> None:
    """Measure each load, and print."""
    parser = Options(__doc__, seconds=5.0)
    parser.add_argument("--profile", choices=("singles", "batches"))
    options = parser.parse_args()
    loads: dict[str, Load] = {
        "singles": singles,
        "batches, tight": batches("Tight"),
        "batches, plain": batches("Plain"),
    }
    rows: list[Row] = []
    sys.setswitchinterval(0.0003)
    for name, load in loads.items():
        if name.startswith(options.profile or ""):
            with (
                TemporaryDirectory(dir=options.directory) as directory,
                profiled(30) if options.profile else nullcontext(),
            ):
                rows.append(run(measure(Path(directory), name, load, options.seconds)))
    report(rows, as_json=options.json)


if __name__ == "__main__":
    main()
