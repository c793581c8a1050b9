from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from quorate.plugin.advanced import Stub
from quorate.testing.cluster import QUICK_ELECTIONS
from quorate.testing.waiting import until
from quorate.v1 import kv_pb2

from tests.support.proxied_cluster import ProxiedCluster


@pytest.mark.ci
def test_a_leader_that_is_cut_off_is_replaced_and_its_clients_still_reach_it(
    tmp_path: Path,
) -> None:
    with ProxiedCluster(tmp_path, settings={"timing": QUICK_ELECTIONS}) as cluster:
        cut_off = cluster.ready().leader(cluster.shard_of("metadata", b""))
        cluster.partition(cut_off.name)
        heir = until(lambda: other if (other := cluster.leader()) is not cut_off else None)
        stale = kv_pb2.GetPairRequest(key=b"k", stale=True)
        with grpc.insecure_channel(heir.address) as channel:
            kv = Stub(channel, kv_pb2.DESCRIPTOR.services_by_name["KvService"])
            revision = kv.Put(kv_pb2.PutPair(key=b"k", value=b"v"), timeout=20).revision
        with grpc.insecure_channel(cut_off.address) as channel:
            kv = Stub(channel, kv_pb2.DESCRIPTOR.services_by_name["KvService"])
            assert not kv.Get(stale, timeout=20).HasField("pair")
            cluster.partition(cut_off.name, clients=True)
            with pytest.raises(grpc.RpcError) as silent:
                kv.Get(stale, timeout=0.2)
            assert silent.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            cluster.heal()
            newest = kv_pb2.GetPairRequest(key=b"k", min_revision=revision)
            assert kv.Get(newest, timeout=20).pair.value == b"v"
