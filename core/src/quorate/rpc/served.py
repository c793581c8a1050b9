"""The methods of a server by their paths, and a refusal for every other path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from quorate.plugin.services import Kind, Method
from quorate.plugin.splicing import encoded
from quorate.rpc.large_requests import LargeRequests
from quorate.rpc.methods import (
    Behaviour,
    Context,
    Demand,
    Failing,
    Read,
    answering,
    fail,
    streaming,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A method: its behaviour, and how its messages are read and written; None: as bytes."""

    kind: Kind
    serve: Behaviour
    read: Read | None = None
    write: Callable[[Any], bytes] | None = None

    @property
    def takes_stream(self) -> bool:
        """Whether its requests are a stream."""
        return self.kind.startswith("stream")

    @property
    def answers_stream(self) -> bool:
        """Whether its answers are a stream."""
        return self.kind.endswith("stream")


def served_by(
    servicer: object,
    method: Method,
    read: Read,
    large: LargeRequests,
    demand: Demand | None = None,
    failing: Failing | None = None,
) -> Served:
    """Return a method of a servicer; the arguments are those of `answering`."""
    serve, streams = getattr(servicer, method.name), method.kind.startswith("stream")
    # Of a stream, reading raises within the servicer's own loop over its requests.
    once = None if streams else read
    if method.kind.endswith("stream"):
        behaviour = streaming(method.path, serve, once, demand, failing)
    else:
        behaviour = answering(method.path, serve, once, large, demand, failing)
    return Served(kind=method.kind, serve=behaviour, read=read if streams else None, write=encoded)


class Methods:
    """The methods of a server by their paths; `lack` says why it does not have one."""

    def __init__(self, lack: Callable[[str], str] | None = None) -> None:
        self.by_path: Final[dict[str, Served]] = {}
        #: The full names of the services, in the order in which they came.
        self.services: Final[list[str]] = []
        #: Installed plugins that are not enabled here, by their modules.
        self._disabled: dict[str, str] = {}
        self._why: Final = lack or self._lack

    def know_plugins(self, owners: Mapping[str, str], enabled: Collection[str]) -> None:
        """Record which plugins are installed, by their modules, and which of them are served."""
        self._disabled = {
            module: plugin for module, plugin in owners.items() if plugin not in enabled
        }

    def refusal(self, path: str) -> Served:
        """Return a method that refuses a path that is not served, with the cause and the fix."""

        async def refuse(_: object, context: Context) -> None:
            await fail(path, LookupError(self._why(path)), context)

        # Streams both ways: it does not wait for a request.
        return Served(kind="stream_stream", serve=refuse)

    def _lack(self, path: str) -> str:
        service, _, method = path.strip("/").partition("/")
        own = f"/{service}/"
        if names := [each.removeprefix(own) for each in self.by_path if each.startswith(own)]:
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
