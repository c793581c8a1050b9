"""Subscriptions as rows of a table, for whoever loads or reads many of them."""

from typing import Final

from quorate.plugin import Column, Table, keys
from quorate.plugin.checking import check_name

from quorate_mqtt.columns import LARGEST_UINT32, Choice, unsigned
from quorate_mqtt.names import check_identity, check_topic_filter
from quorate_mqtt.sessions.families import SUBSCRIPTIONS
from quorate_mqtt.subscriptions.validation import check_set
from quorate_mqtt.v1 import subscriptions_pb2 as pb

_RETAIN_HANDLING: Final = Choice("retain_handling", pb.RetainHandling)


def to_item(
    tenant: str,
    client_id: str,
    filter: str,
    qos: int,
    no_local: bool | None,
    retain_as_published: bool | None,
    retain_handling: str | None,
    identifier: int | None,
    properties: bytes | None,
) -> pb.SetSubscription:
    """Return the subscription of a client that has a session."""
    item = pb.SetSubscription(
        tenant=tenant,
        client_id=client_id,
        filter=filter,
        qos=unsigned("qos", qos, LARGEST_UINT32),
        no_local=bool(no_local),
        retain_as_published=bool(retain_as_published),
        retain_handling=_RETAIN_HANDLING.constant(retain_handling),
        identifier=unsigned("identifier", identifier, LARGEST_UINT32),
        properties=properties or b"",
    )
    check_name("tenant", tenant)
    check_identity("client_id", client_id)
    check_topic_filter("filter", filter)
    check_set(item, "")
    return item


def from_row(key: bytes, value: bytes) -> tuple[object, ...]:
    """Return a subscription as its columns."""
    stored = pb.Subscription.FromString(value)
    return (
        *keys.unpack(key),
        stored.qos,
        stored.no_local,
        stored.retain_as_published,
        _RETAIN_HANDLING.name(stored.retain_handling),
        stored.identifier or None,
        stored.properties or None,
    )


TABLE: Final = Table(
    family=SUBSCRIPTIONS,
    columns=(
        Column(name="tenant", type="string"),
        Column(name="client_id", type="string"),
        Column(name="filter", type="string"),
        Column(name="qos", type="int"),
        Column(name="no_local", type="boolean", nullable=True),
        Column(name="retain_as_published", type="boolean", nullable=True),
        Column(name="retain_handling", type="string", nullable=True),
        Column(name="identifier", type="long", nullable=True),
        Column(name="properties", type="binary", nullable=True),
    ),
    key=("tenant", "client_id", "filter"),
    write=pb.SetSubscriptions,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
)
