"""Members of shared subscriptions take turns, as the cluster tells of them."""

from __future__ import annotations

from collections import Counter

from quorate.client import ChangeKind, WatchedChange
from quorate.plugin import keys
from quorate_amqtt.groups import Groups, Member
from quorate_mqtt.v1.shared_groups_pb2 import SharedGroupMember


def change(kind: ChangeKind, client_id: str, epoch: int = 1) -> WatchedChange:
    row = SharedGroupMember(broker="one", broker_epoch=epoch)
    return WatchedChange(
        kind=kind,
        family="mqtt.shared_group_members",
        key=keys.pack("acme", "crew", client_id, "jobs/#"),
        value=b"" if kind is ChangeKind.DELETED else row.SerializeToString(),
    )


LISTED = WatchedChange(kind=ChangeKind.LISTED)
RESYNC = WatchedChange(kind=ChangeKind.RESYNC)


def groups_of(*changes: WatchedChange) -> Groups:
    groups = Groups()
    for each in changes:
        groups.see(each)
    return groups


def chosen(groups: Groups, times: int = 1, topic: str = "jobs/new") -> list[str]:
    return [members[0].client_id for _ in range(times) for members in groups.chosen(topic)]


def test_members_take_turns() -> None:
    groups = groups_of(change(ChangeKind.ROW, "ada"), change(ChangeKind.ROW, "ben", 2), LISTED)

    assert Counter(chosen(groups, 10)) == {"ada": 5, "ben": 5}
    assert chosen(groups, topic="news") == []


def test_groups_beside_it_do_not_disturb_the_turns_of_a_group() -> None:
    groups = groups_of(change(ChangeKind.ROW, "ada"), change(ChangeKind.ROW, "ben"), LISTED)
    groups.put(Member("audit", "#", "eve", 1))

    assert Counter(chosen(groups, 10)) == {"ada": 5, "ben": 5, "eve": 10}


def test_each_group_gets_a_message_once_however_many_filters_fit() -> None:
    groups = groups_of(change(ChangeKind.ROW, "ada"), LISTED)
    groups.put(Member("crew", "+/new", "ben", 1))
    groups.put(Member("audit", "#", "eve", 1))

    found = chosen(groups, 10)

    assert found.count("eve") == 10
    assert found.count("ada") + found.count("ben") == 10


def test_who_leaves_gets_nothing() -> None:
    groups = groups_of(change(ChangeKind.ROW, "ada"), change(ChangeKind.ROW, "ben"), LISTED)

    groups.see(change(ChangeKind.DELETED, "ada"))
    assert chosen(groups, 3) == ["ben"] * 3

    groups.see(change(ChangeKind.DELETED, "ben"))
    groups.see(change(ChangeKind.DELETED, "ben"))
    assert chosen(groups, 3) == []


def test_who_has_left_while_the_watch_was_interrupted_gets_nothing() -> None:
    groups = groups_of(change(ChangeKind.ROW, "ada"), change(ChangeKind.ROW, "ben"), LISTED)

    for each in (RESYNC, change(ChangeKind.ROW, "ben"), LISTED):
        groups.see(each)

    assert chosen(groups, 2) == ["ben", "ben"]


def test_another_member_here_takes_the_turn_of_one_that_is_gone() -> None:
    groups = groups_of(
        change(ChangeKind.ROW, "ada"),
        change(ChangeKind.ROW, "ben"),
        change(ChangeKind.ROW, "cyd", 2),
    )

    others = groups.others(Member("crew", "jobs/#", "ada", 1), 1)

    assert [each.client_id for each in others] == ["ben"]
