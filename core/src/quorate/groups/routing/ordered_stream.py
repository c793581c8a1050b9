"""The commands of one stream: those of a shard come into its log in the order of the stream."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from quorate.groups.alarm import Alarm
from quorate.groups.refusals import NotProposedInTimeError
from quorate.groups.routing.admitting import AdmissionQueue, Admissions
from quorate.groups.routing.delivery import Call, Delivery
from quorate.groups.routing.requests import Answered, Part, Proposal
from quorate.plugin import Caller
from quorate.plugin.shard_id import ShardId

#: Makes the parts of a command; one that cannot be right is answered, and there are none.
Place = Callable[[Proposal, Answered], Sequence[Part]]


class OrderedStream:
    """A queue a shard, of which one run of commands is under way at a time.

    What comes meanwhile is the next run: the more comes, the more goes at once. So a run may be
    tried again, while its deadlines last, without anything overtaking it.
    """

    def __init__(
        self,
        place: Place,
        carrier: Delivery,
        loop: asyncio.AbstractEventLoop,
        admissions: Admissions,
        *,
        caller: str,
    ) -> None:
        self._place: Final = place
        self._delivery: Final = carrier
        self._loop: Final = loop
        self._call: Final = Call(caller=caller, ordered=True)
        self._entrance: Final = AdmissionQueue(admissions, Caller(name=caller), loop, self._enter)
        self._waiting: Final[dict[ShardId, deque[Part]]] = {}
        self._running: Final[set[asyncio.Task[None]]] = set()
        self._patience: Final = Alarm(loop, loop.time, self._expire)

    def put(self, proposal: Proposal, answered: Answered) -> None:
        """Let a command follow those that were put before; it is answered once, maybe at once."""
        self._entrance.put(proposal, answered)

    def _enter(self, proposal: Proposal, answered: Answered) -> None:
        for part in self._place(proposal, answered):
            shard = part.command.shard
            queue = self._waiting.get(shard)
            if queue is None:
                queue = self._waiting[shard] = deque()
                # All that is put in this turn of the loop comes into its first run.
                running = self._loop.create_task(self._run(shard, queue))
                self._running.add(running)
                running.add_done_callback(self._running.discard)
            queue.append(part)
            if part.request.deadline < self._patience.due:
                self._patience.by(part.request.deadline)

    async def close(self) -> None:
        """Propose nothing more. What was proposed goes on, and nothing is answered any more."""
        self._patience.stop()
        await self._entrance.close()
        running = list(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.gather(*running, return_exceptions=True)

    async def _run(self, shard: ShardId, queue: deque[Part]) -> None:
        while queue:
            await self._delivery.deliver(shard, self._delivery.next_run(queue), self._call)
        del self._waiting[shard]

    def _expire(self, now: float) -> float | None:
        """End what waits behind a run for too long."""
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
                        f"{part.logged.type} waited behind others of its stream for shard "
                        f"{part.command.shard} until its deadline, and was not proposed: try again"
                    )
                )
        return again
