"""Who coordinates a key, for how long, and who comes next."""

from __future__ import annotations

from asyncio import run
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.builtin.cluster.coordinators.rows import (
    ASSIGNMENTS,
    COORDINATORS,
    Candidates,
)
from quorate.plugin import Invalid, Rejected, RowEvent
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker, RegisterBroker, RegisterBrokers, UnregisterBroker
from quorate.v1.coordinator_pb2 import (
    AssignCoordinator,
    AssignCoordinators,
    Coordinator,
    ListCoordinatorsRequest,
    MoveCoordinators,
    ReleaseCoordinator,
    ReleaseCoordinators,
)

KEYS = [f"job-{number}" for number in range(60)]


@pytest.fixture
def coordinators(node: MemoryNode) -> Any:
    return node.servicer("quorate.v1.CoordinatorService")


def register(
    node: MemoryNode,
    name: str,
    *,
    role: str = "mqtt",
    cluster_name: str = "north",
    labels: Mapping[str, str] | None = None,
) -> Broker:
    command = RegisterBroker(
        name=name, cluster_name=cluster_name, roles=[role], labels=labels or {}, ttl_ms=3_600_000
    )
    return run(node.propose(command, Broker))


def leave(node: MemoryNode, broker: Broker) -> None:
    run(node.propose(UnregisterBroker(name=broker.name, epoch=broker.epoch), Empty))


def wanted(key: str = "jobs", role: str = "mqtt", **among: Any) -> AssignCoordinator:
    return AssignCoordinator(role=role, key=key, **among)


def get(coordinators: Any, request: AssignCoordinator) -> Coordinator:
    found: Coordinator = run(coordinators.Get(request, None))
    return found


def get_each(coordinators: Any, names: Iterable[str] = KEYS) -> dict[str, Coordinator]:
    request = AssignCoordinators(coordinators=map(wanted, names))
    reply: BatchReply = run(coordinators.GetBatch(request, None))
    assert not reply.refusals
    return {row.key: row for row in map(Coordinator.FromString, reply.replies)}


def rows(node: MemoryNode) -> dict[str, Coordinator]:
    found = map(Coordinator.FromString, node.rows(COORDINATORS).values())
    return {row.key: row for row in found}


def settle(node: MemoryNode) -> None:
    run(node.run_woken())


def test_a_key_is_given_to_a_live_broker_of_the_role(node: MemoryNode, coordinators: Any) -> None:
    register(node, "other", role="engine")
    ada = register(node, "ada")

    found = get(coordinators, wanted())

    assert found == Coordinator(
        role="mqtt",
        key="jobs",
        broker="ada",
        broker_epoch=ada.epoch,
        epoch=1,
        assigned_at_ms=1_000,
    )
    assert rows(node) == {"jobs": found}


def test_a_key_stays_with_its_broker_while_that_lives(node: MemoryNode, coordinators: Any) -> None:
    register(node, "ada")
    first = get_each(coordinators)
    proposed = len(node.proposals)

    for name in ("ben", "cleo", "dora"):
        register(node, name)
    settle(node)

    assert get_each(coordinators) == first == rows(node)
    # To ask for what stands writes nothing.
    assert [type(each) for each in node.proposals[proposed:]] == [RegisterBrokers] * 3


def test_keys_are_spread_and_found_alike_by_everybody(node: MemoryNode, coordinators: Any) -> None:
    for name in ("ada", "ben", "cleo"):
        register(node, name)

    found = get_each(coordinators)

    shares = Counter(row.broker for row in found.values())
    assert set(shares) == {"ada", "ben", "cleo"}
    assert min(shares.values()) >= len(KEYS) // 6
    assert [get(coordinators, wanted(key)) for key in KEYS] == [found[key] for key in KEYS]


def test_keys_of_a_broker_that_left_move_and_no_others(node: MemoryNode, coordinators: Any) -> None:
    brokers = {name: register(node, name) for name in ("ada", "ben", "cleo")}
    before = get_each(coordinators)

    leave(node, brokers["ada"])
    settle(node)

    after = rows(node)
    moved = {key for key, row in before.items() if row.broker == "ada"}
    assert {key for key in KEYS if after[key] != before[key]} == moved
    assert {after[key].broker for key in moved} == {"ben", "cleo"}
    assert min(after[key].epoch for key in moved) > max(row.epoch for row in before.values())
    assert len(node.rows(ASSIGNMENTS)) == len(KEYS)


def test_a_broker_that_registers_again_gets_its_keys_under_a_new_epoch(
    node: MemoryNode, coordinators: Any
) -> None:
    for name in ("ada", "ben"):
        register(node, name)
    before = get_each(coordinators)

    again = register(node, "ada")
    settle(node)

    after = rows(node)
    assert {key: row.broker for key, row in after.items()} == {
        key: row.broker for key, row in before.items()
    }
    for key, row in after.items():
        assert (row.epoch > before[key].epoch) == (row.broker == "ada")
        assert row.broker != "ada" or row.broker_epoch == again.epoch


def test_who_asks_before_the_controller_ran_is_given_a_live_broker(
    node: MemoryNode, coordinators: Any
) -> None:
    ada = register(node, "ada")
    former = get(coordinators, wanted())
    register(node, "ben")
    leave(node, ada)

    found = get(coordinators, wanted())

    assert (found.broker, found.epoch > former.epoch) == ("ben", True)
    settle(node)
    assert rows(node) == {"jobs": found}


def test_a_key_waits_for_a_broker_and_watchers_see_it(node: MemoryNode, coordinators: Any) -> None:
    ada = register(node, "ada")
    first = get(coordinators, wanted())

    leave(node, ada)
    settle(node)
    vacant = rows(node)["jobs"]
    assert (vacant.broker, vacant.broker_epoch) == ("", 0)
    assert vacant.epoch > first.epoch
    with pytest.raises(Rejected, match="NO_BROKER"):
        get(coordinators, wanted())
    # What comes late finds nobody either, and changes nothing.
    run(node.propose(MoveCoordinators(assignments=list(node.rows(ASSIGNMENTS))), BatchReply))
    assert rows(node) == {"jobs": vacant}
    settled = len(node.proposals)
    run(node.run_controller("cluster.coordinator_moving"))
    assert len(node.proposals) == settled

    register(node, "ben")
    settle(node)

    row = rows(node)["jobs"]
    assert (row.broker, row.epoch > vacant.epoch) == ("ben", True)
    seen = [
        Coordinator.FromString(event.value or b"").broker
        for event in node.events
        if isinstance(event, RowEvent) and event.family == COORDINATORS
    ]
    assert seen == ["ada", "", "ben"]


def test_what_waits_for_others_hides_nothing(node: MemoryNode, coordinators: Any) -> None:
    """Of those that wait, only those are looked at for whom there is a broker."""
    near: dict[str, Any] = {"labels": {"zone": "a"}}
    brokers = [register(node, "ada", **near), register(node, "ben", role="engine")]
    get(coordinators, wanted("far", "engine"))
    for key in KEYS:
        get(coordinators, wanted(key, **near))
    for broker in brokers:
        leave(node, broker)
    settle(node)
    assert {row.broker for row in rows(node).values()} == {""}

    register(node, "cleo", role="engine")
    settle(node)
    assert {key for key, row in rows(node).items() if row.broker} == {"far"}
    register(node, "dora", **near)
    settle(node)
    assert {row.broker for row in rows(node).values()} == {"cleo", "dora"}


def test_a_large_brokers_keys_are_moved_bit_by_bit(
    node: MemoryNode, coordinators: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.builtin.cluster.coordinators.queries.MOST_MOVES", 7)
    ada = register(node, "ada")
    get_each(coordinators)
    register(node, "ben")
    leave(node, ada)

    settle(node)

    assert {row.broker for row in rows(node).values()} == {"ben"}
    moves = [len(each.assignments) for each in node.proposals if isinstance(each, MoveCoordinators)]
    assert moves == [7] * 8 + [4]


def test_a_move_that_comes_late_changes_nothing(node: MemoryNode, coordinators: Any) -> None:
    ada = register(node, "ada")
    get(coordinators, wanted())
    former = list(node.rows(ASSIGNMENTS))
    register(node, "ben")
    leave(node, ada)
    found = get(coordinators, wanted())

    late = MoveCoordinators(assignments=[*former, *node.rows(ASSIGNMENTS)])
    run(node.propose(late, BatchReply))

    assert rows(node) == {"jobs": found}


@pytest.mark.parametrize(
    "among",
    [
        {"cluster_name": "south"},
        {"labels": {"zone": "b"}},
        {"labels": {"zone": "b", "rack": "7"}},
        {"cluster_name": "south", "labels": {"rack": "7"}},
    ],
)
def test_only_brokers_that_fit_coordinate(
    node: MemoryNode, coordinators: Any, among: dict[str, Any]
) -> None:
    register(node, "ada", labels={"zone": "a", "rack": "7"})
    fits = register(node, "ben", cluster_name="south", labels={"zone": "b", "rack": "7"})

    found = [get(coordinators, wanted(key, **among)) for key in KEYS]
    leave(node, fits)

    assert {row.broker for row in found} == {"ben"}
    with pytest.raises(Rejected, match="NO_BROKER"):
        get(coordinators, wanted(**among))


def test_a_key_has_one_coordinator_whichever_is_requested(
    node: MemoryNode, coordinators: Any
) -> None:
    register(node, "ada", labels={"zone": "a"})
    first = get(coordinators, wanted())

    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION.*release it first"):
        get(coordinators, wanted(labels={"zone": "a"}))
    run(coordinators.Release(ReleaseCoordinator(role="mqtt", key="jobs", epoch=first.epoch), None))

    again = get(coordinators, wanted(labels={"zone": "a"}))
    assert again.epoch > first.epoch
    assert len(node.rows(ASSIGNMENTS)) == 1


def test_a_release_is_fenced(node: MemoryNode, coordinators: Any) -> None:
    ada = register(node, "ada")
    former = get(coordinators, wanted())
    register(node, "ben")
    leave(node, ada)
    get(coordinators, wanted())

    late = ReleaseCoordinator(role="mqtt", key="jobs", epoch=former.epoch)
    with pytest.raises(Rejected, match="FENCED"):
        run(coordinators.Release(late, None))
    assert "jobs" in rows(node)

    releases = [ReleaseCoordinator(role="mqtt", key=key) for key in ("none", "jobs", "")]
    reply = run(coordinators.ReleaseBatch(ReleaseCoordinators(coordinators=releases), None))
    assert [(each.item, each.code) for each in reply.refusals] == [
        (0, "NOT_FOUND"),
        (2, "INVALID_ARGUMENT"),
    ]
    assert not node.rows(COORDINATORS)
    assert not node.rows(ASSIGNMENTS)


def test_a_batch_is_answered_item_by_item(node: MemoryNode, coordinators: Any) -> None:
    register(node, "ada")
    standing = {key: get(coordinators, wanted(key)) for key in KEYS}
    register(node, "ben")
    request = AssignCoordinators(
        coordinators=[
            wanted("new"),
            wanted("x", "engine"),
            wanted(""),
            *map(wanted, KEYS),
        ]
    )

    reply = run(coordinators.GetBatch(request, None))

    first, _, _, *others = map(Coordinator.FromString, reply.replies)
    assert first.key == "new"
    # Existing assignments stay as they are, also when other brokers have joined since.
    assert {row.key: row for row in others} == standing
    assert [(each.item, each.code) for each in reply.refusals] == [
        (1, "NO_BROKER"),
        (2, "INVALID_ARGUMENT"),
    ]


def test_pages_hold_every_coordinator_once(node: MemoryNode, coordinators: Any) -> None:
    register(node, "ada")
    register(node, "ben", role="engine")
    get_each(coordinators)
    get(coordinators, wanted("logs", "engine"))

    def listed(**given: Any) -> list[str]:
        request, found = ListCoordinatorsRequest(page_size=7, **given), []
        while True:
            page = run(coordinators.List(request, None))
            found += [row.key for row in page.coordinators]
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    assert listed() == ["logs", *sorted(KEYS)]
    assert listed(role="mqtt") == sorted(KEYS)
    assert listed(broker="ben") == ["logs"]
    assert listed(role="mqtt", broker="ben") == []


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (wanted(role=""), "role"),
        (wanted(""), "key"),
        (wanted("a\nb"), "key"),
        (wanted("ä" * 513), "key"),
        (wanted(cluster_name="a" * 256), "cluster_name"),
        (wanted(labels={"": "a"}), "labels"),
        (wanted(labels={"zone": "\0"}), "labels[zone]"),
        (wanted(labels={str(number): "v" * 200 for number in range(6)}), "labels"),
    ],
)
def test_bad_input_is_refused_with_its_field(
    node: MemoryNode, coordinators: Any, request_: AssignCoordinator, field: str
) -> None:
    for refused, path in (
        (lambda: coordinators.Get(request_, None), ""),
        (
            lambda: node.propose(AssignCoordinators(coordinators=[request_]), BatchReply),
            "coordinators[0].",
        ),
    ):
        with pytest.raises(Invalid) as refusal:
            run(refused())
        assert refusal.value.field == path + field
    assert not node.proposals


def test_a_batch_has_its_bounds(node: MemoryNode, coordinators: Any) -> None:
    many = AssignCoordinators(coordinators=[wanted(str(number)) for number in range(1_001)])

    for refused in (coordinators.GetBatch(many, None), node.propose(many, BatchReply)):
        with pytest.raises(Invalid, match="must be at most 1000"):
            run(refused)


def test_candidates_are_packed_without_loss() -> None:
    among = Candidates.of(wanted(cluster_name="north", labels={"b": "", "a": "1"}))

    assert Candidates.unpacked(among.packed()) == among
    assert among.packed() != Candidates.of(wanted(labels={"a": "1", "b": ""})).packed()
