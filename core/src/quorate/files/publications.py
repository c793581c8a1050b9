"""Carries out publications on the leaders of their shards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from google.protobuf.message import Message

from quorate.apply import publications
from quorate.files.file_sets import FileSets
from quorate.observe.failpoints import failpoint
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.refusals import ReadTimeoutError
from quorate.shards.routing.requests import Answer
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import OVER, STEP_S, Change, Order, Propose, Step, Steps
from quorate.shards.timing import Pause, every
from quorate.v1 import files_pb2 as pb

FAILED: Final = "PUBLICATION_FAILED"
#: Maximum time for which a closed shard waits for the others; its reads and writes wait, too.
CLOSED_S: Final = 10.0
_LOOK_S: Final = 0.5
_AGAIN_S: Final = 0.05
_MARKS_S: Final = 5.0


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
        self._leading: Final = leading
        self._files: Final = files
        self._submit: Final = submit
        self._steps: Final = Steps(get, submit, loop)
        #: The leaders whose marks were looked at, and when to look at the same ones again: what
        #: closes a shard has a task here, unless another node led it.
        self._marked: Iterable[Shard] = ()
        self._marks_due = float("-inf")
        #: The changes of metadata/0 when no publication was in progress; -1: one may be.
        self._quiet = -1

    def start(self) -> None:
        """Begin with the shards that this node leads."""
        metadata, loop = self._steps.get(METADATA), self._steps.loop
        if metadata is not None:
            metadata.subscribe(lambda _: self._look())
        failed = "cannot look for publications"
        self._steps.begin("marks", every, loop, _LOOK_S, self._look_at_marks, failed)

    async def stop(self) -> None:
        """Take no more steps."""
        await self._steps.close()

    async def publish(self, asked: pb.PublishFilesRequest, timeout_s: float) -> pb.Publication:
        """Install the staged files of all shards of a group atomically.

        Raises `Rejected` with PUBLICATION_FAILED if none was installed, and `ReadTimeoutError` if
        that is not known in time.
        """
        begin = pb.BeginPublication(group=asked.group, name=asked.name, command=asked.command)
        answer = await self._submit(METADATA, begin)
        failpoint("publish.begun")
        begun = pb.Publication.FromString(answer.reply)
        deadline, wait = self._steps.loop.time() + timeout_s, Pause(self._steps.loop)
        found = begun
        while found.number == begun.number and found.parts:
            self._look()
            if not await wait.until(deadline):
                raise ReadTimeoutError(
                    f"{asked.name} is still being published: ask again for the outcome"
                )
            found = await _newest(self._steps, asked.group, asked.name)
        if found.state != pb.Publication.COMMITTED:
            raise Rejected(FAILED, f"{asked.name} is not published: {found.reason}")
        return found

    async def end(self, group: str, name: str, *, forget: bool) -> None:
        """Abort a publication that is not committed; or forget one that has ended."""
        await self._submit(METADATA, pb.EndPublication(group=group, name=name, forget=forget))

    # Inside.

    def _look(self) -> None:
        metadata = self._steps.get(METADATA)
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
        leading, now = self._leading(), self._steps.loop.time()
        if leading is self._marked and now < self._marks_due:
            return
        self._marked, self._marks_due = leading, now + _MARKS_S
        for shard in leading:
            if shard.applier.published.closing:
                self._begin(shard, shard.applier.published.name)

    def _begin(self, shard: Shard, name: str) -> None:
        self._steps.carry_out(Publication(self._steps, shard, name, self._files))


class Publication(Change):
    """Closes a shard, and opens it with the files or unchanged."""

    waits = "the publication of %s in shard %s waits: %s"
    again_s = _AGAIN_S

    def __init__(self, steps: Steps, shard: Shard, name: str, files: FileSets) -> None:
        super().__init__(steps, shard)
        self.names = (name, shard.id)
        self._name: Final = name
        self._files: Final = files
        self._deadline: Final = steps.loop.time() + CLOSED_S

    async def _step(self) -> Step:
        shard, name, failure = self.shard, self._name, ""
        term, row = shard.term, await _newest(self.steps, shard.id.group, name)
        part = _part(row, shard.id)
        if self.steps.loop.time() > self._deadline:
            failure = self.said or f"shard {shard.id} waited {CLOSED_S:g} s for the other shards"
        elif part is not None and not part.closed and row.state == pb.Publication.CLOSING:
            failure = await self._close(row, term)
        return publication_step(shard.id, name, row, shard.applier.published, failure)

    async def _close(self, row: pb.Publication, term: int) -> str:
        """Close the shard, and return why it cannot be, if so."""
        shard = self.shard
        closing = pb.CloseFileSet(name=row.name, command=row.command, publication=row.number)
        try:
            await self._files.gather(shard, row.name, STEP_S)
            step = Step(("publish.closing", Propose(closing), "publish.closed"))
            await self.steps.take(step, shard, term)
        except (Rejected, Invalid) as error:
            return f"shard {shard.id}: {error}"
        return ""


def publication_step(
    shard: ShardId, name: str, row: pb.Publication, mark: pb.PublicationMark, failure: str
) -> Step:
    """Return the next step of a shard that was closed for a publication, or could not be."""
    part, number, over = _part(row, shard), row.number, row.state != pb.Publication.CLOSING
    committed = row.state == pb.Publication.COMMITTED
    if part is None:
        if mark.name != name:
            return OVER
        number, committed = mark.closing, committed and number == mark.closing
    opening = pb.OpenPublished(name=name, publication=number, committed=committed)
    opens = ("publish.opening", Propose(opening), "publish.opened")
    if part is None:
        return Step(opens, over=True)
    if part.closed and not over and not failure:
        return Step(pause_s=_AGAIN_S)
    report = pb.ReportPublication(
        group=shard.group, name=name, publication=number, shard=shard.number, over=over
    )
    if not over:
        report.failure = failure
    return Step((*(opens if over else ()), Order(report), "publish.reported"))


def _part(row: pb.Publication, shard: ShardId) -> pb.PublicationPart | None:
    return next((each for each in row.parts if each.shard == shard.number), None)


async def _newest(steps: Steps, group: str, name: str) -> pb.Publication:
    """Return the newest row of a publication."""
    return publications.find(await steps.newest(), group, name) or pb.Publication()
