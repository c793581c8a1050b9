"""The gRPC server of a node: where it listens, what it serves, and whether it is healthy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health  # type: ignore[attr-defined]  # the stubs lack it

from quorate.config.addresses import is_loopback, join_address
from quorate.config.files import open_files
from quorate.config.sections import LimitsSection, TlsSection
from quorate.consensus.peer.streams import StreamLimits, server_options
from quorate.plugin import Access, NodeApi
from quorate.plugin.access import OPERATIONS
from quorate.plugin.catalog import Catalog
from quorate.plugin.discovery import module_owners
from quorate.plugin.needs import Need, needs_of_core, needs_of_service
from quorate.plugin.services import Kind, handler, methods_of, missing
from quorate.plugin.splicing import encoded
from quorate.rpc.accepting import Accepting, supported
from quorate.rpc.identities import Guard
from quorate.rpc.large_requests import LargeRequests
from quorate.rpc.limits import CallLimits
from quorate.rpc.methods import Around, Context, Demand, Read, answering, fail, reading, streaming
from quorate.rpc.reflection import services_of

#: How long a caller may take until its connection stands, encrypted or not.
HANDSHAKE_MS: Final = 10_000
#: A request that is over the limit by less is refused by name; gRPC itself drops a larger one.
_SLACK_BYTES: Final = 1 << 20

_RECEIVE: Final = "grpc.max_receive_message_length"
_HEALTH: Final = health_pb2.DESCRIPTOR.services_by_name["Health"]
_STATUS: Final = health_pb2.HealthCheckResponse

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
if TYPE_CHECKING:
    Generic = grpc.GenericRpcHandler[Any, Any]
else:
    Generic = grpc.GenericRpcHandler


class ServingRefusedError(Exception):
    """The server cannot listen at its address; the text says what to do."""


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

    def with_one_request(self) -> dict[str, Handler]:
        """Return the methods that take one message, by their paths."""
        return {path: each for path, each in self._handlers.items() if not each.request_streaming}

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
        """Record which plugins are installed, by their modules, and which of them are served."""
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


class RpcServer:
    """One server for clients and peers. Everything is added before it starts.

    `outermost` are put around every method, the first one farthest out, and `bounds` within them.
    With `shares_port` other processes may listen at its addresses too: each gets some of the
    connections.
    """

    def __init__(
        self,
        limits: LimitsSection,
        streams: StreamLimits | None = None,
        outermost: Sequence[Around] = (),
        bounds: CallLimits | None = None,
        guard: Guard | None = None,
        *,
        shares_port: bool = False,
    ) -> None:
        options = dict(server_options(streams or StreamLimits()))
        # A node forwards what a client may send, with a little around it.
        options[_RECEIVE] = max(options[_RECEIVE], limits.grpc_message_bytes + _SLACK_BYTES)
        options["grpc.so_reuseport"] = int(shares_port)
        options["grpc.max_concurrent_streams"] = limits.streams_per_connection
        options["grpc.server_handshake_timeout_ms"] = HANDSHAKE_MS
        if most := limits.most_connections(open_files()):
            # Before this node knows where they come from.
            options["grpc.max_allowed_incoming_connections"] = most
        if limits.idle_connection_s:
            options["grpc.max_connection_idle_ms"] = limits.idle_connection_s * 1_000
        self._limits: Final = limits
        self._large: Final = LargeRequests(monotonic)
        self._outermost: Final = (*outermost, *(() if bounds is None else (bounds.around,)))
        self._bounds: Final = bounds
        self._guard: Final = guard
        self._ports: Final[list[int]] = []
        self._methods: Final = Methods()
        self._accepting: Final = Accepting(list(options.items()))
        self.server: Final = self._accepting.server
        self.server.add_generic_rpc_handlers([self._methods])
        self._health: Final = health.HealthServicer()

    def bind(
        self,
        host: str,
        port: int,
        tls: TlsSection,
        credentials: grpc.ServerCredentials | None = None,
    ) -> int:
        """Take an address, and return its port; raises `ServingRefusedError`.

        Without credentials connections are not encrypted.
        """
        address = join_address(host, port)
        if credentials is None and not is_loopback(host) and not tls.insecure:
            raise ServingRefusedError(
                f"{host} can be reached from other machines, and TLS is off; listen on a loopback "
                "address, or set tls.insecure = true if the network is trusted"
            )
        try:
            if credentials is not None:
                self._ports.append(self.server.add_secure_port(address, credentials))
            else:
                self._ports.append(self.server.add_insecure_port(address))
        except RuntimeError as error:
            raise ServingRefusedError(
                f"{address} cannot be listened on; end what holds it, or set node.port and "
                f"node.host to another one ({error})"
            ) from None
        return self._ports[-1]

    def add(
        self,
        service: ServiceDescriptor,
        servicer: object,
        needs: Mapping[str, Need] | None = None,
        commands: Collection[str] = (),
    ) -> None:
        """Serve a service by a servicer that has its methods; raises `ServingRefusedError`.

        `needs` says by the names of the methods what their callers need; without it the servicer
        lets callers in by itself. Requests that are among `commands` are bounded like these.
        """
        if lacking := missing(service, servicer):
            raise ServingRefusedError(
                f"{type(servicer).__name__} lacks {', '.join(lacking)} of service "
                f"{service.full_name}; write each as `async def` (self, request, context)"
            )
        for method in methods_of(service):
            name = method.request.DESCRIPTOR.full_name
            command = name if name in commands else ""
            read = reading(method.request.FromString, self._limits, command)
            serve = getattr(servicer, method.name)
            demand = None
            if self._guard is not None and needs is not None:
                demand = self._guard.of(method, needs[method.name])
            self._put(method.path, method.kind, serve, read, encoded, demand)
        self._methods.services.append(service.full_name)

    def add_plugins(self, catalog: Catalog, api_of: Callable[[str], NodeApi]) -> None:
        """Serve the services of the plugins, each with its plugin's view of the node."""
        commands = [name for name, each in catalog.commands.items() if each.public]
        for name, declared in catalog.declared.items():
            for service in declared.services:
                needs = needs_of_service(name, service, catalog.commands)
                self.add(service.service, service.servicer(api_of(name)), needs, commands)
        self._methods.unknown.know_plugins(module_owners(), catalog.declared)

    async def start(self, *, reflection: bool = False) -> None:
        """Serve; health says NOT_SERVING until `set_serving`.

        With `reflection` callers can ask for the services and their messages.
        """
        await self.set_serving(False)
        self.add(_HEALTH, self._health)
        if reflection:
            for service, servicer in services_of(self._methods.services).items():
                shown = dict.fromkeys(service.methods_by_name, Access(right="identity"))
                self.add(service, servicer, needs_of_core(service, shown, OPERATIONS))
        # After what other nodes' streams have added.
        self.server.add_generic_rpc_handlers([self._methods.unknown])
        accepted, bounds = self._methods.with_one_request(), self._bounds
        ended = bounds.ended if bounds is not None and bounds.bounded and supported() else None
        await self._accepting.start(accepted, ended)
        if bounds is not None:
            late = [path for path, each in accepted.items() if not each.response_streaming]
            bounds.start(self._ports, late if ended is not None else ())

    async def set_serving(self, serving: bool) -> None:
        """Report the status of the node and of each service to the health service."""
        status = _STATUS.SERVING if serving else _STATUS.NOT_SERVING
        for name in ("", *self._methods.services):
            await self._health.set(name, status)

    async def stop(self, grace_s: float) -> None:
        """Take no more calls, and end those that are open after a while."""
        if self._bounds is not None:
            await self._bounds.stop()
        await self.server.stop(grace_s)

    def _put(
        self,
        path: str,
        kind: Kind,
        serve: Any,
        read: Read | None,
        write: Any,
        demand: Demand | None,
    ) -> None:
        of_requests = None
        if kind.startswith("stream"):
            # What reading raises comes out of the servicer's own loop over its requests.
            of_requests, read = read, None
        if kind.endswith("stream"):
            behaviour = streaming(path, serve, read, demand)
        else:
            behaviour = answering(path, serve, read, self._large, demand)
        for around in reversed(self._outermost):
            behaviour = around(path, behaviour)
        self._methods.put(path, handler(kind, behaviour, of_requests, write))
