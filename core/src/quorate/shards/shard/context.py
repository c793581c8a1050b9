"""The parameters of a replica: the parts that the replicas of a node share, and their hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Protocol

from quorate.apply.applier import Applier
from quorate.apply.evaluator import Evaluator
from quorate.apply.layers import Rows
from quorate.apply.program import Program
from quorate.consensus.driver import Alarms
from quorate.consensus.liveness import Liveness
from quorate.consensus.log import Stored
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Message, Peer
from quorate.consensus.replica import Replica
from quorate.observe.recorder import Recorder
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.capacity import FreeSpace, LoopBudget
from quorate.shards.shard.log_keeper import SyncTurns, TailJournal
from quorate.shards.shard.removal import AskMembers
from quorate.shards.shard.settings import ShardSettings
from quorate.storage.data.shard_data import ShardData
from quorate.v1.control_pb2 import CheckRows, CutShard
from quorate.v1.files_pb2 import FileSet

if TYPE_CHECKING:
    from quorate.observe.traces import Traces
    from quorate.shards.shard.shard import Shard


class ShardFiles(Protocol):
    """The files that entries of a shard put in place."""

    def paths(self, shard: ShardId, files: FileSet) -> Mapping[str, Sequence[Path]] | None:
        """Return the files of a set by family; None if one is not here."""

    async def come(self, replica: Shard, files: FileSet) -> bool:
        """Get the files of a set from any node that has them; return whether all are here."""

    def find(self, shard: ShardId, files: FileSet, family: str, keys: list[bytes]) -> bytes | None:
        """Return the first of these keys that is in the files of a set; raises `Rejected`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaContext:
    """The parts of a node that all of its replicas use."""

    catalog: Catalog
    settings: ShardSettings
    loop: asyncio.AbstractEventLoop
    #: The wall clock of this node.
    wall_ms: Callable[[], int]
    #: The current clock of another node, None while it is unknown; without it the wall clock is
    #: trusted.
    node_clock: Callable[[str], int | None] | None = None
    space: FreeSpace | None = None
    loop_budget: LoopBudget | None = None
    sync_turns: SyncTurns | None = None
    alarms: Alarms | None = None
    #: With it an idle shard rests.
    liveness: Liveness | None = None
    files: ShardFiles | None = None
    recorder: Recorder | None = None
    traces: Traces | None = None

    def applier(self, shard: ShardId, data: ShardData, program: Program) -> Applier:
        """Return the part of a replica that stores effects."""
        return Applier(
            self.catalog,
            shard,
            data,
            ownership=program.ownership,
            limits=self.settings.apply_limits,
        )

    def evaluator(
        self, hooks: ShardHooks, shard: ShardId, data: ShardData, program: Program
    ) -> Evaluator:
        """Return the part of a replica that runs handlers while it leads."""
        return Evaluator(
            program,
            shard,
            data,
            limits=self.settings.evaluation,
            find_in_files=None if self.files is None else partial(self.files.find, shard),
            neighbour=lambda number: hooks.rows_of(ShardId(shard.group, number)),
        )

    def replica(self, me: Peer, journal: TailJournal, data: ShardData, rng: Random) -> Replica:
        """Return the part of a replica that agrees on the log."""
        record = data.record
        configured = Configuration.decode(record.configuration) if record.configuration else None
        return Replica(
            me,
            journal,
            applied=data.applied,
            stored=Stored(record.configuration_index, configured),
            clock=self.loop.time,
            rng=rng,
            timing=self.settings.timing,
            limits=self.settings.limits,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardHooks:
    """The calls that a replica makes to its node."""

    #: Sends messages to the peers of a replica, by its name; it may drop them.
    send: Callable[[str, Sequence[Message]], None]
    #: Makes the node's log durable, and then calls `Shard.synced`.
    request_sync: Callable[[ShardId], None]
    #: Sends the state to followers that need compacted entries; calls `Shard.snapshot_given_up` for
    #: one that it does not reach.
    send_snapshots: Callable[[Shard, Sequence[Peer]], None]
    #: Returns the `Shard.membership` that another node knows: consensus does not inform a removed
    #: replica.
    ask_members: AskMembers | None = None
    #: The replica has stopped for good by itself.
    stopped: Callable[[Shard, Exception], None] = lambda shard, error: None
    #: The replica has begun or ceased to lead.
    led: Callable[[], None] = lambda: None
    #: Copies the data to the new shards of a cut before anything after it is applied.
    fork: Callable[[Shard, CutShard], Awaitable[None]] | None = None
    #: A check of the rows is the newest applied entry.
    check: Callable[[Shard, CheckRows], None] = lambda shard, check: None
    #: Brings the copies of mirrored families up to date within some seconds while the replica
    #: leads; returns whether they are.
    catch_up: Callable[[Shard, float], Awaitable[bool]] | None = None
    #: Returns the rows that this node has of another shard.
    rows_of: Callable[[ShardId], Rows | None] = lambda shard: None
