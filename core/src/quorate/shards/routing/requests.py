"""Pending commands, each with a part per shard and one answer for all parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from google.protobuf.message import Message

from quorate.apply.entries import Copies, LoggedCommand, Stamp
from quorate.apply.outcomes import OF_SESSION, Outcome
from quorate.observe import requests
from quorate.plugin import Fence, Invalid, Rejected
from quorate.plugin.advanced import SessionRef
from quorate.plugin.batch_split import ShardCommand, ShardReply, join, refused
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError
from quorate.shards.routing.proposing import Result
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

_DOUBTED: Final = Copies.DOUBTED
#: The code of an item that may or may not have been carried out.
OUTCOME_UNKNOWN: Final = "OUTCOME_UNKNOWN"


class Proposal(NamedTuple):
    """A command to propose."""

    message: Message
    #: On the loop's clock; see `Router.deadline`.
    deadline: float
    session: SessionRef | None = None
    fence: Fence | None = None
    #: Items that its caller may not send, which are left out.
    refused: tuple[ItemRefusal, ...] = ()


class Answer:
    """The answer to a command, which is serialized at most once."""

    __slots__ = ("_reply", "batch", "forgotten", "revisions")

    def __init__(
        self,
        reply: bytes | BatchReply,
        revisions: Mapping[ShardId, int],
        *,
        forgotten: bool = False,
    ) -> None:
        self._reply = reply if isinstance(reply, bytes) else None
        #: The reply to a batch; None if it is not at hand as a message.
        self.batch: Final = None if isinstance(reply, bytes) else reply
        #: Its revision on each shard, for `min_revision`.
        self.revisions: Final = revisions
        #: It was carried out before, and its reply was not kept.
        self.forgotten: Final = forgotten

    @property
    def reply(self) -> bytes:
        """The serialized reply: a `BatchReply` of a batch, b"" of a handler without one."""
        if self._reply is None:
            assert self.batch is not None
            self._reply = self.batch.SerializeToString()
        return self._reply


#: Called once with the answer to a command, or its failure.
Answered = Callable[[Answer | Exception], None]
#: Returns what records the answer to a command that enters here; None: it is not recorded.
Audit = Callable[[Message], Answered | None]
#: How a command ends for the audit log whose caller did not wait for the answer.
LEFT: Final = OutcomeUnknownError("its caller left before it was answered")


class Request:
    """A pending command. A failed part has an exception as its result."""

    __slots__ = (
        "_answered",
        "_batch",
        "_open",
        "_settled",
        "admitted",
        "caller",
        "deadline",
        "fence",
        "stamp",
    )

    def __init__(
        self,
        deadline: float,
        stamp: Stamp | None,
        answered: Answered,
        *,
        parts: int,
        batch: bool,
        fence: Fence | None = None,
        caller: str = "",
        admitted: bool = False,
    ) -> None:
        #: On the loop's clock.
        self.deadline: Final = deadline
        self.stamp: Final = stamp
        self.fence: Final = fence
        self.caller: Final = caller
        self.admitted: Final = admitted
        self._answered: Final = answered
        self._batch: Final = batch
        self._open = parts
        self._settled: list[tuple[ShardCommand, Result]] = []

    def divide(self, parts: int) -> None:
        """Record that a part was split into `parts`."""
        self._open += parts - 1

    def settle(self, command: ShardCommand, result: Result) -> None:
        """Record the result of a part, and answer after the last one."""
        self._settled.append((command, result))
        self._open -= 1
        if self._open:
            return
        answer = self._joined() if self._batch else answered(command.shard, result)
        # What raises a failure may hold this request: neither is to hold the other.
        self._settled.clear()
        self._answered(answer)

    def _joined(self) -> Answer | Exception:
        failures = [result for _, result in self._settled if isinstance(result, Exception)]
        if failures and len(failures) == len(self._settled):
            unknown = [each for each in failures if isinstance(each, OutcomeUnknownError)]
            return (unknown or failures)[0]
        for each in failures:
            if not isinstance(each, NotProposedError | OutcomeUnknownError | Rejected | Invalid):
                return each
        for command, result in self._settled:
            # Only an operation of a session ends like this, and it is never split.
            if isinstance(result, Outcome) and (result.forgotten or _of_session(result)):
                return answered(command.shard, result)
        try:
            replies = [_shard_reply(command, result) for command, result in self._settled]
            reply = join(replies)
        except Exception as error:  # noqa: BLE001 - it is the answer
            return Rejected("INTERNAL", f"a batch was applied, but its reply is invalid: {error}")
        revisions = {each.command.shard: each.revision for each in replies if each.revision}
        return Answer(reply, revisions)


class Part:
    """The part of a request for a shard."""

    __slots__ = ("command", "logged", "request")

    def __init__(self, request: Request, command: ShardCommand, *, slotless: bool = False) -> None:
        self.request: Final = request
        self.command: Final = command
        message, payload = command.message, command.payload
        self.logged: Final = LoggedCommand(
            message.DESCRIPTOR.full_name,
            message.SerializeToString() if payload is None else payload,
            command.slots,
            request.stamp,
            slotless,
            _DOUBTED,
            request.fence,
            request.caller,
            request.admitted,
            *requests.origin(),
            command.read,
        )

    def end(self, result: Result) -> None:
        """Record the result."""
        self.request.settle(self.command, result)


def answered(shard: ShardId, result: Result) -> Answer | Exception:
    """Return the answer to a command of a single shard, or its failure."""
    if isinstance(result, Exception):
        return result
    if result.refusal is not None:
        return Rejected(result.refusal.code, result.refusal.message)
    return Answer(result.reply, {shard: result.revision}, forgotten=result.forgotten)


def _of_session(outcome: Outcome) -> bool:
    return outcome.refusal is not None and outcome.refusal.code in OF_SESSION


def _shard_reply(command: ShardCommand, result: Result) -> ShardReply:
    if isinstance(result, Outcome):
        if result.refusal is None:
            reply = BatchReply.FromString(result.reply)
        else:
            reply = refused(command, result.refusal.code, result.refusal.message)
        return ShardReply(command=command, revision=result.revision, reply=reply)
    return ShardReply(
        command=command, revision=0, reply=refused(command, _code(result), str(result))
    )


def _code(failure: Exception) -> str:
    match failure:
        case OutcomeUnknownError():
            return OUTCOME_UNKNOWN
        case NotProposedError() | Rejected():
            return failure.code
    return "INVALID_ARGUMENT"
