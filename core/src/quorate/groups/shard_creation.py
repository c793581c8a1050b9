"""Proposes missing rows: the declaration of this node, new shards, and their slots."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from google.protobuf.message import Message

from quorate.apply.control import METADATA
from quorate.consensus.messages import Peer
from quorate.groups.refusals import NotProposedError, OutcomeUnknownError
from quorate.groups.shard.shard import Shard
from quorate.groups.timing import end
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut
from quorate.storage.families import NODES
from quorate.storage.rows import value_of
from quorate.v1.control_pb2 import (
    AdoptSlots,
    CreateShards,
    NodeDeclaration,
    ReportDeclaration,
    ShardMember,
    ShardRow,
)

_log = logging.getLogger(__name__)

_RETRY_S: Final = 0.5

#: Replicates one of core's own commands on a shard, wherever its leader is.
Submit = Callable[[ShardId, Message], Awaitable[object]]

#: How many shards each group has.
Groups = Mapping[str, int]


class ShardCreation:
    """Proposes on each `look` what is missing, without duplicates in flight.

    Failures are retried. `rows` are those of `core.shards` on this node, and `shards` its replicas,
    including `metadata`.
    """

    def __init__(
        self,
        declaration: NodeDeclaration,
        metadata: Shard,
        shards: Callable[[], Iterable[Shard]],
        rows: Callable[[], Mapping[ShardId, ShardRow]],
        submit: Submit,
        *,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        #: Why the leader of metadata/0 creates no shards, if an operator must correct it.
        self.difference: str | None = None
        self._declaration: Final = declaration
        self._metadata: Final = metadata
        self._shards: Final = shards
        self._rows: Final = rows
        self._submit: Final = submit
        self._loop: Final = loop
        #: The last checked state of metadata/0, on which alone declarations and new shards depend.
        self._seen: object = None
        self._proposing: Final[dict[object, asyncio.Task[None]]] = {}
        self._retry: asyncio.TimerHandle | None = None
        self._closed = False

    def look(self) -> None:
        """Propose what is missing anywhere."""
        metadata = self._metadata
        seen = metadata.applier.cluster_changes, metadata.leads, metadata.configuration
        if seen != self._seen:
            self._seen = seen
            if self._declared(self._declaration.node) != self._declaration:
                self._propose(METADATA, ReportDeclaration(declaration=self._declaration))
            if metadata.leads:
                self._create()
            else:
                self.difference = None
        for shard in self._shards():
            self.look_at(shard)

    def look_at(self, shard: Shard) -> None:
        """Propose the slots of a shard that is led here and has none."""
        if not shard.leads:
            return
        row = self._rows().get(shard.id)
        if row is not None:
            wanted = AdoptSlots(version=row.version, slots=row.slots)
        elif shard is self._metadata:
            # Before it has a row: nodes can be registered while shards cannot be created yet.
            wanted = AdoptSlots(version=1, slots=even_cut(1)[0])
        else:
            return
        if shard.applier.slots.version < wanted.version:
            self._propose(shard.id, wanted)

    async def close(self) -> None:
        """Stop proposing."""
        self._closed = True
        if self._retry is not None:
            self._retry.cancel()
        await end(*self._proposing.values())

    def _create(self) -> None:
        """Create declared shards that do not exist, once the declarations of all voters agree."""
        configuration = self._metadata.configuration
        if configuration is None:
            return
        voters = configuration.voters
        groups, difference = declared_alike({peer: self._declared(peer.node) for peer in voters})
        if difference != self.difference:
            self.difference = difference
            if difference is not None:
                _log.warning("no shards are created: %s", difference)
        missing = missing_shards(groups, self._rows(), voters)
        if missing:
            self._propose(METADATA, CreateShards(shards=missing))

    def _declared(self, node: str) -> NodeDeclaration | None:
        row = self._metadata.data.get(NODES, node.encode())
        return None if row is None else NodeDeclaration.FromString(value_of(row))

    def _propose(self, shard: ShardId, message: Message) -> None:
        key = (shard, type(message))
        if key not in self._proposing and not self._closed:
            self._proposing[key] = self._loop.create_task(self._proposed(key, shard, message))

    async def _proposed(self, key: object, shard: ShardId, message: Message) -> None:
        try:
            await self._submit(shard, message)
        except (NotProposedError, OutcomeUnknownError, Rejected) as error:
            _log.debug("%s on shard %s: %s", message.DESCRIPTOR.full_name, shard, error)
        finally:
            del self._proposing[key]
            if self._retry is None and not self._closed:
                self._retry = self._loop.call_later(_RETRY_S, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self._seen = None
        self.look()


def declared_alike(
    declarations: Mapping[Peer, NodeDeclaration | None],
) -> tuple[Groups, str | None]:
    """Return the shards of each group that all voters declare, and how declarations differ.

    There are none until all declarations agree; the difference is None while declarations are
    missing.
    """
    first: NodeDeclaration | None = None
    for peer, declaration in declarations.items():
        if declaration is None or declaration.replica != peer.replica:
            return {}, None
        if first is None:
            first = declaration
            continue
        difference = difference_of(first, declaration)
        if difference is not None:
            return {}, difference
    return ({} if first is None else _groups(first)), None


def missing_shards(
    groups: Groups, existing: Collection[ShardId], voters: Sequence[Peer]
) -> list[ShardRow]:
    """Return the rows of shards for groups without any."""
    founded = {shard.group for shard in existing}
    members = [ShardMember(node=peer.node, replica=peer.replica) for peer in voters]
    return [
        ShardRow(group=group, number=number, slots=slots, version=1, members=members)
        for group, shards in sorted(groups.items())
        if group not in founded
        for number, slots in enumerate(even_cut(shards))
    ]


def difference_of(one: NodeDeclaration, other: NodeDeclaration) -> str | None:
    """Return how two declarations differ, or None."""
    ours, theirs = _groups(one), _groups(other)
    for group in sorted({*ours, *theirs}):
        if ours.get(group) != theirs.get(group):
            return (
                f"{one.node} declares {_shards(ours.get(group))} of group {group} and {other.node}"
                f" {_shards(theirs.get(group))}; make [groups] and the enabled plugins the same in"
                " both files"
            )
    if one.fingerprint != other.fingerprint:
        return (
            f"{one.node} and {other.node} run different plugins or versions of them; compare"
            " `quorate plugin list` on both"
        )
    return None


def _groups(declaration: NodeDeclaration) -> Groups:
    return {group.name: group.shards for group in declaration.groups}


def _shards(count: int | None) -> str:
    return "no shard" if count is None else f"{count} shard{'s' if count > 1 else ''}"
