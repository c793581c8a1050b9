from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryNode
from quorate_etcd.config import EtcdConfig
from quorate_etcd.serving.kv import KV
from quorate_etcd.serving.lease import Lease
from quorate_etcd.serving.store import Store
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc


class Played:
    """A store without network: its services, and the rows that they make."""

    def __init__(self, node: MemoryNode, name: str = "", **settings: object) -> None:
        self.node = node
        config = EtcdConfig.model_validate(settings)
        self.store = Store(node, config, name, lambda at: rpc.ResponseHeader(revision=at))
        self.kv: Any = KV(self.store)
        self.lease: Any = Lease(self.store)

    async def put(self, key: bytes, value: bytes = b"", lease: int = 0) -> int:
        request = rpc.PutRequest(key=key, value=value, lease=lease)
        answer: rpc.PutResponse = await self.kv.Put(request, None)
        return answer.header.revision

    async def delete(self, key: bytes, end: bytes = b"") -> int:
        request = rpc.DeleteRangeRequest(key=key, range_end=end)
        answer: rpc.DeleteRangeResponse = await self.kv.DeleteRange(request, None)
        return answer.header.revision

    async def range(self, key: bytes = b"\0", end: bytes = b"\0", **more: Any) -> rpc.RangeResponse:
        request = rpc.RangeRequest(key=key, range_end=end, **more)
        answer: rpc.RangeResponse = await self.kv.Range(request, None)
        return answer

    async def pairs(self, revision: int = 0) -> dict[bytes, mvcc.KeyValue]:
        return {each.key: each for each in (await self.range(revision=revision)).kvs}

    async def compact(self, revision: int, *, physical: bool = True) -> None:
        await self.kv.Compact(rpc.CompactionRequest(revision=revision, physical=physical), None)

    async def grant(self, number: int, ttl_s: int = 60) -> None:
        await self.lease.LeaseGrant(rpc.LeaseGrantRequest(ID=number, TTL=ttl_s), None)

    async def refused(self, service: Any, method: str, request: Any) -> tuple[str, str]:
        with pytest.raises(Rejected) as raised:
            await getattr(service, method)(request, None)
        return raised.value.code, raised.value.message


@pytest.fixture
async def node() -> AsyncIterator[MemoryNode]:
    """Return a node in memory, without a port."""
    async with MemoryNode(["etcd"], at_ms=1_000_000) as opened:
        yield opened


@pytest.fixture
def played(node: MemoryNode) -> Played:
    """Return the store without a name."""
    return Played(node)
