"""Every method that a node serves refuses bad input by its field, and logs nothing of it.

A method that is new needs its row in `rows/`, or in `PEERS` when it takes bytes as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import grpc
import pytest
import pytest_asyncio
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.rpc import error_details_pb2, status_pb2
from grpc_reflection.v1alpha.reflection_pb2 import (
    ServerReflectionRequest,
    ServerReflectionResponse,
)
from quorate.consensus.peer.wire import (
    LENGTH,
    decode_answer,
    decode_opening,
    encode_opening,
)
from quorate.rpc.status import INVALID, detail
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.command_pb2 import Command, ExecuteRequest, ExecuteResponse, StreamResponse
from quorate.v1.entry_pb2 import LoggedCommand, Stamp
from quorate.v1.node_pb2 import ForwardedCommand, ForwardedPart, ForwardRequest, ForwardResponse
from quorate.v1.peer_pb2 import PeerHandshake, PeerIntroduction
from quorate.v1.snapshot_pb2 import SnapshotAnswer, SnapshotFrame, SnapshotHeader

from tests.integration.rows import (
    connector,
    coordination,
    core,
    etcd,
    mqtt,
    name_server,
    offset,
    spark,
    storage_engine,
    zookeeper,
)
from tests.integration.rows.core import PUT, command, put
from tests.integration.rows.row import COMMAND, KEY, TEXT, UNIMPLEMENTED, Blame, InPlace

if TYPE_CHECKING:
    from tests.integration.conftest import Answer, Served

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROWS: Final = {
    **core.ROWS,
    **connector.ROWS,
    **coordination.ROWS,
    **etcd.ROWS,
    **mqtt.ROWS,
    **name_server.ROWS,
    **offset.ROWS,
    **spark.ROWS,
    **storage_engine.ROWS,
    **zookeeper.ROWS,
}
INTRODUCE: Final = "/quorate.v1.PeerService/Introduce"
CHALLENGE: Final = "/quorate.v1.PeerService/Challenge"
INSTALL: Final = "/quorate.v1.SnapshotService/Install"
PEERS: Final = {INTRODUCE, CHALLENGE, INSTALL}
NODES: Final = ("/quorate.v1.NodeService/", "/quorate.v1.FilePeerService/")
BY_NODES: Final = [method for method in ROWS if method.startswith(NODES)]

every_method: Final = pytest.mark.parametrize("method", list(ROWS))
#: What one place decides for all: methods of core show it quickly.
any_method: Final = pytest.mark.parametrize(
    "method",
    [
        pytest.param(each, marks=[] if each.startswith("/quorate.v1.") else [pytest.mark.ci])
        for each in ROWS
    ],
)


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def no_row_changes(served: Served) -> AsyncIterator[None]:
    """Compare the rows of every shard with those before all tests: to read them takes a while."""
    before = served.digests()
    yield
    assert served.digests() == before


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def nothing_is_logged(served: Served) -> AsyncIterator[None]:
    """Compare the logs of every shard with those before."""
    before = served.last_entries()
    yield
    assert served.last_entries() == before
    assert (await served.call("/grpc.health.v1.Health/Check", b"")).messages == [b"\x08\x01"]


async def ask(served: Served, method: str, content: bytes) -> Answer:
    """Ask with a request; of an answer in many parts the first is enough.

    Of a backup all is taken: the next one is refused while one is under way.
    """
    most = None if method.endswith("/Backup") else 1
    admitted = method in BY_NODES
    return await served.refused_or_not(method, content, admitted=admitted, most=most)


def check(answer: Answer, blame: Blame, described: MethodDescriptor | None = None) -> None:
    """Compare an answer with what is blamed: by the whole call, or by one item of its answer."""
    told = f"{answer.code} {answer.details}"
    if blame is None:
        assert answer.code is grpc.StatusCode.OK, told
        assert answer.messages
    elif isinstance(blame, InPlace):
        assert answer.code is grpc.StatusCode.OK, told
        assert described is not None
        response = message_factory.GetMessageClass(described.output_type)
        [message] = answer.messages
        first, *_ = response.FromString(message).refusals  # type: ignore[attr-defined]  # by name
        assert (first.item, first.code) == (blame.item, "INVALID_ARGUMENT")
        assert first.message.startswith(f"{blame.field}: ")
    elif isinstance(blame, grpc.StatusCode):
        assert answer.code is blame, told
    else:
        assert answer.code is grpc.StatusCode.INVALID_ARGUMENT, told
        assert answer.fields == [blame], told
        assert detail(answer.status, error_details_pb2.ErrorInfo).reason == INVALID


async def test_every_method_that_is_served_has_its_row(served: Served) -> None:
    methods = await served.methods()

    assert set(ROWS) | PEERS == set(methods)
    for name, method in methods.items():
        if name in ROWS and method.input_type.fields:
            assert ROWS[name].large or ROWS[name].empty is UNIMPLEMENTED, name


@every_method
async def test_an_empty_request(served: Served, method: str) -> None:
    check(await ask(served, method, b""), ROWS[method].empty)


@every_method
async def test_too_much_of_something(served: Served, method: str) -> None:
    described = (await served.methods())[method]
    for request, blame in ROWS[method].large:
        assert request.DESCRIPTOR is described.input_type
        check(await ask(served, method, request.SerializeToString()), blame, described)


@every_method
async def test_what_cannot_be_meant(served: Served, method: str) -> None:
    described = (await served.methods())[method]
    for request, blame in ROWS[method].wrong:
        assert request.DESCRIPTOR is described.input_type
        check(await ask(served, method, request.SerializeToString()), blame, described)


@any_method
async def test_too_large_a_message(served: Served, method: str) -> None:
    # A field that nobody knows: there is nothing else to blame.
    filled = b"\xfa\xff\xff\xff\x0f\x80\x80\x20" + bytes(512 << 10)

    check(await ask(served, method, filled), "request")


@any_method
async def test_bytes_that_are_no_message(served: Served, method: str) -> None:
    for content in (b"\xff" * 7, b"\x0a\x05abc", b"\x00", b"\x0f"):
        check(await ask(served, method, content), "request")


@any_method
async def test_fields_of_another_type_count_for_nothing(served: Served, method: str) -> None:
    described: MethodDescriptor = (await served.methods())[method]
    # No field of a request is a fixed32.
    fields = [each.number << 3 | 5 for each in described.input_type.fields]
    content = b"".join(varint(tag) + b"\x01\x02\x03\x04" for tag in fields)

    check(await ask(served, method, content), ROWS[method].empty)


@any_method
async def test_texts_that_are_no_utf_8(served: Served, method: str) -> None:
    described: MethodDescriptor = (await served.methods())[method]
    for field in described.input_type.fields:
        if field.type == FieldDescriptor.TYPE_STRING:
            content = varint(field.number << 3 | 2) + b"\x02\xc3\x28"
            check(await ask(served, method, content), "request")


@pytest.mark.parametrize("method", BY_NODES)
async def test_nobody_but_nodes_calls_what_is_for_nodes(served: Served, method: str) -> None:
    check(await served.refused_or_not(method, b""), "quorate-peer-bin")


# Commands, each answered in its place.


async def test_a_command_is_refused_by_its_field(served: Served) -> None:
    key = put().SerializeToString()
    for request, blame in (
        (command(), "type"),
        (command(type="quorate.v1.Nothing"), "type"),
        (command(type="quorate.v1.ExpirePairs"), "type"),
        (command(type="quorate.v1.AdoptSlots"), "type"),
        (command(type=PUT, payload=b"\xff"), "payload"),
        (command(type=PUT, payload=COMMAND), "payload"),
        (command(type=PUT, payload=key, stamp=Stamp()), "stamp"),
        (command(type=PUT, payload=key, stamp=Stamp(session=1)), "stamp"),
    ):
        assert await executed(served, request.commands[0]) == blame


@pytest.mark.parametrize("method", list(ROWS))
async def test_the_request_of_a_method_is_the_same_as_a_command(
    served: Served, method: str
) -> None:
    described: MethodDescriptor = (await served.methods())[method]
    name = described.input_type.full_name
    declared = served.catalog.commands.get(name)
    # What a service has to look at first is no command of clients.
    if declared is None or not declared.public:
        return
    row = ROWS[method]
    empty = message_factory.GetMessageClass(described.input_type)()
    for request, blame in ((empty, row.empty), *row.large, *row.wrong):
        asked = Command(type=name, payload=request.SerializeToString())
        if blame == "command":
            # What is too long as a whole is the payload here.
            blame = "payload"
        elif isinstance(blame, InPlace):
            blame = blame.field
        assert await executed(served, asked) == blame


async def executed(served: Served, asked: Command) -> Blame:
    """Return what is blamed, which is the same in a call and in a stream."""
    request, name = ExecuteRequest(commands=[asked]).SerializeToString(), asked.type
    [message] = (await served.call("/quorate.v1.CommandService/Execute", request)).messages
    [answer] = ExecuteResponse.FromString(message).answers
    [message] = (await served.call("/quorate.v1.CommandService/Stream", request)).messages
    [streamed] = StreamResponse.FromString(message).answers
    failed = (answer, streamed.answer) if answer.HasField("status") else ()
    for each in failed:
        forget_call(each.status)
    for each in (answer, streamed.answer):
        if each.HasField("reply"):
            each.reply.ClearField("revisions")
    assert streamed.answer == answer
    if answer.HasField("reply"):
        batch = name in served.catalog.commands and served.catalog.commands[name].items is not None
        refusals = BatchReply.FromString(answer.reply.payload).refusals if batch else ()
        wrong = [each for each in refusals if each.code == "INVALID_ARGUMENT"]
        return wrong[0].message.partition(": ")[0] if wrong else None
    violations = detail(answer.status, error_details_pb2.BadRequest).field_violations
    return violations[0].field if violations else grpc.StatusCode(answer.status.code)


def forget_call(status: status_pb2.Status) -> None:
    """Take the id of its call out of a status."""
    for each in status.details:
        info = error_details_pb2.ErrorInfo()
        if each.Unpack(info):
            assert info.metadata.pop("request")
            each.Pack(info)


async def test_a_forwarded_command_is_refused_by_its_field(served: Served) -> None:
    key = put().SerializeToString()
    for logged, blame in (
        (LoggedCommand(), "UNKNOWN_COMMAND"),
        (LoggedCommand(type="quorate.v1.Nothing"), "UNKNOWN_COMMAND"),
        (LoggedCommand(type=PUT, slotless=True), "type"),
        (LoggedCommand(type=PUT, payload=b"\xff"), "command"),
        (LoggedCommand(type=PUT), "key"),
        (LoggedCommand(type=PUT, payload=put(KEY).SerializeToString()), "key"),
        (LoggedCommand(type=PUT, payload=key), "slots"),
        (LoggedCommand(type=PUT, payload=key, slots=[(1 << 32) - 1]), "slots"),
        (LoggedCommand(type="quorate.v1.AdoptSlots", payload=b"\xff", slotless=True), "command"),
        (LoggedCommand(type="quorate.v1.ShardRow", slotless=True), "type"),
    ):
        part = ForwardedPart(
            shard="metadata/0", commands=[ForwardedCommand(command=logged, timeout_ms=10_000)]
        )
        request = ForwardRequest(parts=[part])
        answer = await ask(served, "/quorate.v1.NodeService/Forward", request.SerializeToString())
        [[each]] = [part.answers for part in ForwardResponse.FromString(answer.messages[0]).parts]
        if blame == each.outcome.refusal.code:
            continue
        violations = detail(each.status, error_details_pb2.BadRequest).field_violations
        assert [violation.field for violation in violations] == [blame], each


async def test_reflection_says_what_is_wrong_in_its_response(served: Served) -> None:
    for request in (ServerReflectionRequest(), ServerReflectionRequest(file_by_filename=TEXT)):
        content = request.SerializeToString()
        for version in ("v1", "v1alpha"):
            method = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
            [message] = (await served.call(method, content)).messages
            assert ServerReflectionResponse.FromString(message).error_response.error_code


# What takes bytes as they are.

STRANGERS: Final = [
    b"",
    b"\xff" * 7,
    b"\x0a\x05abc",
    PeerHandshake(node="n2", target_node="n1").SerializeToString(),
    bytes(512 << 10),
]


async def connect(served: Served, *contents: bytes) -> bytes:
    """Send bytes to where other nodes connect, and return what comes until it is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.node.network.port)
    try:
        async with asyncio.timeout(20):
            for content in contents:
                writer.write(content)
            writer.write_eof()
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.transport.abort()


async def test_a_connection_is_not_read_without_a_good_handshake(served: Served) -> None:
    for content in STRANGERS:
        assert await connect(served, content) == b""
        assert await connect(served, LENGTH.pack(len(content)), content) == b""
    answered = await connect(served, encode_opening("control", STRANGERS[3]))
    _, answer = decode_opening(memoryview(answered)[LENGTH.size :])
    assert decode_answer(answer).refusal


async def test_frames_of_a_node_that_cannot_be_meant_end_its_connection(served: Served) -> None:
    for content in STRANGERS[1:]:
        before = served.node.network.refused.total()
        good = encode_opening("bulk", served.handshake())
        answered = await connect(served, good, LENGTH.pack(len(content)), content)
        _, answer = decode_opening(memoryview(answered)[LENGTH.size :])
        assert decode_answer(answer).refusal == ""
        assert served.node.network.refused.total() > before


async def test_an_introduction_is_refused(served: Served) -> None:
    for content in (
        b"",
        b"\xff" * 7,
        PeerIntroduction(node=TEXT).SerializeToString(),
        PeerIntroduction(node="n2", first_entry=b"\xff").SerializeToString(),
    ):
        answer = await served.call(INTRODUCE, content)
        assert answer.code is grpc.StatusCode.INVALID_ARGUMENT
    answer = await served.call(INTRODUCE, PeerIntroduction(node="n2").SerializeToString())
    assert answer.code is grpc.StatusCode.PERMISSION_DENIED


async def test_a_snapshot_is_refused(served: Served) -> None:
    shown = PeerHandshake.FromString(served.handshake())
    for content in (
        *STRANGERS,
        SnapshotFrame(
            header=SnapshotHeader(handshake=shown, shard="metadata/0")
        ).SerializeToString(),
        SnapshotFrame(header=SnapshotHeader(handshake=shown, shard="none/0")).SerializeToString(),
    ):
        answer = await served.call(INSTALL, content)
        [message] = answer.messages
        assert SnapshotAnswer.FromString(message).refusal


def varint(number: int) -> bytes:
    """Return a number as it stands in a message."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
