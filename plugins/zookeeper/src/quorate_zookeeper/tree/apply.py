"""The handlers of the commands that change the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quorate.plugin import Txn
from quorate.plugin.advanced import still_due

from quorate_zookeeper.families import REAPING
from quorate_zookeeper.sessions.apply import demand_connection
from quorate_zookeeper.tree.changing import ENOUGH_BYTES, RefusedError, Tree
from quorate_zookeeper.tree.nodes import last_zxid
from quorate_zookeeper.v1 import commands_pb2 as pb
from quorate_zookeeper.wire import replies, requests
from quorate_zookeeper.wire.codes import Error, Op
from quorate_zookeeper.wire.jute import Record, ShortRecordError
from quorate_zookeeper.wire.requests import DataChange, Operation, UndecodableError

_DATA_CHANGED: Final = replies.HEADS[Op.SET_DATA]


def transact(txn: Txn, command: pb.Transact) -> pb.Transacted:
    """Apply all operations of a write, or none."""
    demand_connection(txn, command.session, command.connection)
    tree = Tree(txn, command.identities, command.session, enforces_quotas=command.enforce_quotas)
    record = Record(command.request)
    try:
        if command.type == Op.MULTI:
            return _carry_out_all(txn, tree, requests.operations(record))
        body = tree.apply(requests.operation(command.type, record))
        tree.commit()
    except (ShortRecordError, UndecodableError):
        return pb.Transacted(error=Error.MARSHALLING)
    except RefusedError as refusal:
        return pb.Transacted(zxid=last_zxid(txn), error=refusal.error)
    return pb.Transacted(zxid=txn.revision, body=body)


def _carry_out_all(
    txn: Txn, tree: Tree, operations: Sequence[Operation | list[DataChange]]
) -> pb.Transacted:
    # Two parts for each applied operation.
    results: list[bytes] = []
    tree.read_ahead(operations)
    try:
        for each in operations:
            if isinstance(each, list):
                tree.change_data(each, _DATA_CHANGED, results)
            else:
                body = tree.apply(each)
                results += replies.HEADS[each.type], body
        if operations:
            tree.commit()
    except RefusedError as refusal:
        count = sum(len(each) if isinstance(each, list) else 1 for each in operations)
        # A transaction that is too large as a whole fails at its last operation.
        failed_at = min(len(results) // 2, count - 1)
        body = replies.failed_multi(count, failed_at, refusal.error)
        return pb.Transacted(zxid=last_zxid(txn), body=body)
    return pb.Transacted(zxid=txn.revision if operations else 0, body=replies.multi(results))


def reap(txn: Txn, command: pb.Reap) -> None:
    """Delete empty containers, and empty znodes with an expired time to live."""
    tree = Tree(txn)
    removed = False
    for key in still_due(txn, REAPING, command.keys):
        if tree.changes_bytes > ENOUGH_BYTES:
            # The rest stays due.
            break
        path = key.decode()
        node = tree.node(path)
        txn.schedule(REAPING, key, None)
        if node is None or tree.child_count(path):
            # The deletion of the last child sets another deadline.
            continue
        ends_at_ms = node.modified_at_ms + node.ttl_ms
        if node.ttl_ms and ends_at_ms > txn.proposed_at_ms:
            txn.schedule(REAPING, key, ends_at_ms)
            continue
        tree.remove(path)
        removed = True
    if removed:
        tree.commit()
