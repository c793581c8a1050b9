"""`quorate group`: the groups of a cluster, and how many shards they have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from quorate.cli.completing import from_cluster, groups
from quorate.cli.failures import failure, usage
from quorate.cli.options import option
from quorate.cli.reshaping import (
    begin_merge,
    begin_split,
    follow_merge,
    follow_splits,
    places_of,
    shown_parts,
)
from quorate.cli.tables import Keyed
from quorate.cli.terminal import Terminal
from quorate.plugin.console import dry_run_option
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient


@click.group("group")
def command() -> None:
    """List groups; give a group more or fewer shards."""


@command.command("list")
@click.pass_obj
def list_groups(terminal: Terminal) -> None:
    """List the groups with the number of their shards."""
    topology = terminal.ask(lambda client: client.topology())
    shards = Counter(place.group for place in topology.shards)
    terminal.print({"group": group, "shards": count} for group, count in sorted(shards.items()))


@command.command("grow")
@click.argument("group", shell_complete=from_cluster(groups))
@option("--shards", "Number of shards to reach.", click.IntRange(min=1), required=True)
@dry_run_option
@click.pass_obj
def grow(terminal: Terminal, group: str, shards: int, plan: bool) -> None:
    """Split the largest shards of GROUP until it has the wanted number.

    Writes wait for less than a second where slots move, and none fails. The command waits for
    the end; if it is interrupted, splits that have begun continue.
    """

    async def grown(client: AsyncClient) -> list[pb.SplitShardResponse]:
        places = await places_of(client, group)
        if shards < len(places):
            raise usage(
                f"group {group} has {len(places)} shards, more than {shards}",
                "name a larger number, or merge shards with `quorate group shrink`",
            )
        answers = []
        for name, into in splits_of(places, shards):
            answers.append(await begin_split(client, name, into, plan=plan))
        if answers and not plan:
            await follow_splits(client, terminal, group)
        return answers

    terminal.print([row for answer in terminal.ask(grown) for row in shown_parts(answer)])


@command.command("shrink")
@click.argument("group", shell_complete=from_cluster(groups))
@option("--shards", "Number of shards to reach.", click.IntRange(min=1), required=True)
@dry_run_option
@click.pass_obj
def shrink(terminal: Terminal, group: str, shards: int, plan: bool) -> None:
    """Merge shards of GROUP, fewest slots first, until it has the wanted number.

    Writes wait for about a second where slots move, and none fails. One merge follows another;
    if it is interrupted, a merge that has begun continues.
    """

    async def shrunk(client: AsyncClient) -> None:
        places = await places_of(client, group)
        if plan:
            terminal.print(Keyed(merges_of(places, shards), key=("merges",), noun="merges"))
            return
        while len(places) > shards:
            one, other = merge_of(places)
            answer = await begin_merge(client, one, other, plan=False)
            places = await follow_merge(client, one, answer.shard)
            row = {"shard": answer.shard, "slots": answer.slots, "of": f"{one} {other}"}
            terminal.report(f"{one} and {other} are {answer.shard} now", row)

    terminal.ask(shrunk)


def merges_of(places: list[pb.ShardPlace], shards: int) -> Iterator[Mapping[str, object]]:
    """Yield the merges down to a number of shards; a merged shard has the names of its two."""
    left = {f"{each.group}/{each.number}": each for each in places}
    shown = {name: name for name in left}
    # Stands for the number that the cluster will draw.
    number = max((each.number for each in places), default=0)
    while len(left) > shards:
        one, other = merge_of(list(left.values()))
        both = left.pop(one), left.pop(other)
        number += 1
        # Only the number of slots counts here.
        slots = both[0].slots + both[1].slots
        merged = pb.ShardPlace(group=both[0].group, number=number, nodes=both[0].nodes, slots=slots)
        left[f"{merged.group}/{number}"] = merged
        yield {"merges": [shown[one], shown[other]], "slots": _slots(merged)}
        shown[f"{merged.group}/{number}"] = f"{shown[one]}+{shown[other]}"


def merge_of(places: list[pb.ShardPlace]) -> tuple[str, str]:
    """Return the two mergeable shards with the fewest slots; fails if no two can be merged."""
    names = {f"{each.group}/{each.number}": each for each in places}
    names.pop("metadata/0", None)
    ordered = sorted(names, key=lambda name: (_slots(names[name]), names[name].number))
    for at, one in enumerate(ordered):
        for other in ordered[at + 1 :]:
            if set(names[one].nodes) == set(names[other].nodes):
                return one, other
    raise failure(
        "no two of its shards are on the same nodes",
        "bring two to the same nodes with `quorate shard move`; metadata/0 is not merged",
    )


def splits_of(places: list[pb.ShardPlace], shards: int) -> list[tuple[str, int]]:
    """Return the shards to split, and into how many, so that there are as many of even sizes."""
    sizes = {f"{each.group}/{each.number}": _slots(each) for each in places}
    into = dict.fromkeys(sizes, 1)
    for _ in range(shards - len(places)):
        name = max(sizes, key=lambda each: sizes[each] / into[each])
        into[name] += 1
    return [(name, parts) for name, parts in into.items() if parts > 1]


def _slots(place: pb.ShardPlace) -> int:
    return sum(each.bit_count() for each in place.slots)
