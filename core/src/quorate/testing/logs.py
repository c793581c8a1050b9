"""Plays a log of commands on in-memory shards, one a group, in any division into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final, Protocol

from google.protobuf.message import Message

from quorate.plugin import Rejected
from quorate.plugin.catalog import Catalog
from quorate.testing.node import MemoryNode
from quorate.testing.shard import Entry, LoggedCommand, MemoryShard, Outcome, ShardState

#: The logical time between two commands.
STEP_MS: Final = 1_000


class ApplyFloor(Protocol):
    """A shard as the conformance checks need it; the real floor can stand in for the memory one."""

    def apply(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Apply entries as one batch, and return the outcome of each command in order."""

    def digest(self) -> str:
        """Return the digest of the shard's contents."""

    def export(self) -> ShardState:
        """Return all that another shard needs to go on from here."""


NewShard = Callable[[Catalog, str, ShardState | None], ApplyFloor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of a log: the digest of each group's shard, and every outcome as text."""

    digests: Mapping[str, str]
    outcomes: tuple[str, ...]


def memory_shard(catalog: Catalog, group: str, state: ShardState | None) -> MemoryShard:
    """Make the in-memory shard of a group, from a state or empty."""
    return MemoryShard(catalog, group, state=state)


def logged(commands: Sequence[Message]) -> list[LoggedCommand]:
    """Return the commands as they are logged, each a step of logical time after the last."""
    return [
        LoggedCommand.of(command, (position + 1) * STEP_MS)
        for position, command in enumerate(commands)
    ]


def by_group(catalog: Catalog, log: Sequence[LoggedCommand]) -> dict[str, list[Entry]]:
    """Return the log of each group, an entry a command; positions in the log are the indexes."""
    entries: dict[str, list[Entry]] = {}
    for position, command in enumerate(log):
        group = catalog.commands[command.type].group
        entries.setdefault(group, []).append(Entry(index=position + 1, commands=(command,)))
    return entries


def play(catalog: Catalog, log: Sequence[LoggedCommand], new_shard: NewShard) -> Played:
    """Apply the log entry by entry on empty shards."""
    digests: dict[str, str] = {}
    outcomes: dict[int, str] = {}
    for group, entries in sorted(by_group(catalog, log).items()):
        shard = new_shard(catalog, group, None)
        for entry in entries:
            [outcome] = shard.apply([entry])
            outcomes[entry.index] = shown(outcome)
        digests[group] = shard.digest()
    return Played(digests=digests, outcomes=tuple(outcomes[index] for index in sorted(outcomes)))


def apply_each(shard: ApplyFloor, entries: Sequence[Entry]) -> list[Outcome]:
    """Apply the entries one by one, and return the outcomes of all their commands."""
    return [outcome for entry in entries for outcome in shard.apply([entry])]


async def propose_each(node: MemoryNode, commands: Sequence[Message]) -> None:
    """Propose the commands one by one, a step of logical time apart; refusals are passed over."""
    for command in commands:
        node.now_ms += STEP_MS
        with suppress(Rejected):
            await node.propose(command, Message)


def shown(outcome: Outcome) -> str:
    """Return all of an outcome as text that can be compared between processes."""
    if outcome.failure is not None:
        return f"{outcome.revision} {type(outcome.failure).__name__} {outcome.failure}"
    reply = outcome.reply
    answered = "None"
    if reply is not None:
        answered = f"{reply.DESCRIPTOR.full_name} {reply.SerializeToString(deterministic=True)!r}"
    return f"{outcome.revision} {answered} {list(map(str, outcome.events))}"


def cut(entries: Sequence[Entry], count: int) -> list[Entry]:
    """Return the same commands in at most `count` entries, evenly filled."""
    count = min(count, len(entries))
    edges = [position * len(entries) // count for position in range(count + 1)]
    return [
        Entry(
            index=number,
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
