"""Shards and nodes that know tenant `acme` and brokers: what sessions and their tests need."""

from asyncio import run
from collections.abc import Callable, Mapping
from functools import cache

import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import keys
from quorate.plugin.catalog import Catalog
from quorate.plugin.resource import TENANTS
from quorate.testing import MemoryNode, MemoryTxn
from quorate.testing.installed import catalog_of
from quorate.v1.cluster_pb2 import Broker, RegisterBroker, UnregisterBroker
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.session_quota.quota import PLACE_KEY, PLACES
from quorate_mqtt.v1.quotas_pb2 import ShardPlace
from quorate_mqtt.v1.sessions_pb2 import SessionConnect
from quorate_mqtt.v1.wills_pb2 import Will

PLUGINS = ("cluster", "tenant", "mqtt")


@cache
def catalog() -> Catalog:
    return catalog_of(PLUGINS)


def broker_rows(epochs: Mapping[str, int], roles: Mapping[str, str]) -> dict[bytes, bytes]:
    return {
        keys.pack(name): Broker(
            name=name, epoch=epoch, roles=[roles.get(name, "mqtt")]
        ).SerializeToString(deterministic=True)
        for name, epoch in epochs.items()
    }


@pytest.fixture
def shard() -> Callable[..., MemoryTxn]:
    """Make a transaction of the one shard: `shard(north=1, south=2)` names live brokers."""

    def make(
        *,
        at_ms: int = 1_000,
        limits: Mapping[str, int] | None = None,
        roles: Mapping[str, str] | None = None,
        place: ShardPlace | None = None,
        rows: Mapping[str, Mapping[bytes, bytes]] | None = None,
        **brokers: int,
    ) -> MemoryTxn:
        tenant = Tenant(name="acme", limits=limits or {})
        stands = place or ShardPlace(slots=1_024, shards=1)
        return MemoryTxn(
            at_ms=at_ms,
            plugin="mqtt",
            catalog=catalog(),
            rows={
                BROKERS: broker_rows(brokers or {"north": 1, "south": 2}, roles or {}),
                TENANTS: {keys.pack("acme"): tenant.SerializeToString(deterministic=True)},
                PLACES: {PLACE_KEY: stands.SerializeToString(deterministic=True)},
                **(rows or {}),
            },
        )

    return make


@pytest.fixture
def client() -> Callable[..., SessionConnect]:
    """Make a connect of one client; `will` is the delay of its will in seconds."""

    def make(
        client_id: str = "ada",
        *,
        tenant: str = "acme",
        connection: int = 0,
        expiry: int = 60,
        clean: bool = False,
        will: int | None = None,
        payload: bytes = b"",
    ) -> SessionConnect:
        arrival = SessionConnect(
            tenant=tenant,
            client_id=client_id,
            connection_id=connection,
            expiry_interval_s=expiry,
            clean_start=clean,
            payload=payload,
        )
        if will is not None:
            arrival.will.CopyFrom(Will(topic="gone", payload=b"bye", qos=1, delay_interval_s=will))
        return arrival

    return make


class Net:
    """A node with tenants and brokers that come and go."""

    def __init__(self, node: MemoryNode) -> None:
        self.node = node
        run(node.propose(CreateTenant(name="acme"), Tenant))
        self.epochs = {name: self.register(name) for name in ("north", "south")}

    def register(self, name: str, role: str = "mqtt") -> int:
        command = RegisterBroker(name=name, cluster_name="test", roles=[role], ttl_ms=3_600_000)
        return run(self.node.propose(command, Broker)).epoch

    def kill(self, name: str) -> None:
        run(self.node.propose(UnregisterBroker(name=name, epoch=self.epochs[name]), Empty))


@pytest.fixture
def net() -> Net:
    """Give a node of three shards with tenant `acme` and brokers `north` and `south`."""
    return Net(MemoryNode(catalog=catalog(), shards={"mqtt": 3}, at_ms=1_000))
