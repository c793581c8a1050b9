"""What is wrong with a retained message whatever the rows say."""

from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_name

from quorate_mqtt.names import check_qos, check_topic_name
from quorate_mqtt.v1.retained_messages_pb2 import PutRetainedMessageRequest, RetainedName

#: Of payload and properties: a row has at most 1 MiB, and its names need some of it.
LARGEST_MESSAGE: Final = (1 << 20) - (8 << 10)
#: A hundred years: later than that no message expires in time.
LONGEST_EXPIRY_MS: Final = 100 * 365 * 86_400_000


def check_put(message: PutRetainedMessageRequest, path: str = "") -> None:
    """Refuse a message that no topic can retain."""
    check_name(f"{path}tenant", message.tenant)
    check_topic_name(f"{path}topic", message.topic)
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


def check_named(named: RetainedName, path: str = "") -> None:
    """Refuse what names no topic."""
    check_name(f"{path}tenant", named.tenant)
    check_topic_name(f"{path}topic", named.topic)
