"""Checks requests where they are evaluated, against the rows of that moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from quorate.plugin import Reader, Txn

from quorate_etcd import errors
from quorate_etcd.auth.permissions import Need, demand, demand_root, needs, rights_of
from quorate_etcd.auth.rows import guard_of
from quorate_etcd.store.transacting import request_of
from quorate_etcd.v1 import commands_pb2 as pb, guard_pb2 as pb_guard, queries_pb2 as asked
from quorate_etcd.wire import rpc_pb2 as rpc

Check = Callable[[Reader, Any], None]


def checked(apply: Any, check: Check) -> Any:
    """Return a handler, of a command or a query, that runs after a check."""

    def run(reader: Txn | Reader, message: Any) -> Any:
        check(reader, message)
        return apply(reader, message)

    return run


def admit(reader: Reader, guard: pb_guard.Guard, store: str, command: pb.Transact) -> None:
    """Refuse a write that its user may not make, or for which there is no space."""
    if not (guard.auth_enabled or guard.alarms):
        return
    request = request_of(command)
    if guard.auth_enabled:
        demand(reader, store, command.user, needs(request))
    if guard.alarms:
        _demand_space(guard, request)


def _transact(reader: Reader, command: pb.Transact) -> None:
    admit(reader, guard_of(reader, command.store), command.store, command)


def _demand_space(guard: pb_guard.Guard, request: Any) -> None:
    """Refuse more pairs while there is no space for them, and all writes of a corrupt store."""
    kinds = {each.alarm for each in guard.alarms}
    if rpc.CORRUPT in kinds:
        errors.CORRUPT.refuse()
    if rpc.NOSPACE in kinds and _puts(request):
        errors.NO_SPACE.refuse()


def _puts(request: Any) -> bool:
    if isinstance(request, rpc.TxnRequest):
        operations = (*request.success, *request.failure)
        return any(
            each.HasField("request_put")
            or (each.HasField("request_txn") and _puts(each.request_txn))
            for each in operations
        )
    return isinstance(request, rpc.PutRequest)


def _grant(reader: Reader, command: pb.GrantLease) -> None:
    _any_user(reader, command)
    guard = guard_of(reader, command.store)
    if any(each.alarm == rpc.NOSPACE for each in guard.alarms):
        errors.NO_SPACE.refuse()


def _revoke(reader: Reader, command: pb.RevokeLease) -> None:
    demand(reader, command.store, command.user, [Need(True, lease=command.id)])


def _measure(reader: Reader, command: pb.MeasureLease) -> None:
    needed = [Need(False, lease=command.id)] if command.keys else []
    demand(reader, command.store, command.user, needed)


def _root(reader: Reader, command: Any) -> None:
    demand_root(reader, command.store, command.user)


def _any_user(reader: Reader, message: Any) -> None:
    if guard_of(reader, message.store).auth_enabled:
        rights_of(reader, message.store, message.user)


def _ranges(reader: Reader, query: Any) -> None:
    demand(reader, query.store, query.user, needs(query.request))


#: By message: the check of a command or a query.
CHECKS: Final[dict[type, Check]] = {
    pb.Transact: _transact,
    pb.Compact: _root,
    pb.GrantLease: _grant,
    pb.RevokeLease: _revoke,
    pb.MeasureLease: _measure,
    pb_guard.SetAlarm: _root,
    asked.Find: _ranges,
    asked.Evaluate: _ranges,
    asked.FindLeases: _any_user,
}
