"""Carries out publications on the leaders of their shards."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from google.protobuf.message import Message

from quorate.apply import publications
from quorate.groups.files.file_sets import FileSets
from quorate.groups.refusals import (
    NotProposedError,
    OutcomeUnknownError,
    ReadTimeoutError,
    UnreadableError,
)
from quorate.groups.routing.proposing import propose_step
from quorate.groups.routing.requests import Answer
from quorate.groups.shard.shard import Shard
from quorate.groups.timing import Pause, end, every, pause
from quorate.observe.failpoints import failpoint
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.v1 import files_pb2 as pb

_log = logging.getLogger(__name__)

FAILED: Final = "PUBLICATION_FAILED"
#: Maximum time for which a closed shard waits for the others; its reads and writes wait, too.
CLOSED_S: Final = 10.0
_LOOK_S: Final = 0.5
_AGAIN_S: Final = 0.05
_MARKS_S: Final = 5.0
_STEP_S: Final = 5.0
#: Transient errors; a final refusal is `Rejected` or `Invalid`.
_PASSING: Final = (NotProposedError, OutcomeUnknownError, UnreadableError)


class Publications:
    """Takes the steps of publications in the shards that are led here.

    The row in metadata/0 and the marks in the shards are the whole state of a publication: the next
    leader of a shard continues it. A shard that is closed for a publication unknown to metadata/0,
    as after a restore, opens unchanged.
    """

    def __init__(
        self,
        get: Callable[[ShardId], Shard | None],
        leading: Callable[[], Iterable[Shard]],
        files: FileSets,
        submit: Callable[[ShardId, Message], Awaitable[Answer]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._get: Final = get
        self._leading: Final = leading
        self._files: Final = files
        self._submit: Final = submit
        self._loop: Final = loop
        self._tasks: Final[dict[ShardId, asyncio.Task[None]]] = {}
        self._looking: asyncio.Task[None] | None = None
        #: The leaders whose marks were looked at, and when to look at the same ones again: what
        #: closes a shard has a task here, unless another node led it.
        self._marked: Iterable[Shard] = ()
        self._marks_due = float("-inf")
        #: The changes of metadata/0 when no publication was in progress; -1: one may be.
        self._quiet = -1

    def start(self) -> None:
        """Begin with the shards that this node leads."""
        metadata = self._get(METADATA)
        if metadata is not None:
            metadata.subscribe(lambda _: self._look())
        self._looking = self._loop.create_task(
            every(self._loop, _LOOK_S, self._look_at_marks, "cannot look for publications")
        )

    async def stop(self) -> None:
        """Take no more steps."""
        await end(self._looking, *self._tasks.values())

    async def publish(self, asked: pb.PublishFilesRequest, timeout_s: float) -> pb.Publication:
        """Install the staged files of all shards of a group atomically.

        Raises `Rejected` with PUBLICATION_FAILED if none was installed, and `ReadTimeoutError` if
        that is not known in time.
        """
        begin = pb.BeginPublication(group=asked.group, name=asked.name, command=asked.command)
        answer = await self._submit(METADATA, begin)
        failpoint("publish.begun")
        begun = pb.Publication.FromString(answer.reply)
        deadline, wait = self._loop.time() + timeout_s, Pause(self._loop)
        found = begun
        while found.number == begun.number and found.parts:
            self._look()
            if not await wait.until(deadline):
                raise ReadTimeoutError(
                    f"{asked.name} is still being published: ask again for the outcome"
                )
            found = await self._row(asked.group, asked.name)
        if found.state != pb.Publication.COMMITTED:
            raise Rejected(FAILED, f"{asked.name} is not published: {found.reason}")
        return found

    async def end(self, group: str, name: str, *, forget: bool) -> None:
        """Abort a publication that is not committed; or forget one that has ended."""
        await self._submit(METADATA, pb.EndPublication(group=group, name=name, forget=forget))

    # Inside.

    def _look(self) -> None:
        metadata = self._get(METADATA)
        if metadata is None or metadata.applier.cluster_changes == self._quiet:
            return
        changes = metadata.applier.cluster_changes
        found = list(publications.under_way(metadata.data))
        self._quiet = -1 if found else changes
        for row in found:
            numbers = {part.shard for part in row.parts}
            for shard in self._leading():
                if shard.id.group == row.group and shard.id.number in numbers:
                    self._begin(shard, row.name)

    def _look_at_marks(self) -> None:
        self._look()
        leading, now = self._leading(), self._loop.time()
        if leading is self._marked and now < self._marks_due:
            return
        self._marked, self._marks_due = leading, now + _MARKS_S
        for shard in leading:
            if shard.applier.published.closing:
                self._begin(shard, shard.applier.published.name)

    def _begin(self, shard: Shard, name: str) -> None:
        if shard.id not in self._tasks:
            task = self._loop.create_task(self._carry_out(shard, name))
            self._tasks[shard.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(shard.id, None))

    async def _carry_out(self, shard: Shard, name: str) -> None:
        deadline, said = self._loop.time() + CLOSED_S, ""
        while shard.leads:
            why = f"shard {shard.id} waited {CLOSED_S:g} s for the other shards"
            try:
                if await self._step(shard, name, deadline, said or why):
                    return
            except (*_PASSING, Rejected, Invalid) as error:
                if str(error) != said:
                    said = str(error)
                    _log.info("the publication of %s in shard %s waits: %s", name, shard.id, said)
                await pause(self._loop, _AGAIN_S)

    async def _step(self, shard: Shard, name: str, deadline: float, why: str) -> bool:
        """Take the next step; return whether there is none left."""
        group, term = shard.id.group, shard.term
        row = await self._row(group, name)
        part = next((each for each in row.parts if each.shard == shard.id.number), None)
        if part is None:
            mark = shard.applier.published
            if mark.name == name:
                committed = (row.state, row.number) == (pb.Publication.COMMITTED, mark.closing)
                await self._open(shard, name, mark.closing, term, committed=committed)
            return True
        report = pb.ReportPublication(
            group=group, name=name, publication=row.number, shard=part.shard
        )
        if row.state != pb.Publication.CLOSING:
            committed = row.state == pb.Publication.COMMITTED
            await self._open(shard, name, row.number, term, committed=committed)
            report.over = True
        elif self._loop.time() > deadline:
            report.failure = why
        elif part.closed:
            await pause(self._loop, _AGAIN_S)
            return False
        else:
            closing = pb.CloseFileSet(name=name, command=row.command, publication=row.number)
            try:
                await self._files.gather(shard, name, _STEP_S)
                failpoint("publish.closing")
                await propose_step(shard, closing, term=term, timeout_s=_STEP_S)
                failpoint("publish.closed")
            except (Rejected, Invalid) as error:
                report.failure = f"shard {shard.id}: {error}"
        await self._submit(METADATA, report)
        failpoint("publish.reported")
        return False

    async def _open(
        self, shard: Shard, name: str, publication: int, term: int, *, committed: bool
    ) -> None:
        failpoint("publish.opening")
        opening = pb.OpenPublished(name=name, publication=publication, committed=committed)
        await propose_step(shard, opening, term=term, timeout_s=_STEP_S)
        failpoint("publish.opened")

    async def _row(self, group: str, name: str) -> pb.Publication:
        """Return the newest row of a publication."""
        metadata = self._get(METADATA)
        if metadata is None:
            raise NotProposedError(f"there is no replica of {METADATA} here")
        await metadata.read_barrier(_STEP_S)
        return publications.find(metadata.data, group, name) or pb.Publication()
