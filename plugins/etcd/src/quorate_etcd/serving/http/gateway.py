"""The JSON of etcd's gateway: each method of the services at a path of its own."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from quorate.plugin.advanced import HttpAnswer, HttpRequest

from quorate_etcd.serving.http.call import AbortedError, Call
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


@dataclass(frozen=True, slots=True)
class _Method:
    serve: Any
    request: type[Message]
    takes_stream: bool
    answers_stream: bool


class Gateway:
    """Calls the servicers of a store, each by the name of its service."""

    def __init__(self, servicers: Mapping[ServiceDescriptor, object]) -> None:
        self._methods: Final[dict[str, _Method]] = {}
        for path, service, name in routes():
            if service in servicers:
                method = service.methods_by_name[name]
                self._methods[path] = _Method(
                    serve=getattr(servicers[service], name),
                    request=GetMessageClass(method.input_type),
                    takes_stream=method.client_streaming,
                    answers_stream=method.server_streaming,
                )

    def takes(self, path: str) -> bool:
        """Whether a path is one of the gateway's."""
        return path.startswith(_PREFIXES)

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request to one of its paths."""
        prefix = next(each for each in _PREFIXES if request.path.startswith(each))
        method = self._methods.get(request.path.removeprefix(prefix))
        if method is None:
            return _refused(_NOT_FOUND, "Not Found")
        if request.method != "POST":
            return _refused(_UNIMPLEMENTED, "Method Not Allowed")
        try:
            messages = list(_parsed(method, request.body))
        except (ValueError, RecursionError, ParseError) as error:
            return _refused(_INVALID, str(error))
        call = Call(request, messages)
        asked = call if method.takes_stream else messages[0]
        try:
            if method.answers_stream:
                return await _begun(call.answers(method.serve, asked))
            return _json(200, _shown(await method.serve(asked, call)))
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
        status = _STATUSES.get(code, 500)
        yield _line(
            {
                "error": {
                    "code": code,
                    "message": text,
                    "grpc_code": code,
                    "http_code": status,
                    "http_status": "",
                }
            }
        )
    finally:
        await rest.aclose()


def _parsed(method: _Method, body: bytes) -> Iterator[Message]:
    """Yield the requests in a body; raises `ValueError` and `ParseError`."""
    text = body.decode("utf-8")
    at, count = _after_space(text, 0), 0
    while at < len(text):
        value, end = _DECODER.raw_decode(text, at)
        if not isinstance(value, dict):
            raise ValueError(f"a request is an object, and not {text[at : at + 20]!r}")
        if count == _MOST_REQUESTS:
            raise ValueError(f"a body has at most {_MOST_REQUESTS:,} requests: send several")
        yield ParseDict(value, method.request(), ignore_unknown_fields=True)
        if not method.takes_stream:
            return
        at, count = _after_space(text, end), count + 1
    if not count and not method.takes_stream:
        yield method.request()


def _after_space(text: str, at: int) -> int:
    found = _NO_SPACE.search(text, at)
    return len(text) if found is None else found.start()


def _shown(message: Message) -> dict[str, Any]:
    """Return a message as the gateway has it: no zeros, and the names of the protos."""
    shown: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return shown


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _json(status: int, content: Mapping[str, Any]) -> HttpAnswer:
    body = json.dumps(content, separators=(",", ":"))
    return HttpAnswer(status, body.encode(), _JSON, _HEADERS)


def _refused(code: int, text: str) -> HttpAnswer:
    """Return a refusal with all names that releases of etcd have had for its text."""
    return _json(_STATUSES.get(code, 500), {"error": text, "code": code, "message": text})


def _status(path: str, error: Exception) -> tuple[int, str]:
    if isinstance(error, AbortedError):
        return error.code, error.text
    found = status_of(error)
    if found is None:
        _log.error("%s failed", path, exc_info=error)
        return _INTERNAL, f"{type(error).__name__}: see the node's log"
    return found
