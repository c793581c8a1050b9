"""The verbs of subscription groups: each item is written, or refused with a reason."""

from collections.abc import Sequence, Sized
from typing import Final

from quorate.plugin import Invalid, NodeApi, Rejected, Txn
from quorate.plugin.checking import check_longest
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.answers import each_reply
from quorate_offset.families import SUBSCRIPTION_GROUPS, group_key
from quorate_offset.names import accept_tenant, check_name
from quorate_offset.offsets.apply import delete_group
from quorate_offset.v1 import (
    commands_pb2 as pb,
    rows_pb2 as rows,
    subscription_group_service_pb2 as requests,
)

LONGEST_TEXT: Final = 4_096
#: The most subscriptions, attributes or forbidden topics of one group.
MOST_OF_A_KIND: Final = 1_000

_SWITCHES: Final = (
    "consume_enable",
    "consume_from_min_enable",
    "consume_broadcast_enable",
    "consume_message_orderly",
    "notify_consumer_ids_changed_enable",
)
_NUMBERS: Final = (
    "retry_queue_nums",
    "retry_max_times",
    "broker_id",
    "which_broker_when_consume_slowly",
    "group_sys_flag",
    "consume_timeout_minutes",
)


def new_group(tenant: str, group: str, at_ms: int) -> rows.SubscriptionGroup:
    """Return a group with the default settings."""
    return rows.SubscriptionGroup(
        tenant=tenant,
        group=group,
        consume_enable=True,
        consume_from_min_enable=True,
        consume_broadcast_enable=True,
        retry_queue_nums=1,
        retry_max_times=16,
        which_broker_when_consume_slowly=1,
        notify_consumer_ids_changed_enable=True,
        consume_timeout_minutes=15,
        created_at_ms=at_ms,
    )


def put(txn: Txn, change: pb.SubscriptionGroupChange) -> pb.PutSubscriptionGroupReply:
    """Create or change a group; an unchanged group is not written."""
    accept_tenant(txn, change.tenant)
    check_name("group", change.group)
    key = group_key(change.tenant, change.group)
    stored = txn.get(SUBSCRIPTION_GROUPS, key)
    if stored is None:
        group = new_group(change.tenant, change.group, txn.proposed_at_ms)
    else:
        group = rows.SubscriptionGroup.FromString(stored)
    before = group.SerializeToString(deterministic=True)
    for field in (*_SWITCHES, *_NUMBERS):
        if change.HasField(field):
            setattr(group, field, getattr(change, field))
    if change.HasField("subscriptions"):
        _subscribe(group, change.subscriptions.subscriptions)
    _change_attributes(group, change.attributes)
    _change_forbidden(group, change.forbidden)
    if stored is not None and group.SerializeToString(deterministic=True) == before:
        return pb.PutSubscriptionGroupReply(group=group, unchanged=True)
    group.updated_at_ms = txn.proposed_at_ms
    txn.put(SUBSCRIPTION_GROUPS, key, group.SerializeToString(deterministic=True))
    return pb.PutSubscriptionGroupReply(group=group)


def delete(txn: Txn, deletion: pb.SubscriptionGroupDeletion) -> None:
    """Delete a group, and its offsets if asked to."""
    check_name("tenant", deletion.tenant)
    check_name("group", deletion.group)
    key = group_key(deletion.tenant, deletion.group)
    if txn.get(SUBSCRIPTION_GROUPS, key) is None:
        if deletion.missing_ok:
            return
        raise Rejected(
            "NOT_FOUND",
            f"there is no subscription group {deletion.group} of tenant {deletion.tenant}",
        )
    txn.delete(SUBSCRIPTION_GROUPS, key)
    if deletion.offsets:
        delete_group(txn, key)


def _subscribe(group: rows.SubscriptionGroup, subscriptions: Sequence[rows.Subscription]) -> None:
    by_topic: dict[str, rows.Subscription] = {}
    for each in subscriptions:
        check_name("subscriptions.topic", each.topic)
        check_longest("subscriptions.expression_type", each.expression_type, LONGEST_TEXT)
        check_longest("subscriptions.expression", each.expression, LONGEST_TEXT)
        if each.topic in by_topic:
            raise _twice("subscriptions", each.topic)
        by_topic[each.topic] = each
    _accept_count("subscriptions", by_topic)
    del group.subscriptions[:]
    group.subscriptions.extend(by_topic[topic] for topic in sorted(by_topic))


def _change_attributes(
    group: rows.SubscriptionGroup, changes: Sequence[pb.AttributeChange]
) -> None:
    """Set the attributes marked `+` and remove those marked `-`, all or none."""
    attributes = {each.name: each.value for each in group.attributes}
    named: set[str] = set()
    for change in changes:
        sign, name = change.name[:1], change.name[1:]
        if sign not in ("+", "-"):
            reason = f"{change.name!r} must begin with + to be set, or - to be removed"
            raise Invalid("attributes", reason)
        check_name("attributes.name", name)
        check_longest("attributes.value", change.value, LONGEST_TEXT)
        if name in named:
            raise _twice("attributes", name)
        named.add(name)
        if sign == "+":
            attributes[name] = change.value
        elif change.value:
            raise Invalid("attributes", f"-{name} takes no value")
        elif attributes.pop(name, None) is None:
            raise Rejected("NOT_FOUND", f"attributes: the group has no {name} to remove")
    _accept_count("attributes", attributes)
    del group.attributes[:]
    group.attributes.extend(
        rows.Attribute(name=name, value=attributes[name]) for name in sorted(attributes)
    )


def _change_forbidden(group: rows.SubscriptionGroup, changes: Sequence[pb.ForbiddenChange]) -> None:
    """Set and clear bits of topics; a topic without bits is no longer forbidden."""
    bits = {each.topic: each.bits for each in group.forbidden}
    named: set[str] = set()
    for change in changes:
        check_name("forbidden.topic", change.topic)
        if change.topic in named:
            raise _twice("forbidden", change.topic)
        named.add(change.topic)
        if change.set & change.clear:
            bits_of = f"bits {change.set & change.clear:#x} of topic {change.topic}"
            raise Invalid("forbidden", f"{bits_of} are to be set and cleared at once")
        bits[change.topic] = (bits.get(change.topic, 0) | change.set) & ~change.clear
    kept = {topic: value for topic, value in bits.items() if value}
    _accept_count("forbidden", kept)
    del group.forbidden[:]
    group.forbidden.extend(
        rows.ForbiddenTopic(topic=topic, bits=kept[topic]) for topic in sorted(kept)
    )


def _accept_count(field: str, found: Sized) -> None:
    if len(found) > MOST_OF_A_KIND:
        raise Invalid(field, f"{len(found)}; at most {MOST_OF_A_KIND} allowed")


def _twice(field: str, name: str) -> Invalid:
    return Invalid(field, f"{name} occurs twice")


class Changes:
    """Changes and deletes subscription groups."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def PutGroups(
        self, request: requests.PutGroupsRequest, context: object
    ) -> requests.PutGroupsResponse:
        """Create or change many groups."""
        reply = await self._node.propose(request, BatchReply)
        return requests.PutGroupsResponse(
            groups=each_reply(reply, pb.PutSubscriptionGroupReply),
            refusals=reply.refusals,
            revisions=reply.revisions,
        )

    async def DeleteGroups(
        self, request: requests.DeleteGroupsRequest, context: object
    ) -> requests.DeleteGroupsResponse:
        """Delete many groups."""
        reply = await self._node.propose(request, BatchReply)
        return requests.DeleteGroupsResponse(refusals=reply.refusals, revisions=reply.revisions)
