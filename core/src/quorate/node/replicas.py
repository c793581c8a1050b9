"""The replicas of a node: its directory, the log that they share with its syncs, and their data."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

from quorate.apply.program import Program
from quorate.consensus.driver import Alarms
from quorate.consensus.formation import cluster_id
from quorate.consensus.membership import Configuration
from quorate.node import tuning
from quorate.node.directory import NodeDirectory
from quorate.node.ground import Ground
from quorate.node.peers import Peers, addresses_of
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.rpc.asking import wall_ms
from quorate.shards.shard.capacity import FreeSpace, LoopBudget, free_bytes_of
from quorate.shards.shard.context import ReplicaContext, ShardFiles, ShardHooks
from quorate.shards.shard.log_keeper import SyncTurns, TailJournal
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import Submit
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError
from quorate.storage.log.sync_loop import SyncLoop
from quorate.topology.commands.routes import ROUTES
from quorate.topology.replicas.damage import is_of_node
from quorate.topology.replicas.declaration import declaration_of
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1.control_pb2 import CheckRows

_log = logging.getLogger(__name__)


class UnclaimedDataError(Exception):
    """There are rows of a plugin that is not enabled; the text says what to do."""


class Replicas:
    """Opens the shards of a node in its directory, and closes them."""

    def __init__(self, ground: Ground, directory: NodeDirectory) -> None:
        """Open the log; raises `GroupsDifferError`, `OtherClusterError` and `EngineError`."""
        settings, catalog, loop = ground.settings, ground.catalog, ground.loop
        sections = settings.groups.items()
        configured = {name: each.shards for name, each in sections if each.shards is not None}
        replicas = {name: each.replicas for name, each in sections if each.replicas is not None}
        declaration = declaration_of(
            directory.me,
            addresses_of(settings)[directory.me.node],
            catalog,
            configured=configured,
            replicas=replicas,
            machine=settings.node.machine or "",
            zone=settings.node.zone or "",
        )
        self._settings: Final = settings
        self._catalog: Final = catalog
        self._loop: Final = loop
        self._recordings: Final = ground.recordings
        self._failed: Final = ground.lifecycle.end
        self._token: Final = settings.cluster.token.get_secret_value()
        self.directory: Final = directory
        self._held: Final = directory.first_entry()
        #: The id of the cluster; empty until the node has joined it.
        self.cluster = b""
        self.log: Final = directory.open_log()
        self._space: Final = FreeSpace(partial(free_bytes_of, directory.path), loop.time)
        self._loop_budget: Final = LoopBudget(loop.time)
        self._sync_turns: Final = SyncTurns(loop)
        self._alarms: Final = Alarms(loop)
        #: By group: its shards share it.
        self._programs: Final[dict[str, Program]] = {}
        self._shard_settings: Final = tuning.shard_settings(settings)
        self.shards: Final = NodeShards(
            declaration,
            catalog,
            self.log,
            directory.home,
            configured=configured,
            notes=directory.notes(),
            loop=loop,
            failed=self._failed,
        )
        #: The file sets of the shards; set before the first shard opens.
        self.files: ShardFiles | None = None
        self.syncs: Final = SyncLoop(self.log, loop, self.shards.synced, self._log_failed)

    @property
    def shortage(self) -> str | None:
        """Why writes are refused because the disk is nearly full, or None."""
        return self._space.shortage if self._space.short else None

    # Life.

    def join(self, entry: bytes) -> Configuration:
        """Belong to the cluster with this first entry, and return who founded it."""
        if not self._held:
            self.directory.join(entry)
        self.cluster = cluster_id(self._token, entry)
        return Configuration.decode(entry)

    def open(
        self,
        first_members: Configuration,
        submit: Submit,
        peers: Peers,
        *,
        catch_up: Callable[[Shard, float], Awaitable[bool]],
        check: Callable[[Shard, CheckRows], None],
    ) -> None:
        """Open metadata/0 and whatever else is known; the hooks are as in `ShardHooks`.

        Raises `GroupsDifferError`, `ReleaseTooOldError`, `UnclaimedDataError`, and what says that
        metadata/0 cannot be opened.
        """
        first = first_members if self.shards.me in first_members.voters else None
        context = ReplicaContext(
            catalog=self._catalog,
            settings=self._shard_settings,
            loop=self._loop,
            wall_ms=wall_ms,
            node_clock=peers.clocks,
            space=self._space,
            loop_budget=self._loop_budget,
            sync_turns=self._sync_turns,
            alarms=self._alarms,
            liveness=peers.liveness,
            files=self.files,
            recorder=self._recordings.recorder,
            traces=self._recordings.traces,
        )
        hooks = ShardHooks(
            send=peers.network.send,
            request_sync=self._request_sync,
            send_snapshots=peers.snapshots.needed,
            ask_members=peers.membership.ask,
            stopped=self._stopped,
            led=self.shards.leaders_changed,
            fork=self.shards.fork,
            check=check,
            catch_up=catch_up,
            rows_of=self.shards.rows_of,
        )
        self.shards.open(first, submit, partial(self._new_shard, context, hooks))
        self._check_claimed(self.shards.all())
        self.shards.on_open(self._check_opened)

    def metadata(self) -> Shard:
        """Return the replica of metadata/0; raises what it stopped with."""
        for shard in self.shards.all():
            if shard.id == METADATA:
                if shard.stopped is not None:
                    raise shard.stopped
                return shard
        raise RuntimeError("there is no metadata/0 before the node has a cluster")

    async def close(self) -> None:
        """Make all data durable, and close it."""
        await asyncio.gather(*map(self._flush, self.shards.all()))
        await self.shards.close()
        await self.syncs.close()
        self.log.close()

    # Inside.

    def _new_shard(
        self,
        context: ReplicaContext,
        hooks: ShardHooks,
        shard: ShardId,
        epoch: int,
        data: ShardData,
        journal: TailJournal,
    ) -> Shard:
        return Shard(
            shard,
            self.shards.me,
            data,
            journal,
            context,
            hooks,
            rng=random.Random(),
            epoch=epoch,
            program=self._program(shard.group),
        )

    def _program(self, group: str) -> Program:
        if group not in self._programs:
            self._programs[group] = Program.of(self._catalog, group, ROUTES, self.shards.level)
        return self._programs[group]

    def _request_sync(self, shard: ShardId) -> None:
        self.shards.wrote(shard)
        self.syncs.request()

    def _check_opened(self, shard: Shard) -> None:
        try:
            self._check_claimed([shard])
        except UnclaimedDataError as error:
            self._failed(error)

    def _check_claimed(self, opened: Iterable[Shard]) -> None:
        owners = {
            family.partition(".")[0]
            for shard in opened
            for family in shard.data.orphans
            if next(shard.data.iterate(family, b"", None), None) is not None
        }
        missing = sorted(owners - set(self._catalog.declared) - set(self._settings.plugins.retired))
        if missing:
            raise UnclaimedDataError(
                f"there is data of {', '.join(missing)}, which is not enabled; name it in [plugins]"
                " enabled, or in [plugins] retired to keep the data without serving it"
            )

    def _stopped(self, shard: Shard, error: Exception) -> None:
        """Go on without a shard, which others serve; but not without the one that names them."""
        if is_of_node(error):
            self._failed(error)
            return
        self.shards.stopped(shard, error)
        if shard.id == METADATA:
            self._failed(error)

    def _log_failed(self, error: Exception) -> None:
        self.shards.log_failed(error)
        self._failed(error)

    async def _flush(self, shard: Shard) -> None:
        try:
            await self._loop.run_in_executor(None, shard.data.sync)
        except (EngineError, OSError) as error:
            # The log has it all, and replays it.
            _log.warning("shard %s: its data could not be made durable: %s", shard.id, error)
