"""An attack: its needs, its target, and the exception that reports its success."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any
from urllib.request import urlopen

import grpc
import grpc.aio
from quorate.client import Tls
from quorate.testing.cluster import Cluster


class Broken(AssertionError):
    """The attack succeeded; the message names the damage and its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A cluster under attack."""

    #: The gRPC addresses of its nodes, separated by commas, and the HTTP address of the first one.
    endpoints: str
    http: str = ""
    #: The files that a client connects with, and the authority that signs further ones.
    tls: Tls | None = None
    certificates: Path | None = None
    #: Its processes, where the attack needs them: their directories, memory, signals.
    cluster: Cluster | None = None
    #: The addresses of doors that plugins open, by plugin ("zookeeper": "127.0.0.1:2181").
    doors: Mapping[str, str] = field(default_factory=dict)

    async def metric(self, name: str) -> float:
        """Return a figure of the first node; of one with labels the sum."""
        text = await asyncio.to_thread(self._metrics)
        found = re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, found))

    async def resident_mb(self) -> float:
        """Return how much memory the first node holds."""
        return await self.metric("process_resident_memory_bytes") / (1 << 20)

    def channel(self, options: Sequence[tuple[str, int]] = ()) -> grpc.aio.Channel:
        """Open a connection of its own to the first node."""
        address, own = self.endpoints.partition(",")[0], ("grpc.use_local_subchannel_pool", 1)
        if self.tls is None:
            return grpc.aio.insecure_channel(address, options=[own, *options])
        files = [self.tls.ca, self.tls.key, self.tls.cert]
        shown = [None if each is None else Path(each).read_bytes() for each in files]
        credentials = grpc.ssl_channel_credentials(*shown)
        return grpc.aio.secure_channel(address, credentials, options=[own, *options])

    def _metrics(self) -> str:
        context = None if self.tls is None else ssl.create_default_context(cafile=self.tls.ca)
        scheme = "http" if context is None else "https"
        with urlopen(f"{scheme}://{self.http}/metrics", timeout=30, context=context) as answer:
            return str(answer.read(), "utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack: it returns a sentence with the figures that it measured, or raises `Broken`."""

    run: Callable[[Target], Coroutine[Any, Any, str]]
    #: The cluster that a test makes for it.
    nodes: int = 3
    plugins: Collection[str] = ()
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    #: The settings that take the ports of plugins' doors: {"zookeeper": "port"}. Every node gets
    #: free ones, and the target's `doors` are those of the first node.
    doors: Mapping[str, str] = field(default_factory=dict)
    tls: bool = False
    #: Changes the files of that cluster before its nodes start.
    prepare: Callable[[Cluster], None] = lambda _: None
    #: It stops, damages or replaces nodes, and so it runs against a cluster of its own alone.
    own_cluster: bool = False


def attacks() -> dict[str, Attack]:
    """Return every attack by the name of its module."""
    package = Path(__file__).parent
    found = {}
    for module in iter_modules([str(package)]):
        if module.name.startswith("test_") or module.name in ("attack", "__main__"):
            continue
        found[module.name] = import_module(f"tests.abuse.{module.name}").ATTACK
    return found
