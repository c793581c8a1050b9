"""One shard in memory: the log in, outcomes and contents out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import Message

from quorate.plugin import Event, Rejected, SessionRef
from quorate.plugin.catalog import Catalog
from quorate.testing.layers import Contents, Layer
from quorate.testing.scope import Scope
from quorate.testing.txn import POSITION_BITS, ShardTxn, revision_of

#: How far above its lowest unanswered sequence a session may run.
SESSION_WINDOW: Final = 1_024


class UnknownCommandError(Exception):
    """An entry holds a command that no route of this shard applies; nothing of it is applied."""


class InternalError(Exception):
    """A handler raised what is no refusal: a bug of its plugin; its writes were dropped."""

    def __init__(self, command: str, revision: int, error: Exception) -> None:
        super().__init__(
            f"command {command} failed at index {revision >> POSITION_BITS} with "
            f"{type(error).__name__}: {error}; its writes were dropped; repair its data route"
        )
        self.command: Final = command


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCommand:
    """A command as the log holds it."""

    type: str
    payload: bytes
    proposed_at_ms: int = 0
    session: SessionRef | None = None

    @classmethod
    def of(
        cls, command: Message, proposed_at_ms: int = 0, session: SessionRef | None = None
    ) -> LoggedCommand:
        """Return the command as it is logged."""
        return cls(
            type=command.DESCRIPTOR.full_name,
            payload=command.SerializeToString(deterministic=True),
            proposed_at_ms=proposed_at_ms,
            session=session,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the log."""

    index: int
    commands: tuple[LoggedCommand, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a command; with a failure there are no events and nothing was written."""

    revision: int
    reply: Message | None = None
    failure: Rejected | InternalError | None = None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardState:
    """All of a shard at one applied index: where replay can begin."""

    contents: Contents
    applied: int
    revision: int
    now_ms: int
    answers: tuple[tuple[int, tuple[tuple[int, Outcome], ...]], ...]


class MemoryShard:
    """The state machine of one shard: rows, deadlines, sequences, exactly-once answers."""

    def __init__(
        self, catalog: Catalog, group: str, number: int = 0, *, state: ShardState | None = None
    ) -> None:
        self.group: Final = group
        self.number: Final = number
        self._catalog: Final = catalog
        self.layer: Final = Layer.holding(state.contents) if state else Layer()
        self.applied = state.applied if state else 0
        self.revision = state.revision if state else 0
        self.now_ms = state.now_ms if state else 0
        self._answers: Final[dict[int, dict[int, Outcome]]] = (
            {session: dict(answers) for session, answers in state.answers} if state else {}
        )

    def apply(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Apply entries as one batch, and return the outcome of each command in order.

        Raises `UnknownCommandError` when one cannot be applied here; then none is.
        """
        self._check(entries)
        batch = Layer(self.layer)
        outcomes: list[Outcome] = []
        for entry in entries:
            for position, command in enumerate(entry.commands):
                self.revision = revision_of(entry.index, position)
                self.now_ms = max(self.now_ms, command.proposed_at_ms)
                outcomes.append(self._answer(batch, command))
            self.applied = entry.index
        batch.merge_down()
        return outcomes

    def open_session(self, session: int) -> None:
        """Let commands name this exactly-once session."""
        self._answers.setdefault(session, {})

    def digest(self) -> str:
        """Return the digest of the shard's contents."""
        return self.layer.contents().digest()

    def export(self) -> ShardState:
        """Return all that another shard needs to go on from here."""
        return ShardState(
            contents=self.layer.contents(),
            applied=self.applied,
            revision=self.revision,
            now_ms=self.now_ms,
            answers=tuple(
                (session, tuple(answers.items())) for session, answers in self._answers.items()
            ),
        )

    def _check(self, entries: Sequence[Entry]) -> None:
        index = self.applied
        for entry in entries:
            if entry.index <= index:
                raise ValueError(f"entry {entry.index} comes after entry {index}")
            index = entry.index
            for command in entry.commands:
                route = self._catalog.routes.get(command.type)
                if route is None or route.group != self.group:
                    raise UnknownCommandError(
                        f"entry {entry.index} of shard {self.number} of {self.group} holds command "
                        f"{command.type}, which no enabled plugin applies in {self.group}; "
                        "enable the plugin that declares it"
                    )

    def _answer(self, batch: Layer, command: LoggedCommand) -> Outcome:
        session = command.session
        if session is None:
            return self._run(batch, command)
        answers = self._answers.get(session.session)
        if answers is None:
            return self._refusal("SESSION_EXPIRED", f"session {session.session} is not open")
        lowest = session.lowest_unanswered
        if not lowest <= session.sequence <= lowest + SESSION_WINDOW:
            return self._refusal(
                "OUT_OF_RANGE",
                f"sequence {session.sequence} is not within {SESSION_WINDOW} above {lowest}",
            )
        for answered in [sequence for sequence in answers if sequence < lowest]:
            del answers[answered]
        if session.sequence not in answers:
            answers[session.sequence] = self._run(batch, command)
            return answers[session.sequence]
        recorded = answers[session.sequence]
        return Outcome(revision=recorded.revision, reply=recorded.reply, failure=recorded.failure)

    def _run(self, batch: Layer, command: LoggedCommand) -> Outcome:
        route = self._catalog.routes[command.type]
        layer = Layer(batch)
        txn = ShardTxn(
            layer,
            Scope.of_route(self._catalog, route),
            revision=self.revision,
            at_ms=self.now_ms,
            shard=self.number,
        )
        try:
            reply = route.apply(txn, route.parse(command.payload))
            if not isinstance(reply, Message | None):
                raise TypeError(f"the handler answered a {type(reply).__name__}, not a message")
        except Rejected as refusal:
            return Outcome(revision=self.revision, failure=refusal)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug of a handler is an outcome too
            failure = InternalError(command.type, self.revision, error)
            failure.__cause__ = error
            return Outcome(revision=self.revision, failure=failure)
        finally:
            txn.end()
        layer.merge_down()
        return Outcome(revision=self.revision, reply=reply, events=tuple(txn.events))

    def _refusal(self, code: str, message: str) -> Outcome:
        return Outcome(revision=self.revision, failure=Rejected(code, message))
