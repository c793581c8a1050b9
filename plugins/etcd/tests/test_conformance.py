from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate_etcd.families import lease_key, store_key
from quorate_etcd.store.transacting import transact_of
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows
from quorate_etcd.wire import rpc_pb2 as rpc


def put(key: bytes, value: bytes, *, lease: int = 0, store: str = "") -> pb.Transact:
    return transact_of(store, rpc.PutRequest(key=key, value=value, lease=lease, prev_kv=True))


class TestEtcd(PluginConformance):
    plugin = "etcd"
    wire = ("quorate_etcd.wire",)

    def log(self) -> Sequence[Message]:
        return self._around(super().log()[1:])

    def under_faults(self) -> Sequence[Message]:
        """The examples come once: one of them fills the store, and most are refused after it."""
        return self._around(self._examples()[1:])

    def _around(self, examples: Sequence[Message]) -> list[Message]:
        nested = rpc.TxnRequest(
            compare=[rpc.Compare(target=rpc.Compare.VALUE, key=b"/a", value=b"2")],
            success=[
                rpc.RequestOp(request_put=rpc.PutRequest(key=b"/c", value=b"3")),
                rpc.RequestOp(request_range=rpc.RangeRequest(key=b"/", range_end=b"0")),
            ],
        )
        everything = rpc.DeleteRangeRequest(key=b"\0", range_end=b"\0", prev_kv=True)
        return [
            pb.Open(),
            pb.GrantLease(id=7, ttl_s=60),
            pb.GrantLease(id=8, ttl_s=60),
            put(b"/a", b"1", lease=7),
            put(b"/a", b"2"),
            put(b"/b", b"1", lease=8),
            put(b"/b", b"large" * 300_000),
            put(b"/x", b"", lease=9),
            transact_of("", nested),
            pb.Compact(revision=3),
            pb.Compact(revision=2),
            transact_of("", everything),
            *examples,
            put(b"/a", b"", store="events"),
            pb.GrantLease(id=8, ttl_s=60),
            pb.ExpireLeases(keys=[lease_key(store_key(""), 8), lease_key(store_key("x"), 1)]),
        ]

    def queries(self) -> Sequence[Message]:
        everything = rpc.RangeRequest(key=b"\0", range_end=b"\0", revision=5)
        return [
            *super().queries(),
            asked.Find(request=everything, wanted=10),
            asked.Find(request=everything, wanted=0),
            asked.Evaluate(request=rpc.TxnRequest()),
            asked.History(ranges=[asked.KeyRange(range_end=b"\0")], previous=True),
            asked.FindVersions(places=[rows.Place(revision=2)]),
            asked.Stand(),
            asked.FindLeases(),
        ]
