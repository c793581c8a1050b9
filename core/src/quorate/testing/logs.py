"""Plays a log of commands on in-memory shards, one per group, in any division into batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Final

from google.protobuf.message import Message

from quorate.apply.entries import LoggedCommand
from quorate.plugin import Rejected
from quorate.plugin.advanced import METADATA_GROUP
from quorate.plugin.catalog import Catalog
from quorate.testing.mirrors import Copies
from quorate.testing.node import MemoryNode
from quorate.testing.shard import Entry, InternalError, MemoryShard, Outcome, command_of
from quorate.v1.control_pb2 import AdoptMirror

#: The logical time between two commands.
STEP_MS: Final = 1_000


def by_group(catalog: Catalog, log: Sequence[LoggedCommand]) -> dict[str, list[Entry]]:
    """Return the log of each group: an entry per command, a step of logical time apart.

    Positions in the log are the indexes. Groups that read a mirrored family adopt its changes in
    their logs at the same index.
    """
    entries: dict[str, list[Entry]] = {}
    groups = {command.group for command in catalog.commands.values()}
    copies = Copies(catalog, {group: group for group in sorted(groups)})
    source = MemoryShard(catalog, METADATA_GROUP.name)
    for index, command in enumerate(log, start=1):
        group = catalog.commands[command.type].group
        entry = Entry(index=index, commands=(command,), at_ms=index * STEP_MS)
        entries.setdefault(group, []).append(entry)
        if group == METADATA_GROUP.name:
            for outcome in source.apply([entry]):
                for reader, adopted in copies.of(outcome.revision, outcome.events):
                    copied = replace(entry, commands=(command_of(adopted),))
                    entries.setdefault(reader, []).append(copied)
    return entries


def copied(entries: Iterable[Entry]) -> dict[str, dict[bytes, bytes]]:
    """Return the first value of each row of mirrored families that entries adopt.

    The first: later commands of a log may end what the others need.
    """
    rows: dict[str, dict[bytes, bytes]] = {}
    for command in (command for entry in entries for command in entry.commands):
        if command.type == AdoptMirror.DESCRIPTOR.full_name:
            adopted = AdoptMirror.FromString(command.payload)
            for row in adopted.rows:
                rows.setdefault(adopted.family, {}).setdefault(row.key, row.value)
    return rows


def is_of_a_plugin(catalog: Catalog, entry: Entry) -> bool:
    """Return whether handlers of plugins apply an entry; the host applies mirrored copies."""
    return all(command.type in catalog.commands for command in entry.commands)


def apply_each(shard: MemoryShard, entries: Sequence[Entry]) -> list[Outcome]:
    """Apply the entries one by one, and return the outcomes of all their commands."""
    return [outcome for entry in entries for outcome in shard.apply([entry])]


async def propose_each(node: MemoryNode, commands: Sequence[Message]) -> None:
    """Propose the commands one by one, a step of logical time apart, ignoring refusals and bugs.

    One check tells of the bugs that a log meets, and the others look at what else it leaves.
    """
    for command in commands:
        node.now_ms += STEP_MS
        with suppress(Rejected, InternalError):
            await node.propose(command, Message)


def cut(entries: Sequence[Entry], count: int) -> list[Entry]:
    """Return the same commands in at most `count` entries, evenly filled."""
    count = min(count, len(entries))
    edges = [position * len(entries) // count for position in range(count + 1)]
    return [
        Entry(
            index=number,
            at_ms=entries[a].at_ms,
            commands=tuple(command for entry in entries[a:b] for command in entry.commands),
        )
        for number, (a, b) in enumerate(pairwise(edges), start=1)
    ]


def divisions(entries: Sequence[Entry]) -> Iterator[list[Sequence[Entry]]]:
    """Yield every way to apply entries in batches of consecutive ones."""
    inner = range(1, len(entries))
    for count in range(len(entries)):
        for edges in combinations(inner, count):
            bounds = [0, *edges, len(entries)]
            yield [entries[a:b] for a, b in pairwise(bounds)]
