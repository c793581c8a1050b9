"""What the history of a key is made of, asked for as etcd's clients do."""

from __future__ import annotations

import grpc.aio
from quorate.plugin.advanced import Stub
from quorate_etcd.wire import rpc_pb2 as rpc

from tests.support.linearizability.operations import (
    Call,
    Delete,
    Deleted,
    Get,
    Outcome,
    Put,
    Read,
    Refused,
    Written,
)
from tests.support.reach import CALL_S


async def ask_keys(channel: grpc.aio.Channel, key: bytes, call: Call) -> Outcome:
    """Carry out a call on a key; one that expects a revision is a transaction."""
    kv = Stub(channel, rpc.DESCRIPTOR.services_by_name["KV"])
    match call:
        case Get():
            found = await kv.Range(rpc.RangeRequest(key=key), timeout=CALL_S)
            return Read(found.kvs[0].value, found.kvs[0].mod_revision) if found.kvs else Read()
        case Put(value, None):
            put = rpc.PutRequest(key=key, value=value, prev_kv=True)
            written = await kv.Put(put, timeout=CALL_S)
            return Written(written.header.revision, not written.HasField("prev_kv"))
        case Delete(None):
            deleted = await kv.DeleteRange(rpc.DeleteRangeRequest(key=key), timeout=CALL_S)
            return Deleted(bool(deleted.deleted))
        case Put(value, expected):
            operation = rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=value))
        case Delete(expected):
            operation = rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=key))
    same = rpc.Compare(
        key=key, target=rpc.Compare.MOD, result=rpc.Compare.EQUAL, mod_revision=expected or 0
    )
    done = await kv.Txn(rpc.TxnRequest(compare=[same], success=[operation]), timeout=CALL_S)
    if not done.succeeded:
        return Refused()
    if isinstance(call, Put):
        return Written(done.header.revision, not expected)
    return Deleted(bool(done.responses[0].response_delete_range.deleted))
