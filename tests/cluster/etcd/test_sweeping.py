"""A deletion of a hundred thousand keys, while others read, write and watch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio
import pytest
from quorate.plugin.advanced import Stub
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

from tests.support.etcd.ours import Ours, started
from tests.support.etcd.peers import Peer, Refused

pytestmark = [pytest.mark.full, pytest.mark.timeout(1_200)]

KEYS = 100_000
#: Operations of one transaction.
AT_ONCE = 100
_FIRST, _END = b"k/", b"k0"
_LEASE = 7
#: No node loses an election by a machine that is busy with something else.
_TIMING = {"election_min_ms": 2_000, "election_max_ms": 4_000}


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Ours]:
    with started(tmp_path / "ours", nodes=3, timing=_TIMING) as nodes:
        yield nodes


@pytest.fixture
async def peer(ours: Ours) -> AsyncIterator[Peer]:
    peer = Peer(ours.port)
    yield peer
    await peer.close()


@pytest.fixture
async def channel(ours: Ours) -> AsyncIterator[grpc.aio.Channel]:
    options = (("grpc.max_receive_message_length", -1),)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{ours.port}", options) as channel:
        yield channel


async def asked(peer: Peer, service: str, method: str, request: object) -> object:
    answer = await peer.call(service, method, request)  # type: ignore[arg-type]
    assert not isinstance(answer, Refused), answer
    return answer


async def put_all(peer: Peer, lease: int = 0) -> int:
    """Put all keys, and return the revision."""

    async def put(first: int) -> int:
        keys = (b"k/%06d" % number for number in range(first, first + AT_ONCE))
        request = rpc.TxnRequest(
            success=[
                rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=b"v" * 20, lease=lease))
                for key in keys
            ]
        )
        answer = await asked(peer, "kv", "Txn", request)
        assert isinstance(answer, rpc.TxnResponse)
        return answer.header.revision

    revision = 0
    for first in range(0, KEYS, 4 * AT_ONCE):
        some = await asyncio.gather(*(put(first + AT_ONCE * each) for each in range(4)))
        revision = max(revision, *some)
    return revision


async def count(peer: Peer, revision: int = 0) -> int:
    request = rpc.RangeRequest(key=_FIRST, range_end=_END, count_only=True, revision=revision)
    answer = await asked(peer, "kv", "Range", request)
    assert isinstance(answer, rpc.RangeResponse)
    return answer.count


@asynccontextmanager
async def writing(peer: Peer) -> AsyncIterator[list[float]]:
    """Put another key again and again; yields how long each put has taken."""
    took_s: list[float] = []

    async def write() -> None:
        while True:
            began = time.monotonic()
            await asked(peer, "kv", "Put", rpc.PutRequest(key=b"other"))
            took_s.append(time.monotonic() - began)

    task = asyncio.create_task(write())
    yield took_s
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


def changed(events: Sequence[mvcc.Event], revision: int) -> list[bytes]:
    """Return the keys of the events of deletions, which are all of one revision."""
    assert {each.kv.mod_revision for each in events} == {revision}
    assert all(each.type == mvcc.Event.DELETE and each.prev_kv.value for each in events)
    return [each.kv.key for each in events]


@pytest.mark.parametrize("by", ["range", "lease"])
async def test_a_hundred_thousand_keys(peer: Peer, channel: grpc.aio.Channel, by: str) -> None:
    if by == "lease":
        await asked(peer, "lease", "LeaseGrant", rpc.LeaseGrantRequest(ID=_LEASE, TTL=3_600))
    before = await put_all(peer, _LEASE if by == "lease" else 0)
    watching = Stub(channel, rpc.DESCRIPTOR.services_by_name["Watch"]).Watch()
    create = rpc.WatchCreateRequest(key=_FIRST, range_end=_END, prev_kv=True)
    await watching.write(rpc.WatchRequest(create_request=create))
    assert (await watching.read()).created
    term = (await asked(peer, "kv", "Range", rpc.RangeRequest(key=b"k"))).header.raft_term  # type: ignore[attr-defined]
    async with writing(peer) as took_s:
        began = time.monotonic()
        if by == "range":
            done = await asked(
                peer, "kv", "DeleteRange", rpc.DeleteRangeRequest(key=_FIRST, range_end=_END)
            )
            assert isinstance(done, rpc.DeleteRangeResponse)
            assert done.deleted == KEYS
        else:
            await asked(peer, "lease", "LeaseRevoke", rpc.LeaseRevokeRequest(ID=_LEASE))
        answered_s = time.monotonic() - began
        assert (await count(peer), await count(peer, before)) == (0, KEYS)
        events = (await watching.read()).events
        told_s = time.monotonic() - began
        assert (await count(peer), await count(peer, before)) == (0, KEYS)
    assert changed(events, events[0].kv.mod_revision) == [b"k/%06d" % each for each in range(KEYS)]
    after = await asked(peer, "kv", "Put", rpc.PutRequest(key=b"other"))
    print(
        f"{by}: answered after {answered_s:.2f} s, watches told after {told_s:.1f} s, "
        f"{len(took_s)} puts beside it, the longest of {max(took_s):.2f} s"
    )
    assert after.header.raft_term == term  # type: ignore[attr-defined]
