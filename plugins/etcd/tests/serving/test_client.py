"""The client of the how-to, over the wire."""

from __future__ import annotations

import grpc.aio
from quorate.plugin.advanced import Stub
from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports
from quorate_etcd.wire import rpc_pb2 as rpc


async def take_over(address: str, job: bytes, worker: bytes) -> bool:
    """Take a job unless another worker has it; it is free again 10 s after this one has died."""
    async with grpc.aio.insecure_channel(address) as channel:
        kv, lease = (
            Stub(channel, rpc.DESCRIPTOR.services_by_name[name]) for name in ("KV", "Lease")
        )
        granted = await lease.LeaseGrant(rpc.LeaseGrantRequest(TTL=10))
        is_free = rpc.Compare(target=rpc.Compare.CREATE, key=job, create_revision=0)
        put = rpc.PutRequest(key=job, value=worker, lease=granted.ID)
        taken = rpc.TxnRequest(compare=[is_free], success=[rpc.RequestOp(request_put=put)])
        return bool((await kv.Txn(taken)).succeeded)


async def test_a_job_has_one_worker_until_its_lease_ends() -> None:
    [port] = free_ports(0)
    address = f"127.0.0.1:{port}"
    async with MemoryNode(["etcd"], config={"etcd": {"port": port}}, at_ms=1_000_000) as node:
        assert await take_over(address, b"jobs/1", b"ann")
        assert not await take_over(address, b"jobs/1", b"ben")
        await node.advance(10_001)
        assert await take_over(address, b"jobs/1", b"ben")
