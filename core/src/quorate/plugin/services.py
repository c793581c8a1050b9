"""gRPC services by their descriptors: no code is generated for either end of a call."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from quorate.plugin.splicing import encoded

if TYPE_CHECKING:
    import grpc
    import grpc.aio

    from quorate.http2.grpc.channel import Channel

Kind = Literal["unary_unary", "unary_stream", "stream_unary", "stream_stream"]


class Method(NamedTuple):
    """A method of a service, as its descriptor has it."""

    name: str
    #: How it is called on the wire.
    path: str
    #: gRPC's names for the four combinations of single messages and streams.
    kind: Kind
    request: type[Message]
    response: type[Message]


class Stub:
    """Calls the methods of a service on a channel: `Stub(channel, service).Get(request)`.

    What calls a method is made when it is used first, and is the channel's own: asynchronous on a
    channel of `quorate.http2` or of `grpc.aio`.
    """

    def __init__(
        self, channel: Channel | grpc.Channel | grpc.aio.Channel, service: ServiceDescriptor
    ) -> None:
        self._channel: Final = channel
        self._service: Final = service

    def __getattr__(self, name: str) -> Any:
        """Return the callable for the method of this name."""
        declared = self._service.methods_by_name.get(name)
        if declared is None:
            known = ", ".join(self._service.methods_by_name)
            raise AttributeError(f"{self._service.full_name} has no method {name}; it has {known}")
        method = method_of(declared)
        made = getattr(self._channel, method.kind)(
            method.path, method.request.SerializeToString, method.response.FromString
        )
        self.__dict__[name] = made
        return made


def methods_of(service: ServiceDescriptor) -> list[Method]:
    """Return the methods of a service, in the order of its `.proto` file."""
    return [method_of(each) for each in service.methods]


def method_of(declared: MethodDescriptor) -> Method:
    """Return a method with the classes of its messages."""
    streaming = (declared.client_streaming, declared.server_streaming)
    streams = ("stream" if each else "unary" for each in streaming)
    return Method(
        name=declared.name,
        path=f"/{declared.containing_service.full_name}/{declared.name}",
        kind=cast(Kind, "_".join(streams)),
        request=GetMessageClass(declared.input_type),
        response=GetMessageClass(declared.output_type),
    )


def generic_handler(
    service: ServiceDescriptor, servicer: object
) -> grpc.GenericRpcHandler[Any, Any]:
    """Return the handler of a service for a grpcio server: `add_generic_rpc_handlers([it])`.

    The server does not know methods that the servicer lacks.
    """
    import grpc  # Only servers need it: declarations and clients start without it.

    handlers = {
        method.name: handler(
            method.kind, getattr(servicer, method.name), method.request.FromString, encoded
        )
        for method in methods_of(service)
        if hasattr(servicer, method.name)
    }
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


def handler(kind: Kind, behaviour: Any, read: Any, write: Any) -> grpc.RpcMethodHandler[Any, Any]:
    """Return gRPC's handler of a method."""
    import grpc

    made: grpc.RpcMethodHandler[Any, Any] = getattr(grpc, f"{kind}_rpc_method_handler")(
        behaviour, read, write
    )
    return made


def missing(service: ServiceDescriptor, servicer: object) -> list[str]:
    """Return the methods of a service that its servicer, or the class of it, lacks."""
    return [
        each.name for each in service.methods if not callable(getattr(servicer, each.name, None))
    ]


def undeclared(service: ServiceDescriptor, servicer: type) -> Iterator[str]:
    """Yield the public methods of a servicer's class that its service does not have."""
    for name, member in inspect.getmembers_static(servicer):
        public = inspect.isfunction(member) and not name.startswith("_")
        if public and name not in service.methods_by_name:
            yield name
