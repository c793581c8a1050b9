"""Entry point of a node: routes commands and queries to the shards that own them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, TypeVar

from google.protobuf.message import Message

from quorate.apply.control import ControlRoute
from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.levels import ASKED_FROM, CORE
from quorate.apply.outcomes import Outcome, Refusal
from quorate.config.sections import LimitsSection
from quorate.plugin import Caller, Fence, Invalid, Rejected, ShardRef
from quorate.plugin.access import Authority, Open
from quorate.plugin.advanced import SessionRef
from quorate.plugin.batch_split import ShardCommand
from quorate.plugin.catalog import Catalog
from quorate.plugin.declarations import ReadBatch
from quorate.plugin.node import NODE
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slot_of
from quorate.shards.refusals import NoLeaderError, WrongShardError, settled
from quorate.shards.routing import routes as routing
from quorate.shards.routing.access import CommandAccess
from quorate.shards.routing.admitting import Admissions
from quorate.shards.routing.delivery import ALONE, Call, Delivery
from quorate.shards.routing.fence_checks import FenceChecks
from quorate.shards.routing.forwarding import Forwarder, LocalShards
from quorate.shards.routing.ordered_stream import OrderedStream
from quorate.shards.routing.proposing import Result, propose_in_order
from quorate.shards.routing.query_router import QueryRouter
from quorate.shards.routing.quotas import Quotas
from quorate.shards.routing.requests import LEFT, Answer, Answered, Audit, Part, Proposal, Request
from quorate.shards.timing import Pause
from quorate.v1 import control_pb2
from quorate.v1.batch_pb2 import BatchReply

__all__ = ["Answer", "Proposal", "Router"]

R = TypeVar("R", bound=Message)
A = TypeVar("A", bound=Message | bytes)

#: The longest time to live that fits its field.
LONGEST_SESSION_MS: Final = (1 << 63) - 1


class Router:
    """Accepts commands and queries for any shard, and routes each to its shard.

    Only commands that were surely not proposed are retried, until the deadline. A proposed one
    ends with its answer, `Rejected` or `OutcomeUnknownError`.
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
        audit: Audit | None = None,
        quotas: Quotas | None = None,
        authority: Authority | None = None,
        control: Mapping[str, ControlRoute],
    ) -> None:
        self._audit: Final = audit
        self._catalog: Final = catalog
        self._control: Final = control
        self._shards: Final = shards
        self._loop: Final = loop
        self._limits: Final = limits
        self._write_timeout_s: Final = write_timeout_s
        self._delivery: Final = Delivery(node, catalog, shards, forwarder, loop, limits)
        fences = FenceChecks(catalog, lambda: shards.level(CORE) >= ASKED_FROM)
        self._access: Final = CommandAccess(catalog, authority or Open(), fences)
        #: Admits commands of this node's callers.
        self.admissions: Final = Admissions(catalog, limits, fences)
        #: What tenants and callers may do.
        self.quotas: Final = quotas or Quotas(loop.time)
        #: Runs queries, of this node and of others.
        self.reads: Final = QueryRouter(node, catalog, shards, forwarder, loop, read_timeout_s)

    # Writes.

    def deadline(self, timeout_s: float | None = None) -> float:
        """Return the deadline of a write that begins now; the timeout defaults to the node's."""
        return self._loop.time() + (self._write_timeout_s if timeout_s is None else timeout_s)

    def propose(
        self,
        message: Message,
        *,
        session: SessionRef | None = None,
        if_leader: ShardRef | None = None,
        fence: Fence | None = None,
        timeout_s: float | None = None,
        caller: Caller = NODE,
    ) -> Coroutine[Any, Any, Answer]:
        """Validate, admit, route and replicate a command; return its answer once it is durable.

        A batch runs on its shards concurrently, with one answer in the order of the request; a
        failure on a shard refuses its items. With `if_leader` the command is refused if this node
        does not lead that shard in that term any more: exactly on that shard, on others as far
        as this node knew when it sent the command.

        Raises `Invalid`, `LookupError`, `Rejected`, `NotProposedError` and `OutcomeUnknownError`.
        """
        proposal = Proposal(message, self.deadline(timeout_s), session, fence)
        ended = None if self._audit is None or if_leader is not None else self._audit(message)
        if ended is None:
            return self._propose(proposal, if_leader, caller)
        return self._recorded(proposal, if_leader, caller, ended)

    async def _recorded(
        self, proposal: Proposal, if_leader: ShardRef | None, caller: Caller, ended: Answered
    ) -> Answer:
        """Propose a command, and record how it ends."""
        try:
            answer = await self._propose(proposal, if_leader, caller)
        except Exception as error:
            ended(error)
            raise
        except BaseException:
            ended(LEFT)
            raise
        ended(answer)
        return answer

    async def _propose(
        self, proposal: Proposal, if_leader: ShardRef | None, caller: Caller
    ) -> Answer:
        proposal = self._allowed(proposal, caller)
        if self.admissions.wants(proposal, caller):
            via: Literal["service", "controller"] = "service" if if_leader is None else "controller"
            proposal = await self.admissions.one(proposal, replace(caller, via=via))
        answers: list[Answer | Exception] = []
        parts = self._place(caller, proposal, answers.append)
        if parts:
            await self._delivery.deliver_all(parts, ALONE if if_leader is None else Call(if_leader))
        return _only(answers)

    def demand(self, message: Message, caller: Caller) -> None:
        """Refuse a command of which its caller may not send every item."""
        self._access.demand(message, caller)

    async def propose_many(
        self, proposals: Iterable[Proposal], *, caller: Caller = NODE
    ) -> list[Answer | Exception]:
        """Propose commands concurrently, in no particular order, and return their answers.

        What a single command would raise is in its place. Commands for the same shard share
        entries.
        """
        asked = list(proposals)
        answers: dict[int, Answer | Exception] = {}
        parts: list[Part] = []
        checked = [self._checked(each, caller) for each in asked]
        try:
            for place, proposal in enumerate(await self.admissions.all(checked, caller)):
                if isinstance(proposal, Exception):
                    answers[place] = proposal
                else:
                    answered = partial(answers.__setitem__, place)
                    parts += self._place(caller, proposal, answered)
            await self._delivery.deliver_all(parts, ALONE)
        finally:
            if self._audit is not None:
                for place, proposal in enumerate(asked):
                    if (ended := self._audit(proposal.message)) is not None:
                        ended(answers.get(place, LEFT))
        return [answers[place] for place in range(len(answers))]

    def ordered(self, *, caller: Caller = NODE) -> OrderedStream:
        """Return a new stream of ordered commands; the caller closes it."""
        return OrderedStream(
            partial(self._place, caller),
            self._delivery,
            self._loop,
            self.admissions,
            lambda proposal: self._checked(proposal, caller),
            caller=caller,
            audit=self._audit,
        )

    async def propose_control(
        self,
        shard: ShardId,
        message: Message,
        *,
        timeout_s: float | None = None,
        slots: tuple[int, ...] = (),
    ) -> Answer:
        """Replicate one of core's own commands on a shard, if that owns the slots."""
        self._shards.slot_map.members(shard)
        name = message.DESCRIPTOR.full_name
        if name not in self._control:
            raise LookupError(f"{name} is not one of core's own commands")
        answers: list[Answer | Exception] = []
        request = Request(self.deadline(timeout_s), None, answers.append, parts=1, batch=False)
        part = Part(request, ShardCommand(shard=shard, message=message, slots=slots), slotless=True)
        await self._delivery.deliver(shard, [part], ALONE)
        return _only(answers)

    async def open_session(
        self,
        group: str,
        shard_key: bytes,
        *,
        name: str = "",
        ttl_ms: int = 0,
        timeout_s: float | None = None,
        caller: Caller = NODE,
    ) -> int:
        """Open an exactly-once session on the shard of a key, and return its number.

        A name always gives the same session, which stays until it is closed; one without a name
        expires when unused for `ttl_ms`. Only a caller of the same name may use it: names are its
        own. Raises `Rejected` (PERMISSION_DENIED) for a caller who may write nothing in the group.
        """
        if not name and ttl_ms < 1:
            raise Invalid(
                "ttl_ms", "a session without a name needs a time to live, in milliseconds"
            )
        if ttl_ms > LONGEST_SESSION_MS:
            raise Invalid("ttl_ms", f"must be at most {LONGEST_SESSION_MS}, not {ttl_ms}")
        self._access.demand_writer(group, caller)
        owned = bool(name) and self._names_are_owned()
        asked = control_pb2.OpenSession(
            name=name,
            ttl_ms=ttl_ms,
            owner=caller.name,
            most=self._limits.named_sessions if owned else 0,
            any=owned and bool(caller.name) and not self._access.owner(caller),
        )
        answer = await self._propose_at(group, shard_key, asked, timeout_s)
        return control_pb2.OpenSessionReply.FromString(answer.reply).session

    async def seal_session(
        self,
        group: str,
        shard_key: bytes,
        name: str,
        *,
        timeout_s: float | None = None,
        caller: Caller = NODE,
    ) -> control_pb2.SealSessionReply:
        """Seal the session of a name on the shard of a key against more commands.

        Administrators may seal and close those of others.
        """
        self._access.demand_writer(group, caller)
        asked = control_pb2.SealSession(
            name=name,
            caller=self._access.owner(caller),
            most=self._limits.named_sessions if self._names_are_owned() else 0,
        )
        answer = await self._propose_at(group, shard_key, asked, timeout_s)
        return control_pb2.SealSessionReply.FromString(answer.reply)

    async def close_session(
        self,
        group: str,
        shard_key: bytes,
        session: int,
        *,
        timeout_s: float | None = None,
        caller: Caller = NODE,
    ) -> None:
        """Close a session on the shard of a key."""
        self._access.demand_writer(group, caller)
        asked = control_pb2.CloseSession(session=session, caller=self._access.owner(caller))
        await self._propose_at(group, shard_key, asked, timeout_s)

    def _names_are_owned(self) -> bool:
        return self._shards.level(CORE) >= ASKED_FROM

    async def _propose_at(
        self, group: str, shard_key: bytes, message: Message, timeout_s: float | None
    ) -> Answer:
        """Replicate one of core's own commands on the shard of a key, wherever that goes."""
        deadline, pause = self.deadline(timeout_s), Pause(self._loop)
        while True:
            shard = self._shards.slot_map.place(group, shard_key)
            left_s = max(0.0, deadline - self._loop.time())
            try:
                return await self.propose_control(
                    shard, message, timeout_s=left_s, slots=(slot_of(shard_key),)
                )
            except WrongShardError:
                if not await pause.until(deadline):
                    raise

    async def accept(
        self, shard: ShardId, forwarded: Sequence[LoggedCommand], deadlines: Sequence[float]
    ) -> list[Result]:
        """Propose forwarded commands in their order, without another hop, and return their results.

        These are `NoLeaderError` if this node does not lead the shard, and `Invalid` for commands
        that it would not have accepted itself.
        """
        results: dict[int, Result] = {}
        commands: list[LoggedCommand] = []
        places: list[int] = []
        for place, each in enumerate(forwarded):
            read: ReadBatch | None = None
            try:
                found = routing.check_forwarded(
                    self._catalog, self._control, shard, each, self._limits, self._shards.knowing
                )
                if found is not None:
                    message, read = found
                    name = each.caller
                    caller = Caller(name=name, node=not name or each.admitted)
                    self._access.demand(message, caller, each.fence)
            except Rejected as error:
                results[place] = Outcome(0, refusal=Refusal(error.code, error.message))
            except Exception as error:  # noqa: BLE001 - one command never hides the others
                results[place] = settled(error)
            else:
                places.append(place)
                commands.append(each if read is None else each._replace(read=read))
        ends = [deadlines[at] for at in places]
        if commands and self._shards.is_unopened(shard):
            await self._shards.opened(shard, max(ends))
        local = self._shards.get(shard)
        proposed: Sequence[Result]
        if local is None:
            proposed = [NoLeaderError(shard)] * len(commands)
        else:
            proposed = await propose_in_order(local, commands, ends, self._loop.time)
        results.update(zip(places, proposed, strict=True))
        return [results[place] for place in range(len(forwarded))]

    def _checked(self, proposal: Proposal, caller: Caller) -> Proposal | Exception:
        """Return a proposal as `_allowed` does, or the refusal."""
        try:
            return self._allowed(proposal, caller)
        except Exception as error:  # noqa: BLE001 - it takes the place of the command
            return settled(error)

    def _allowed(self, proposal: Proposal, caller: Caller) -> Proposal:
        """Return a proposal without the items that its caller may not send; raises the refusal."""
        refused = self._access.refused(proposal.message, caller, proposal.fence)
        return proposal._replace(refused=refused) if refused else proposal

    def _place(self, caller: Caller, proposal: Proposal, answered: Answered) -> Sequence[Part]:
        """Validate and route a command; answer an invalid one at once."""
        message, deadline, session, fence, refused = proposal
        try:
            command = routing.declared(self._catalog, message.DESCRIPTOR.full_name)
            found = routing.checked(command, message, self._limits, refused)
            # A controller may run in the context of the call that woke it.
            if self.quotas.on and not caller.node:
                more = self.quotas.charge(command, message, caller, found.refused)
                found = found._replace(refused=found.refused + more)
            refused = found.refused
            shard_commands = routing.route(
                command, message, self._shards.slot_map, self._limits, found
            )
            stamp: Stamp | None = None
            if session is not None:
                routing.check_session(shard_commands)
                stamp = Stamp(session.session, session.sequence, session.lowest_unanswered)
        except Exception as error:  # noqa: BLE001 - it is the answer
            answered(settled(error))
            return ()
        if not shard_commands:
            # Nothing is left of the batch, or it was empty.
            answered(Answer(BatchReply(items=len(refused), refusals=refused), {}))
            return ()
        request = Request(
            deadline,
            stamp,
            answered,
            parts=len(shard_commands),
            batch=command.items is not None,
            fence=fence,
            caller=caller.name,
            admitted=caller.node and caller.name != "",
        )
        return [Part(request, each) for each in shard_commands]


def _only(answers: list[Answer | Exception]) -> Answer:
    """Take the only answer out of a list, which a failure must not find itself in."""
    answer = answers.pop()
    if isinstance(answer, Answer):
        return answer
    try:
        raise answer
    finally:
        del answer
