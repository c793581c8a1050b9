"""The reference: what the commands of a shard's log come to, in the plainest words.

It knows the domain and the rules of slots, sessions and logical time, and shares no code with what
evaluates commands and stores their effects. What replicas answer and hold is judged by it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from quorate.apply.entries import LoggedCommand, Stamp, revision_of
from quorate.apply.outcomes import Outcome, Refusal
from quorate.apply.sessions import number_at
from quorate.plugin import Row
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.control_pb2 import AdoptSlots, CloseSession, OpenSession, OpenSessionReply

from tests.support.sim import domain
from tests.support.sim.v1.domain_pb2 import Add, Added, Counter, Erase, Expire, Register, Write

#: How far a session's sequence may run ahead of its lowest unanswered one.
_WINDOW: Final = 1024

_OPERATIONS: Final = {kind.DESCRIPTOR.full_name: kind for kind in (Write, Add, Erase)}

Identity = tuple[object, ...]


#: Refusals whose texts are for people alone.
_BY_CORE: Final = frozenset({"WRONG_SHARD", "SESSION_EXPIRED", "OUT_OF_RANGE"})


def told(outcome: Outcome) -> Outcome:
    """Return an outcome without what the model does not put into words."""
    refusal = outcome.refusal
    if refusal is None or refusal.code not in _BY_CORE:
        return outcome
    return outcome._replace(refusal=Refusal(refusal.code, ""))


class Change(NamedTuple):
    """An event of a row; `value` None: it was deleted."""

    revision: int
    family: str
    key: bytes
    value: bytes | None


class _Refused(Exception):
    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(code)
        self.refusal: Final = Refusal(code, message)


class _Session:
    def __init__(self, ttl_ms: int, now_ms: int) -> None:
        self.ttl_ms: Final = ttl_ms
        self.expires_ms = now_ms + ttl_ms
        self.lowest = 0
        self.answers: Final[dict[int, Outcome]] = {}


def operation_of(command: LoggedCommand) -> int | None:
    """Return the number of an operation; None where a command has none."""
    kind = _OPERATIONS.get(command.type)
    return None if kind is None else kind.FromString(command.payload).operation


def is_unique(command: LoggedCommand) -> bool:
    """Tell whether a command must stand in the log once."""
    return command.stamp is None and command.type in _OPERATIONS


def identity(command: LoggedCommand) -> Identity:
    """Return what the same command has in common however often it is proposed."""
    stamp = command.stamp and command.stamp[:2]
    return command.type, command.payload, stamp


class ShardModel:
    """One shard after the newest entry that it took."""

    def __init__(self, shard: str) -> None:
        self._number: Final = int(shard.rpartition("/")[2])
        self.applied = 0
        self.now_ms = 0
        #: The rows of the domain's families.
        self.rows: Final[dict[str, dict[bytes, Row]]] = {
            family: {} for family in (domain.REGISTERS, domain.COUNTERS, domain.MARKS, domain.NOTES)
        }
        #: Every change of a watched family, in order.
        self.changes: Final[list[Change]] = []
        #: What each command came to, as often as it stands in the log.
        self.results: Final[defaultdict[Identity, list[Outcome]]] = defaultdict(list)
        self._commands: Final[dict[int, list[LoggedCommand]]] = {}
        self._history: Final[dict[tuple[str, bytes], list[tuple[int, Row | None]]]] = {}
        self._slots: frozenset[int] = frozenset()
        self._slots_version = 0
        self._sessions: Final[dict[int, _Session]] = {}
        self._deadlines: Final[dict[bytes, int]] = {}
        self._adds = 0
        self._revision = 0

    # What is asked of it.

    def commands(self, index: int) -> list[LoggedCommand]:
        """Return the commands of the entry at an index."""
        return self._commands.get(index, [])

    def row_at(self, family: str, key: bytes, index: int) -> Row | None:
        """Return a row as it was after the entry at an index."""
        history = self._history.get((family, key), [])
        at = bisect_right(history, index, key=lambda each: each[0])
        return history[at - 1][1] if at else None

    def rows_at(self, family: str, index: int) -> list[Row]:
        """Return a family as it was after the entry at an index."""
        keys = sorted(key for known, key in self._history if known == family)
        found = (self.row_at(family, key, index) for key in keys)
        return [row for row in found if row is not None]

    def changes_up_to(self, revision: int) -> int:
        """Return how many changes there are at or below a revision."""
        return bisect_right(self.changes, revision, key=lambda change: change.revision)

    # Entries.

    def take(self, index: int, commands: Sequence[LoggedCommand] = (), now_ms: int = 0) -> None:
        """Carry the commands of an entry out, if it is the next one."""
        if index != self.applied + 1:
            return
        self.applied = index
        if not commands:
            return
        self.now_ms = max(self.now_ms, now_ms)
        self._commands[index] = list(commands)
        for position, command in enumerate(commands):
            self._revision = revision_of(index, position)
            self.results[identity(command)].append(self._outcome(command))

    def _outcome(self, command: LoggedCommand) -> Outcome:
        try:
            if command.stamp is not None:
                return self._once(command, command.stamp)
            self._demand_slots(command)
            return self._carry_out(command)
        except _Refused as refused:
            return Outcome(self._revision, b"", refused.refusal)

    def _demand_slots(self, command: LoggedCommand) -> None:
        if not command.slotless and not self._slots.issuperset(command.slots):
            raise _Refused("WRONG_SHARD")

    def _once(self, command: LoggedCommand, stamp: Stamp) -> Outcome:
        number, sequence, lowest = stamp
        session = self._sessions.get(number)
        if session is None or session.expires_ms < self.now_ms:
            raise _Refused("SESSION_EXPIRED")
        lowest = max(session.lowest, lowest)
        if not lowest <= sequence <= lowest + _WINDOW:
            raise _Refused("OUT_OF_RANGE")
        if sequence not in session.answers:
            self._demand_slots(command)
        session.lowest, session.expires_ms = lowest, self.now_ms + session.ttl_ms
        for answered in [each for each in session.answers if each < lowest]:
            del session.answers[answered]
        if sequence not in session.answers:
            session.answers[sequence] = self._carry_out(command)
        return session.answers[sequence]

    def _carry_out(self, command: LoggedCommand) -> Outcome:
        try:
            reply = self._dispatch(command)
        except _Refused as refused:
            return Outcome(self._revision, b"", refused.refusal)
        return Outcome(self._revision, reply)

    def _dispatch(self, command: LoggedCommand) -> bytes:
        kind, payload = command.type.rpartition(".")[2], command.payload
        match kind:
            case "Write":
                return self._write(Write.FromString(payload))
            case "Add":
                return self._add(Add.FromString(payload))
            case "Erase":
                return self._erase(Erase.FromString(payload))
            case "Expire":
                return self._expire(Expire.FromString(payload))
            case "OpenSession":
                ttl_ms = OpenSession.FromString(payload).ttl_ms
                number = number_at(self._revision, self._number)
                self._sessions[number] = _Session(ttl_ms, self.now_ms)
                return OpenSessionReply(session=number).SerializeToString()
            case "CloseSession":
                self._sessions.pop(CloseSession.FromString(payload).session, None)
            case "AdoptSlots":
                adopted = AdoptSlots.FromString(payload)
                if adopted.version > self._slots_version:
                    self._slots_version = adopted.version
                    bits = int.from_bytes(adopted.slots, "little")
                    self._slots = frozenset(slot for slot in range(1024) if bits >> slot & 1)
            case _:
                raise ValueError(f"the model does not know {command.type}")
        return b""

    # The domain.

    def _write(self, command: Write) -> bytes:
        key = domain.key_of(command.key)
        row = self.rows[domain.REGISTERS].get(key)
        revision = row.revision if row else 0
        if command.HasField("expected") and command.expected != revision:
            raise _Refused("FAILED_PRECONDITION", str(revision))
        self._mark(command.operation)
        register = Register(content=command.content, operation=command.operation)
        self._put(domain.REGISTERS, key, register.SerializeToString(deterministic=True))
        self._put(domain.NOTES, domain.note_key(key, command.operation), b"")
        self._deadlines.pop(key, None)
        if command.ttl_ms:
            self._deadlines[key] = self.now_ms + command.ttl_ms
        return b""

    def _add(self, command: Add) -> bytes:
        self._mark(command.operation)
        key = domain.key_of(command.key)
        row = self.rows[domain.COUNTERS].get(key)
        counter = Counter.FromString(row.value if row else b"")
        counter.total += command.amount
        self._put(domain.COUNTERS, key, counter.SerializeToString(deterministic=True))
        self._adds += 1
        added = Added(total=counter.total, id=self._number << 48 | self._adds)
        return added.SerializeToString(deterministic=True)

    def _erase(self, command: Erase) -> bytes:
        key = domain.key_of(command.key)
        if key not in self.rows[domain.REGISTERS]:
            raise _Refused("NOT_FOUND", command.key)
        self._mark(command.operation)
        self._remove(key)
        return b""

    def _expire(self, command: Expire) -> bytes:
        for key in command.keys:
            if self._deadlines.get(key, self.now_ms + 1) <= self.now_ms:
                self._remove(key)
        reply = BatchReply(items=len(command.keys))
        return reply.SerializeToString(deterministic=True)

    def _remove(self, key: bytes) -> None:
        self._put(domain.REGISTERS, key, None)
        for note in [each for each in self.rows[domain.NOTES] if each.startswith(key)]:
            self._put(domain.NOTES, note, None)
        self._deadlines.pop(key, None)

    def _mark(self, operation: int) -> None:
        key = domain.mark_key(operation)
        row = self.rows[domain.MARKS].get(key)
        count = int.from_bytes(row.value, "big") if row else 0
        self._put(domain.MARKS, key, (count + 1).to_bytes(8, "big"))

    def _put(self, family: str, key: bytes, value: bytes | None) -> None:
        watched = family in (domain.REGISTERS, domain.COUNTERS)
        row = None if value is None else Row(key, value, self._revision if watched else 0)
        rows = self.rows[family]
        if row is None:
            if rows.pop(key, None) is None:
                return
        else:
            rows[key] = row
        if watched:
            self.changes.append(Change(self._revision, family, key, value))
            self._history.setdefault((family, key), []).append((self.applied, row))
