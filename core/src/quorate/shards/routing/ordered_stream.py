"""A stream of commands, which reach each shard's log in the order of the stream."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from quorate.plugin import Caller
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError, NotProposedInTimeError
from quorate.shards.routing.admitting import AdmissionQueue, Admissions
from quorate.shards.routing.delivery import Call, Delivery
from quorate.shards.routing.requests import LEFT, Answer, Answered, Audit, Part, Proposal
from quorate.shards.timing import Alarm, end

#: Returns the parts of a command; an invalid one is answered, and has none.
Place = Callable[[Proposal, Answered], Sequence[Part]]


class OrderedStream:
    """A queue per shard, with one run of commands in flight.

    Commands that arrive meanwhile form the next run. So a run can be retried until its deadlines
    without being overtaken.
    """

    def __init__(
        self,
        place: Place,
        carrier: Delivery,
        loop: asyncio.AbstractEventLoop,
        admissions: Admissions,
        check: Callable[[Proposal], Proposal | Exception],
        *,
        caller: Caller,
        audit: Audit | None = None,
    ) -> None:
        self._audit: Final = audit
        #: What records the answers that have not come.
        self._unrecorded: Final[set[Answered]] = set()
        self._place: Final = place
        self._delivery: Final = carrier
        self._loop: Final = loop
        self._check: Final = check
        self._call: Final = Call(ordered=True)
        self._entrance: Final = AdmissionQueue(admissions, caller, loop, self._enter)
        self._waiting: Final[dict[ShardId, deque[Part]]] = {}
        self._running: Final[set[asyncio.Task[None]]] = set()
        self._patience: Final = Alarm(loop, self._expire)
        self._halted: NotProposedError | None = None

    def put(self, proposal: Proposal, answered: Answered) -> None:
        """Enqueue a command; it is answered exactly once, possibly at once."""
        ended = None if self._audit is None else self._audit(proposal.message)
        if ended is not None:
            self._unrecorded.add(ended)
            answered = partial(self._record, ended, answered)
        checked = self._check(proposal)
        if isinstance(checked, Exception):
            answered(checked)
        else:
            self._entrance.put(checked, answered)

    def _record(self, ended: Answered, answered: Answered, answer: Answer | Exception) -> None:
        # What was proposed may still be answered after the end of the stream.
        if ended in self._unrecorded:
            self._unrecorded.remove(ended)
            ended(answer)
        answered(answer)

    def halt(self, error: NotProposedError) -> None:
        """Propose nothing more: all that waits, and all that comes, ends with this failure."""
        self._halted = error
        for queue in self._waiting.values():
            waiting = list(queue)
            queue.clear()
            for part in waiting:
                part.end(error)

    def _enter(self, proposal: Proposal, answered: Answered) -> None:
        if self._halted is not None:
            answered(self._halted)
            return
        for part in self._place(proposal, answered):
            shard = part.command.shard
            queue = self._waiting.get(shard)
            if queue is None:
                queue = self._waiting[shard] = deque()
                # All commands of this turn of the loop share the first run.
                running = self._loop.create_task(self._run(shard, queue))
                self._running.add(running)
                running.add_done_callback(self._running.discard)
            queue.append(part)
            if part.request.deadline < self._patience.due:
                self._patience.by(part.request.deadline)

    async def close(self) -> None:
        """Stop proposing and answering; commands already proposed continue."""
        self._patience.stop()
        await self._entrance.close()
        await end(*self._running)
        for ended in self._unrecorded:
            ended(LEFT)
        self._unrecorded.clear()

    async def _run(self, shard: ShardId, queue: deque[Part]) -> None:
        while queue:
            await self._delivery.deliver(shard, self._delivery.next_run(queue), self._call)
        del self._waiting[shard]

    def _expire(self, now: float) -> float | None:
        """End commands whose deadlines pass while they wait."""
        again: float | None = None
        for queue in self._waiting.values():
            waiting = list(queue)
            queue.clear()
            for part in waiting:
                deadline = part.request.deadline
                if deadline > now:
                    queue.append(part)
                    again = deadline if again is None else min(again, deadline)
                    continue
                part.end(
                    NotProposedInTimeError(
                        f"{part.logged.type} waited after others of its stream for shard "
                        f"{part.command.shard} until its deadline, and was not proposed: retry"
                    )
                )
        return again
