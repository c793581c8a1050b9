"""Takes the steps of changes on the leaders of their shards: any later leader resumes them.

The rows in metadata/0 and what the shards know are all that there is of a change.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from quorate.consensus.membership import Configuration
from quorate.consensus.refusals import RefusedError
from quorate.observe.failpoints import failpoint
from quorate.plugin import Invalid, Rejected, keys
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError, UnreadableError
from quorate.shards.routing.proposing import propose_step
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import end, pause
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError
from quorate.storage.families import SHARDS
from quorate.storage.rows import value_of
from quorate.v1.control_pb2 import ShardRow

_log = logging.getLogger(__name__)

#: Replicates one of core's own commands on a shard, wherever its leader is.
Submit = Callable[[ShardId, Message], Awaitable[object]]

#: Timeout of a step.
STEP_S: Final = 5.0
#: Transient errors: they say nothing about the change.
PASSING: Final = (NotProposedError, OutcomeUnknownError, UnreadableError)
#: Errors after which a step is taken again.
_WAITS: Final = (*PASSING, Rejected, RefusedError, Invalid)


@dataclass(frozen=True, slots=True)
class Flush:
    """Flush the data of the shard, so that commands need not wait for it."""


@dataclass(frozen=True, slots=True)
class Propose:
    """Have the shard carry out a command of its own, in the term of the decision."""

    command: Message


@dataclass(frozen=True, slots=True)
class Order:
    """Have another shard carry out a command, wherever it is led."""

    command: Message
    shard: ShardId = METADATA


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Wait until the replica here of another shard has applied all earlier entries."""

    shard: ShardId


@dataclass(frozen=True, slots=True)
class ChangeMembers:
    """Change the members of the shard."""

    configuration: Configuration


@dataclass(frozen=True, slots=True)
class Transfer:
    """Transfer leadership to another voter."""

    heir: str


@dataclass(frozen=True, slots=True)
class Log:
    """Log what was done."""

    text: str


#: A part of a step; a text is the name of a failpoint.
Act = Flush | Propose | Order | CatchUp | ChangeMembers | Transfer | Log | str


class Step(NamedTuple):
    """The acts that a leader carries out next, in their order."""

    acts: tuple[Act, ...] = ()
    #: Whether none is left after these.
    over: bool = False
    #: What is reported; logged when it changes.
    status: str = ""
    #: Pause before the next step.
    pause_s: float = 0.0


OVER: Final = Step(over=True)


@dataclass(eq=False)
class Steps:
    """The changes that this node works on."""

    get: Callable[[ShardId], Shard | None]
    submit: Submit
    loop: asyncio.AbstractEventLoop
    #: The rows of metadata/0 as this node has read them.
    rows: Callable[[], Mapping[ShardId, ShardRow]] = dict
    closed: bool = field(default=False, init=False)
    _tasks: dict[object, asyncio.Task[None]] = field(default_factory=dict, init=False)

    async def close(self) -> None:
        """Take no more steps."""
        self.closed = True
        await end(*self._tasks.values())

    def begin(self, key: object, work: Callable[..., Coroutine[Any, Any, None]], *of: Any) -> None:
        """Begin a task, unless that of the key is not over."""
        if key not in self._tasks and not self.closed:
            task = self._tasks[key] = self.loop.create_task(work(*of))
            task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def carry_out(self, change: Change) -> None:
        """Begin with the steps of a change, or let them go on."""
        if change.shard.leads:
            self.begin((type(change), change.shard.id), change.run)

    async def take(self, step: Step, shard: Shard, term: int) -> None:
        """Carry out a step that was decided in this term; raises the errors of its acts."""
        for act in step.acts:
            match act:
                case Flush():
                    await self.flush(shard)
                case Propose(command):
                    await propose_step(shard, command, term=term, timeout_s=STEP_S)
                case Order(command, other):
                    await self.submit(other, command)
                case CatchUp(other):
                    await self.replica(other).read_barrier(STEP_S)
                case ChangeMembers(configuration):
                    await shard.change_membership(configuration, STEP_S)
                case Transfer(heir):
                    shard.transfer(heir)
                case Log(text):
                    _log.info(text)
                case str(name):
                    failpoint(name)

    async def flush(self, shard: Shard) -> None:
        """Flush the data of a shard."""
        try:
            await self.loop.run_in_executor(None, shard.data.flush)
        except EngineError as error:
            _log.warning("the data of shard %s could not be flushed: %s", shard.id, error)

    def replica(self, shard: ShardId) -> Shard:
        """Return the replica of a shard here; raises `NotProposedError` if there is none."""
        found = self.get(shard)
        if found is None:
            raise NotProposedError(f"there is no replica of {shard} here")
        return found

    async def newest(self) -> ShardData:
        """Return the rows of metadata/0 behind a read barrier."""
        metadata = self.replica(METADATA)
        await metadata.read_barrier(STEP_S)
        return metadata.data


class Change(ABC):
    """A change of a shard, while that is led here."""

    #: Logged with its names and why it waits, once for each reason; nothing if it is empty.
    waits = ""
    level = logging.INFO
    #: Pause after a step that failed.
    again_s: float

    def __init__(self, steps: Steps, shard: Shard) -> None:
        self.steps: Final = steps
        self.shard: Final = shard
        self.names: tuple[object, ...] = (shard.id,)
        #: Why it waited last.
        self.said = ""

    @abstractmethod
    async def _step(self) -> Step:
        """Return the next step."""

    async def _failed(self, error: Exception) -> None:  # noqa: B027 - most need not hear of it
        """Hear of a step that could not be taken."""

    async def run(self) -> None:
        """Take all steps, while the shard is led here."""
        shard, steps = self.shard, self.steps
        while shard.leads and not steps.closed:
            term, failure = shard.term, None
            try:
                step = await self._step()
                await steps.take(step, shard, term)
            except _WAITS as error:
                failure, step = error, Step(status=str(error), pause_s=self.again_s)
            if step.status and step.status != self.said:
                self.said = step.status
                if self.waits:
                    _log.log(self.level, self.waits, *self.names, self.said)
            if step.over:
                return
            if failure is not None:
                await self._failed(failure)
            await pause(steps.loop, step.pause_s)

    async def _row(self) -> ShardRow:
        return row_of(await self.steps.newest(), self.shard.id)


def row_of(data: ShardData, shard: ShardId) -> ShardRow:
    """Return the row of a shard in metadata/0; an empty one if it has none."""
    stored = data.get(SHARDS, keys.pack(shard.group, shard.number))
    return ShardRow() if stored is None else ShardRow.FromString(value_of(stored))
