"""The JSON of etcd's gateway: each method of the services at a path of its own."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from quorate.plugin.advanced import HttpAnswer, HttpRequest

from quorate_etcd.serving.http.call import Call, stream_of
from quorate_etcd.serving.http.routes import routes
from quorate_etcd.serving.statuses import status_of

_log = logging.getLogger(__name__)

#: The prefixes of the paths: the first is today's, the other one that of older clients.
_PREFIXES: Final = ("/v3/", "/v3beta/")
_JSON: Final = "application/json"
_HEADERS: Final = {"Grpc-Metadata-Content-Type": "application/grpc"}
_INVALID, _NOT_FOUND, _UNIMPLEMENTED, _INTERNAL = 3, 5, 12, 13
#: The status of HTTP for a code of gRPC's.
_STATUSES: Final[Mapping[int, int]] = {
    1: 499,
    3: 400,
    4: 504,
    5: 404,
    6: 409,
    7: 403,
    8: 429,
    9: 400,
    10: 409,
    11: 400,
    12: 501,
    14: 503,
    16: 401,
}
_DECODER: Final = json.JSONDecoder()
_NO_SPACE: Final = re.compile(r"\S")
#: Requests of a stream in one body, which are all read before the first is served.
_MOST_REQUESTS: Final = 10_000


class Gateway:
    """Calls the servicers of a store, each by the name of its service."""

    def __init__(self, servicers: Mapping[ServiceDescriptor, object]) -> None:
        #: By path: the method, and what serves it.
        self._methods: Final[dict[str, tuple[MethodDescriptor, Any]]] = {
            path: (service.methods_by_name[name], getattr(servicers[service], name))
            for path, service, name in routes()
            if service in servicers
        }

    def takes(self, path: str) -> bool:
        """Whether a path is one of the gateway's."""
        return path.startswith(_PREFIXES)

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request to one of its paths."""
        prefix = next(each for each in _PREFIXES if request.path.startswith(each))
        found = self._methods.get(request.path.removeprefix(prefix))
        if found is None:
            return _refused(_NOT_FOUND, "Not Found")
        method, serve = found
        if request.method != "POST":
            return _refused(_UNIMPLEMENTED, "Method Not Allowed")
        try:
            messages = list(_parsed(method, request.body))
        except (ValueError, RecursionError, ParseError) as error:
            return _refused(_INVALID, str(error))
        asked = stream_of(messages) if method.client_streaming else messages[0]
        try:
            answer = serve(asked, Call(request))
            if method.server_streaming:
                return await _begun(answer)
            return _json(200, _shown(await answer))
        except Exception as error:  # noqa: BLE001 - each becomes a status
            return _refused(*_status(request.path, error))


async def _begun(answers: AsyncIterator[Message]) -> HttpAnswer:
    """Return the answer that is a stream; raises what ends it before its first message."""
    try:
        first = await anext(answers)
    except StopAsyncIteration:
        return HttpAnswer(200, b"", _JSON, _HEADERS)
    return HttpAnswer(200, _lines(first, answers), _JSON, _HEADERS)


async def _lines(first: Message, rest: Any) -> AsyncIterator[bytes]:
    """Yield a line for each message, and one for the failure that ends them."""
    try:
        yield _line({"result": _shown(first)})
        async for each in rest:
            yield _line({"result": _shown(each)})
    except Exception as error:  # noqa: BLE001 - it is the last line
        code, text = _status("a stream", error)
        failure = {"code": code, "message": text, "grpc_code": code}
        failure |= {"http_code": _STATUSES.get(code, 500), "http_status": ""}
        yield _line({"error": failure})
    finally:
        await rest.aclose()


def _parsed(method: MethodDescriptor, body: bytes) -> Iterator[Message]:
    """Yield the requests in a body; raises `ValueError` and `ParseError`."""
    kind, text = GetMessageClass(method.input_type), body.decode("utf-8")
    at, count = _after_space(text, 0), 0
    while at < len(text):
        value, end = _DECODER.raw_decode(text, at)
        if not isinstance(value, dict):
            raise ValueError(f"a request is an object, and not {text[at : at + 20]!r}")
        if count == _MOST_REQUESTS:
            raise ValueError(f"a body has at most {_MOST_REQUESTS:,} requests: send several")
        yield ParseDict(value, kind(), ignore_unknown_fields=True)
        if not method.client_streaming:
            return
        at, count = _after_space(text, end), count + 1
    if not count and not method.client_streaming:
        yield kind()


def _after_space(text: str, at: int) -> int:
    found = _NO_SPACE.search(text, at)
    return len(text) if found is None else found.start()


def _shown(message: Message) -> dict[str, Any]:
    """Return a message as the gateway has it: no zeros, and the names of the protos."""
    shown: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return shown


def compact(content: Mapping[str, Any]) -> bytes:
    """Return an object as JSON without white space."""
    return json.dumps(content, separators=(",", ":")).encode()


def _line(content: Mapping[str, Any]) -> bytes:
    return compact(content) + b"\n"


def _json(status: int, content: Mapping[str, Any]) -> HttpAnswer:
    return HttpAnswer(status, compact(content), _JSON, _HEADERS)


def _refused(code: int, text: str) -> HttpAnswer:
    """Return a refusal with all names that releases of etcd have had for its text."""
    return _json(_STATUSES.get(code, 500), {"error": text, "code": code, "message": text})


def _status(path: str, error: Exception) -> tuple[int, str]:
    found = status_of(error)
    if found is None:
        _log.error("%s failed", path, exc_info=error)
        return _INTERNAL, f"{type(error).__name__}: see the node's log"
    return found
