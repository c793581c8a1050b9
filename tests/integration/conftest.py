"""A node with every installed plugin, and a way to throw any bytes at any of its methods."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio
import pytest
import pytest_asyncio
import quorate.v1
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.rpc import error_details_pb2, status_pb2
from grpc_reflection.v1alpha import reflection_pb2
from quorate.apply import levels
from quorate.config import load
from quorate.consensus.journal import Position
from quorate.consensus.messages import Peer
from quorate.consensus.peer.proofs import token_hash
from quorate.consensus.peer.wire import Handshake, encode_handshake
from quorate.node.node import Node
from quorate.plugin.advanced import Stub
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import installed
from quorate.rpc.channels import PEER_KEY
from quorate.rpc.status import DETAILS_KEY, detail
from quorate.testing.ports import free_ports
from quorate_mqtt.session_quota.quota import PLACE_KEY, PLACES
from quorate_mqtt.shards import GROUP as MQTT
from quorate_mqtt.v1.quotas_pb2 import ShardPlace

from tests.support.one_node import run_node

NODE: Final = "n1"
TOKEN: Final = "integration"
#: The plugin that shows how one is made is installed where it is tried, and is not served.
EXAMPLES: Final = ("featureflags", "greeting", "notebook")
#: A node that the cluster knows, and that never runs.
OTHER: Final = Peer("n2", 2)
#: Where a shard for MQTT keeps what it knows of itself.
PLACE: Final = (PLACE_KEY, PLACE_KEY + b"\x00")
#: What a call that is not answered by then has hung.
CALL_S: Final = 20.0

#: What gRPC makes of a status that comes while requests are being sent.
_CUT_SHORT: Final = "Internal error from Core"

#: Smaller than by default, so that what is too large is quickly made.
LIMITS: Final = {
    "key_bytes": 4_096,
    "value_bytes": 128 << 10,
    "command_bytes": 256 << 10,
    "grpc_message_bytes": 512 << 10,
    # As many as the largest batch that a controller makes.
    "batch_items": 1_024,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a call: the messages, and the status that it ended with."""

    messages: list[bytes]
    code: grpc.StatusCode
    details: str
    status: status_pb2.Status = field(default_factory=status_pb2.Status)

    @property
    def fields(self) -> list[str]:
        """The fields that are blamed."""
        return fields_of(self.status)


def fields_of(status: status_pb2.Status) -> list[str]:
    """Return the fields that a status blames."""
    violations = detail(status, error_details_pb2.BadRequest).field_violations
    return [violation.field for violation in violations]


class Served:
    """A node, and what tests ask it from outside."""

    def __init__(
        self, node: Node, catalog: Catalog, channel: grpc.aio.Channel, address: str
    ) -> None:
        self.address = address
        self.node = node
        self.catalog = catalog
        self.channel = channel
        self._methods: dict[str, MethodDescriptor] = {}

    async def services(self) -> dict[str, ServiceDescriptor]:
        """Return what the node serves: what reflection lists, and what quorate.v1 declares."""
        stub = Stub(self.channel, reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"])
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        found = stub.ServerReflectionInfo(iter([request]), timeout=CALL_S)
        names = {
            service.name async for each in found for service in each.list_services_response.service
        }
        for module in pkgutil.iter_modules(quorate.v1.__path__):
            if module.name.endswith("_pb2"):
                file = importlib.import_module(f"quorate.v1.{module.name}").DESCRIPTOR
                names |= {each.full_name for each in file.services_by_name.values()}
        pool = descriptor_pool.Default()
        return {name: pool.FindServiceByName(name) for name in sorted(names)}

    async def methods(self) -> dict[str, MethodDescriptor]:
        """Return every method, by `/service/method`; a node is asked once."""
        if not self._methods:
            self._methods = {
                f"/{name}/{method.name}": method
                for name, service in (await self.services()).items()
                for method in service.methods
            }
        return self._methods

    async def call(
        self,
        method: str,
        *requests: bytes,
        admitted: bool = False,
        timeout_s: float = CALL_S,
        most: int | None = None,
        token: str = "",
    ) -> Answer:
        """Send these bytes to a method, and take what it answers, or no more than `most` of it.

        With `admitted` the caller shows that it is another node of the cluster, with a token that
        it is a user. On the wire a method of one message is a stream of one: any number of them
        goes to any method.
        """
        shown: list[tuple[str, str | bytes]] = []
        if admitted:
            shown.append((PEER_KEY, self.handshake()))
        if token:
            shown.append(("authorization", f"Bearer {token}"))
        call: Any = self.channel.stream_stream(method, None, None)(
            iter(requests), timeout=timeout_s, metadata=shown
        )
        messages: list[bytes] = []
        try:
            async for message in call:
                messages.append(message)
                if len(messages) == most:
                    call.cancel()
                    return Answer(messages=messages, code=grpc.StatusCode.OK, details="")
        except grpc.aio.AioRpcError as error:
            metadata: Any = error.trailing_metadata() or ()
            trailing = dict(metadata)
            content = trailing.get(DETAILS_KEY, b"")
            assert isinstance(content, bytes)
            if error.details() == _CUT_SHORT and not content:
                code, details = grpc.StatusCode.CANCELLED, "cut short"
                return Answer(messages=messages, code=code, details=details)
            return Answer(
                messages=messages,
                code=error.code(),
                details=error.details() or "",
                status=status_pb2.Status.FromString(content),
            )
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # gRPC ends the call by itself when the node does while requests are being sent.
            return Answer(messages=messages, code=grpc.StatusCode.CANCELLED, details="cut short")
        return Answer(messages=messages, code=grpc.StatusCode.OK, details="")

    async def refused_or_not(self, method: str, *requests: bytes, **how: Any) -> Answer:
        """Call again when gRPC ended the call while it was sending, and took no status."""
        while True:
            answer = await self.call(method, *requests, **how)
            if answer.details != "cut short":
                return answer

    def handshake(self) -> bytes:
        """Return what another node of the cluster would show."""
        mine = self.node.network.handshake(OTHER.node)
        return encode_handshake(
            # Under a membership that is newer than the node's own, which cannot judge it.
            Handshake(OTHER, mine.cluster, token_hash(TOKEN), mine.config_index + 1, NODE)
        )

    def last_entries(self) -> dict[str, Position]:
        """Return the newest entry of each shard's log."""
        return {str(shard.id): shard.replica.log.last for shard in self.node.shards.all()}

    def rows(self, group: str) -> dict[str, list[tuple[bytes, bytes]]]:
        """Return the rows of every shard of a group, by shard and column family."""
        return {
            f"{shard.id} {name}": list(shard.data.view(name).iterate(b"", None))
            for shard in self.node.shards.all()
            for name, family in self.catalog.families.items()
            if family.group == shard.id.group == group
        }

    def digests(self) -> dict[str, str]:
        """Return what the rows of each shard come to, of every family."""
        found = {}
        for shard in self.node.shards.all():
            digest = shard.data.digest()
            while not digest.step():
                pass
            found[str(shard.id)] = digest.hexdigest()
        return found


def seated(node: Node) -> bool:
    """Tell whether the shards for MQTT were counted: nothing is logged by itself any more."""
    shards = [shard for shard in node.shards.all() if shard.id.group == MQTT]
    # The family is private: its rows have no revision in front.
    places = [row for shard in shards for _, row in shard.data.view(PLACES).iterate(*PLACE)]
    known = [ShardPlace.FromString(row).shards for row in places]
    return known == [len(shards)] * len(shards)


@asynccontextmanager
async def serving(directory: Path, shards: int = 3) -> AsyncIterator[Served]:
    """Run a cluster of one node, which knows of another one, until it is not used any more."""
    port, http_port, nobody = free_ports(0, 1, 2)
    limits = "\n".join(f"{name} = {value}" for name, value in LIMITS.items())
    path = directory / "node.toml"
    path.write_text(
        f"""
        [node]
        name = "{NODE}"
        port = {port}
        http_port = {http_port}
        dir = "{directory / NODE}"
        reflection = true
        [cluster]
        token = "{TOKEN}"
        [groups.metadata]
        shards = {shards}
        [canary]
        period_ms = 0
        [limits]
        {limits}
        """
    )
    catalog = build([plugin for plugin in installed() if plugin.name not in EXAMPLES])
    patched = pytest.MonkeyPatch()
    # Tests show the hash of the token, as nodes of the former release do during an upgrade.
    patched.setattr(levels, "CHALLENGED_FROM", levels.CORE_LEVEL + 1)
    try:
        async with run_node(load(path, catalog.sections, {}), catalog) as node:
            entries: list[Position] = []
            async with asyncio.timeout(CALL_S):
                while not seated(node) or entries != (
                    entries := [shard.replica.log.last for shard in node.shards.all()]
                ):
                    # Controllers begin, and log what they find to do at once, within a second.
                    await asyncio.sleep(1.0)
            node.network.know({OTHER.node: f"127.0.0.1:{nobody}"})
            address = f"127.0.0.1:{port}"
            async with grpc.aio.insecure_channel(address) as channel:
                yield Served(node, catalog, channel, address)
    finally:
        patched.undo()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """A node for all tests of a module, none of which may change what it has."""
    async with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(scope="session")
def start() -> Callable[..., AbstractAsyncContextManager[Served]]:
    """Start a node of its own for a test: the directory, and how many shards it has."""
    return serving
