from collections.abc import Callable

from quorate.testing import MemoryTxn
from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.duties.apply import hand_over_duties
from quorate_mqtt.duties.index import DUTIES, find_duties
from quorate_mqtt.shared_groups import resource
from quorate_mqtt.shared_groups.leading import (
    GROUPS,
    LEADERSHIPS,
    MEMBERS,
    group_key,
    member_key,
)
from quorate_mqtt.v1.duties_pb2 import FindDuties, HandOverDuties
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    CreateSharedGroups,
    DeleteSharedGroup,
    DeleteSharedGroups,
    JoinSharedGroup,
    JoinSharedGroups,
    LeaveSharedGroup,
    LeaveSharedGroups,
    SharedGroup,
    SharedGroupMember,
    UpdateSharedGroup,
    UpdateSharedGroups,
)

from plugins.mqtt.tests.sessions.single import carry_out

Shard = Callable[..., MemoryTxn]
FAMILIES = (GROUPS, MEMBERS, LEADERSHIPS.name, DUTIES)


def create_group(txn: MemoryTxn, command: CreateSharedGroup) -> SharedGroup:
    return resource.create_group(txn, command, LiveBrokers(txn))


def join_group(txn: MemoryTxn, command: JoinSharedGroup) -> SharedGroup:
    return resource.join_group(txn, command, LiveBrokers(txn))


def creation(name: str, tenant: str = "acme") -> CreateSharedGroup:
    return CreateSharedGroup(tenant=tenant, name=name, parameters=b"p")


def joining(
    client_id: str, group: str = "g", broker: str = "north", epoch: int = 1
) -> JoinSharedGroup:
    return JoinSharedGroup(
        tenant="acme",
        group=group,
        client_id=client_id,
        filter="jobs/+",
        broker=broker,
        broker_epoch=epoch,
    )


def leaving(client_id: str, epoch: int = 1) -> LeaveSharedGroup:
    return LeaveSharedGroup(
        tenant="acme", group="g", client_id=client_id, filter="jobs/+", broker_epoch=epoch
    )


def group(txn: MemoryTxn, name: str) -> SharedGroup:
    return SharedGroup.FromString(txn.rows(GROUPS)[group_key("acme", name)])


def leaders(txn: MemoryTxn) -> dict[str, int]:
    found: dict[str, int] = {}
    for value in txn.rows(GROUPS).values():
        leader = SharedGroup.FromString(value).leader
        found[leader] = found.get(leader, 0) + 1
    return found


def hand_over(txn: MemoryTxn) -> None:
    duties = list(find_duties(txn, FindDuties()))
    if duties:
        hand_over_duties(txn, HandOverDuties(duties=duties))


def rows_of(txn: MemoryTxn) -> dict[str, dict[bytes, bytes]]:
    return {family: txn.rows(family) for family in FAMILIES}


def test_a_group_is_led_by_the_broker_with_the_fewest_leaderships(shard: Shard) -> None:
    txn = shard(east=3, north=1, south=2)

    for number in range(9):
        create_group(txn, creation(f"g{number}"))

    assert leaders(txn) == {"east": 3, "north": 3, "south": 3}


def test_of_brokers_that_lead_equally_many_the_first_by_name_is_chosen(shard: Shard) -> None:
    txn = shard(south=1, north=2)

    found = create_group(txn, creation("g"))

    assert (found.leader, found.leader_epoch, found.leader_term) == ("north", 2, 1)


def test_a_broker_of_another_role_leads_nothing(shard: Shard) -> None:
    txn = shard(roles={"north": "engine"})

    for number in range(4):
        create_group(txn, creation(f"g{number}"))

    assert leaders(txn) == {"south": 4}


def test_to_create_a_group_again_changes_nothing(shard: Shard) -> None:
    txn = shard()
    first = create_group(txn, creation("g"))
    later = txn.then(5_000)

    second = create_group(later, CreateSharedGroup(tenant="acme", name="g", parameters=b"other"))

    assert second == first
    assert rows_of(later) == rows_of(txn)


def test_a_group_needs_its_tenant(shard: Shard) -> None:
    reply = carry_out(shard(), CreateSharedGroups(groups=[creation("g", "globex"), creation("g")]))

    assert [(each.item, each.code) for each in reply.refusals] == [(0, "NOT_FOUND")]


def test_an_update_replaces_the_parameters_alone(shard: Shard) -> None:
    txn = shard()
    before = create_group(txn, creation("g"))
    change = UpdateSharedGroup(tenant="acme", name="g", parameters=b"new")
    nobody = UpdateSharedGroup(tenant="acme", name="h")

    after = resource.update_group(txn, change)
    reply = carry_out(txn, UpdateSharedGroups(groups=[nobody, change]))

    assert (after.parameters, after.leader, after.id) == (b"new", before.leader, before.id)
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "NOT_FOUND")]


def test_who_joins_makes_the_group_if_there_is_none(shard: Shard) -> None:
    txn = shard()

    found = join_group(txn, joining("ada"))

    assert found == group(txn, "g")
    key = member_key("acme", "g", "ada", "jobs/+")
    member = SharedGroupMember.FromString(txn.rows(MEMBERS)[key])
    assert member == SharedGroupMember(broker="north", broker_epoch=1, joined_at_ms=1_000)


def test_who_is_fenced_joins_nothing(shard: Shard) -> None:
    txn = shard(north=3, south=4)

    reply = carry_out(
        txn, JoinSharedGroups(members=[joining("ada"), joining("ben", "g", "south", 4)])
    )

    assert [(each.item, each.code) for each in reply.refusals] == [(0, "FENCED")]
    assert list(txn.rows(MEMBERS)) == [member_key("acme", "g", "ben", "jobs/+")]


def test_a_member_leaves_only_through_its_own_broker(shard: Shard) -> None:
    txn = shard()
    join_group(txn, joining("ada"))
    join_group(txn, joining("ada", "g", "south", 2))

    assert not resource.leave_group(txn, leaving("ada", 1)).left
    assert len(txn.rows(MEMBERS)) == 1
    assert resource.leave_group(txn, leaving("ada", 2)).left

    assert txn.rows(MEMBERS) == {}
    # The group stays for who comes next, and is led.
    assert len(txn.rows(DUTIES)) == len(txn.rows(GROUPS)) == 1


def test_leaves_are_answered_one_by_one(shard: Shard) -> None:
    txn = shard()
    join_group(txn, joining("ada"))

    reply = carry_out(txn, LeaveSharedGroups(members=[leaving("ben"), leaving("ada")]))

    assert (reply.items, len(reply.refusals), txn.rows(MEMBERS)) == (2, 0, {})


def test_a_deleted_group_takes_its_members_and_nothing_else(shard: Shard) -> None:
    txn = shard()
    for name in ("ada", "ben"):
        join_group(txn, joining(name))
        join_group(txn, joining(name, "gg"))

    assert resource.delete_group(txn, DeleteSharedGroup(tenant="acme", name="g")).deleted
    assert not resource.delete_group(txn, DeleteSharedGroup(tenant="acme", name="g")).deleted

    assert list(txn.rows(GROUPS)) == [group_key("acme", "gg")]
    assert len(txn.rows(MEMBERS)) == 2
    assert len(txn.rows(DUTIES)) == 3


def test_whatever_is_deleted_leaves_nothing_behind(shard: Shard) -> None:
    txn = shard()
    for name in ("g", "h", "i"):
        join_group(txn, joining("ada", name))

    groups = [DeleteSharedGroup(tenant="acme", name=name) for name in ("g", "h", "i")]
    carry_out(txn, DeleteSharedGroups(groups=groups))

    assert rows_of(txn) == {family: {} for family in FAMILIES}


def test_the_groups_of_a_broker_that_is_gone_are_led_by_others(shard: Shard) -> None:
    txn = shard(east=3, north=1, south=2)
    for number in range(9):
        create_group(txn, creation(f"g{number}"))
    gone = shard(east=3, south=2, rows=rows_of(txn))

    hand_over(gone)

    assert sorted(leaders(gone).values()) == [4, 5]
    terms = sorted(
        SharedGroup.FromString(value).leader_term for value in gone.rows(GROUPS).values()
    )
    assert terms == [1] * 6 + [2] * 3
    assert list(find_duties(gone, FindDuties())) == []


def test_the_members_of_a_broker_that_is_gone_go_with_it(shard: Shard) -> None:
    txn = shard()
    join_group(txn, joining("ada"))
    join_group(txn, joining("ben", "g", "south", 2))
    gone = shard(south=2, rows=rows_of(txn))

    hand_over(gone)

    assert list(gone.rows(MEMBERS)) == [member_key("acme", "g", "ben", "jobs/+")]
    assert group(gone, "g").leader == "south"


def test_a_group_waits_for_a_leader_when_there_is_no_broker(shard: Shard) -> None:
    txn = shard(north=1)
    create_group(txn, creation("g"))
    nobody = shard(roles={"lone": "engine"}, lone=7, rows=rows_of(txn))
    hand_over(nobody)
    assert (group(nobody, "g").leader, group(nobody, "g").leader_epoch) == ("", 0)
    assert list(find_duties(nobody, FindDuties())) == []
    later = shard(south=8, rows=rows_of(nobody))

    hand_over(later)

    assert (group(later, "g").leader, group(later, "g").leader_term) == ("south", 2)


def test_equal_groups_of_two_tenants_are_two_groups() -> None:
    assert group_key("a", "b/c") != group_key("a/b", "c")
