"""The vocabulary of the plugin: commands with their handlers, queries and timers."""

from __future__ import annotations

from typing import Any, Final

from quorate.plugin import Command, Items, Query, Timer

from quorate_etcd import together
from quorate_etcd.auth import administering, alarms
from quorate_etcd.auth.checked import CHECKS, checked
from quorate_etcd.families import COMPACTION, GROUP, LIVENESS, lease_key, store_key, store_of
from quorate_etcd.serving import cluster
from quorate_etcd.store import compacting, history, leases, ranges, transacting
from quorate_etcd.v1 import (
    cluster_pb2 as members,
    commands_pb2 as pb,
    guard_pb2 as guard,
    queries_pb2 as asked,
)
from quorate_etcd.wire import rpc_pb2 as rpc


def _of_store(message: Any) -> bytes:
    return store_key(message.store)


_PUT: Final = rpc.PutRequest(key=b"/a", value=b"1")
_ALARM: Final = rpc.AlarmMember(memberID=7, alarm=rpc.NOSPACE)
_HANDLERS: Final[tuple[tuple[Any, Any, tuple[Any, ...]], ...]] = (
    (pb.Open, compacting.open_store, (pb.Open(),)),
    (pb.Transact, transacting.transact, (transacting.transact_of("", _PUT),)),
    (
        pb.TransactAll,
        together.transact_all,
        (pb.TransactAll(writes=[transacting.transact_of("", _PUT)]),),
    ),
    (pb.Leap, compacting.leap, (pb.Leap(revision=1_000),)),
    (pb.Compact, compacting.compact, (pb.Compact(revision=1),)),
    (pb.GrantLease, leases.grant_lease, (pb.GrantLease(id=7, ttl_s=60),)),
    (pb.RenewLeases, leases.renew_leases, (pb.RenewLeases(ids=[7]),)),
    (pb.MeasureLease, leases.measure_lease, (pb.MeasureLease(id=7, keys=True),)),
    (pb.RevokeLease, leases.revoke_lease, (pb.RevokeLease(id=7),)),
    (
        members.Announce,
        cluster.announce,
        (members.Announce(member=members.Member(node="n1", client_urls=["http://h:2379"])),),
    ),
    (
        guard.Administer,
        administering.administer,
        (guard.Administer(user_add=guard.User(name="root"), secret=b"s"),),
    ),
    (guard.SetAlarm, alarms.set_alarm, (guard.SetAlarm(alarm=_ALARM, active=True),)),
)
_CHECKS: Final[dict[Any, Any]] = {pb.Transact: transacting.check}
#: Commands of timers: their keys may be those of several stores.
_DUE: Final[tuple[tuple[Any, Any, tuple[Any, ...]], ...]] = (
    (pb.Clean, compacting.clean, (pb.Clean(keys=[store_key("")]),)),
    (
        pb.ExpireLeases,
        leases.expire_leases,
        (pb.ExpireLeases(keys=[lease_key(store_key(""), 7)]),),
    ),
)


def _checked(message: Any, run: Any) -> Any:
    check = CHECKS.get(message)
    return run if check is None else checked(run, check)


COMMANDS: Final = (
    *(
        Command(
            message=message,
            group=GROUP,
            apply=_checked(message, apply),
            examples=examples,
            shard_key=_of_store,
            validate=_CHECKS.get(message),
        )
        for message, apply, examples in _HANDLERS
    ),
    *(
        Command(
            message=message,
            group=GROUP,
            apply=apply,
            examples=examples,
            items=Items.of("keys", shard_key=store_of),
        )
        for message, apply, examples in _DUE
    ),
)
QUERIES: Final[tuple[Query[Any], ...]] = tuple(
    Query(message=message, group=GROUP, run=_checked(message, run), shard_key=_of_store)
    for message, run in (
        (asked.Find, ranges.find),
        (asked.GetAll, together.get_all),
        (asked.Evaluate, transacting.evaluate),
        (asked.History, history.history),
        (asked.FindVersions, history.find_versions),
        (asked.Stand, compacting.stand),
        (asked.FindLeases, leases.find_leases),
        (members.FindMembers, cluster.find_members),
        (guard.FindGuard, administering.find_guard),
    )
)
TIMERS: Final = (
    Timer(
        name=LIVENESS,
        group=GROUP,
        due=lambda due: pb.ExpireLeases(keys=due),
        batch=100,
        liveness=True,
    ),
    Timer(name=COMPACTION, group=GROUP, due=lambda due: pb.Clean(keys=due), batch=1),
)
