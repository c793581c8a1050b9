"""The handlers: pure functions of a transaction and a command, run on every replica."""

from quorate.plugin import Rejected, Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.sessions.apply import TAKEN_OVER
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.rows import kept_of
from quorate_mqtt.shards import client_shard
from quorate_mqtt.subscriptions.families import SUBSCRIPTIONS, subscription_key
from quorate_mqtt.v1.subscriptions_pb2 import (
    DeleteSubscription,
    DeleteSubscriptionReply,
    DeleteSubscriptions,
    SetSubscription,
    SetSubscriptionReply,
    SetSubscriptions,
    Subscription,
)


def set_subscription(txn: Txn, command: SetSubscription) -> SetSubscriptionReply:
    """Subscribe a client, or replace the options of its subscription."""
    _check_session(txn, command)
    key = subscription_key(command.tenant, command.client_id, command.filter)
    old = txn.get(SUBSCRIPTIONS, key)
    created_at_ms = Subscription.FromString(old).created_at_ms if old else txn.proposed_at_ms
    subscription = Subscription(
        qos=command.qos,
        no_local=command.no_local,
        retain_as_published=command.retain_as_published,
        retain_handling=command.retain_handling,
        identifier=command.identifier,
        properties=command.properties,
        created_at_ms=created_at_ms,
    )
    txn.put(SUBSCRIPTIONS, key, subscription.SerializeToString(deterministic=True))
    return SetSubscriptionReply(created=old is None)


def set_subscriptions(txn: Txn, command: SetSubscriptions) -> BatchReply:
    """Subscribe many clients."""
    return answer_each(txn, command.subscriptions, set_subscription)


def delete_subscription(txn: Txn, command: DeleteSubscription) -> DeleteSubscriptionReply:
    """End one subscription of a client, and no other."""
    key = subscription_key(command.tenant, command.client_id, command.filter)
    if command.missing_ok and txn.get(SUBSCRIPTIONS, key) is None:
        return DeleteSubscriptionReply()
    _check_session(txn, command)
    if txn.get(SUBSCRIPTIONS, key) is None:
        raise Rejected(
            "NOT_FOUND", f"client {command.client_id} has no subscription to {command.filter}"
        )
    txn.delete(SUBSCRIPTIONS, key)
    return DeleteSubscriptionReply()


def delete_subscriptions(txn: Txn, command: DeleteSubscriptions) -> BatchReply:
    """End many subscriptions."""
    return answer_each(txn, command.subscriptions, delete_subscription)


def _check_session(txn: Txn, command: SetSubscription | DeleteSubscription) -> None:
    row = txn.get(SESSIONS, client_shard(command.tenant, command.client_id))
    if row is None:
        raise Rejected("NOT_FOUND", f"client {command.client_id} has no session; connect it")
    generation = kept_of(row)[0]
    if command.HasField("generation") and command.generation != generation:
        raise Rejected(
            TAKEN_OVER,
            f"the session of client {command.client_id} has generation {generation}, and not "
            f"{command.generation}: it was taken over; close the connection",
        )
