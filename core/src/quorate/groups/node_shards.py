"""The shards of this node: opened as metadata/0 says, which this node tells what it serves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from google.protobuf.message import Message

from quorate.apply.applier import families_of
from quorate.apply.control import METADATA
from quorate.consensus.journal import JournalDamagedError
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Message as PeerMessage, Peer
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.groups.founding import declared_alike, missing_shards
from quorate.groups.refusals import NotProposedError, OutcomeUnknownError
from quorate.groups.routing.slot_map import SlotMap
from quorate.groups.routing.slots import even_cut
from quorate.groups.shard.log_keeper import JournalOpener, TailJournal, open_journal
from quorate.groups.shard.shard import Shard
from quorate.plugin import Rejected
from quorate.plugin.catalog import Catalog
from quorate.storage.data.home import Home
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError
from quorate.storage.families import NODES, SHARDS
from quorate.storage.rows import value_of
from quorate.storage.shard_id import ShardId
from quorate.v1.control_pb2 import (
    AdoptSlots,
    CreateShards,
    DeclaredGroup,
    NodeDeclaration,
    ReportDeclaration,
    ShardRow,
)

_log = logging.getLogger(__name__)

_RETRY_S: Final = 0.5

#: Replicates one of core's own commands on a shard, wherever its leader is.
Submit = Callable[[ShardId, Message], Awaitable[object]]
#: Makes the replica of a shard from its data and its journal.
NewShard = Callable[[ShardId, ShardData, TailJournal], Shard]


class GroupsDifferError(Exception):
    """What the file says of the groups is not what the cluster was founded with."""


def declared_groups(catalog: Catalog, configured: Mapping[str, int]) -> Mapping[str, int]:
    """Return the shards of each group as this node declares them.

    `configured` is what the file sets. Raises `GroupsDifferError` for groups that no plugin has.
    """
    strange = sorted(set(configured) - set(catalog.groups))
    if strange:
        raise GroupsDifferError(
            f"[groups] names {', '.join(strange)}, and no enabled plugin declares a group of that"
            f" name; declared are {', '.join(catalog.groups)}: correct the name, or enable the"
            " plugin"
        )
    return {
        name: configured.get(name, group.shards) for name, group in sorted(catalog.groups.items())
    }


class NodeShards:
    """Implements `groups.local.LocalShards`, and takes what the node's streams and syncs give.

    Metadata/0 is opened at once; every other shard once its row in `core.shards` names this
    node's replica. `failed` is told when this node cannot be part of the cluster as it is.
    """

    def __init__(
        self,
        me: Peer,
        address: str,
        catalog: Catalog,
        log: JournalOpener,
        homes: Callable[[ShardId], Home],
        new_shard: NewShard,
        *,
        configured: Mapping[str, int],
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[Exception], None],
    ) -> None:
        self.me: Final = me
        #: Shards whose replica here cannot be opened, and why.
        self.broken: Final[dict[ShardId, Exception]] = {}
        self._catalog: Final = catalog
        self._log: Final = log
        self._homes: Final = homes
        self._new_shard: Final = new_shard
        self._configured: Final = configured
        self._loop: Final = loop
        self._failed: Final = failed
        #: The shards of each group, as this node declares them.
        self.declared: Final = declared_groups(catalog, configured)
        self._declaration: Final = NodeDeclaration(
            node=me.node,
            replica=me.replica,
            address=address,
            groups=[DeclaredGroup(name=name, shards=n) for name, n in self.declared.items()],
            fingerprint=catalog.fingerprint(),
        )
        self._shards: Final[dict[ShardId, Shard]] = {}
        self._by_name: Final[dict[str, Shard]] = {}
        self._rows: tuple[bytes, ...] | None = None
        self._by_shard: dict[ShardId, ShardRow] = {}
        self._slot_map = SlotMap(0, ())
        self._submit: Submit | None = None
        #: What is being proposed, one of each kind at a time.
        self._proposing: Final[dict[object, asyncio.Task[None]]] = {}
        self._retry: asyncio.TimerHandle | None = None
        self._difference: str | None = None
        self._stopped = False

    # Life.

    def open(self, first: Configuration | None, submit: Submit) -> None:
        """Open metadata/0 and whatever else is known; `first` is what a new cluster begins with.

        Raises what says that metadata/0 cannot be opened, or that the file contradicts the cluster.
        """
        self._submit = submit
        metadata = self._open(METADATA)
        self._read_rows()
        self._check_configured()
        metadata.start(first)
        metadata.subscribe(lambda _: self._follow())
        self._open_members()
        self._settle()

    async def close(self) -> None:
        """Stop every replica and close its data."""
        self._stopped = True
        if self._retry is not None:
            self._retry.cancel()
        for task in list(self._proposing.values()):
            task.cancel()
        await asyncio.gather(*self._proposing.values(), return_exceptions=True)
        await asyncio.gather(*(shard.close() for shard in self._shards.values()))

    # What `Groups` asks.

    @property
    def slot_map(self) -> SlotMap:
        """The newest slot map that has come to this node."""
        return self._slot_map

    def get(self, shard: ShardId) -> Shard | None:
        """Return a replica that takes part; None where there is none, or it has stopped."""
        found = self._shards.get(shard)
        return found if found is not None and found.stopped is None else None

    def all(self) -> Iterable[Shard]:
        """Return the replicas of this node."""
        return self._shards.values()

    # What streams and syncs give.

    def deliver(self, shard: str, message: PeerMessage) -> bool:
        """Give a message to its replica; False where it is not here."""
        found = self._by_name.get(shard)
        if found is None:
            return False
        found.receive(message)
        return True

    def remade(self, node: str) -> None:
        """Take note that the bulk stream to a node is a new one."""
        for shard in self._shards.values():
            shard.remade(node)

    def synced(self, sequence: int) -> None:
        """Take note that the log's writes up to this number are durable."""
        for shard in self._shards.values():
            shard.synced(sequence)

    def log_failed(self, error: Exception) -> None:
        """Stop every replica: the node's log takes no writes any more."""
        for shard in list(self._shards.values()):
            shard.fail(error)

    # Opening.

    def _open(self, shard: ShardId) -> Shard:
        data = ShardData.open(self._homes(shard), families_of(self._catalog, shard.group))
        try:
            opened = self._new_shard(shard, data, open_journal(self._log, shard, data))
        except Exception:
            data.close()
            raise
        self._shards[shard] = opened
        self._by_name[str(shard)] = opened
        return opened

    def _open_members(self) -> None:
        """Open the shards whose rows name this node's replica."""
        for shard, row in self._by_shard.items():
            members = [Peer(each.node, each.replica) for each in row.members]
            if shard in self._shards or shard in self.broken or self.me not in members:
                continue
            try:
                opened = self._open(shard)
            except (EngineError, JournalDamagedError, ReplicaStoppedError, OSError) as error:
                self.broken[shard] = error
                _log.error(
                    "shard %s cannot be opened here: %s", shard, error, extra={"shard": str(shard)}
                )
                continue
            opened.start(Configuration.of(map(Member, members)))
            opened.subscribe(lambda _: self._settle())

    # Following metadata/0.

    def _follow(self) -> None:
        if self._stopped:
            return
        if self._read_rows():
            try:
                self._check_configured()
            except GroupsDifferError as error:
                self._failed(error)
                return
            self._open_members()
        self._settle()

    def _read_rows(self) -> bool:
        """Read `core.shards`; tell whether it has changed."""
        metadata = self._shards[METADATA]
        rows = tuple(value for _, value in metadata.data.iterate(SHARDS, b"", None))
        if rows == self._rows:
            return False
        self._rows = rows
        read = [ShardRow.FromString(value_of(row)) for row in rows]
        self._by_shard = {ShardId(row.group, row.number): row for row in read}
        self._slot_map = SlotMap(metadata.revision, read)
        return True

    def _check_configured(self) -> None:
        """Refuse a file that contradicts the slot map; raises `GroupsDifferError`."""
        for group, wanted in sorted(self._configured.items()):
            there = sum(shard.group == group for shard in self._by_shard)
            if there and there != wanted:
                raise GroupsDifferError(
                    f"[groups.{group}] shards is {wanted}, and the slot map of the cluster has"
                    f" {there} shards of group {group}: the number was fixed when the cluster was"
                    f" founded; set it to {there}, or remove the setting"
                )

    # What this node proposes.

    def _settle(self) -> None:
        """Propose what is missing, each thing once at a time; what fails is tried again."""
        if self._stopped:
            return
        if self._declared(self.me.node) != self._declaration:
            self._propose(METADATA, ReportDeclaration(declaration=self._declaration))
        metadata = self._shards[METADATA]
        if metadata.leads:
            self._found(metadata)
        for shard in self._shards.values():
            wanted = self._slots_of(shard.id)
            if shard.leads and wanted is not None and shard.applier.slots.version < wanted.version:
                self._propose(shard.id, wanted)

    def _found(self, metadata: Shard) -> None:
        """Create the shards that are declared and do not exist, once all voters say the same."""
        configuration = metadata.configuration
        if configuration is None:
            return
        voters = configuration.voters
        declarations = {peer: self._declared(peer.node) for peer in voters}
        groups, difference = declared_alike(declarations)
        if difference != self._difference:
            self._difference = difference
            if difference is not None:
                _log.warning("no shards are created: %s", difference)
        missing = missing_shards(groups, self._by_shard, voters)
        if missing:
            self._propose(METADATA, CreateShards(shards=missing))

    def _declared(self, node: str) -> NodeDeclaration | None:
        row = self._shards[METADATA].data.get(NODES, node.encode())
        return None if row is None else NodeDeclaration.FromString(value_of(row))

    def _slots_of(self, shard: ShardId) -> AdoptSlots | None:
        row = self._by_shard.get(shard)
        if row is not None:
            return AdoptSlots(version=row.version, slots=row.slots)
        if shard == METADATA:
            # Before it has a row: nodes can be registered while shards cannot be created yet.
            return AdoptSlots(version=1, slots=even_cut(self.declared[METADATA.group])[0])
        return None

    def _propose(self, shard: ShardId, message: Message) -> None:
        key = (shard, type(message))
        if key not in self._proposing and not self._stopped:
            self._proposing[key] = self._loop.create_task(self._proposed(key, shard, message))

    async def _proposed(self, key: object, shard: ShardId, message: Message) -> None:
        try:
            if self._submit is not None:
                await self._submit(shard, message)
        except (NotProposedError, OutcomeUnknownError, Rejected) as error:
            _log.debug("%s on shard %s: %s", message.DESCRIPTOR.full_name, shard, error)
        finally:
            del self._proposing[key]
            if self._retry is None and not self._stopped:
                self._retry = self._loop.call_later(_RETRY_S, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self._settle()
