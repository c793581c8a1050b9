"""The vocabulary of the plugin: commands with their handlers, queries and timers."""

from __future__ import annotations

from typing import Any, Final

from quorate.plugin import Command, Items, Query, Timer

from quorate_etcd import together
from quorate_etcd.auth import administering
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
_MEMBER: Final = members.Member(node="n1", client_urls=["http://h:2379"])
#: By handler: an example of its command.
_HANDLERS: Final[dict[Any, Any]] = {
    compacting.open_store: pb.Open(),
    transacting.transact: transacting.transact_of("", _PUT),
    together.transact_all: pb.TransactAll(writes=[transacting.transact_of("", _PUT)]),
    compacting.leap: pb.Leap(revision=1_000),
    compacting.compact: pb.Compact(revision=1),
    leases.grant_lease: pb.GrantLease(id=7, ttl_s=60),
    leases.renew_leases: pb.RenewLeases(ids=[7]),
    leases.measure_lease: pb.MeasureLease(id=7, keys=True),
    leases.revoke_lease: pb.RevokeLease(id=7),
    cluster.announce: members.Announce(member=_MEMBER),
    administering.administer: guard.Administer(user_add=guard.User(name="root"), secret=b"s"),
    administering.set_alarm: guard.SetAlarm(alarm=_ALARM, active=True),
}
_CHECKS: Final[dict[Any, Any]] = {pb.Transact: transacting.check}
#: Commands of timers: their keys may be those of several stores.
_DUE: Final[dict[Any, Any]] = {
    compacting.clean: pb.Clean(keys=[store_key("")]),
    leases.expire_leases: pb.ExpireLeases(keys=[lease_key(store_key(""), 7)]),
}


def _checked(message: Any, run: Any) -> Any:
    check = CHECKS.get(message)
    return run if check is None else checked(run, check)


COMMANDS: Final = (
    *(
        Command(
            message=type(example),
            group=GROUP,
            apply=_checked(type(example), apply),
            examples=(example,),
            shard_key=_of_store,
            validate=_CHECKS.get(type(example)),
        )
        for apply, example in _HANDLERS.items()
    ),
    *(
        Command(
            message=type(example),
            group=GROUP,
            apply=apply,
            examples=(example,),
            items=Items.of("keys", shard_key=store_of),
        )
        for apply, example in _DUE.items()
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
