"""Subscriptions as rows of a table, for bulk loads and scans."""

from typing import Any, Final

from quorate.plugin import Column, Table, keys
from quorate.plugin.checking import check_name
from quorate.plugin.resource import column_of, from_columns

from quorate_mqtt.names import check_identity, check_topic_filter
from quorate_mqtt.sessions.families import SUBSCRIPTIONS
from quorate_mqtt.subscriptions.validation import check_set
from quorate_mqtt.v1 import subscriptions_pb2 as pb

_COLUMNS: Final = (
    Column(name="tenant", type="string"),
    Column(name="client_id", type="string"),
    Column(name="filter", type="string"),
    Column(name="qos", type="int"),
    Column(name="no_local", type="boolean", nullable=True),
    Column(name="retain_as_published", type="boolean", nullable=True),
    Column(name="retain_handling", type="string", nullable=True),
    Column(name="identifier", type="long", nullable=True),
    Column(name="properties", type="binary", nullable=True),
)


def to_item(*values: Any) -> pb.SetSubscription:
    """Return the subscription of a client that has a session."""
    given = {column.name: value for column, value in zip(_COLUMNS, values, strict=True)}
    item = from_columns(pb.SetSubscription, given)
    check_name("tenant", item.tenant)
    check_identity("client_id", item.client_id)
    check_topic_filter("filter", item.filter)
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
        column_of(stored, "retain_handling"),
        stored.identifier or None,
        stored.properties or None,
    )


TABLE: Final = Table(
    family=SUBSCRIPTIONS,
    columns=_COLUMNS,
    key=("tenant", "client_id", "filter"),
    write=pb.SetSubscriptions,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
    plain=True,
)
