from collections.abc import Callable

import pytest
from quorate.plugin import Rejected, keys
from quorate.testing import MemoryTxn
from quorate_mqtt.sessions.families import SUBSCRIPTIONS
from quorate_mqtt.subscriptions.resource import (
    delete_subscription,
    set_subscription,
)
from quorate_mqtt.v1.sessions_pb2 import ConnectSession, SessionConnect
from quorate_mqtt.v1.subscriptions_pb2 import (
    RETAIN_HANDLING_NEVER,
    DeleteSubscription,
    DeleteSubscriptions,
    SetSubscription,
    SetSubscriptionReply,
    SetSubscriptions,
    Subscription,
)

from plugins.mqtt.tests.sessions.single import carry_out, connect_session

Client = Callable[..., SessionConnect]


@pytest.fixture
def txn(shard: Callable[..., MemoryTxn], client: Client) -> MemoryTxn:
    txn = shard()
    for name in ("a", "ada"):
        command = ConnectSession(broker="north", broker_epoch=1, connection=client(name))
        connect_session(txn, command)
    return txn


def wanted(topic_filter: str, client_id: str = "ada", **more: object) -> SetSubscription:
    return SetSubscription(
        tenant="acme",
        client_id=client_id,
        filter=topic_filter,
        **more,  # type: ignore[arg-type]
    )


def unwanted(topic_filter: str, client_id: str = "ada", **more: object) -> DeleteSubscription:
    return DeleteSubscription(
        tenant="acme",
        client_id=client_id,
        filter=topic_filter,
        **more,  # type: ignore[arg-type]
    )


def test_a_subscription_has_all_options(txn: MemoryTxn) -> None:
    reply = set_subscription(
        txn,
        wanted(
            "a/+/b",
            qos=2,
            no_local=True,
            retain_as_published=True,
            retain_handling=RETAIN_HANDLING_NEVER,
            identifier=9,
            properties=b"p",
        ),
    )

    assert reply.created
    [row] = txn.rows(SUBSCRIPTIONS).values()
    assert Subscription.FromString(row) == Subscription(
        qos=2,
        no_local=True,
        retain_as_published=True,
        retain_handling=RETAIN_HANDLING_NEVER,
        identifier=9,
        properties=b"p",
        created_at_ms=1_000,
    )


def test_to_subscribe_anew_replaces_the_options(txn: MemoryTxn) -> None:
    set_subscription(txn, wanted("a", qos=2))
    later = txn.then(5_000)

    reply = set_subscription(later, wanted("a", qos=1))

    [row] = later.rows(SUBSCRIPTIONS).values()
    subscription = Subscription.FromString(row)
    assert not reply.created
    assert (subscription.qos, subscription.created_at_ms) == (1, 1_000)


def test_the_deletion_of_one_subscription_never_touches_another(txn: MemoryTxn) -> None:
    kept = [("ada", "a"), ("ada", "a/b/c"), ("ada", "$share/g/a/b"), ("a", "a/b"), ("a", "da/a/b")]
    for client_id, topic_filter in [*kept, ("ada", "a/b")]:
        set_subscription(txn, wanted(topic_filter, client_id))

    delete_subscription(txn, unwanted("a/b"))

    expected = {keys.pack("acme", *each) for each in kept}
    assert set(txn.rows(SUBSCRIPTIONS)) == expected


def test_what_was_not_subscribed_to_is_not_found(txn: MemoryTxn) -> None:
    set_subscription(txn, wanted("a/b"))

    with pytest.raises(Rejected, match="NOT_FOUND: client ada has no subscription to a"):
        delete_subscription(txn, unwanted("a"))

    assert len(txn.rows(SUBSCRIPTIONS)) == 1


def test_who_has_no_session_subscribes_to_nothing(txn: MemoryTxn) -> None:
    with pytest.raises(Rejected, match="NOT_FOUND: client ben has no session"):
        set_subscription(txn, wanted("a", "ben"))

    assert txn.rows(SUBSCRIPTIONS) == {}


def test_who_was_taken_over_changes_no_subscription(txn: MemoryTxn) -> None:
    set_subscription(txn, wanted("a"))

    for change in (
        lambda: set_subscription(txn, wanted("b", generation=1)),
        lambda: delete_subscription(txn, unwanted("a", generation=1)),
    ):
        with pytest.raises(Rejected, match="TAKEN_OVER"):
            change()

    assert len(txn.rows(SUBSCRIPTIONS)) == 1


def test_batches_are_answered_one_by_one(txn: MemoryTxn) -> None:
    created = carry_out(
        txn,
        SetSubscriptions(subscriptions=[wanted("a"), wanted("a", "ben"), wanted("b")]),
    )
    deleted = carry_out(txn, DeleteSubscriptions(subscriptions=[unwanted("c"), unwanted("b")]))

    assert [(each.item, each.code) for each in created.refusals] == [(1, "NOT_FOUND")]
    replies = [SetSubscriptionReply.FromString(created.replies[item]).created for item in (0, 2)]
    assert replies == [True, True]
    assert [(each.item, each.code) for each in deleted.refusals] == [(0, "NOT_FOUND")]
    assert list(txn.rows(SUBSCRIPTIONS)) == [keys.pack("acme", "ada", "a")]
