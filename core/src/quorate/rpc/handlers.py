"""Methods of a gRPC server with something around them, whatever streams they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import grpc

#: What serves a method: it is given the request, or the requests, and the context of the call.
Behaviour = Callable[[Any, Any], Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

_KINDS: Final[dict[tuple[bool, bool], tuple[str, Callable[..., Any]]]] = {
    (False, False): ("unary_unary", grpc.unary_unary_rpc_method_handler),
    (False, True): ("unary_stream", grpc.unary_stream_rpc_method_handler),
    (True, False): ("stream_unary", grpc.stream_unary_rpc_method_handler),
    (True, True): ("stream_stream", grpc.stream_stream_rpc_method_handler),
}


def around(handler: Handler, wrap: Callable[[Behaviour], Behaviour]) -> Any:
    """Return a method whose behaviour is what `wrap` makes of it."""
    name, make = _KINDS[bool(handler.request_streaming), bool(handler.response_streaming)]
    wrapped = wrap(getattr(handler, name))
    return make(wrapped, handler.request_deserializer, handler.response_serializer)
