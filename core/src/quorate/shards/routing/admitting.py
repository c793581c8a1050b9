"""Runs `Command.admit` once, on the node where a command enters."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.message import Message

from quorate.config.sections import LimitsSection
from quorate.plugin import Caller, Command, Invalid, NodeApi, Rejected
from quorate.plugin.batch_split import INVALID, at_place
from quorate.plugin.catalog import Catalog
from quorate.shards.refusals import (
    NotAdmittedError,
    NotProposedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    UnreadableError,
    settled,
)
from quorate.shards.routing import routes
from quorate.shards.routing.fence_checks import FenceChecks
from quorate.shards.routing.requests import Answered, Proposal
from quorate.shards.timing import end
from quorate.v1.batch_pb2 import ItemRefusal

_log = logging.getLogger(__name__)

#: Receives an admitted command.
Enter = Callable[[Proposal, Answered], None]


class Admissions:
    """Admits commands. Those without `admit` and without a fence cost one look-up."""

    def __init__(self, catalog: Catalog, limits: LimitsSection, fences: FenceChecks) -> None:
        self._fences: Final = fences
        self._wanted: Final = {
            each.message: each for each in catalog.commands.values() if each.admit is not None
        }
        self._limits: Final = limits
        #: The `NodeApi` for `admit`; the node sets it before it serves.
        self.node: NodeApi | None = None

    def wants(self, proposal: Proposal, caller: Caller) -> bool:
        """Whether a command has an `admit`, or a fence that has to be looked at."""
        return type(proposal.message) in self._wanted or (
            proposal.fence is not None and self._fences.pending(proposal.fence, caller)
        )

    async def one(self, proposal: Proposal, caller: Caller) -> Proposal:
        """Return the admitted proposal; raises the reason of a refusal."""
        if self.node is None:
            raise NotProposedError("the node is starting; nothing was proposed: retry")
        try:
            async with asyncio.timeout_at(proposal.deadline) as patience:
                if proposal.fence is not None and self._fences.pending(proposal.fence, caller):
                    await self._fences.demand(self.node, proposal.fence)
                return await self._admitted(proposal, self.node, caller)
        except TimeoutError:
            if not patience.expired():
                raise
            name = proposal.message.DESCRIPTOR.full_name
            raise NotProposedInTimeError(
                f"the deadline passed before {name} was admitted, and it was not proposed: retry"
            ) from None

    async def _admitted(self, proposal: Proposal, node: NodeApi, caller: Caller) -> Proposal:
        message = proposal.message
        command = self._wanted.get(type(message))
        if command is None:
            return proposal
        refused = routes.checked(command, message, self._limits, proposal.refused).refused
        if command.items is not None and len(command.items.get(message)) == len(refused):
            return proposal
        message, refused = await admitted_rest(command, message, refused, node, caller)
        return proposal._replace(message=message, refused=refused)

    async def all(
        self, proposals: Iterable[Proposal | Exception], caller: Caller
    ) -> Sequence[Proposal | Exception]:
        """Return each admitted proposal, or the reason of its refusal."""
        found: list[Proposal | Exception] = list(proposals)
        wanted = {
            place: self._settled(each, caller)
            for place, each in enumerate(found)
            if isinstance(each, Proposal) and self.wants(each, caller)
        }
        if wanted:
            for place, result in zip(wanted, await asyncio.gather(*wanted.values()), strict=True):
                found[place] = result
        return found

    async def _settled(self, proposal: Proposal, caller: Caller) -> Proposal | Exception:
        try:
            return await self.one(proposal, caller)
        except Exception as error:  # noqa: BLE001 - it takes the place of the command
            return settled(error)


@dataclass(eq=False)
class AdmissionQueue:
    """Admits the commands of a stream concurrently, and passes them on in order."""

    _admissions: Admissions
    _caller: Caller
    _loop: asyncio.AbstractEventLoop
    _enter: Enter
    #: The oldest command being admitted, and all after it, which wait.
    _waiting: deque[tuple[asyncio.Task[Proposal] | Proposal, Answered]] = field(
        default_factory=deque, init=False
    )

    def put(self, proposal: Proposal, answered: Answered) -> None:
        """Pass a command on after all earlier ones, possibly at once."""
        if self._admissions.wants(proposal, self._caller):
            task = self._loop.create_task(self._admissions.one(proposal, self._caller))
            self._waiting.append((task, answered))
            task.add_done_callback(self._go_on)
        elif self._waiting:
            self._waiting.append((proposal, answered))
        else:
            self._enter(proposal, answered)

    async def close(self) -> None:
        """Stop, without answering waiting commands."""
        tasks = [each for each, _ in self._waiting if isinstance(each, asyncio.Task)]
        self._waiting.clear()
        await end(*tasks)

    def _go_on(self, _: object) -> None:
        waiting = self._waiting
        while waiting:
            first, answered = waiting[0]
            if isinstance(first, asyncio.Task):
                if not first.done():
                    return
                waiting.popleft()
                try:
                    proposal = first.result()
                except asyncio.CancelledError:
                    answered(NotProposedError("admit was cancelled, and nothing was proposed"))
                except Exception as error:  # noqa: BLE001 - it is the answer
                    answered(settled(error))
                else:
                    self._enter(proposal, answered)
            else:
                waiting.popleft()
                self._enter(first, answered)


async def admitted_rest(
    command: Command[Any],
    message: Message,
    refused: tuple[ItemRefusal, ...],
    node: NodeApi,
    caller: Caller,
) -> tuple[Message, tuple[ItemRefusal, ...]]:
    """Admit the rest of a command; return the whole command, and its refused items.

    An item that `admit` finds `Invalid` does not keep the others from being admitted.
    """
    items = command.items
    if items is None or len(requested := list(items.get(message))) == 1:
        return await admitted(command, message, node, caller), refused
    found = {each.item: each for each in refused}
    left = [place for place in range(len(requested)) if place not in found]
    try:
        rest = items.make(message, [requested[place] for place in left]) if refused else message
        admission = await admitted(command, rest, node, caller)
        if not refused:
            return admission, ()
        for place, item in zip(left, items.get(admission), strict=True):
            requested[place] = item
    except Invalid:
        for place in left:
            try:
                alone = await admitted(
                    command, items.make(message, [requested[place]]), node, caller
                )
            except Invalid as wrong:
                refusal = ItemRefusal(code=INVALID, message=str(wrong))
                found[place] = at_place(refusal, [place])
            else:
                [requested[place]] = items.get(alone)
    return items.make(message, requested), tuple(found[place] for place in sorted(found))


async def admitted(
    command: Command[Any], message: Message, node: NodeApi, caller: Caller
) -> Message:
    """Return the result of `admit` for a valid command: a message with the same shard keys.

    Raises `Invalid`, `NotAdmittedError`, and `NotProposedError` or `UnreadableError` if a read or
    write of `admit` failed.
    """
    if command.admit is None:
        return message
    name = message.DESCRIPTOR.full_name
    try:
        given: Message | None = await command.admit(node, caller, message)
    except (Invalid, NotProposedError, UnreadableError):
        raise
    except Rejected as refusal:
        raise NotAdmittedError(refusal.code, refusal.message) from refusal
    except OutcomeUnknownError as error:
        # The outcome of a write by `admit` is unknown; this command was not proposed.
        raise NotProposedError(f"{name} was not admitted: {error}") from error
    except Exception as error:
        _log.exception("admit of the command %s failed", name)
        raise NotAdmittedError(
            "INTERNAL", f"admit of {name} raised {type(error).__name__}: {error}; repair it"
        ) from error
    if given is None:
        return message
    if type(given) is not type(message):
        raise NotAdmittedError(
            "INTERNAL", f"admit of {name} returned a {type(given).__name__}; return its message"
        )
    if _shard_keys(command, given) != _shard_keys(command, message):
        raise NotAdmittedError(
            "INTERNAL",
            f"admit of {name} changed its shard key or the number of its items, which have routed "
            "it; leave them unchanged",
        )
    return given


def _shard_keys(command: Command[Any], message: Message) -> list[bytes]:
    if command.items is None:
        return [] if command.shard_key is None else [command.shard_key(message)]
    return [command.items.shard_key(item) for item in command.items.get(message)]
