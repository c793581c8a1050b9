"""The service `grpc.testing.TestService`, which clients of gRPC's projects judge servers with."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from quorate.http2.grpc.server_call import Method, ServerCall

_PACKAGE: Final = "grpc.testing"
#: Fields by message: number, name, type; a capital letter begins a message, `*` a list.
_MESSAGES: Final = {
    "Empty": (),
    "Payload": ((1, "type", "int32"), (2, "body", "bytes")),
    "EchoStatus": ((1, "code", "int32"), (2, "message", "string")),
    "SimpleRequest": (
        (2, "response_size", "int32"),
        (3, "payload", "Payload"),
        (7, "response_status", "EchoStatus"),
        (9, "fill_server_id", "bool"),
    ),
    "SimpleResponse": ((1, "payload", "Payload"), (4, "server_id", "string")),
    "StreamingInputCallRequest": ((1, "payload", "Payload"),),
    "StreamingInputCallResponse": ((1, "aggregated_payload_size", "int32"),),
    "ResponseParameters": ((1, "size", "int32"), (2, "interval_us", "int32")),
    "StreamingOutputCallRequest": (
        (2, "response_parameters", "*ResponseParameters"),
        (3, "payload", "Payload"),
        (7, "response_status", "EchoStatus"),
    ),
    "StreamingOutputCallResponse": ((1, "payload", "Payload"),),
}
_ECHO_INITIAL: Final = "x-grpc-test-echo-initial"
_ECHO_TRAILING: Final = "x-grpc-test-echo-trailing-bin"


def _made() -> dict[str, Any]:
    """Return the classes of the messages."""
    file = descriptor_pb2.FileDescriptorProto(
        name="interop.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, kind in fields:
            added = message.field.add(name=field, number=number)
            many, kind = kind.startswith("*"), kind.lstrip("*")
            added.label = added.LABEL_REPEATED if many else added.LABEL_OPTIONAL
            if kind in _MESSAGES:
                added.type, added.type_name = added.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                added.type = getattr(added, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }


MESSAGES: Final = _made()


def _sized(kind: str, size: int) -> Any:
    return MESSAGES[kind](payload=MESSAGES["Payload"](body=bytes(size)))


async def _echo_metadata(call: ServerCall) -> None:
    """Send back what a client asks for in its metadata."""
    metadata = dict(call.invocation_metadata())
    if _ECHO_TRAILING in metadata:
        call.set_trailing_metadata(((_ECHO_TRAILING, metadata[_ECHO_TRAILING]),))
    if _ECHO_INITIAL in metadata:
        await call.send_initial_metadata(((_ECHO_INITIAL, metadata[_ECHO_INITIAL]),))


async def _end_as_asked(request: Any, call: ServerCall) -> None:
    if request.response_status.code:
        await call.abort(request.response_status.code, request.response_status.message)


async def _answer(request: Any, call: ServerCall) -> None:
    """Write as many answers, of the sizes and at the times, as a request asks for."""
    for asked in request.response_parameters:
        if asked.interval_us:
            await asyncio.sleep(asked.interval_us / 1e6)
        await call.write(_sized("StreamingOutputCallResponse", asked.size))


async def empty_call(request: Any, call: ServerCall) -> Any:
    """Answer with nothing."""
    await _echo_metadata(call)
    return request


async def unary_call(request: Any, call: ServerCall) -> Any:
    """Answer with as many bytes as are asked for."""
    await _echo_metadata(call)
    await _end_as_asked(request, call)
    answer = _sized("SimpleResponse", request.response_size)
    if request.fill_server_id:
        answer.server_id = "the only one"
    return answer


async def streaming_output_call(request: Any, call: ServerCall) -> None:
    """Answer one request with a stream."""
    await _echo_metadata(call)
    await _answer(request, call)
    await _end_as_asked(request, call)


async def streaming_input_call(requests: ServerCall, call: ServerCall) -> Any:
    """Count the bytes of a stream."""
    await _echo_metadata(call)
    size = sum([len(each.payload.body) async for each in requests])
    return MESSAGES["StreamingInputCallResponse"](aggregated_payload_size=size)


async def full_duplex_call(requests: ServerCall, call: ServerCall) -> None:
    """Answer each request as it comes."""
    await _echo_metadata(call)
    async for request in requests:
        await _end_as_asked(request, call)
        await _answer(request, call)


async def half_duplex_call(requests: ServerCall, call: ServerCall) -> None:
    """Answer all requests once the last has come."""
    await _echo_metadata(call)
    for request in [each async for each in requests]:
        await _answer(request, call)


def _method(serve: Any, request: str, *, takes: bool = False, answers: bool = False) -> Method:
    return Method(
        serve=serve,
        takes_stream=takes,
        answers_stream=answers,
        parse=MESSAGES[request].FromString,
        encode=lambda answer: answer.SerializeToString(),
    )


#: `UnimplementedCall` and `UnimplementedService` are not among them, as their clients want it.
METHODS: Final = {
    f"/{_PACKAGE}.TestService/{name}": method
    for name, method in {
        "EmptyCall": _method(empty_call, "Empty"),
        "UnaryCall": _method(unary_call, "SimpleRequest"),
        "CacheableUnaryCall": _method(unary_call, "SimpleRequest"),
        "StreamingOutputCall": _method(
            streaming_output_call, "StreamingOutputCallRequest", answers=True
        ),
        "StreamingInputCall": _method(
            streaming_input_call, "StreamingInputCallRequest", takes=True
        ),
        "FullDuplexCall": _method(
            full_duplex_call, "StreamingOutputCallRequest", takes=True, answers=True
        ),
        "HalfDuplexCall": _method(
            half_duplex_call, "StreamingOutputCallRequest", takes=True, answers=True
        ),
    }.items()
}
