"""The generic handler of a server: from the path of a call to its method, by one look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import grpc

from quorate.plugin.services import handler
from quorate.rpc.methods import Context, fail

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
if TYPE_CHECKING:
    Generic = grpc.GenericRpcHandler[Any, Any]
else:
    Generic = grpc.GenericRpcHandler


class Methods(Generic):
    """The methods of a server by their paths; `unknown` refuses calls of any other."""

    def __init__(self) -> None:
        self._handlers: Final[dict[str, Handler]] = {}
        #: The full names of the services, in the order in which they came.
        self.services: Final[list[str]] = []
        self.unknown: Final = Unknown(self)

    def put(self, path: str, method: Handler) -> None:
        """Serve a method."""
        self._handlers[path] = method

    def unary(self) -> dict[str, Handler]:
        """Return the methods that answer one message with one, by their paths."""
        return {path: each for path, each in self._handlers.items() if each.unary_unary is not None}

    def of(self, service: str) -> list[str]:
        """Return the names of the methods of a service."""
        own = f"/{service}/"
        return [path.removeprefix(own) for path in self._handlers if path.startswith(own)]

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler | None:
        """Return what serves a call."""
        return self._handlers.get(handler_call_details.method)


class Unknown(Generic):
    """Refuses calls that nobody serves, with what is missing and what to do about it."""

    def __init__(self, methods: Methods) -> None:
        self._methods: Final = methods
        #: Installed plugins that are not enabled here, by their modules.
        self._disabled: dict[str, str] = {}

    def know_plugins(self, owners: Mapping[str, str], enabled: Collection[str]) -> None:
        """Return which plugins are installed, by their modules, and which of them are served."""
        self._disabled = {
            module: plugin for module, plugin in owners.items() if plugin not in enabled
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler:
        """Return what refuses a call."""
        path = str(handler_call_details.method)

        async def refuse(_: object, context: Context) -> None:
            await fail(path, LookupError(self._lack(path)), context)

        # Streams both ways: it does not wait for a request.
        return handler("stream_stream", refuse, None, None)

    def _lack(self, path: str) -> str:
        service, _, method = path.strip("/").partition("/")
        if names := self._methods.of(service):
            return (
                f"service {service} has no method {method!r} on this node; it has "
                f"{', '.join(names)}: call one of these, or bring caller and node to one version"
            )
        plugin = self._disabled.get(service.partition(".")[0])
        if plugin is not None:
            return (
                f"service {service} belongs to the plugin {plugin}, which is installed on this "
                f"node and not enabled: add {plugin!r} to [plugins] enabled on every node, and "
                "restart them"
            )
        return (
            f"no plugin of this node serves {service}: correct the name, or install the plugin "
            "that has it on every node and add it to [plugins] enabled"
        )
