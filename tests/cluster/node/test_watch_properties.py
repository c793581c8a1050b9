"""Watchers of a cluster that is killed, paused and cut are given what was written, as promised."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest
from quorate.testing.waiting import PATIENCE_S

from tests.support.cluster_faults import FAULTS, beside_the_loop
from tests.support.proxied_cluster import ProxiedCluster
from tests.support.reach import LOOK_S, Reach
from tests.support.watch_properties import judge
from tests.support.watch_properties.families import Family, Pairs, Resources
from tests.support.watch_properties.recording import Watcher, Writer

COMMANDS = 150
WRITERS = 4


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        pytest.param(Pairs(), 0, marks=pytest.mark.ci, id="pairs 0"),
        *[
            pytest.param(family, seed, marks=pytest.mark.full, id=f"{family.name} {seed}")
            for seed in range(1, 12)
            for family in [Resources() if seed == 1 or seed > 7 else Pairs()]
        ],
    ],
)
async def test_every_property_holds(proxied: ProxiedCluster, family: Family, seed: int) -> None:
    rng = random.Random(seed)
    kinds = rng.sample(sorted(FAULTS), 2)
    print(f"seed {seed}: {family.name} under {' and '.join(kinds)}")
    addresses = [node.address for node in proxied.nodes.values()]
    async with Reach(addresses) as reach:
        writers = [Writer(reach, family, number, seed=seed) for number in range(WRITERS)]
        watchers = [
            Watcher(reach, family, WRITERS + number, seed=seed, prefix=prefix)
            for number, prefix in enumerate(prefixes(family, seed))
        ]
        following = [asyncio.create_task(watcher.run()) for watcher in watchers]
        async with asyncio.TaskGroup() as group:
            for writer in writers:
                group.create_task(writer.run(COMMANDS))
            group.create_task(disturb(proxied, writers, kinds, rng))
        writes = [write for writer in writers for write in writer.writes]
        for watcher in watchers:
            await watcher.came_to_the_end_of(writes)
        for task in following:
            task.cancel()
        ended = await asyncio.gather(*following, return_exceptions=True)
    assert [type(end) for end in ended] == [asyncio.CancelledError] * len(ended), ended
    for watcher in watchers:
        assert len(watcher.parts) > 1
        breaches = judge(watcher.parts, writes, keeps_previous=family.keeps_previous)
        assert breaches == [], f"seed {seed}: {breaches[0]}"
    together = [part for watcher in watchers for part in watcher.parts]
    breaches = judge(together, writes, keeps_previous=family.keeps_previous)
    assert breaches == [], f"seed {seed}: {breaches[0]}"


def prefixes(family: Family, seed: int) -> list[bytes]:
    """What all rows of a test begin with, two times, and those of one of its writers."""
    everything = family.key(f"watched-{seed}/")
    # The key of a path ends in more than the path.
    everything = everything[: everything.index(b"/") + 1]
    return [everything, everything, everything + b"0."]


@pytest.mark.full
async def test_a_watch_without_events_is_given_tokens_that_lose_nothing(
    proxied: ProxiedCluster,
) -> None:
    async with Reach([node.address for node in proxied.nodes.values()]) as reach:
        writer = Writer(reach, Pairs(), 0, seed=99)
        quiet = Watcher(reach, Pairs(), 1, seed=99, prefix=b"quiet/", silence_s=PATIENCE_S)
        following = asyncio.create_task(quiet.run())
        await quiet.came_to(0)
        await writer.run(20)
        latest = max(write.revision or 0 for write in writer.writes)
        await quiet.came_to(latest)
        following.cancel()
    [part] = quiet.parts
    assert judge([part], writer.writes) == []
    assert all(response.changes == () for response in part.responses)


async def disturb(
    cluster: ProxiedCluster, writers: Sequence[Writer], kinds: Sequence[str], rng: random.Random
) -> None:
    """Let one fault after the other begin and end at some command."""
    most = COMMANDS * len(writers)
    moments = sorted(rng.sample(range(most * 9 // 10), 2 * len(kinds)))
    for kind, begin, end in zip(kinds, moments[::2], moments[1::2], strict=True):
        await acknowledged(writers, begin)
        async with beside_the_loop(FAULTS[kind](cluster, rng)):
            await acknowledged(writers, end)


async def acknowledged(writers: Sequence[Writer], commands: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while sum(writer.acknowledged for writer in writers) < commands:
            await asyncio.sleep(LOOK_S)
