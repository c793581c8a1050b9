"""The file sets of the shards on this node: from their opening to the removal of their files."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypeVar

from google.protobuf.message import Message

from quorate.apply import file_sets
from quorate.apply.entries import of_shard
from quorate.apply.outcomes import Outcome
from quorate.files.commands import check_ingest, check_room, refuse_dropped
from quorate.observe.failpoints import failpoint
from quorate.plugin import Invalid, Rejected
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import ExhaustedError, NoLeaderError, NotProposedError
from quorate.shards.routing.proposing import propose_in_order
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import Background
from quorate.storage.engine.port import DamagedError, FullError
from quorate.storage.families import DEADLINE_KEYS, DEADLINES
from quorate.storage.staged_files import DIGEST_BYTES, StagedFiles
from quorate.v1 import files_pb2 as pb

_log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=Message)

#: Maximum size of the rows outside of their slots that handlers may read.
_FACT_BYTES: Final = 4 << 20
#: Default time in which another node must copy missing files.
FETCH_S: Final = 60.0
#: Interval between searches for files that are not needed any more.
SWEEP_S: Final = 5.0
#: Files without a known set are kept for this time: the set may not have arrived yet.
UNKNOWN_S: Final = 900.0
_FULL_RETRY_MS: Final = 2_000


class FilePeers(Protocol):
    """The port to the other nodes; None is the answer of a node that cannot be reached."""

    async def fetch(
        self, node: str, shard: ShardId, name: str, files: Sequence[pb.SortedFile], timeout_s: float
    ) -> str | None:
        """Make a node copy missing files from this one; return why it still lacks some."""

    async def read(
        self, node: str, shard: ShardId, name: str, file: pb.SortedFile, offset: int
    ) -> bytes | None:
        """Return a part of a file of a node, b"" at its end."""

    async def durable_index(self, node: str, shard: ShardId) -> int | None:
        """Return the durably applied index of a node's replica; 0: it has none."""


@dataclass(eq=False)
class FileSets(Background):
    """Receives files, has them installed, and removes them afterwards."""

    _node: str
    _catalog: Catalog
    _replica: Callable[[ShardId], Shard | None]
    _staged: StagedFiles
    _peers: FilePeers
    #: One part is written at a time, which leaves the disk to the log.
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def stop(self) -> None:
        """Stop removing files that are not needed any more, and close all files."""
        await super().stop()
        await self._off_loop(self._staged.close)

    # What clients ask.

    async def open(
        self, shard: ShardId, asked: pb.OpenFileSet, timeout_s: float
    ) -> pb.OpenFilesResponse:
        """Open a file set, and return the parameters for making its rows."""
        replica = self._leading(shard)
        route = self._catalog.routes.get(asked.command)
        if route is None or route.group != shard.group:
            raise Invalid("command", f"{asked.command!r} is no command of group {shard.group}")
        opened = await self._propose(replica, asked, pb.FileSet, timeout_s)
        response = pb.OpenFilesResponse(set=opened)
        families = self._catalog.families
        for name in sorted({*route.reads, *route.writes}):
            if families[name].shard_key is not None and families[name].group == shard.group:
                continue
            for key, value in replica.data.iterate(name, b"", None):
                response.facts.add(family=name, key=key, value=value)
            if response.ByteSize() > _FACT_BYTES:
                raise Rejected(
                    "FAILED_PRECONDITION",
                    f"handlers of {asked.command} may read all of {name}, which is too large to be"
                    " sent along: load by commands (load.mode rpc)",
                )
        return response

    def command_of(self, shard: ShardId, name: str) -> str:
        """Return the command of a set; raises `Rejected` if there is none."""
        known = _going_on(self._leading(shard), name)
        if known is None:
            raise Rejected("NOT_FOUND", f"there is no file set {name} in {shard}: open it first")
        return known.command

    async def receive(
        self, shard: ShardId, name: str, file: pb.SortedFile, offset: int, content: bytes
    ) -> int:
        """Write a part of a file, and return how much of it is here."""
        self._check(file)
        replica = self._here(shard)
        if replica.shortage is not None:
            raise ExhaustedError(f"{self._node}: {replica.shortage}", _FULL_RETRY_MS)
        _going_on(replica, name)
        try:
            async with self._writing:
                return await self._off_loop(
                    self._staged.write, str(shard), name, file, offset, content
                )
        except FullError as error:
            raise ExhaustedError(f"{self._node}: {error}", _FULL_RETRY_MS) from None
        except DamagedError as error:
            raise Rejected("DATA_LOSS", str(error)) from None

    async def ingest(self, shard: ShardId, asked: pb.IngestFileSet, timeout_s: float) -> pb.FileSet:
        """Install the files of a set once enough voters have them."""
        replica = self._leading(shard)
        known = file_sets.find(replica.data, asked.name)
        if known is None or known.state == pb.FileSet.OPEN:
            await self._gather(replica, asked.name, asked.files, timeout_s)
            failpoint("ingest.gathered")
        return await self._propose(replica, asked, pb.FileSet, timeout_s)

    async def check(self, shard: ShardId, asked: pb.IngestFileSet, timeout_s: float) -> pb.FileSet:
        """Refuse files that would be refused now; every voter that answers has them afterwards."""
        replica = self._leading(shard)
        rows, slots = replica.data, replica.applier.slots
        known = check_ingest(asked, file_sets.find(rows, asked.name), slots)
        if known.state == pb.FileSet.OPEN:
            await self._gather(replica, asked.name, asked.files, timeout_s)
            check_room(replica.data, known, asked.files, partial(self.find, shard))
        return known

    async def gather(self, replica: Shard, name: str, timeout_s: float) -> None:
        """Raise unless a majority has the files of a staged set."""
        known = file_sets.find(replica.data, name)
        if known is not None and known.state == pb.FileSet.STAGED:
            await self._gather(replica, name, known.files, timeout_s)

    async def drop(self, shard: ShardId, asked: pb.DropFileSet, timeout_s: float) -> None:
        """End a file set, or forget it."""
        replica = self._leading(shard)
        await self._propose(replica, asked, pb.DropFilesResponse, timeout_s)
        await self._sweep_set(str(shard), asked.name)

    # What other nodes ask.

    async def fetch(
        self, shard: ShardId, name: str, files: Iterable[pb.SortedFile], node: str
    ) -> str:
        """Copy missing files from another node; return why some are still missing."""
        self._here(shard)
        for file in files:
            self._check(file)
            if not await self._fetched(shard, name, file, node):
                return f"{node} has no complete file of {file.family}"
        return ""

    def read(self, shard: ShardId, name: str, file: pb.SortedFile, offset: int) -> bytes | None:
        """Return a part of a file; None if it is not here."""
        self._check(file)
        return self._staged.read(str(shard), name, file, offset)

    # What replicas ask.

    def paths(self, shard: ShardId, files: pb.FileSet) -> Mapping[str, Sequence[Path]] | None:
        """Return the files of a set by family; None if one is not here."""
        return self._staged.paths(str(shard), files.name, files.files)

    async def come(self, replica: Shard, files: pb.FileSet) -> bool:
        """Copy the files of a set from any node that has them; return whether all are here."""
        here = await self._copied(replica, files.name, files.files)
        return here or self.paths(replica.id, files) is not None

    def find(
        self, shard: ShardId, files: pb.FileSet, family: str, keys: list[bytes]
    ) -> bytes | None:
        """Return the first of these keys that is in the files of a set."""
        try:
            return self._staged.find(str(shard), files.name, family, keys)
        except LookupError:
            raise Rejected(
                "UNAVAILABLE", f"the files of {files.name} could not be searched: try again"
            ) from None

    # Inside.

    async def _gather(
        self, replica: Shard, name: str, files: Sequence[pb.SortedFile], timeout_s: float
    ) -> None:
        """Raise unless a majority has the files; every voter that answers has them."""
        shard = replica.id
        written = self._catalog.routes[self.command_of(shard, name)].writes
        strange = {each.family for each in files} - {*written, DEADLINES, DEADLINE_KEYS}
        if strange:
            raise Invalid("ingest.files", f"its command writes no {', '.join(sorted(strange))}")
        if self._staged.paths(str(shard), name, files) is None and not await self._copied(
            replica, name, files
        ):
            # Another node led when they were sent.
            raise Rejected(
                "FILES_MISSING", f"{self._node} has not all files of {name}: send them again"
            )
        try:
            await self._off_loop(self._staged.look_into, str(shard), name, files)
        except DamagedError as error:
            raise Rejected("DATA_LOSS", str(error)) from None
        configuration = replica.configuration
        voters = [] if configuration is None else [each.node for each in configuration.voters]
        others = [node for node in voters if node != self._node]
        answers = await asyncio.gather(
            *(self._peers.fetch(node, shard, name, files, timeout_s) for node in others)
        )
        lacking = {
            node: "it does not answer" if answer is None else answer
            for node, answer in zip(others, answers, strict=True)
            if answer != ""
        }
        told = {node: why for node, why in lacking.items() if why != "it does not answer"}
        if told or (len(voters) - len(lacking)) * 2 <= len(voters):
            why = "; ".join(f"{node}: {reason}" for node, reason in sorted(lacking.items()))
            raise ExhaustedError(
                f"not enough nodes of shard {shard} have the files of {name}: {why}",
                _FULL_RETRY_MS,
            )

    async def _copied(self, replica: Shard, name: str, files: Sequence[pb.SortedFile]) -> bool:
        for node in self._others(replica):
            if not await self.fetch(replica.id, name, files, node):
                return True
        return False

    async def _fetched(self, shard: ShardId, name: str, file: pb.SortedFile, node: str) -> bool:
        received = await self._off_loop(self._staged.received, str(shard), name, file)
        while received < file.size:
            content = await self._peers.read(node, shard, name, file, received)
            if not content:
                return False
            received = await self.receive(shard, name, file, received, content)
        return True

    async def _propose(
        self, replica: Shard, command: Message, reply: type[M], timeout_s: float
    ) -> M:
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout_s
        [result] = await propose_in_order(replica, [of_shard(command)], [deadline], clock)
        if not isinstance(result, Outcome):
            raise result
        if result.refusal is not None:
            raise Rejected(result.refusal.code, result.refusal.message)
        return reply.FromString(result.reply)

    def _check(self, file: pb.SortedFile) -> None:
        """Refuse a file that no shard can have."""
        known = file.family in self._catalog.families or file.family in (DEADLINES, DEADLINE_KEYS)
        if not known or len(file.digest) != DIGEST_BYTES:
            raise Invalid("file", f"needs a column family, and a digest of {DIGEST_BYTES} bytes")

    def _here(self, shard: ShardId) -> Shard:
        replica = self._replica(shard)
        if replica is None:
            raise NotProposedError(
                f"{self._node} has no replica of shard {shard}: ask another node"
            )
        return replica

    def _leading(self, shard: ShardId) -> Shard:
        replica = self._here(shard)
        if not replica.leads:
            raise NoLeaderError(shard, replica.leader)
        return replica

    def _others(self, replica: Shard) -> list[str]:
        configuration = replica.configuration
        members = () if configuration is None else configuration.members
        return sorted(each.peer.node for each in members if each.peer.node != self._node)

    async def _off_loop(self, act: Callable[P, R], *of: P.args, **_: P.kwargs) -> R:
        return await self._loop.run_in_executor(None, act, *of)

    # The end of files.

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            for shard, name in await self._off_loop(lambda: list(self._staged.sets())):
                try:
                    await self._sweep_set(shard, name)
                except Exception:  # noqa: BLE001 - the other sets are looked at all the same
                    _log.exception("the files of %s in shard %s cannot be removed", name, shard)

    async def _sweep_set(self, shard: str, name: str) -> None:
        """Remove the files of a set that no replica needs any more."""
        replica = self._replica(ShardId.parse(shard))
        if replica is not None and not await self._removable(replica, name):
            return
        await self._off_loop(self._staged.remove, shard, name)

    async def _removable(self, replica: Shard, name: str) -> bool:
        found = file_sets.find(replica.data, name)
        if found is None:
            idle_s = self._staged.idle_s(str(replica.id), name, time.time())
            return idle_s > UNKNOWN_S
        if found.state in (pb.FileSet.OPEN, pb.FileSet.STAGED, pb.FileSet.CLOSED):
            return False
        if found.state == pb.FileSet.DROPPED:
            return True
        index = found.ingested_at
        if replica.data.durable_index < index:
            # The next sweep finds it done.
            replica.make_durable()
            return False
        if replica.replica.log.first_index > index:
            # A replica that needs the entry gets a snapshot, which has the rows.
            return True
        for node in self._others(replica):
            durable = await self._peers.durable_index(node, replica.id)
            if durable is None or durable < index:
                return False
        return True


def _going_on(replica: Shard, name: str) -> pb.FileSet | None:
    """Return a file set, if there is one; raises `Rejected` if it was dropped."""
    known = file_sets.find(replica.data, name)
    refuse_dropped(known)
    return known
