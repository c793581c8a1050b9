"""Evaluates the commands of one entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError, Message

from quorate.apply import effects, fences, levels, sessions, writers
from quorate.apply.control import SCOPE, ControlledShard, ControlRoute, ShardState
from quorate.apply.entries import Copies, LoggedCommand, Stamp, index_of, revision_of
from quorate.apply.file_sets import FindInFiles
from quorate.apply.layers import Layer, Rows, Table
from quorate.apply.outcomes import (
    COPY_BEHIND,
    INTERNAL,
    RESERVED,
    SESSION_EXPIRED,
    TOO_LARGE,
    UNKNOWN_COMMAND,
    WRONG_SHARD,
    CopyBehind,
    Outcome,
    Refusal,
)
from quorate.apply.program import Handler, Program
from quorate.apply.scope import Scope
from quorate.apply.txn import ShardTxn
from quorate.plugin import Fence, Invalid, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import SLOTS
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError
from quorate.storage.events import EventRow, Savepoint
from quorate.v1.command_pb2 import Command

if TYPE_CHECKING:
    from quorate.apply.evaluator import EvaluationLimits


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """The inputs of every evaluation in a shard."""

    program: Program
    shard: ShardId
    data: ShardData
    limits: EvaluationLimits
    #: Called with command, index and error when plugin code failed.
    failed: Callable[[str, int, Exception], None]
    find_in_files: FindInFiles | None
    neighbour: Callable[[int], Rows | None]


class EntryBuilder:
    """The commands of one entry, evaluated one after the other, and their effects.

    It changes `state`, which must be a copy.
    """

    def __init__(
        self, context: EvaluationContext, below: Rows, state: ShardState, index: int, now_ms: int
    ) -> None:
        self.context: Final = context
        self._program: Final = context.program
        self._limits: Final = context.limits
        self._shard: Final = context.shard
        self.now_ms: Final = now_ms
        self.layer: Final = Layer(below)
        self.events: Final = EventRow()
        self.state = state
        #: The approximate size of the writes.
        self.size = 0
        #: Whether it puts files in place.
        self.ingests = False
        #: The number of evaluated commands.
        self._commands = 0
        self._index: Final = index
        if state.sessions_ms < now_ms and not state.frozen:
            state.sessions_ms = sessions.expire(self.layer, now_ms, state.sessions_ms)

    def payload(self, checked_index: int, checksum: int) -> bytes:
        """Return the payload of the entry."""
        head = effects.Head(
            self.now_ms, self.state.generation, checked_index, checksum, self._commands
        )
        watched = self._program.watched
        tables = [each for each in self.layer.tables.items() if each[0] not in watched]
        forgotten: dict[str, list[bytes]] = {}
        for family, key in self.events.silent:
            forgotten.setdefault(family, []).append(key)
        tables += [(family, Table.of(keys)) for family, keys in forgotten.items()]
        return effects.encode(head, self.events, tables)

    def run_all(self, commands: Sequence[LoggedCommand]) -> tuple[Outcome, ...]:
        """Evaluate a write; no command overtakes one that is to run again."""
        outcomes: list[Outcome] = []
        try:
            for command in commands:
                outcomes.append(self.run(command))
        except CopyBehind:
            left = len(commands) - len(outcomes)
            why = f"the copies in shard {self._shard} may be old: try again"
            revision = revision_of(self._index, max(0, self._commands - 1))
            outcomes += [Outcome.refused(revision, COPY_BEHIND, why)] * left
        return tuple(outcomes)

    def run(self, command: LoggedCommand) -> Outcome:
        """Evaluate the next command."""
        revision = revision_of(self._index, self._commands)
        self._commands += 1
        if self.state.frozen and command.type not in self._program.of_frozen:
            return frozen_outcome(self._shard, revision)
        if command.stamp is None:
            return self._run(command, revision)
        return self._once(command, command.stamp, revision)

    def txn(
        self,
        layer: Layer,
        scope: Scope,
        revision: int,
        copies: Copies,
        carry_out: Callable[[Layer, Command], bytes | None] | None = None,
    ) -> ShardTxn:
        """Return a transaction that writes to a layer, and to the events of the entry."""
        return ShardTxn(
            layer,
            scope,
            self.events,
            revision=revision,
            at_ms=self.now_ms,
            shard=self._shard.number,
            generation=self.state.generation,
            row_bytes=self._limits.row_bytes,
            copies=copies,
            carry_out=carry_out,
        )

    def too_early(self, handler: Handler) -> Refusal | None:
        """Return the refusal of a command that not all nodes of the cluster know yet."""
        if handler.level == levels.LOWEST:
            return None
        level = self._program.in_force(handler.feature)
        if level >= handler.level:
            return None
        return Refusal(
            levels.NOT_IN_FORCE,
            f"it needs level {handler.level} of {handler.feature}, and {level} is in force; when"
            " all nodes run a release that supports it, `quorate upgrade finish` raises the level",
        )

    def _once(self, command: LoggedCommand, stamp: Stamp, revision: int) -> Outcome:
        layer = Layer(self.layer)
        known = sessions.answer_known(layer, command, stamp, revision, self.now_ms)
        foreign = self._foreign(command)
        expired = known and known.refusal and known.refusal.code == SESSION_EXPIRED
        if expired and foreign is not None:
            # The session may live on in the shard to which the slots have gone.
            return Outcome(revision, refusal=foreign)
        if known is not None:
            layer.merge_into(self.layer)
            return known
        handler = self._program.handlers.get(command.type)
        if handler is not None:
            refusal = foreign or self.too_early(handler) or self._closed(command, handler)
        elif command.type not in self._program.control:
            refusal = foreign or self._unknown(command)
        else:
            refusal = foreign
        if refusal is not None:
            # Not carried out here, but perhaps later by another leader: record no outcome.
            return Outcome(revision, refusal=refusal)
        outcome = self._run(command, revision)
        sessions.record(layer, command, stamp, outcome)
        layer.merge_into(self.layer)
        return outcome

    def _run(self, command: LoggedCommand, revision: int) -> Outcome:
        handler = self._program.handlers.get(command.type)
        if handler is not None:
            return self._handle(command, revision, handler)
        route = self._program.control.get(command.type)
        if route is None:
            return Outcome(revision, refusal=self._unknown(command))
        return self._control(command, revision, route)

    def _control(self, command: LoggedCommand, revision: int, route: ControlRoute) -> Outcome:
        before, done = self.state.copied(), False
        shard = ControlledShard(self, revision, command.copies)

        def apply(txn: Any, message: Message) -> Message | None:
            return route.apply(txn, message, shard)

        handler = Handler(route.message.FromString, apply, SCOPE, level=route.level)
        try:
            outcome = self._handle(command, revision, handler, limited=not route.of_files)
            done = outcome.refusal is None
        finally:
            if not done:
                self.state = before
        self.ingests |= done and shard.ingests
        return outcome

    def _handle(
        self, command: LoggedCommand, revision: int, handler: Handler, *, limited: bool = True
    ) -> Outcome:
        refusal = (
            self._foreign(command) or self.too_early(handler) or self._closed(command, handler)
        )
        if refusal is not None:
            return Outcome(revision, refusal=refusal)
        layer, start = Layer(self.layer), self.events.savepoint()
        if command.fence is not None:
            refusal = self._pass(layer, command.fence)
            if refusal is not None:
                return Outcome(revision, refusal=refusal)
        carry_out = partial(self._carry_out, revision, command.copies)
        txn = self.txn(layer, handler.scope, revision, command.copies, carry_out)
        reply = b""
        try:
            read = command.read
            answer = (
                handler.apply(txn, handler.parse(command.payload))
                if read is None
                else read.apply(txn)
            )
            if answer is not None:
                reply = _serialized(answer)
        except Rejected as error:
            refusal = Refusal(str(error.code), str(error.message))
            if refusal.code in RESERVED and handler.scope is not SCOPE:
                refusal = self._failed(command, revision, _reserved(refusal.code))
        except (MemoryError, EngineError):
            raise
        except CopyBehind:
            self.events.rollback_to(start)
            raise
        except Exception as error:  # noqa: BLE001 - a bug of a handler is an outcome too
            refusal = self._failed(command, revision, error)
        finally:
            txn.end()
        if layer.fault is not None:
            # The handler ignored a failed read.
            raise layer.fault
        if refusal is None and limited:
            refusal = self._measure(command, revision, layer, start, len(reply))
        if refusal is None:
            layer.merge_into(self.layer)
            return Outcome(revision, reply)
        self.events.rollback_to(start)
        return Outcome(revision, refusal=refusal)

    def _pass(self, layer: Layer, fence: Fence) -> Refusal | None:
        """Remember the token of a fence, or return why it is refused."""
        given_out = fence.name.startswith(self._program.fences)
        refusal = fences.refusal_of(layer, fence, given_out=given_out)
        if refusal is None:
            fences.raise_to(layer, fence.name, fence.token, self.now_ms)
        return refusal

    def _carry_out(
        self, revision: int, copies: Copies, below: Layer, command: Command
    ) -> bytes | None:
        """Evaluate a command as a part of another one; raises its refusal.

        It carries out none itself, so that no chain of them is as long as a caller likes.
        """
        handler = self._program.handlers.get(command.type)
        if handler is None or handler.command is None:
            return None
        if not handler.command.public:
            raise Rejected("INVALID_ARGUMENT", f"type: no client may send {command.type}")
        early = self.too_early(handler)
        if early is not None:
            raise Rejected(*early)
        try:
            message = handler.parse(command.payload)
        except DecodeError:
            raise Rejected("INVALID_ARGUMENT", f"payload: is no {command.type}") from None
        if not handler.scope.apart(self.state.closed):
            return None
        if not self.state.slots.owned.issuperset(handler.slots(message)):
            return None
        layer, start = Layer(below), self.events.savepoint()
        if command.HasField("fence"):
            refusal = self._pass(layer, Fence(command.fence.name, command.fence.token))
            if refusal is not None:
                raise Rejected(*refusal)
        txn = self.txn(layer, handler.scope, revision, copies)
        try:
            if handler.command.validate is not None:
                handler.command.validate(message)
            answer = handler.apply(txn, message)
            reply = b"" if answer is None else _serialized(answer)
        except Exception as error:
            self.events.rollback_to(start)
            if isinstance(error, MemoryError | EngineError | Rejected):
                raise
            if isinstance(error, Invalid):
                raise Rejected("INVALID_ARGUMENT", str(error)) from None
            part = LoggedCommand(command.type, command.payload)
            raise Rejected(*self._failed(part, revision, error)) from None
        finally:
            txn.end()
            below.fault = below.fault or layer.fault
        layer.merge_into(below)
        return reply

    def _measure(
        self, command: LoggedCommand, revision: int, layer: Layer, start: Savepoint, reply: int
    ) -> Refusal | None:
        """Count the writes of a command, and keep its writer; return why they are too many."""
        limits = self._limits
        if limits.writers:
            writer = writers.Writer(revision, self.now_ms, command.caller)
            writers.record(layer, self._program.public, writer)
        size = layer.size(self._program.watched) + self.events.size_since(start)
        if size > limits.effects_bytes:
            what = (
                f"writes {size} bytes; at most {limits.effects_bytes} allowed "
                "(limits.effects_bytes)"
            )
        elif reply > limits.reply_bytes:
            what = (
                f"answers {reply} bytes; at most {limits.reply_bytes} allowed (limits.reply_bytes)"
            )
        else:
            self.size += size
            return None
        return Refusal(TOO_LARGE, f"command {command.type} {what}; nothing was written")

    def _foreign(self, command: LoggedCommand) -> Refusal | None:
        """Return the refusal of a command that touches slots which the shard does not own."""
        slots = self.state.slots
        # Of a shard that owns all, the slots need not be known.
        if len(slots.owned) == SLOTS or slots.owned.issuperset(command.slots):
            return None
        missing = min(slot for slot in command.slots if not slots.owns(slot))
        return Refusal(
            WRONG_SHARD,
            f"slot {missing} is not owned by shard {self._shard} in version"
            f" {slots.version} of its slots: route the command again",
        )

    def _closed(self, command: LoggedCommand, handler: Handler) -> Refusal | None:
        """Return the refusal of a command that has to wait for the end of a publication."""
        if not self.state.closed or handler.scope.apart(self.state.closed):
            return None
        return Refusal(
            WRONG_SHARD,
            f"shard {self._shard} is publishing files, which {command.type} waits for: send"
            " it again",
        )

    def _unknown(self, command: LoggedCommand) -> Refusal:
        return Refusal(
            UNKNOWN_COMMAND,
            f"no plugin that is enabled on the leader of shard {self._shard} knows command"
            f" {command.type}: enable its plugin there, in the version that declares it",
        )

    def _failed(self, command: LoggedCommand, revision: int, error: Exception) -> Refusal:
        index = index_of(revision)
        self.context.failed(command.type, index, error)
        return Refusal(
            INTERNAL,
            f"command {command.type} failed at index {index} with {type(error).__name__}; its"
            " writes were dropped; see the leader's log",
        )


def frozen_outcome(shard: ShardId, revision: int) -> Outcome:
    """Return the outcome of a command that a frozen shard does not carry out."""
    why = f"shard {shard} is being merged: route the command again"
    return Outcome.refused(revision, WRONG_SHARD, why)


def _reserved(code: str) -> ValueError:
    return ValueError(f"the handler refused with {code}, a code of core: choose another one")


def _serialized(answer: Message) -> bytes:
    if not isinstance(answer, Message):
        raise TypeError(f"the handler returned a {type(answer).__name__}, not a message")
    return answer.SerializeToString(deterministic=True)
