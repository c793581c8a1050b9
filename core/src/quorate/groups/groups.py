"""The node's face: proposes and reads wherever the shards are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message

from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.outcomes import WRONG_SHARD, Outcome
from quorate.config.sections import LimitsSection
from quorate.groups.pause import Pause
from quorate.groups.refusals import (
    NoLeaderError,
    NotProposedError,
    OutcomeUnknownError,
    WrongShardError,
)
from quorate.groups.routing import routes as routing
from quorate.groups.routing.carrying import Carrier, Request
from quorate.groups.routing.forwarding import (
    ForwardedAnswers,
    ForwardedCommand,
    ForwardedQuery,
    Forwarder,
)
from quorate.groups.routing.local import LocalShards
from quorate.groups.routing.queries import Answers
from quorate.groups.routing.reads import ReadOptions, Reads
from quorate.groups.routing.splitting import Share, ShareReply, join, refused, within
from quorate.plugin import Consistency, Invalid, Rejected, SessionRef, ShardRef
from quorate.plugin.catalog import Catalog
from quorate.storage.shard_id import ShardId
from quorate.v1 import control_pb2
from quorate.v1.batch_pb2 import BatchReply

R = TypeVar("R", bound=Message)

#: The code of an item that may or may not have been carried out.
OUTCOME_UNKNOWN: Final = "OUTCOME_UNKNOWN"


class Answer(NamedTuple):
    """What a command came to."""

    #: The serialized reply: `quorate.v1.BatchReply` of a batch, b"" of a handler without one.
    reply: bytes
    #: The revision that each shard gave to it: what `min_revision` takes.
    revisions: Mapping[ShardId, int]
    #: It was carried out before, and its answer is not kept: there is no reply.
    forgotten: bool = False


#: What stands in the place of an outcome when a share of a batch failed as a whole.
Failure = NotProposedError | OutcomeUnknownError | Rejected | Invalid
Settled = tuple[Share, Outcome | Failure]


class Groups:
    """Takes commands and queries for any shard, and brings each to where it is carried out.

    Only what was surely not proposed is tried again, as long as the deadline lasts. What was
    proposed ends in its answer, in `Rejected`, or in `OutcomeUnknownError`.
    """

    def __init__(
        self,
        node: str,
        catalog: Catalog,
        shards: LocalShards,
        forwarder: Forwarder,
        *,
        loop: asyncio.AbstractEventLoop,
        limits: LimitsSection,
        write_timeout_s: float = 30.0,
        read_timeout_s: float = 30.0,
    ) -> None:
        self._catalog: Final = catalog
        self._shards: Final = shards
        self._loop: Final = loop
        self._limits: Final = limits
        self._write_timeout_s: Final = write_timeout_s
        self._read_timeout_s: Final = read_timeout_s
        self._carrier: Final = Carrier(node, shards, forwarder, loop)
        self._reads: Final = Reads(node, catalog, shards, forwarder, loop)

    # Writes.

    async def propose(
        self,
        message: Message,
        *,
        session: SessionRef | None = None,
        if_leader: ShardRef | None = None,
        timeout_s: float | None = None,
        caller: str = "",
    ) -> Answer:
        """Validate, route and replicate a command, and return its answer once it is durable.

        A batch runs on its shards side by side, and is answered as one in the order of the request;
        what fails as a whole on one of them refuses its items there. With `if_leader` it is refused
        once this node does not lead that shard in that term any more: on that shard exactly, on
        any other as far as this node knew when it sent the command.

        Raises `Invalid`, `LookupError`, `Rejected`, `NotProposedError` and `OutcomeUnknownError`.
        """
        command = routing.declared(self._catalog, message.DESCRIPTOR.full_name)
        routing.check(command, message, self._limits)
        shares = routing.route(command, message, self._shards.slot_map, self._limits)
        if session is not None:
            routing.check_session(shares)
        request = Request(
            self._deadline(timeout_s, self._write_timeout_s),
            Stamp(session.session, session.sequence, session.lowest_unanswered)
            if session is not None
            else None,
            if_leader,
            caller,
        )
        if command.items is not None:
            return await self._propose_batch(shares, request)
        [(share, outcome)] = await self._settle(shares[0], request)
        if isinstance(outcome, Outcome):
            return _answered(share.shard, outcome)
        raise outcome

    async def propose_control(
        self, shard: ShardId, message: Message, *, timeout_s: float | None = None
    ) -> Answer:
        """Replicate one of core's own commands on a shard."""
        self._shards.slot_map.members(shard)
        name = message.DESCRIPTOR.full_name
        if not routing.is_control(name):
            raise LookupError(f"{name} is no command of core's own")
        logged = LoggedCommand(name, message.SerializeToString(), slotless=True)
        request = Request(self._deadline(timeout_s, self._write_timeout_s))
        return _answered(shard, await self._carrier.carry(shard, logged, request))

    async def open_session(
        self,
        group: str,
        shard_key: bytes,
        *,
        name: str = "",
        ttl_ms: int = 0,
        timeout_s: float | None = None,
    ) -> int:
        """Open an exactly-once session on the shard of a key, and return its number.

        Under a name it is the same one each time, and stays until it is closed; without one it
        expires when it is not used for `ttl_ms`.
        """
        if not name and ttl_ms < 1:
            raise Invalid(
                "ttl_ms", "a session without a name needs a time to live, in milliseconds"
            )
        shard = self._shards.slot_map.place(group, shard_key)
        asked = control_pb2.OpenSession(name=name, ttl_ms=ttl_ms)
        answer = await self.propose_control(shard, asked, timeout_s=timeout_s)
        return control_pb2.OpenSessionReply.FromString(answer.reply).session

    async def close_session(
        self, group: str, shard_key: bytes, session: int, *, timeout_s: float | None = None
    ) -> None:
        """End a session of the shard of a key."""
        shard = self._shards.slot_map.place(group, shard_key)
        asked = control_pb2.CloseSession(session=session)
        await self.propose_control(shard, asked, timeout_s=timeout_s)

    async def accept(self, forwarded: ForwardedCommand) -> Outcome:
        """Propose what another node forwarded: never a second hop.

        Raises `NoLeaderError` when this node does not lead the shard, and `Invalid` for what it
        would not have let in itself.
        """
        shard, logged = forwarded.shard, forwarded.command
        routing.check_forwarded(self._catalog, shard, logged, self._limits)
        local = self._shards.get(shard)
        if local is None:
            raise NoLeaderError(shard)
        [outcome] = await local.propose([logged], timeout_s=forwarded.timeout_s)
        return outcome

    async def _propose_batch(self, shares: Sequence[Share], request: Request) -> Answer:
        settled = await self._settle_all(shares, request)
        failures = [part for _, part in settled if isinstance(part, Exception)]
        if failures and len(failures) == len(settled):
            unknown = [each for each in failures if isinstance(each, OutcomeUnknownError)]
            raise (unknown or failures)[0]
        for share, part in settled:
            # Only an operation of a session is forgotten, and that is never split.
            if isinstance(part, Outcome) and part.forgotten:
                return _answered(share.shard, part)
        try:
            replies = [_share_reply(share, part) for share, part in settled]
            reply = join(replies)
        except (ValueError, DecodeError) as error:
            raise Rejected("INTERNAL", f"a batch was applied and ill answered: {error}") from error
        revisions = {each.share.shard: each.revision for each in replies if each.revision}
        return Answer(reply.SerializeToString(), revisions)

    async def _settle_all(self, shares: Sequence[Share], request: Request) -> list[Settled]:
        """Carry out shares side by side; what fails stands in the place of its outcome."""

        async def settle(share: Share) -> list[Settled]:
            try:
                return await self._settle(share, request)
            except (NotProposedError, OutcomeUnknownError, Rejected, Invalid) as error:
                return [(share, error)]

        if len(shares) == 1:
            return await settle(shares[0])
        found = await asyncio.gather(*(settle(share) for share in shares))
        return [part for parts in found for part in parts]

    async def _settle(self, share: Share, request: Request) -> list[Settled]:
        """Carry out a share; on other shards when the slot map has changed meanwhile."""
        name = share.command.DESCRIPTOR.full_name
        pause = Pause(self._loop)
        while True:
            payload = share.command.SerializeToString()
            logged = LoggedCommand(name, payload, share.slots, request.stamp)
            outcome = await self._carrier.carry(share.shard, logged, request)
            if outcome.refusal is None or outcome.refusal.code != WRONG_SHARD:
                return [(share, outcome)]
            error = WrongShardError(share.shard, outcome.refusal.message)
            await self._carrier.wait(pause, request, error)
            command = routing.declared(self._catalog, name)
            placed = routing.route(command, share.command, self._shards.slot_map, self._limits)
            moved = [within(share, each) for each in placed]
            # A retry never takes an operation of a session to another shard.
            if request.stamp is not None and [each.shard for each in moved] != [share.shard]:
                raise error
            if len(moved) > 1:
                return await self._settle_all(moved, request)
            [share] = moved

    # Reads.

    async def query(
        self,
        message: Message,
        row: type[R],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int | Mapping[ShardId, int] = 0,
        timeout_s: float | None = None,
        caller: str = "",
    ) -> AsyncIterator[R]:
        """Run a declared query where its rows are, and yield its answers in key order."""
        options = ReadOptions(consistency=consistency, min_revision=min_revision, caller=caller)
        answers = await self.read(message, row, options, timeout_s=timeout_s)
        for answer in answers.rows:
            yield answer

    async def read(
        self,
        message: Message,
        row: type[R],
        options: ReadOptions | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Answers[R]:
        """Run a query, and return its answers with what each shard read them from.

        `min_revision` waits until a replica has come that far. A number alone names no shard: where
        all shards of a group are asked, it is kept by making each of them linearizable.

        Raises `LookupError`, `Rejected`, `UnknownShardError` and `UnreadableError`.
        """
        deadline = self._deadline(timeout_s, self._read_timeout_s)
        return await self._reads.read(message, row, options or ReadOptions(), deadline)

    async def accept_query(self, forwarded: ForwardedQuery) -> ForwardedAnswers:
        """Answer what another node forwarded: never a second hop.

        Raises `UnreadableError` when this node has no replica of the shard.
        """
        return await self._reads.accept(forwarded)

    def _deadline(self, timeout_s: float | None, default_s: float) -> float:
        return self._loop.time() + (default_s if timeout_s is None else timeout_s)


def _answered(shard: ShardId, outcome: Outcome) -> Answer:
    if outcome.refusal is not None:
        raise Rejected(outcome.refusal.code, outcome.refusal.message)
    return Answer(outcome.reply, {shard: outcome.revision}, outcome.forgotten)


def _share_reply(share: Share, part: Outcome | Failure) -> ShareReply:
    if isinstance(part, Outcome):
        if part.refusal is None:
            reply = BatchReply.FromString(part.reply)
        else:
            reply = refused(share, part.refusal.code, part.refusal.message)
        return ShareReply(share=share, revision=part.revision, reply=reply)
    if isinstance(part, OutcomeUnknownError):
        code = OUTCOME_UNKNOWN
    else:
        code = "INVALID_ARGUMENT" if isinstance(part, Invalid) else part.code
    return ShareReply(share=share, revision=0, reply=refused(share, code, str(part)))
