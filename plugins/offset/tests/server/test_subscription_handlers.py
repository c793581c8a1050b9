"""What the handlers of subscription groups do to one shard, by the rules of RocketMQ."""

import pytest
from quorate.plugin.advanced import answer_each
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate_offset.families import OFFSETS, SUBSCRIPTION_GROUPS, group_key
from quorate_offset.offsets.apply import commit_offsets
from quorate_offset.subscriptions.apply import delete, put as put_one
from quorate_offset.v1.commands_pb2 import (
    AttributeChange,
    ForbiddenChange,
    GroupCommit,
    OffsetCommit,
    PutSubscriptionGroupReply,
    SubscriptionGroupChange,
    SubscriptionGroupDeletion,
    SubscriptionList,
)
from quorate_offset.v1.rows_pb2 import (
    Attribute,
    ForbiddenTopic,
    Subscription,
    SubscriptionGroup,
)
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest


def change(name: str = "billing", **said: object) -> SubscriptionGroupChange:
    return SubscriptionGroupChange(tenant="acme", group=name, **said)  # type: ignore[arg-type]


def attributes(**changes: str) -> list[AttributeChange]:
    """Set each of the given ones, or remove it where the value is `-`."""
    return [
        AttributeChange(name=f"-{name}" if value == "-" else f"+{name}", value=value.strip("-"))
        for name, value in changes.items()
    ]


def put(txn: MemoryTxn, *changes: SubscriptionGroupChange) -> BatchReply:
    return answer_each(txn, changes, put_one)


def replies(reply: BatchReply) -> list[PutSubscriptionGroupReply]:
    assert reply.items == len(reply.replies)
    return [PutSubscriptionGroupReply.FromString(each) for each in reply.replies]


def stored(txn: MemoryTxn, name: str = "billing") -> SubscriptionGroup:
    return SubscriptionGroup.FromString(txn.rows(SUBSCRIPTION_GROUPS)[group_key("acme", name)])


def codes(reply: BatchReply) -> list[tuple[int, str]]:
    return [(each.item, each.code) for each in reply.refusals]


def test_a_new_group_has_the_defaults(shard: MemoryTxn) -> None:
    [reply] = replies(put(shard, change()))

    assert (
        reply.group
        == stored(shard)
        == SubscriptionGroup(
            tenant="acme",
            group="billing",
            consume_enable=True,
            consume_from_min_enable=True,
            consume_broadcast_enable=True,
            consume_message_orderly=False,
            retry_queue_nums=1,
            retry_max_times=16,
            broker_id=0,
            which_broker_when_consume_slowly=1,
            notify_consumer_ids_changed_enable=True,
            group_sys_flag=0,
            consume_timeout_minutes=15,
            created_at_ms=1_000,
            updated_at_ms=1_000,
        )
    )
    assert not reply.unchanged


def test_a_change_leaves_what_it_does_not_name(shard: MemoryTxn) -> None:
    put(shard, change(consume_enable=False, retry_max_times=3, broker_id=2))
    later = shard.then(2_000)

    put(later, change(retry_max_times=0, consume_message_orderly=True))

    group = stored(later)
    assert (group.consume_enable, group.broker_id) == (False, 2)
    assert (group.retry_max_times, group.consume_message_orderly) == (0, True)
    assert (group.created_at_ms, group.updated_at_ms) == (1_000, 2_000)


def test_an_unchanged_item_writes_nothing_and_stops_none_of_the_rest(shard: MemoryTxn) -> None:
    put(shard, change(retry_max_times=3))
    later = shard.then(2_000)

    reply = put(later, change(retry_max_times=3), change("audit"), change("", broker_id=1))

    assert [each.unchanged for each in replies(reply)] == [True, False, False]
    assert codes(reply) == [(2, "INVALID_ARGUMENT")]
    assert stored(later).updated_at_ms == 1_000
    assert stored(later, "audit").updated_at_ms == 2_000
    assert len(later.events) == 1


def test_attributes_are_set_and_removed_by_their_signs(shard: MemoryTxn) -> None:
    put(shard, change(attributes=attributes(team="blue", area="eu")))
    put(shard, change(attributes=attributes(team="red", area="-", zone="1")))

    assert list(stored(shard).attributes) == [
        Attribute(name="team", value="red"),
        Attribute(name="zone", value="1"),
    ]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([AttributeChange(name="team", value="x")], "INVALID_ARGUMENT"),
        ([AttributeChange(name="")], "INVALID_ARGUMENT"),
        ([AttributeChange(name="+")], "INVALID_ARGUMENT"),
        ([AttributeChange(name="-team", value="x")], "INVALID_ARGUMENT"),
        ([AttributeChange(name="+team"), AttributeChange(name="-team")], "INVALID_ARGUMENT"),
        ([AttributeChange(name="+a", value="v" * 4_097)], "INVALID_ARGUMENT"),
        ([AttributeChange(name="-other")], "NOT_FOUND"),
    ],
)
def test_a_bad_attribute_refuses_the_whole_change(
    shard: MemoryTxn, changes: list[AttributeChange], code: str
) -> None:
    put(shard, change(attributes=attributes(team="blue")))
    before = stored(shard)

    assert codes(put(shard, change(broker_id=9, attributes=changes))) == [(0, code)]
    assert stored(shard) == before


def test_forbidden_bits_are_set_and_cleared_by_topic(shard: MemoryTxn) -> None:
    put(
        shard,
        change(forbidden=[ForbiddenChange(topic="b", set=6), ForbiddenChange(topic="a", set=1)]),
    )
    put(
        shard,
        change(
            forbidden=[
                ForbiddenChange(topic="b", set=8, clear=2),
                ForbiddenChange(topic="a", clear=1),
            ]
        ),
    )

    assert list(stored(shard).forbidden) == [ForbiddenTopic(topic="b", bits=12)]


@pytest.mark.parametrize(
    "bad",
    [
        change(forbidden=[ForbiddenChange(topic="", set=1)]),
        change(forbidden=[ForbiddenChange(topic="a", set=3, clear=1)]),
        change(forbidden=[ForbiddenChange(topic="a", set=1), ForbiddenChange(topic="a", clear=1)]),
        change(subscriptions=SubscriptionList(subscriptions=[Subscription(topic="")])),
        change(subscriptions=SubscriptionList(subscriptions=[Subscription(topic="a")] * 2)),
        change(
            subscriptions=SubscriptionList(
                subscriptions=[Subscription(topic="a", expression="e" * 4_097)]
            )
        ),
        change(
            subscriptions=SubscriptionList(
                subscriptions=[Subscription(topic=f"t{each}") for each in range(1_001)]
            )
        ),
    ],
)
def test_a_bad_change_writes_nothing(shard: MemoryTxn, bad: SubscriptionGroupChange) -> None:
    assert codes(put(shard, bad)) == [(0, "INVALID_ARGUMENT")]
    assert not shard.rows(SUBSCRIPTION_GROUPS)


def test_subscriptions_are_replaced_as_a_whole_and_kept_by_topic(shard: MemoryTxn) -> None:
    def to(*topics: str) -> SubscriptionGroupChange:
        named = [Subscription(topic=topic, expression="*") for topic in topics]
        return change(subscriptions=SubscriptionList(subscriptions=named))

    put(shard, to("b", "a"))
    put(shard, change(broker_id=1))
    assert [each.topic for each in stored(shard).subscriptions] == ["a", "b"]

    put(shard, to())
    assert not stored(shard).subscriptions


@pytest.mark.parametrize(
    ("tenant", "code"), [("strange", "NOT_FOUND"), ("leaving", "FAILED_PRECONDITION")]
)
def test_a_group_has_a_tenant_that_is_there(shard: MemoryTxn, tenant: str, code: str) -> None:
    reply = put(shard, SubscriptionGroupChange(tenant=tenant, group="g"), change())

    assert codes(reply) == [(0, code)]
    assert stored(shard).created_at_ms == 1_000


@pytest.mark.parametrize("offsets", [False, True])
def test_a_deletion_takes_the_offsets_along_when_it_says_so(
    shard: MemoryTxn, offsets: bool
) -> None:
    put(shard, change())
    item = GroupCommit(tenant="acme", group="billing", commits=[OffsetCommit(topic="a")])
    commit_offsets(shard, CommitOffsetsRequest(groups=[item]))
    deletion = SubscriptionGroupDeletion(tenant="acme", group="billing", offsets=offsets)

    reply = answer_each(shard, [deletion, deletion], delete)

    assert codes(reply) == [(1, "NOT_FOUND")]
    assert not shard.rows(SUBSCRIPTION_GROUPS)
    assert len(shard.rows(OFFSETS)) == (0 if offsets else 1)
