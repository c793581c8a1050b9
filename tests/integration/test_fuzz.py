"""Whatever is thrown at the methods of a node, it stays up, and has what it accepted, no more.

The seed of a run is printed: `QUORATE_FUZZ_SEED=<seed>` repeats it.
"""

from __future__ import annotations

import logging
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Final

import grpc
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import DecodeError, Message
from quorate.apply.applier import Applier
from quorate.apply.entries import LoggedCommand
from quorate.apply.evaluator import Evaluator
from quorate.apply.program import families_of
from quorate.plugin import Command
from quorate.plugin.singles import Singles, batch_of
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.v1.auth_pb2 import CreateRoles, PutRoles
from quorate.v1.command_pb2 import (
    CommandAnswer,
    ExecuteRequest,
    ExecuteResponse,
    StreamRequest,
    StreamResponse,
)
from quorate.v1.coordinator_pb2 import AssignCoordinators, ReleaseCoordinators
from quorate.v1.kv_pb2 import GetPairRequest, GetPairResponse, PutPair
from quorate.v1.schema_pb2 import DeleteSchemas, SchemaVerdict, UnbindSchemas
from quorate.v1.tenant_pb2 import CreateTenant, CreateTenants

if TYPE_CHECKING:
    from quorate.shards.shard.shard import Shard

    from tests.integration.conftest import Answer, Served

SEED: Final = int(os.environ.get("QUORATE_FUZZ_SEED", SystemRandom().randrange(1 << 32)))
EXECUTE: Final = "/quorate.v1.CommandService/Execute"
STREAM: Final = "/quorate.v1.CommandService/Stream"
NODE: Final = ("/quorate.v1.NodeService/", "/quorate.v1.FilePeerService/")
#: What a node says in these is believed by the others: only what cannot be meant is thrown at them.
TRUSTED: Final = ("/quorate.v1.PeerService/", "/quorate.v1.SnapshotService/")
#: What ends by itself only when its caller does.
ENDLESS_S: Final = 0.05
#: What waits for a revision that never comes is not waited for.
CALL_S: Final = 0.5
#: How a call of commands ends whose answers are all there.
ANSWERED: Final = (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)

#: Those of the examples: most of what plugins keep is a tenant's.
TENANTS: Final = ("acme", "globex")
#: Names and numbers that lead further in than chance would.
TEXTS: Final = [
    "",
    "a",
    "b/c",
    "t" * 600,
    "\x00",
    "metadata",
    "metadata/0",
    "kv.pairs",
    "resource.resources",
    "quorate.v1.KvService",
    "quorate.v1.GetPair",
    "quorate.v1.GetPairResponse",
    "n1",
    "n2",
    "\N{SNOWMAN}",
]
BYTES: Final = [b"", b"a", b"a/b", b"b", b"\x00\xff", b"k" * 4_096, b"k" * 4_097, b"v" * 70_000]
NUMBERS: Final = [
    0,
    1,
    2,
    3,
    100,
    1_000,
    (1 << 31) - 1,
    (1 << 32) - 1,
    (1 << 63) - 1,
    (1 << 64) - 1,
]
DEEPEST: Final = 4
MOST_REPEATED: Final = 4


class Thrower:
    """Makes up what is thrown, the same with the same seed.

    What comes as far as a handler is mostly an example with one field that is made up.
    """

    def __init__(
        self, rng: Random, commands: Sequence[type[Message]], examples: Iterable[Message]
    ) -> None:
        self.rng: Final = rng
        self._commands: Final = commands
        #: By type: the examples, and the messages within them.
        self._examples: Final = defaultdict[str, list[Message]](list)
        for example in examples:
            self._keep(example)

    def _keep(self, example: Message) -> None:
        self._examples[example.DESCRIPTOR.full_name].append(example)
        for field, value in example.ListFields():
            if field.message_type is None or field.message_type.GetOptions().map_entry:
                continue
            for part in value if hasattr(value, "append") else [value]:
                self._keep(part)

    def requests(self, method: MethodDescriptor, name: str) -> list[bytes]:
        """Return what is sent in one call."""
        count = self.rng.choice([0, 1, 2, 3] if method.client_streaming else [0, *[1] * 30, 2])
        return [self._content(method, name) for _ in range(count)]

    def _content(self, method: MethodDescriptor, name: str) -> bytes:
        rng = self.rng
        kind = rng.choice(["bytes", "message", "message", "message", "damaged"])
        if kind == "bytes" or name.startswith(TRUSTED):
            return rng.randbytes(rng.choice([0, 1, 7, 100, 5_000]))
        if name in (EXECUTE, STREAM) and rng.random() < 0.8:
            message: Message = self._commanded(name)
        else:
            message = self.message(message_factory.GetMessageClass(method.input_type))
        content = bytearray(message.SerializeToString())
        if kind == "damaged":
            for _ in range(rng.randint(1, 8)):
                if content:
                    content[rng.randrange(len(content))] = rng.randrange(256)
            del content[rng.randint(0, len(content)) :]
        return bytes(content)

    def _commanded(self, name: str) -> Message:
        request = ExecuteRequest() if name == EXECUTE else StreamRequest()
        for _ in range(self.rng.randint(1, 5)):
            command = self.message(self.rng.choice(self._commands))
            added = request.commands.add(
                type=command.DESCRIPTOR.full_name, payload=command.SerializeToString()
            )
            if self.rng.random() < 0.1:
                added.stamp.session = self.rng.choice(NUMBERS)
                added.stamp.sequence = self.rng.choice(NUMBERS)
        return request

    def message(self, kind: type[Message], depth: int = 0) -> Message:
        """Return a message whose fields are made up, too."""
        made = kind()
        examples = self._examples.get(kind.DESCRIPTOR.full_name)
        if examples and kind.DESCRIPTOR.fields and self.rng.random() < 0.6:
            made.CopyFrom(self.rng.choice(examples))
            self._fill(made, self.rng.choice(kind.DESCRIPTOR.fields), depth)
            return made
        for field in kind.DESCRIPTOR.fields:
            if self.rng.random() < 0.2:
                continue
            self._fill(made, field, depth)
        return made

    def _fill(self, message: Message, field: Any, depth: int) -> None:
        value: Any = getattr(message, field.name)
        nested = field.message_type
        if nested is not None and depth >= DEEPEST:
            return
        if nested is not None and nested.GetOptions().map_entry:
            text, number = nested.fields_by_name["key"], nested.fields_by_name["value"]
            for _ in range(self.rng.randint(0, MOST_REPEATED)):
                value[self._single(text)] = self._single(number)
        elif hasattr(value, "append"):
            for _ in range(self.rng.randint(0, MOST_REPEATED)):
                if nested is None:
                    value.append(self._single(field))
                else:
                    kind = message_factory.GetMessageClass(nested)
                    value.add().CopyFrom(self.message(kind, depth + 1))
        elif nested is None:
            setattr(message, field.name, self._single(field))
        else:
            value.CopyFrom(self.message(message_factory.GetMessageClass(nested), depth + 1))

    def _single(self, field: Any) -> Any:
        rng = self.rng
        match field.cpp_type:
            case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
                return rng.choice([*BYTES, rng.randbytes(rng.randint(1, 30))])
            case FieldDescriptor.CPPTYPE_STRING:
                return rng.choice(TEXTS)
            case FieldDescriptor.CPPTYPE_BOOL:
                return rng.random() < 0.5
            case FieldDescriptor.CPPTYPE_ENUM:
                return rng.choice([*field.enum_type.values_by_number, 77])
            case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
                return rng.random()
        bits = {
            FieldDescriptor.CPPTYPE_INT32: 31,
            FieldDescriptor.CPPTYPE_UINT32: 32,
            FieldDescriptor.CPPTYPE_INT64: 63,
        }.get(field.cpp_type, 64)
        return rng.choice([each for each in NUMBERS if each < 1 << bits])


class Accepted:
    """The commands of clients that may be in the log, because no answer refused them as bad.

    Of a batch any part may be there: what is wrong in it is refused in its place.
    """

    def __init__(self, commands: dict[str, Command[Any]], singles: Singles) -> None:
        self._commands: Final = commands
        self._singles: Final = singles
        self._seen: Final[set[tuple[str, bytes]]] = set()
        self.count = 0

    def note(
        self, name: str, method: MethodDescriptor, requests: Sequence[bytes], answer: Answer
    ) -> None:
        """Note what a call sent, by what it was answered with."""
        # A method of one message gets the first of them.
        heard = requests if name == STREAM else requests[:1]
        read = readable(StreamRequest, heard) if name in (EXECUTE, STREAM) else []
        sent = [command for part in read for command in part.commands]
        if name in (EXECUTE, STREAM) and answer.code not in ANSWERED:
            # What came of each is not known.
            self._note_each(sent, [CommandAnswer()] * len(sent))
        elif name == EXECUTE:
            for part in answer.messages:
                self._note_each(sent, ExecuteResponse.FromString(part).answers)
        elif name == STREAM:
            for part in answer.messages:
                told = StreamResponse.FromString(part).answers
                self._note_each(
                    [sent[each.number] for each in told], [each.answer for each in told]
                )
        elif answer.code is not grpc.StatusCode.INVALID_ARGUMENT:
            kind = method.input_type.full_name
            for content in heard:
                if kind in self._commands:
                    self._add(kind, content)
                elif kind in self._singles:
                    self._add_single(method.input_type, content)

    def _note_each(self, sent: Sequence[Any], answers: Sequence[CommandAnswer]) -> None:
        for command, answer in zip(sent, answers, strict=True):
            if answer.status.code != grpc.StatusCode.INVALID_ARGUMENT.value[0]:
                self._add(command.type, command.payload)

    def _add(self, name: str, content: bytes) -> None:
        # What it is when read: that is what is logged.
        for message in readable(self._commands[name].message, [content]):
            self.add(message)

    def _add_single(self, kind: Descriptor, content: bytes) -> None:
        # A single call is a batch of one.
        for message in readable(message_factory.GetMessageClass(kind), [content]):
            batch = batch_of(self._singles, message)
            assert batch is not None
            if batch.DESCRIPTOR.full_name in self._commands:
                self.add(batch)

    def add(self, command: Message) -> None:
        """Note a command that was sent, and not refused."""
        self.count += 1
        self._seen.update(self._parts(command))

    def knows(self, name: str, payload: bytes) -> bool:
        """Tell whether a command of the log was accepted."""
        return self._seen.issuperset(self._parts(self._commands[name].message.FromString(payload)))

    def _parts(self, command: Message) -> set[tuple[str, bytes]]:
        """Return a command as batches of one item each."""
        name = command.DESCRIPTOR.full_name
        items = self._commands[name].items
        parts = [command]
        if items is not None:
            parts = [items.make(command, [item]) for item in items.get(command)]
            for item in (item for part in parts for item in items.get(part)):
                # The node that a schema enters sets it.
                if isinstance(getattr(item, "verdict", None), SchemaVerdict):
                    item.ClearField("verdict")
        return {(name, part.SerializeToString(deterministic=True)) for part in parts}


def readable(kind: type[Any], contents: Sequence[bytes]) -> list[Any]:
    """Return the messages up to the first that is none."""
    found = []
    for content in contents:
        try:
            found.append(kind.FromString(content))
        except DecodeError:
            break
    return found


#: What core's services make of a request, or what is proposed beside it.
COMPOSED: Final = {
    each.DESCRIPTOR.full_name
    for each in (
        PutPair,
        AssignCoordinators,
        ReleaseCoordinators,
        # With a tenant its schemas go, and their bindings.
        DeleteSchemas,
        UnbindSchemas,
        # A role is an item of both.
        CreateRoles,
        PutRoles,
    )
}


def evaluated(shards: Iterable[Shard]) -> list[LoggedCommand]:
    """Return the commands that these shards evaluate from now on."""
    found: list[LoggedCommand] = []

    def noting(evaluator: Evaluator) -> None:
        evaluate = evaluator.evaluate

        def noted(
            index: int, writes: list[Sequence[LoggedCommand]], *given: Any, **more: Any
        ) -> Any:
            evaluation = evaluate(index, writes, *given, **more)
            for commands in writes[: len(evaluation.outcomes)]:
                found.extend(commands)
            return evaluation

        vars(evaluator)["evaluate"] = noted

    for shard in shards:
        noting(shard.evaluator)
    return found


def replayed(served: Served, shard: Shard) -> str:
    """Return the digest of what the log of a shard makes of an empty one."""
    data = ShardData.open(MemoryHome(), families_of(served.catalog, shard.id.group))
    applier = Applier(served.catalog, shard.id, data)
    log = shard.replica.log
    while applier.applied < shard.applier.applied:
        entries = log.slice(applier.applied + 1, shard.applier.applied, 1 << 20)
        applier.apply(entries)
    digest = data.digest()
    while not digest.step():
        pass
    return digest.hexdigest()


async def throw(served: Served, seed: int, calls: int) -> Counter[str]:
    """Call methods at random, and check what became of the node."""
    print(f"\nQUORATE_FUZZ_SEED={seed}")
    public = {name: each for name, each in served.catalog.commands.items() if each.public}
    rng = Random(seed)
    # Quotas would bound the calls that come after them.
    known = sorted(name for name in served.catalog.commands if "Quota" not in name)
    examples = [example for name in known for example in served.catalog.commands[name].examples]
    thrower = Thrower(rng, [public[name].message for name in known if name in public], examples)
    methods = await served.methods()
    methods = {name: each for name, each in methods.items() if "QuotaService" not in name}
    # Nobody would be answered any more.
    del methods["/quorate.v1.AuthService/Enable"]
    accepted = Accepted(public, served.catalog.singles)
    # Services of plugins make commands of what they are asked; those of core are asked for them.
    requested = {name for name in public if name.startswith("quorate.v1.")} - COMPOSED
    codes: Counter[str] = Counter()
    logged = evaluated(served.node.shards.all())
    for tenant in TENANTS:
        made = CreateTenant(name=tenant)
        await served.call("/quorate.v1.TenantService/Create", made.SerializeToString())
        accepted.add(CreateTenants(tenants=[made]))
    for number in range(calls):
        name = rng.choice(list(methods))
        requests = thrower.requests(methods[name], name)
        admitted = name.startswith(NODE) and rng.random() < 0.8
        if admitted and name.endswith("/Forward"):
            # A node is believed: what it forwards may be in the log.
            requests = [rng.randbytes(20)]
        # A method of one message that gets none waits for it.
        endless = not requests or (methods[name].server_streaming and name != STREAM)
        answer = await served.call(
            name, *requests, admitted=admitted, timeout_s=ENDLESS_S if endless else CALL_S
        )
        codes[answer.code.name] += 1
        accepted.note(name, methods[name], requests, answer)
        if number % 50 == 0:
            await works(served, number)
    await works(served, calls)

    for command in logged:
        name = command.type
        if not command.slotless and name in requested:
            assert accepted.knows(name, command.payload), (name, command.payload)
    for shard in served.node.shards.all():
        assert shard.stopped is None
        assert shard.evaluator.failures == 0
        assert replayed(served, shard) == served.digests()[str(shard.id)]
    assert accepted.count - len(TENANTS) > calls // 50
    return codes


async def works(served: Served, number: int) -> None:
    """Write and read a pair, as a client does that means what it says."""
    pair = PutPair(key=b"works", value=b"%d" % number)
    written = await served.call("/quorate.v1.KvService/Put", pair.SerializeToString())
    assert written.code is grpc.StatusCode.OK, written
    read = await served.call(
        "/quorate.v1.KvService/Get", GetPairRequest(key=b"works").SerializeToString()
    )
    assert GetPairResponse.FromString(read.messages[0]).pair.value == pair.value


def unexpected(records: Sequence[logging.LogRecord]) -> list[str]:
    """Return what was logged of a fault of the node's own.

    gRPC itself logs an answer for which the caller did not wait.
    """
    faults = [each for each in records if each.levelno >= logging.ERROR]
    return [each.getMessage() for each in faults if not each.name.startswith("grpc.")]


@pytest.mark.parametrize(
    "calls", [pytest.param(600, marks=pytest.mark.ci), pytest.param(10_000, marks=pytest.mark.full)]
)
@pytest.mark.timeout(1_800)
async def test_a_node_stands_whatever_is_thrown_at_it(
    start: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, calls: int
) -> None:
    async with start(tmp_path, shards=1) as served:
        codes = await throw(served, SEED, calls)
        print(dict(codes))

    assert unexpected(caplog.records) == []
    assert codes["INTERNAL"] == codes["UNKNOWN"] == 0
    assert {"OK", "INVALID_ARGUMENT", "NOT_FOUND"} <= set(codes)
