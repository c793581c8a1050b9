"""Commands of any plugin: routed to the leader of their shard, batched, answered one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from quorate.client.attempts import Attempts
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
from quorate.client.vocabulary import (
    Vocabulary,
    check_reply,
    command_of,
    item_error,
    only_reply,
)
from quorate.plugin import Command, Invalid
from quorate.plugin.shard_id import ShardId
from quorate.plugin.singles import batch_of, singles_of
from quorate.plugin.slots import slot_of
from quorate.plugin.splitting import Share, ShareReply, join, refused, split
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.command_pb2 import CommandReply
from quorate.v1.entry_pb2 import Stamp

R = TypeVar("R", bound=Message)

#: What stands in the place of a reply when a part of a batch failed as a whole.
Settled = BatchReply | QuorateError


class Commands:
    """Carries out commands."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        topology: Topology,
        queues: NodeQueues,
        sessions: Sessions | None,
    ) -> None:
        self._vocabulary: Final = vocabulary
        self._singles: Final = singles_of(vocabulary.values())
        self._topology: Final = topology
        self._queues: Final = queues
        #: None: an operation whose outcome is unknown is not tried again.
        self._sessions: Final = sessions

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
        settled = await asyncio.gather(*(self._settle(message, deadline) for message in messages))
        shares, first = [], 0
        for message in messages:
            count = len(_items(command_of(self._vocabulary, message), message))
            positions = tuple(range(first, first + count))
            shares.append(Share(shard=_NOWHERE, command=message, slots=(), positions=positions))
            first += count
        return _joined(shares, settled)

    async def execute_stamped(
        self, group: str, shard_key: bytes, message: Message, stamp: Stamp, deadline: float
    ) -> CommandReply:
        """Carry out an operation of a session on the shard of a key, however often it is sent."""
        name, payload = message.DESCRIPTOR.full_name, message.SerializeToString()
        attempts = Attempts(self._topology, deadline, "stamped")
        while True:
            place = self._topology.place(group, slot_of(shard_key))
            address = (place.address if place is not None else "") or self._topology.any_address()
            try:
                return await self._queues.to(address).send(name, payload, stamp, deadline)
            except AttemptError as failure:
                await attempts.after(failure, address)

    async def _settle(self, message: Message, deadline: float) -> Settled:
        try:
            return await self.execute(message, BatchReply, deadline)
        except QuorateError as error:
            return error

    async def _batch(
        self, command: Command[Any], message: Message, reply: type[R], deadline: float
    ) -> R:
        shares = self._shares(command, message)
        if len(shares) == 1 and not shares[0].repeated:
            [share] = shares
            answer = await self._carry_share(command, share, deadline)
            return reply.FromString(_payload(answer, share))
        settled = await asyncio.gather(
            *(self._settle_share(command, share, deadline) for share in shares)
        )
        return reply.FromString(_joined(shares, settled).SerializeToString())

    def _shares(self, command: Command[Any], message: Message) -> Sequence[Share]:
        """Cut a batch by the shards of its items, as far as these are known."""
        owners = self._topology.owners(command.group)
        if owners is None or None in owners:
            return [_whole(command, message)]
        places = {place.shard for place in owners if place is not None}
        if len(places) == 1:
            return [_whole(command, message)]

        def holder(slot: int) -> ShardId:
            place = owners[slot]
            return _NOWHERE if place is None else place.shard

        try:
            return split(command, message, holder) or [_whole(command, message)]
        except Invalid as error:
            raise InvalidError(error.field, error.reason) from None

    async def _settle_share(self, command: Command[Any], share: Share, deadline: float) -> Settled:
        try:
            answer = await self._carry_share(command, share, deadline)
        except QuorateError as error:
            return error
        return BatchReply.FromString(_payload(answer, share))

    async def _carry_share(
        self, command: Command[Any], share: Share, deadline: float
    ) -> CommandReply:
        items = _items(command, share.command)
        shard_key = command.items.shard_key(items[0]) if command.items and items else b""
        return await self._carry(command.group, shard_key, share.command, deadline)

    async def _carry(
        self, group: str, shard_key: bytes, message: Message, deadline: float
    ) -> CommandReply:
        name, payload = message.DESCRIPTOR.full_name, message.SerializeToString()
        if self._sessions is not None:
            return await self._carry_once(self._sessions, group, shard_key, name, payload, deadline)
        attempts: Attempts | None = None
        while True:
            place = self._topology.place(group, slot_of(shard_key))
            address = (place.address if place is not None else "") or self._topology.any_address()
            try:
                return await self._queues.to(address).send(name, payload, None, deadline)
            except AttemptError as failure:
                attempts = attempts or Attempts(self._topology, deadline, "write")
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
        another session, hence never to another shard.
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
                if operation is not None and place.shard != shard:
                    if attempts.lost:
                        raise OutcomeUnknownError(
                            f"an attempt was lost on its way to {shard}, and {place.shard} holds "
                            "the key now; read before trying again"
                        )
                    operation.end()
                    operation = None
                if operation is None:
                    shard = place.shard
                    operation = await sessions.begin(shard, group, shard_key, deadline)
                address = place.address or self._topology.any_address()
                try:
                    queue = self._queues.to(address)
                    return await queue.send(name, payload, operation.stamp(), deadline)
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
            "enabled on every node, and see with `quorate status` whether the cluster is founded"
        ),
    )


def _items(command: Command[Any], message: Message) -> Sequence[Any]:
    if command.items is None:
        raise InvalidError("command", f"{message.DESCRIPTOR.full_name} is no batch")
    found: Sequence[Any] = command.items.get(message)
    return found


def _whole(command: Command[Any], message: Message) -> Share:
    positions = tuple(range(len(_items(command, message))))
    return Share(shard=_NOWHERE, command=message, slots=(), positions=positions)


def _payload(answer: CommandReply, share: Share) -> bytes:
    if answer.forgotten:
        # It was carried out, item by item; how, is not known any more.
        count = len(share.positions)
        return BatchReply(items=count, forgotten=range(count)).SerializeToString()
    return answer.payload


def _joined(shares: Sequence[Share], settled: Sequence[Settled]) -> BatchReply:
    """Return the answer to the whole batch; what failed as a whole refuses its items.

    Raises what happened when nothing else did.
    """
    errors = [each for each in settled if isinstance(each, QuorateError)]
    if errors and len(errors) == len(settled):
        unknown = [each for each in errors if isinstance(each, OutcomeUnknownError)]
        raise (unknown or errors)[0]
    replies = [
        _refused(share, each) if isinstance(each, QuorateError) else each
        for share, each in zip(shares, settled, strict=True)
    ]
    joined = join(
        [
            ShareReply(share=share, revision=0, reply=reply)
            for share, reply in zip(shares, replies, strict=True)
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
            share.positions[item]
            for share, reply in zip(shares, replies, strict=True)
            for item in reply.forgotten
        )
    )
    return joined


def _refused(share: Share, error: QuorateError) -> BatchReply:
    if isinstance(error, RejectedError):
        return refused(share, error.code, error.message)
    if isinstance(error, OutcomeUnknownError):
        return refused(share, "OUTCOME_UNKNOWN", str(error))
    code = "INVALID_ARGUMENT" if isinstance(error, InvalidError) else "UNAVAILABLE"
    return refused(share, code, str(error))
