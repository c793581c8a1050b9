"""Retained messages: the last message of each topic that was published with the retain flag."""

from collections.abc import Callable
from typing import Final

from quorate.plugin import Invalid, Item, Resource, Serving, Timer, Txn, Verb, View, keys
from quorate.plugin.advanced import Remake, Stored, still_due
from quorate.plugin.resource import tenant_there
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.names import check_qos, check_topic_filter, check_topic_name
from quorate_mqtt.shards import GROUP
from quorate_mqtt.topic_filters import matches
from quorate_mqtt.v1 import retained_messages_pb2 as pb

#: The timer of the messages that expire: its deadlines have the keys of their rows.
EXPIRY: Final = "mqtt.retained_expiry"
#: Limit on payload and properties: a row has at most 1 MiB, and its names need some of it.
LARGEST_MESSAGE: Final = (1 << 20) - (8 << 10)
#: A hundred years.
LONGEST_EXPIRY_MS: Final = 100 * 365 * 86_400_000


def put(txn: Txn, put: pb.PutRetainedMessageRequest) -> pb.RetainedStamp:
    """Store a message, in place of the former one of its topic."""
    tenant_there(txn, put.tenant)
    stored_at_ms = txn.proposed_at_ms
    expires_at_ms = stored_at_ms + put.expiry_ms if put.expiry_ms else 0
    message = pb.RetainedMessage(
        tenant=put.tenant,
        topic=put.topic,
        payload=put.payload,
        qos=put.qos,
        properties=put.properties,
        stored_at_ms=stored_at_ms,
        expires_at_ms=expires_at_ms,
    )
    key = keys.pack(put.tenant, put.topic)
    txn.put(RETAINED_MESSAGE.family, key, message.SerializeToString(deterministic=True))
    txn.schedule(EXPIRY, key, expires_at_ms or None)
    return pb.RetainedStamp(stored_at_ms=stored_at_ms, expires_at_ms=expires_at_ms)


def delete(txn: Txn, named: pb.RetainedName) -> None:
    """Delete the message of a topic, if there is one."""
    _erase(txn, keys.pack(named.tenant, named.topic))


def expire(txn: Txn, command: pb.ExpireRetainedMessages) -> BatchReply:
    """Delete the messages with a deadline that is still due: a later message may have moved it."""
    for key in still_due(txn, EXPIRY, command.keys):
        _erase(txn, key)
    return BatchReply(items=len(command.keys))


def check_put(message: pb.PutRetainedMessageRequest, path: str) -> None:
    """Reject a message that cannot be retained."""
    if not message.payload:
        raise Invalid(f"{path}payload", "must not be empty: delete the message to clear it")
    size = len(message.payload) + len(message.properties)
    if size > LARGEST_MESSAGE:
        reason = f"must have at most {LARGEST_MESSAGE} bytes with the properties, not {size}"
        raise Invalid(f"{path}payload", reason)
    check_qos(f"{path}qos", message.qos)
    if message.expiry_ms > LONGEST_EXPIRY_MS:
        reason = f"must be at most {LONGEST_EXPIRY_MS}: leave it out for a message that stays"
        raise Invalid(f"{path}expiry_ms", reason)
    if message.HasField("expiry_ms") and not message.expiry_ms:
        raise Invalid(f"{path}expiry_ms", "must be at least 1")


def keep(request: pb.ListRetainedMessagesRequest) -> Callable[[pb.RetainedMessage], bool] | None:
    """Return the filter of a list request, None for all messages; reject an invalid filter."""
    if not request.topic_filter:
        return None
    check_topic_filter("topic_filter", request.topic_filter)
    return lambda message: matches(request.topic_filter, message.topic)


def _as_it_was(row: pb.RetainedMessage, stored: Stored) -> pb.PutRetainedMessageRequest:
    put = pb.PutRetainedMessageRequest(
        tenant=row.tenant,
        topic=row.topic,
        payload=row.payload,
        qos=row.qos,
        properties=row.properties,
    )
    if row.expires_at_ms:
        put.expiry_ms = row.expires_at_ms - row.stored_at_ms
    return put


def _erase(txn: Txn, key: bytes) -> None:
    txn.delete(RETAINED_MESSAGE.family, key)
    txn.schedule(EXPIRY, key, None)


RETAINED_MESSAGE: Final[Resource[pb.RetainedMessage]] = Resource(
    family="mqtt.retained_messages",
    group=GROUP,
    row=pb.RetainedMessage,
    service=pb.DESCRIPTOR.services_by_name["RetainedMessageService"],
    key=("tenant", "topic"),
    check_key={"topic": check_topic_name},
    shard_by=("tenant", "topic"),
    tenant="tenant",
    serving=Serving(keep=keep),
    verbs={
        "Put": Verb(
            apply=put,
            check=check_put,
            item=Item(reply=pb.RetainedStamp),
            examples=(
                pb.PutRetainedMessageRequest(tenant="globex", topic="weather/bern", payload=b"sun"),
                pb.PutRetainedMessageRequest(
                    tenant="acme", topic="weather/oslo", payload=b"rain", qos=1, expiry_ms=5_000
                ),
            ),
        ),
        "Expire": Verb(
            apply_all=expire,
            message=pb.ExpireRetainedMessages,
            examples=(keys.pack("acme", "weather/oslo"),),
        ),
        "Delete": Verb(
            apply=delete,
            examples=(pb.RetainedName(tenant="globex", topic="weather/bern"),),
        ),
    },
    view=View(remake=Remake(item=_as_it_was)),
)
RETAINED_EXPIRY: Final = Timer(
    name=EXPIRY, group=GROUP, due=lambda due: pb.ExpireRetainedMessages(keys=due)
)
