"""Requests of clients that came together: each is answered as if it had come alone."""

from __future__ import annotations

from collections.abc import Iterator

from quorate.plugin import Reader, Rejected, Txn

from quorate_etcd.auth.checked import admit
from quorate_etcd.auth.permissions import Need, demand
from quorate_etcd.auth.rows import guard_of
from quorate_etcd.store import ranges, transacting
from quorate_etcd.store.view import View
from quorate_etcd.store.writing import Writing
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked


def transact_all(txn: Txn, command: pb.TransactAll) -> pb.AllTransacted:
    """Carry out writes that are `transacting.is_joint`, each in a revision of its own."""
    writing, guard = Writing(txn, command.store), guard_of(txn, command.store)
    answer = pb.AllTransacted()
    for each in command.writes:
        result = answer.results.add()
        try:
            admit(txn, guard, command.store, each)
            transacting.carry_out(writing, transacting.request_of(each), result.done)
        except Rejected as refusal:
            if writing.changed:
                raise RuntimeError("a write was refused when a part of it was done") from refusal
            result.refused.code, result.refused.text = refusal.code, refusal.message
        writing.begin()
    return answer


def get_all(reader: Reader, query: asked.GetAll) -> Iterator[asked.Got]:
    """Answer the newest pairs of keys."""
    view, guard = View(reader, query.store), guard_of(reader, query.store)
    for each in query.keys:
        got = asked.Got()
        try:
            if guard.auth_enabled:
                demand(reader, query.store, each.user, [Need(False, each.key)])
        except Rejected as refusal:
            got.refused.code, got.refused.text = refusal.code, refusal.message
        else:
            ranges.get(view, each.key, got.response)
        yield got
