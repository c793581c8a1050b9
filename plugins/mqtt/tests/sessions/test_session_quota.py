from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryNode, MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import Tenant, UpdateTenant
from quorate_mqtt.session_quota.controllers import (
    PROBES,
    QUOTA_BALANCE,
    divide,
    move_quotas as run_once,
)
from quorate_mqtt.session_quota.quota import LIMIT, QUOTAS, place_of, quota_of, sessions_of
from quorate_mqtt.session_quota.resource import move_quotas, place_shards
from quorate_mqtt.sessions.apply import connect_sessions
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.ledger import connections, departs
from quorate_mqtt.v1.quotas_pb2 import (
    ListSessionCounts,
    MoveQuotas,
    PlaceShards,
    QuotaMove,
    QuotaMoved,
    SessionCount,
    ShardPlace,
)
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectSessions,
    DeleteSession,
    DeleteSessionReply,
    SessionConnect,
)

from plugins.mqtt.tests.sessions.single import delete_session

Client = Callable[..., SessionConnect]
Shard = Callable[..., MemoryTxn]


def connect(txn: MemoryTxn, arrivals: list[SessionConnect]) -> BatchReply:
    return connect_sessions(
        txn, ConnectSessions(broker="north", broker_epoch=1, connections=arrivals)
    )


def refused(reply: BatchReply) -> list[tuple[int, str]]:
    return [(each.item, each.code) for each in reply.refusals]


def test_a_limit_is_exact_with_one_shard(shard: Shard, client: Client) -> None:
    txn = shard(limits={LIMIT: 2})

    reply = connect(txn, [client("ada"), client("ben"), client("cleo"), client("ada")][:3])

    assert refused(reply) == [(2, "LIMIT_REACHED")]
    assert len(txn.rows(SESSIONS)) == 2


def test_who_has_a_session_needs_no_room(shard: Shard, client: Client) -> None:
    txn = shard(limits={LIMIT: 1})
    connect(txn, [client("ada")])

    for clean in (False, True):
        assert refused(connect(txn, [client("ada", clean=clean)])) == []

    assert sessions_of(txn, "acme") == 1


def test_a_session_that_ends_gives_room(shard: Shard, client: Client) -> None:
    txn = shard(limits={LIMIT: 1})
    connect(txn, [client("ada")])
    delete_session(txn, DeleteSession(tenant="acme", client_id="ada"))

    assert refused(connect(txn, [client("ben")])) == []


def test_sessions_are_counted_without_a_limit_as_well(shard: Shard, client: Client) -> None:
    txn = shard()

    connect(txn, [client("ada"), client("ben")])

    assert sessions_of(txn, "acme") == 2


def test_a_session_that_went_to_another_shard_is_counted_there_alone(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    connect(txn, [client("ada"), client("ben"), client("cleo")])
    delete_session(txn, DeleteSession(tenant="acme", client_id="cleo"))
    assert dict(connections(txn)) == {1: 2}

    [(key, value), _] = txn.rows(SESSIONS).items()
    departs(txn, key, value)

    assert sessions_of(txn, "acme") == 1
    assert dict(connections(txn)) == {1: 1}


def test_before_shards_were_counted_a_limited_tenant_has_no_room(
    shard: Shard, client: Client
) -> None:
    txn = shard(limits={LIMIT: 9}, place=ShardPlace())

    assert refused(connect(txn, [client("ada")])) == [(0, "LIMIT_REACHED")]


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 1_024])
@pytest.mark.parametrize("limit", [0, 1, 5, 100])
def test_even_parts_come_to_the_limit(shard: Shard, shards: int, limit: int) -> None:
    txn = shard()
    parts = [
        quota_of(txn, "acme", limit, ShardPlace(shards=shards, shard=number))
        for number in range(shards)
    ]

    assert sum(parts) == limit
    assert max(parts) - min(parts) <= 1


def count(shard: int, sessions: int, quota: int, limit: int = 100) -> SessionCount:
    return SessionCount(tenant="acme", shard=shard, sessions=sessions, quota=quota, limit=limit)


@pytest.mark.parametrize(
    ("held", "falling", "rising"),
    [
        ([(10, 50), (20, 50)], {}, {}),
        ([(50, 50), (0, 50)], {1: 25}, {0: 75}),
        ([(0, 34), (0, 33), (0, 33)], {}, {}),
        ([(34, 34), (0, 33), (0, 33)], {1: 22, 2: 22}, {0: 56}),
        # Too many are there since the limit was lowered.
        ([(80, 50), (40, 50)], {1: 40}, {0: 80}),
        ([(80, 80), (40, 40)], {}, {}),
        # A quota that was lost between two moves.
        ([(10, 11), (10, 50)], {}, {0: 50}),
    ],
)
def test_room_goes_where_it_is_scarce(
    held: list[tuple[int, int]], falling: dict[int, int], rising: dict[int, int]
) -> None:
    counts = [count(number, *each) for number, each in enumerate(held)]

    assert divide(counts) == (falling, rising)


def test_a_share_never_falls_below_what_is_there(shard: Shard, client: Client) -> None:
    txn = shard(limits={LIMIT: 10}, place=ShardPlace(shards=2, slots=512))
    connect(txn, [client(f"c{number}") for number in range(4)])
    move = QuotaMove(probe=PROBES[0], tenant="acme", limit=10, quota=1)

    reply = move_quotas(txn, MoveQuotas(moves=[move]))

    assert QuotaMoved.FromString(reply.replies[0]).quota == 4
    assert refused(connect(txn, [client("more")])) == [(0, "LIMIT_REACHED")]


def test_a_share_of_another_limit_counts_for_nothing(shard: Shard) -> None:
    txn = shard(limits={LIMIT: 10}, place=ShardPlace(shards=2))
    move = QuotaMove(probe=PROBES[0], tenant="acme", limit=8, quota=7)
    move_quotas(txn, MoveQuotas(moves=[move]))

    assert quota_of(txn, "acme", 8, place_of(txn)) == 7
    assert quota_of(txn, "acme", 10, place_of(txn)) == 5


def test_a_leader_of_an_earlier_term_is_not_heard(shard: Shard) -> None:
    txn = shard(place=ShardPlace(shards=2, term=5, slots=1))
    numbering = PlaceShards(term=4, shards=2, probes=PROBES[:2])
    moving = MoveQuotas(term=4, moves=[QuotaMove(probe=PROBES[0], tenant="acme", quota=9)])

    with pytest.raises(Rejected, match="ABORTED"):
        place_shards(txn, numbering)
    with pytest.raises(Rejected, match="ABORTED"):
        move_quotas(txn, moving)

    assert txn.rows(QUOTAS) == {}
    place_shards(txn, PlaceShards(term=5, shards=2, probes=PROBES[:2]))


def proposed(node: MemoryNode) -> list[str]:
    names = {"PlaceShards", "MoveQuotas"}
    return [type(each).__name__ for each in node.proposals if type(each).__name__ in names]


def limit(net: Any, most: int) -> None:
    run(net.node.propose(UpdateTenant(name="acme", limits={LIMIT: most}), Tenant))


def connect_all(net: Any, arrivals: list[SessionConnect]) -> BatchReply:
    command = ConnectSessions(
        broker="north", broker_epoch=net.epochs["north"], connections=arrivals
    )
    reply: BatchReply = run(net.node.propose(command, BatchReply))
    return reply


def counts(node: MemoryNode) -> list[SessionCount]:
    async def read() -> list[SessionCount]:
        return [each async for each in node.query(ListSessionCounts(), SessionCount)]

    return run(read())


def test_the_shards_are_counted_once_a_term(net: Any) -> None:
    node = net.node
    run(node.run_controller(QUOTA_BALANCE.name))
    assert proposed(node) == ["PlaceShards", "PlaceShards"]
    limit(net, 7)
    assert [(each.shard, each.quota) for each in counts(node)] == [(0, 3), (1, 2), (2, 2)]

    run(node.run_controller(QUOTA_BALANCE.name))
    assert proposed(node) == ["PlaceShards", "PlaceShards"]
    node.elect("mqtt")
    run(node.run_controller(QUOTA_BALANCE.name))

    assert proposed(node) == ["PlaceShards"] * 4


def test_a_limit_is_never_exceeded_and_all_of_it_can_be_used(net: Any, client: Client) -> None:
    node, most = net.node, 30
    limit(net, most)
    names = iter(f"c{number}" for number in range(10_000))
    rounds = 0
    while len(node.rows(SESSIONS)) < most:
        rounds += 1
        assert rounds < 20
        run(node.run_controller(QUOTA_BALANCE.name))
        assert sum(each.quota for each in counts(node)) <= most
        connect_all(net, [client(next(names)) for _ in range(20)])
        assert len(node.rows(SESSIONS)) <= most

    run(node.run_controller(QUOTA_BALANCE.name))
    reply = connect_all(net, [client(next(names)) for _ in range(20)])

    assert len(reply.refusals) == 20
    assert len(node.rows(SESSIONS)) == most


def test_a_limit_that_is_lowered_takes_nothing_new(net: Any, client: Client) -> None:
    limit(net, 30)
    run(net.node.run_controller(QUOTA_BALANCE.name))
    connect_all(net, [client(f"c{number}") for number in range(12)])
    limit(net, 5)
    run(net.node.run_woken())

    reply = connect_all(net, [client(f"d{number}") for number in range(12)])

    assert len(reply.refusals) == 12
    assert len(net.node.rows(SESSIONS)) == 12


def test_a_deposed_leader_moves_nothing_in_shards_that_know_the_next(
    net: Any, client: Client
) -> None:
    limit(net, 30)
    run(net.node.run_controller(QUOTA_BALANCE.name))
    deposed = net.node.leader("mqtt")
    net.node.elect("mqtt")
    run(net.node.run_controller(QUOTA_BALANCE.name))
    connect_all(net, [client(f"c{number}") for number in range(30)])
    before = net.node.digest()

    with pytest.raises(Rejected, match="ABORTED"):
        run(run_once(net.node, deposed))

    assert net.node.digest() == before


def test_every_shard_gives_back_the_room_of_a_deleted_session(net: Any, client: Client) -> None:
    limit(net, 3)
    run(net.node.run_controller(QUOTA_BALANCE.name))
    names = [f"c{number}" for number in range(9)]
    connect_all(net, [client(name) for name in names])
    for name in names:
        run(net.node.propose(DeleteSession(tenant="acme", client_id=name), DeleteSessionReply))

    assert [each.sessions for each in counts(net.node)] == [0, 0, 0]
