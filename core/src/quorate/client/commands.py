"""Commands of any plugin: routed to the leader of their shard, batched, answered one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from google.protobuf.message import Message

from quorate.client.calls import Attempts, Kind, end_of_attempt
from quorate.client.errors import (
    InvalidError,
    OutcomeUnknownError,
    QuorateError,
    RejectedError,
    UnavailableError,
)
from quorate.client.failures import AttemptError
from quorate.client.node_queues import NodeQueues
from quorate.client.sessions import Operation, Sessions
from quorate.client.topology import Topology
from quorate.client.vocabulary import Vocabulary, check_reply, command_of, item_error, only_reply
from quorate.plugin.batch_split import ShardCommand, ShardReply, join, names_item, refused, split
from quorate.plugin.outcomes import Invalid
from quorate.plugin.shard_id import ShardId
from quorate.plugin.singles import Singles, batch_of, singles_of
from quorate.plugin.slots import slot_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.command_pb2 import CommandReply
from quorate.v1.entry_pb2 import Stamp

if TYPE_CHECKING:
    from quorate.observe.traces import Traces
    from quorate.plugin import Command, Fence

R = TypeVar("R", bound=Message)

#: The replacement of a reply if a part of a batch failed as a whole.
Settled = BatchReply | QuorateError


@dataclass(eq=False)
class Commands:
    """Carries out commands."""

    _vocabulary: Vocabulary
    _topology: Topology
    _queues: NodeQueues
    #: None: an operation whose outcome is unknown is not tried again.
    _sessions: Sessions | None
    _traces: Traces | None = None
    #: Of all commands.
    _fence: Fence | None = field(default=None, init=False)

    @cached_property
    def _singles(self) -> Singles:
        """All commands are looked at for it: not before an item is to be sent."""
        return singles_of(self._vocabulary.values())

    def fenced(self, fence: Fence) -> Self:
        """Return a copy that executes commands with this fence."""
        fenced = copy(self)
        fenced._fence = fence
        return fenced

    async def execute(self, message: Message, reply: type[R], deadline: float) -> R:
        """Return the reply to a command; that to a batch is in the order of its items.

        An item is carried out as a batch of one.
        """
        command = self._vocabulary.get(type(message))
        if command is None:
            batch = batch_of(self._singles, message)
            if batch is not None:
                return await self._one(batch, reply, deadline)
            command = command_of(self._vocabulary, message)
        check_reply(command, reply)
        if command.shard_key is None:
            return await self._batch(command, message, reply, deadline)
        shard_key = command.shard_key(message)
        answer = await self._carry(command.group, shard_key, message, deadline)
        return reply.FromString(answer.payload)

    async def _one(self, batch: Message, reply: type[R], deadline: float) -> R:
        try:
            return only_reply(await self.execute(batch, BatchReply, deadline), reply)
        except InvalidError as error:
            raise item_error(error) from None

    async def execute_all(self, messages: Sequence[Message], deadline: float) -> BatchReply:
        """Carry out batches side by side, and answer them as if they were one."""
        settled = await asyncio.gather(
            *(_settled(self.execute(message, BatchReply, deadline)) for message in messages)
        )
        parts, first = [], 0
        for message in messages:
            parts.append(_whole(command_of(self._vocabulary, message), message, first))
            first += len(parts[-1].positions)
        return _joined(parts, settled)

    async def execute_stamped(
        self, group: str, shard_key: bytes, message: Message, stamp: Stamp, deadline: float
    ) -> CommandReply:
        """Carry out an operation of a session on the shard of a key, however often it is sent."""
        name, payload = message.DESCRIPTOR.full_name, message.SerializeToString()
        sent = self._send(group, shard_key, name, payload, stamp, deadline)
        return await (sent if self._traces is None else self._traces.during(name, sent))

    async def _batch(
        self, command: Command[Any], message: Message, reply: type[R], deadline: float
    ) -> R:
        parts = self._parts(command, message)
        if len(parts) == 1 and not parts[0].refused:
            return reply.FromString(await self._carry_part(command, parts[0], deadline))
        settled = await asyncio.gather(
            *(_settled(self._part_reply(command, part, deadline)) for part in parts)
        )
        return reply.FromString(_joined(parts, settled).SerializeToString())

    def _parts(self, command: Command[Any], message: Message) -> Sequence[ShardCommand]:
        """Cut a batch by the shards of its items, if these are known."""
        if len(_items(command, message)) <= 1:
            # Thousands of coroutines send one item each: there is nothing to cut.
            return [_whole(command, message)]
        owners = self._topology.owners(command.group) or ()
        shards = [place.shard for place in owners if place is not None]
        if len(shards) < len(owners) or len(set(shards)) <= 1:
            return [_whole(command, message)]
        try:
            return split(command, message, shards.__getitem__) or [_whole(command, message)]
        except Invalid as error:
            raise InvalidError(error.field, error.reason) from None

    async def _part_reply(
        self, command: Command[Any], part: ShardCommand, deadline: float
    ) -> BatchReply:
        return BatchReply.FromString(await self._carry_part(command, part, deadline))

    async def _carry_part(
        self, command: Command[Any], part: ShardCommand, deadline: float
    ) -> bytes:
        items = _items(command, part.message)
        shard_key = command.items.shard_key(items[0]) if command.items and items else b""
        answer = await self._carry(command.group, shard_key, part.message, deadline)
        if answer.forgotten:
            # It was carried out, item by item; how, is not known any more.
            count = len(part.positions)
            return BatchReply(items=count, forgotten=range(count)).SerializeToString()
        return answer.payload

    def _carry(
        self, group: str, shard_key: bytes, message: Message, deadline: float
    ) -> Awaitable[CommandReply]:
        name, payload = message.DESCRIPTOR.full_name, message.SerializeToString()
        carried = (
            self._send(group, shard_key, name, payload, None, deadline)
            if self._sessions is None
            else self._carry_once(self._sessions, group, shard_key, name, payload, deadline)
        )
        return carried if self._traces is None else self._traces.during(name, carried)

    async def _send(
        self,
        group: str,
        shard_key: bytes,
        name: str,
        payload: bytes,
        stamp: Stamp | None,
        deadline: float,
    ) -> CommandReply:
        attempts: Attempts | None = None
        while True:
            place = self._topology.place(group, slot_of(shard_key))
            address = (place.address if place is not None else "") or self._topology.any_address()
            try:
                queue = self._queues.to(address)
                return await queue.send(name, payload, stamp, deadline, self._fence)
            except AttemptError as failure:
                kind: Kind = "write" if stamp is None else "stamped"
                attempts = attempts or Attempts(self._topology, deadline, kind)
                await attempts.after(failure, address)

    async def _carry_once(
        self,
        sessions: Sessions,
        group: str,
        shard_key: bytes,
        name: str,
        payload: bytes,
        deadline: float,
    ) -> CommandReply:
        """Carry out an operation of a session.

        Whatever may have been done is tried again under the same stamp alone: it never goes to
        another session.
        """
        attempts = Attempts(self._topology, deadline, "stamped")
        operation: Operation | None = None
        shard = _NOWHERE
        try:
            while True:
                place = self._topology.place(group, slot_of(shard_key))
                if place is None:
                    await attempts.after(_nowhere(group))
                    continue
                # Where a shard was split, its sessions went along with its slots.
                if operation is not None and place.shard != shard and not attempts.lost:
                    operation.end()
                    operation = None
                if operation is None:
                    shard = place.shard
                    operation = await sessions.begin(shard, group, shard_key, deadline)
                address = place.address or self._topology.any_address()
                end = end_of_attempt(self._topology, deadline, first=attempts.begins)
                try:
                    queue = self._queues.to(address)
                    return await queue.send(name, payload, operation.stamp(), end, self._fence)
                except AttemptError as failure:
                    if failure.expired_session:
                        sessions.forget(shard, operation.session)
                        if attempts.lost:
                            raise OutcomeUnknownError(
                                "an attempt was lost on the way, and its session has expired "
                                "since; read before trying again"
                            ) from None
                        # It was refused for that alone, so another session may have it.
                        operation.end()
                        operation = None
                        failure = AttemptError("safe", failure.error)
                    await attempts.after(failure, address)
        finally:
            if operation is not None:
                operation.end()


_NOWHERE: Final = ShardId("", 0)


def _nowhere(group: str) -> AttemptError:
    return AttemptError(
        "safe",
        UnavailableError(
            f"no node knows where the shards of group {group} are; enable its plugin in [plugins] "
            "enabled on every node, and check with `quorate status` that the cluster is founded"
        ),
    )


def _items(command: Command[Any], message: Message) -> Sequence[Any]:
    if command.items is None:
        raise InvalidError("command", f"{message.DESCRIPTOR.full_name} is not a batch")
    found: Sequence[Any] = command.items.get(message)
    return found


def _whole(command: Command[Any], message: Message, first: int = 0) -> ShardCommand:
    positions = tuple(range(first, first + len(_items(command, message))))
    return ShardCommand(shard=_NOWHERE, message=message, slots=(), positions=positions)


async def _settled(reply: Awaitable[BatchReply]) -> Settled:
    try:
        return await reply
    except QuorateError as error:
        return error


def _joined(parts: Sequence[ShardCommand], settled: Sequence[Settled]) -> BatchReply:
    """Return the answer to the whole batch; a part that failed as a whole refuses its items.

    Raises an error if every part failed as a whole, unless the error is about single items.
    """
    settled = [
        _refused(part, each) if isinstance(each, InvalidError) and names_item(each.field) else each
        for part, each in zip(parts, settled, strict=True)
    ]
    errors = [each for each in settled if isinstance(each, QuorateError)]
    if errors and len(errors) == len(settled):
        unknown = [each for each in errors if isinstance(each, OutcomeUnknownError)]
        raise (unknown or errors)[0]
    replies = [
        _refused(part, each) if isinstance(each, QuorateError) else each
        for part, each in zip(parts, settled, strict=True)
    ]
    joined = join(
        [
            ShardReply(command=part, revision=0, reply=reply)
            for part, reply in zip(parts, replies, strict=True)
        ]
    )
    latest: dict[int, int] = {}
    for reply in replies:
        for each in reply.revisions:
            latest[each.shard] = max(latest.get(each.shard, 0), each.revision)
    for shard, revision in sorted(latest.items()):
        joined.revisions.add(shard=shard, revision=revision)
    joined.forgotten.extend(
        sorted(
            part.positions[item]
            for part, reply in zip(parts, replies, strict=True)
            for item in reply.forgotten
        )
    )
    return joined


def _refused(part: ShardCommand, error: QuorateError) -> BatchReply:
    """Refuse the items of a part; they are numbered as in the part, and `join` renumbers them."""
    if isinstance(error, RejectedError):
        return refused(part, error.code, error.message)
    if isinstance(error, OutcomeUnknownError):
        return refused(part, "OUTCOME_UNKNOWN", str(error))
    code = "INVALID_ARGUMENT" if isinstance(error, InvalidError) else "UNAVAILABLE"
    return refused(part, code, str(error))
