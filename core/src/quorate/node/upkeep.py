"""Operations on request: back up shards, recover one, raise levels, purge a plugin's rows."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Final

from quorate.apply import cuts, effects, file_sets, levels, publications
from quorate.consensus.messages import Entry, EntryKind
from quorate.http2.grpc.call_errors import CallError
from quorate.node.replicas import Replicas
from quorate.observe.failpoints import failpoint
from quorate.plugin import Invalid, Rejected
from quorate.plugin.advanced import Stub
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import BITMAP_BYTES
from quorate.rpc.channels import NodeChannels, UnreachableError
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError, UnreadableError
from quorate.shards.router import Router
from quorate.shards.shard.shard import Shard
from quorate.shards.snapshots.backup import Backup, parts
from quorate.shards.snapshots.parts import MANIFEST, BackupError
from quorate.storage.data.checkpoint import Manifest
from quorate.storage.families import FILE_SETS, PUBLICATIONS, SLOTS
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1 import admin_pb2, control_pb2
from quorate.v1.admin_pb2 import AppliedEntry, BackupPart, EntriesPart, RecoverShardRequest
from quorate.v1.control_pb2 import AdoptSlots, RecoverShard, ShardOrigin
from quorate.v1.levels_pb2 import FeatureLevel

#: Maximum bytes of entries in a part, and maximum time between two parts.
_PART_BYTES: Final = 1 << 20
_SILENCE_S: Final = 1.0
#: A replica that does not open within this time is not waited for.
_OPENED_S: Final = 30.0


def _needs_backup(entry: Entry) -> bool:
    """Return whether an entry cannot be replayed from its effects alone."""
    if entry.kind is not EntryKind.COMMAND:
        return False
    tables = effects.decode(entry.payload).tables
    slots = tables.get(SLOTS)
    cut = slots is not None and slots.rows.get(cuts.CUT) is not None
    return cut or file_sets.ingested_by(tables.get(FILE_SETS), entry.index) is not None


@dataclass(eq=False)
class Backups:
    """Makes backups, one at a time as each copies shards on disk; streams entries to any number."""

    _replicas: Replicas
    _channels: NodeChannels
    _loop: asyncio.AbstractEventLoop
    _under_way: bool = field(default=False, init=False)
    _stopped: bool = field(default=False, init=False)

    async def back_up(self, only: Collection[ShardId] = ()) -> AsyncGenerator[BackupPart, None]:
        """Yield a backup of every shard, or of `only` some that have a replica here.

        Shards without a replica here are copied on nodes that have one. Rows that a split moves
        could be missing in both shards' copies: every shard is copied before or after all splits. A
        caller that does not read all of it has to close it. Raises `BackupError`, `EngineError` and
        `OSError`, and `UnreadableError` when the node stops.
        """
        await self._open(only)
        if self._under_way:
            raise BackupError(
                f"a backup of {self._replicas.shards.me.node} is under way: try again when it has"
                " ended, or ask another node."
            )
        self._under_way = True
        cluster, shards = self._replicas.cluster, self._replicas.shards
        undivided = shards.slot_map
        published = self._publications()
        data = {shard.id: shard.data for shard in shards.all() if shard.stopped is None}
        manifests: dict[ShardId, Manifest] = {}
        try:
            if only:
                missing = sorted(set(only) - set(data))
                if missing:
                    raise BackupError(f"{missing[0]} has no replica on this node.")
                data = {shard: data[shard] for shard in only}
            else:
                if any(publications.under_way(self._replicas.metadata().data)):
                    raise BackupError("files are being published: back up again in a moment.")
                if undivided.changing:
                    raise BackupError(
                        f"shard {undivided.changing[0]} is being split or merged: back up when"
                        " `quorate shard list` shows that it is over."
                    )
                for shard in undivided.all():
                    if shard not in data:
                        async with aclosing(self._elsewhere(shard, manifests)) as copied:
                            async for part in copied:
                                yield part
            made = parts(data, cluster=cluster, loop=self._loop, others=manifests)
            async with aclosing(made) as coming:
                async for part in coming:
                    if self._stopped:
                        raise UnreadableError("this node is stopping; back up another node")
                    now = shards.slot_map
                    cut = any(now.version(each) != undivided.version(each) for each in data)
                    if not only and (now.changing or cut):
                        raise BackupError("a shard was split or merged meanwhile: back up again.")
                    if not only and self._publications() != published:
                        raise BackupError("files were published meanwhile: back up again.")
                    yield part
        finally:
            self._under_way = False

    async def _open(self, only: Collection[ShardId]) -> None:
        """Open the replicas that the node has not opened since its start."""
        shards, loop = self._replicas.shards, self._loop
        for shard in only or shards.slot_map.all():
            if shards.is_unopened(shard):
                await shards.opened(shard, loop.time() + _OPENED_S)

    def stop(self) -> None:
        """End running backups and streams at their next part."""
        self._stopped = True

    def _publications(self) -> list[tuple[bytes, bytes]]:
        return list(self._replicas.metadata().data.iterate(PUBLICATIONS, b"", None))

    async def entries(self, shard: ShardId, after: int) -> AsyncGenerator[EntriesPart, None]:
        """Yield the applied entries of a replica here after an index, and then new ones.

        Yields a part at least every second. Raises `BackupError` if some of the entries are no
        longer in the log, and `UnreadableError` when the replica or the node stops.
        """
        replica = self._replicas.shards.get(shard)
        if replica is None:
            raise UnreadableError(f"{shard} has no replica on this node: ask another one")
        applied = asyncio.Event()
        cancel = replica.subscribe(lambda _: applied.set())
        try:
            while not self._stopped and replica.stopped is None:
                applied.clear()
                # All writes answered until then are applied by now.
                age_ms = replica.staleness().age_ms
                complete_until_ms = int(time.time() * 1_000) - age_ms if age_ms >= 0 else 0
                try:
                    found = replica.entries(after, _PART_BYTES)
                except LookupError as error:
                    raise BackupError(f"{error}: back up the cluster first.") from None
                if found:
                    after = found[-1].index
                yield EntriesPart(
                    entries=[AppliedEntry(**each._asdict()) for each in found],
                    complete_until_ms=complete_until_ms if after >= replica.applied else 0,
                    needs_backup=any(map(_needs_backup, found)),
                )
                if after >= replica.applied:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(applied.wait(), _SILENCE_S)
        finally:
            cancel()
        raise UnreadableError(f"{shard} ends on this node; ask another one")

    async def _elsewhere(
        self, shard: ShardId, manifests: dict[ShardId, Manifest]
    ) -> AsyncGenerator[BackupPart, None]:
        """Yield the files of a shard from a node that has a replica, and store its manifest."""
        shards = self._replicas.shards
        reason = "no node is known to have a replica"
        for node in shards.slot_map.others(shard, shards.me.node):
            begun, manifest = False, b""
            try:
                route = await self._channels.route(node, _ANSWER_S)
                asked = admin_pb2.BackupRequest(shards=[str(shard)])
                async for each in Stub(route.channel, _SERVICE).Backup(
                    asked, metadata=route.metadata
                ):
                    if each.path == MANIFEST:
                        manifest += each.content
                        continue
                    begun = True
                    yield each
                manifests.update(Backup.decode(manifest).shards)
                return
            except UnreachableError as error:
                reason = str(error)
            except CallError as error:
                reason = f"{node}: {error.details()}"
            except ValueError as error:
                reason = f"the manifest of {node} cannot be read: {error}"
            if begun:
                break
        raise BackupError(f"shard {shard} has no replica here and cannot be copied: {reason}")


#: A shard that commits a command within this time has lost nothing.
_SERVES_WITHIN_S: Final = 3.0
_RECORD_S: Final = 15.0
#: Larger than any applied index, and than any number of restores.
_MOST_INDEX: Final = 1 << 39
_MOST_GENERATION: Final = 1 << 31


#: A node that does not answer within this time is not running.
_ANSWER_S: Final = 2.0
_SERVICE: Final = admin_pb2.DESCRIPTOR.services_by_name["AdminService"]


@dataclass(eq=False)
class Upkeep:
    """Carries out the operations of an operator on all shards of the cluster."""

    _catalog: Catalog
    _shards: NodeShards
    _router: Router
    _channels: NodeChannels

    async def recover(self, shard: ShardId, request: RecoverShardRequest) -> int:
        """Have every node rebuild the shard in a new epoch; return the epoch.

        Raises `Invalid`, `Rejected`, `NotProposedError` and `OutcomeUnknownError`.
        """
        if shard == METADATA:
            raise Invalid(
                "shard",
                f"{METADATA} holds the places of all others and cannot be recovered: while a"
                " majority of its nodes runs, `quorate member replace` replaces one; otherwise"
                " restore a backup with `quorate backup restore`",
            )
        row = self._shards.rows().get(shard)
        if row is None:
            raise Invalid("shard", f"there is no shard {shard}")
        for name, value, most in (
            ("index", request.index, _MOST_INDEX),
            ("generation", request.generation, _MOST_GENERATION),
        ):
            if value > most:
                raise Invalid(name, f"must be at most {most}, not {value}")
        await self._demand_lost(shard)
        here = [each.status() for each in self._shards.all()]
        left = self._shards.left
        origin = ShardOrigin(
            epoch=row.origin.epoch + 1,
            node=request.node,
            empty=request.empty,
            index=max(
                [
                    request.index,
                    *(each.replica.applied for each in here if each.shard == shard),
                    *(record.position.index for name, record in left.items() if name == shard),
                ]
            ),
            generation=max(
                [
                    request.generation,
                    *(each.generation for each in here),
                    *(record.generation for record in left.values()),
                ]
            ),
        )
        command = RecoverShard(group=shard.group, number=shard.number, origin=origin)
        # A second time does no harm.
        await self._router.propose_control(METADATA, command, timeout_s=_RECORD_S)
        return origin.epoch

    async def finish_upgrade(self) -> Sequence[FeatureLevel]:
        """Raise the levels in force, and return the raised ones.

        Raises `Rejected` while a node does not support them, `NotProposedError` and
        `OutcomeUnknownError`, and `UnreadableError` if this node cannot read the current levels.
        """
        await self._metadata().read_barrier(_RECORD_S)
        known = levels.features(list(self._shards.declarations()), self._shards.levels)
        if not any(each.next > each.level for each in known):
            return ()
        answer = await self._router.propose_control(
            METADATA, control_pb2.RaiseLevels(), timeout_s=_RECORD_S
        )
        return control_pb2.RaiseLevelsReply.FromString(answer.reply).levels

    async def reset_fences(self, prefix: bytes, above: int) -> int:
        """Forget tokens above a bound of fences with a prefix, in every shard; return their number.

        Raises `Rejected`, `NotProposedError` and `OutcomeUnknownError`: it is safe to repeat.
        """
        step = control_pb2.ForgetFences(prefix=prefix, above=above)
        answers = await asyncio.gather(
            *(self._router.propose_control(shard, step) for shard in self._shards.slot_map.all())
        )
        replies = (control_pb2.ForgetFencesReply.FromString(each.reply) for each in answers)
        return sum(each.forgotten for each in replies)

    async def purge(self, plugin: str, count_only: bool) -> AsyncIterator[admin_pb2.PurgedRows]:
        """Yield the numbers of deleted or counted rows, step by step.

        Another purge completes an interrupted one: each deletes all rows that are left. Raises
        `Rejected` while a running node serves the plugin, `NotProposedError`, `UnreadableError` and
        `OutcomeUnknownError`.
        """
        served = self._catalog.declared.get(plugin)
        if served is not None and served.plugin.built_in:
            raise Rejected("PLUGIN_SERVED", f"{plugin} is built in: every node serves it")
        configuration = self._metadata().configuration
        members = () if configuration is None else configuration.peers
        others = sorted({peer.node for peer in members} - {self._shards.me.node})
        asked = await asyncio.gather(*(self._serves(plugin, node) for node in others))
        serving = [node for node, serves in zip(others, asked, strict=True) if serves]
        if served is not None:
            serving.append(self._shards.me.node)
        if serving:
            raise Rejected(
                "PLUGIN_SERVED",
                f"plugin {plugin} is served by {', '.join(sorted(serving))}; remove it from"
                " [plugins] enabled, name it in [plugins] retired on every node, and restart them;"
                " nothing was deleted",
            )
        for shard in self._shards.slot_map.all():
            async for rows in self._purge(shard, plugin, count_only):
                yield rows

    def _metadata(self) -> Shard:
        if (metadata := self._shards.get(METADATA)) is None:
            raise UnreadableError("this node does not belong to its cluster; ask another node")
        return metadata

    async def _demand_lost(self, shard: ShardId) -> None:
        """Raise `Rejected` for a shard that serves: its rows must not be given up."""
        # Slots of an old version are ignored: the probe only shows that commands commit.
        probe = AdoptSlots(version=0, slots=bytes(BITMAP_BYTES))
        try:
            async with asyncio.timeout(_SERVES_WITHIN_S):
                await self._router.propose_control(shard, probe, timeout_s=_SERVES_WITHIN_S)
        except (NotProposedError, OutcomeUnknownError, TimeoutError):
            return
        raise Rejected(
            "SERVES",
            f"shard {shard} has a majority and serves; a single replica that stopped is replaced"
            " with its node: `quorate member replace NODE ADDRESS`",
        )

    async def _serves(self, plugin: str, node: str) -> bool:
        try:
            route = await self._channels.route(node, _ANSWER_S)
            status = await Stub(route.channel, _SERVICE).Status(
                admin_pb2.NodeStatusRequest(), timeout=_ANSWER_S, metadata=route.metadata
            )
        except (UnreachableError, CallError):
            return False
        return any(each.name == plugin for each in status.plugins)

    async def _purge(
        self, shard: ShardId, plugin: str, count_only: bool
    ) -> AsyncIterator[admin_pb2.PurgedRows]:
        step = control_pb2.PurgePlugin(plugin=plugin, count_only=count_only)
        while True:
            answer = await self._router.propose_control(shard, step)
            found = control_pb2.PurgePluginReply.FromString(answer.reply)
            if not found.family:
                return
            if not count_only:
                failpoint("purge.step")
            yield admin_pb2.PurgedRows(shard=str(shard), family=found.family, rows=found.rows)
            step.after_family, step.after_key = found.family, found.last_key
