"""A shard over memory whose handlers do what the commands' own text says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

import pytest
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import BytesValue, StringValue, UInt64Value
from quorate.apply.applier import Applier, ApplyLimits
from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.evaluator import EvaluationLimits, Evaluator
from quorate.apply.outcomes import Outcome, StoredEntry
from quorate.apply.program import Program, families_of
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin import ColumnFamily, Command, RaftGroup, Rejected, Timer, Txn, hookimpl
from quorate.plugin.advanced import constant_key
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.topology.commands.routes import ROUTES
from quorate.v1 import command_pb2 as pb

SHARD: Final = ShardId("tested", 3)

Step = Sequence[Any]


def _do(txn: Txn, script: Any) -> StringValue:
    """Carry out a script of steps, each [name, arguments...], and answer what was read."""
    answers: list[object] = []
    for name, *arguments in json.loads(script.value):
        answer = _STEPS[name](txn, *arguments)
        if answer is not None:
            answers.append(answer)
    return StringValue(value=json.dumps(answers))


def _fail(_: Txn, kind: str) -> None:
    raise {"KeyError": KeyError, "MemoryError": MemoryError}[kind](kind)


def _reject(_: Txn, code: str) -> None:
    raise Rejected(code, "as the script says")


def _carry_out_bytes(txn: Txn) -> object:
    """Carry out a command that needs level 2."""
    try:
        return str(txn.carry_out(pb.Command(type=BytesValue.DESCRIPTOR.full_name)))
    except Rejected as refusal:
        return refusal.code


def _carry_out(txn: Txn, steps: list[Step], token: int = 0) -> object:
    """Carry out another script as a part of this one, fenced if a token is given."""
    script = StringValue(value=json.dumps(steps))
    command = pb.Command(type=script.DESCRIPTOR.full_name, payload=script.SerializeToString())
    if token:
        command.fence.name, command.fence.token = b"lock", token
    try:
        reply = txn.carry_out(command)
    except Rejected as refusal:
        return refusal.code
    return "elsewhere" if reply is None else json.loads(StringValue.FromString(reply).value)


def _get(txn: Txn, family: str, key: str) -> str:
    value = txn.get(family, key.encode())
    return "" if value is None else value.decode()


def _scan(txn: Txn, family: str, start: str, end: str, limit: int, reverse: bool) -> str:
    rows = txn.scan(family, start.encode(), end.encode(), limit=limit, reverse=reverse)
    return " ".join(f"{row.key.decode()}={row.value.decode()}" for row in rows)


_STEPS: Final[dict[str, Callable[..., object]]] = {
    "put": lambda txn, family, key, value: txn.put(family, key.encode(), value.encode()),
    "delete": lambda txn, family, key: txn.delete(family, key.encode()),
    "clear": lambda txn, family, start, end: txn.delete_range(family, start.encode(), end.encode()),
    "get": _get,
    "scan": _scan,
    "id": lambda txn, sequence: txn.next_id(sequence),
    "at": lambda txn, key, at_ms: txn.schedule("tested.bell", key.encode(), at_ms),
    "when": lambda txn, key: str(txn.deadline("tested.bell", key.encode())),
    "emit": lambda txn, text: txn.emit(StringValue(value=text)),
    "reject": _reject,
    "refresh": lambda txn, family: txn.refresh(family),
    "fail": _fail,
    "answer": lambda txn, size: "a" * size,
    "raise": lambda txn, token: txn.raise_fence(b"lock", token),
    "hold": lambda txn, token: txn.raise_fence(b"lock", token, held=True),
    "carry out": _carry_out,
    "carry out bytes": _carry_out_bytes,
    "now": lambda txn: txn.proposed_at_ms,
}


def _part(txn: Txn, key: bytes, value: bytes) -> None:
    """Count a row that has moved to another shard, publicly and privately."""
    if value == b"wrong":
        raise KeyError(value)
    txn.put("tested.rows", key, b"moved")
    txn.put("tested.marks", key, b"moved")


def _nothing(_: Txn, __: Any) -> None:
    return None


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    module = ModuleType("tested")
    group = SHARD.group
    families = [
        ColumnFamily(name="tested.rows", group=group, row=StringValue),
        ColumnFamily(name="tested.olds", group=group, row=StringValue, previous=True, counted=True),
        ColumnFamily(name="tested.marks", group=group),
        ColumnFamily(name="tested.parts", group=group, shard_key=bytes, departs=_part),
        ColumnFamily(name="tested.tallies", group=group, counted=True),
        ColumnFamily(name="tested.facts", group="metadata", row=StringValue, mirrored=True),
    ]
    commands: list[Command[Any]] = [
        Command(
            message=message,
            group=where,
            examples=(message(),),
            apply=apply,
            reads=("tested.facts",) if apply is _do else (),
            shard_key=constant_key,
            public=True,
            level=level,
        )
        for message, where, level, apply in (
            (StringValue, group, 1, _do),
            (BytesValue, group, 2, _nothing),
            (UInt64Value, "metadata", 1, _nothing),
        )
    ]
    timer = Timer(name="tested.bell", group=group, due=lambda keys: StringValue())
    declared = [RaftGroup(name=group), *families, *commands, timer]
    vars(module)["quorate_declarations"] = hookimpl(lambda: declared)
    return build([Plugin(name="tested", distribution="tested", version="0", module=module)])


@dataclass
class Machine:
    """A leader that is a majority by itself: it evaluates entries, and stores them when told to."""

    catalog: Catalog
    shard: ShardId = SHARD
    limits: ApplyLimits = field(default_factory=ApplyLimits)
    bounds: EvaluationLimits = field(default_factory=EvaluationLimits)
    clock: Callable[[], float] = lambda: 0.0
    processor: Callable[[], float] = lambda: 0.0
    #: The levels in force; None: all of them.
    in_force: Callable[[str], int] | None = None

    def __post_init__(self) -> None:
        self.home = MemoryHome()
        self.open()

    def open(self) -> None:
        """Stop the process, and open the data as it is now in its home."""
        self.home.stop()
        families = families_of(self.catalog, self.shard.group)
        self.data = ShardData.open(self.home, families)
        self.failed: list[tuple[str, int, Exception]] = []
        self.program = Program.of(self.catalog, self.shard.group, ROUTES, self.in_force)
        self.applier = Applier(
            self.catalog,
            self.shard,
            self.data,
            ownership=self.program.ownership,
            clock=self.clock,
            limits=self.limits,
        )
        self.evaluate_with(self.program)
        #: The index of the newest entry that was evaluated, and what each came to.
        self.logged = self.data.applied
        self.outcomes: dict[int, tuple[Outcome, ...]] = {}

    def evaluate_with(self, program: Program, **given: Any) -> None:
        """Evaluate from now on with another program, or another of the evaluator's arguments."""
        self.program = program
        self.evaluator = Evaluator(
            program,
            self.shard,
            self.data,
            clock=self.clock,
            processor=self.processor,
            limits=self.bounds,
            on_failure=lambda *failure: self.failed.append(failure),
            **given,
        )

    def entry(
        self, *commands: LoggedCommand, at_ms: int = 0, checked: tuple[int, int] = (0, 0)
    ) -> Entry:
        """Evaluate the next entry, which is in flight from now on."""
        evaluation = self.evaluator.evaluate(
            self.logged + 1, [commands], at_ms, checked_index=checked[0], checksum=checked[1]
        )
        self.evaluator.logged(evaluation)
        self.logged += 1
        [self.outcomes[self.logged]] = evaluation.outcomes
        return Entry(self.logged, 1, EntryKind.COMMAND, evaluation.payload)

    def store(self, *entries: Entry) -> list[StoredEntry]:
        """Store entries, and tell the evaluator."""
        stored = self.applier.apply(entries, self.evaluator.evaluated)
        self.logged = max(self.logged, self.data.applied)
        self.evaluator.stored(self.data.applied)
        return stored

    def apply(self, *commands: LoggedCommand, at_ms: int = 0) -> tuple[Outcome, ...]:
        """Evaluate and store one entry with these commands."""
        entry = self.entry(*commands, at_ms=at_ms)
        self.store(entry)
        return self.outcomes[entry.index]

    def do(self, *steps: Step, at_ms: int = 0, stamp: Stamp | None = None) -> Outcome:
        """Evaluate and store one entry with one script."""
        [outcome] = self.apply(self.script(*steps, stamp=stamp), at_ms=at_ms)
        return outcome

    def read(self, *steps: Step) -> list[Any]:
        """Apply one entry with one script, and return what it read."""
        outcome = self.do(*steps)
        assert outcome.refusal is None, outcome
        return self.answers(outcome)

    def control(self, message: Message, at_ms: int = 0) -> Outcome:
        """Apply one entry with a command of core's own."""
        command = LoggedCommand(message.DESCRIPTOR.full_name, message.SerializeToString())
        [outcome] = self.apply(command, at_ms=at_ms)
        return outcome

    def all(self, entries: Iterable[Entry]) -> None:
        """Store entries in as many turns as it takes."""
        left = list(entries)
        while left:
            left = left[len(self.store(*left)) :]

    def counts(self) -> dict[str, int]:
        """Return the number of rows of each counted family."""
        reader = self.applier.reader(frozenset(self.program.counted))
        return {family: reader.count(family) for family in self.program.counted}

    def rows(self, family: str) -> dict[bytes, bytes]:
        """Return what is stored of a family."""
        return dict(self.data.iterate(family, b"", None))

    def digest(self) -> str:
        """Return the digest of everything that is stored."""
        digest = self.data.digest()
        while not digest.step():
            pass
        return digest.hexdigest()

    @staticmethod
    def script(
        *steps: Step, stamp: Stamp | None = None, slots: Sequence[int] = ()
    ) -> LoggedCommand:
        """Return the command of a script."""
        message = StringValue(value=json.dumps(steps))
        return LoggedCommand(
            message.DESCRIPTOR.full_name, message.SerializeToString(), slots, stamp
        )

    @staticmethod
    def answers(outcome: Outcome) -> list[Any]:
        """Return what a script read."""
        found: list[Any] = json.loads(StringValue.FromString(outcome.reply).value)
        return found


@pytest.fixture
def machine(catalog: Catalog) -> Machine:
    return Machine(catalog)


@pytest.fixture(scope="session")
def new_machine(catalog: Catalog) -> Callable[..., Machine]:
    def new(**options: Any) -> Machine:
        return Machine(catalog, **options)

    return new
