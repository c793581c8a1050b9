"""What is wrong with a will or a command whatever the rows say."""

from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_name

from quorate_mqtt.names import check_identity, check_qos, check_topic_name
from quorate_mqtt.v1.wills_pb2 import AcknowledgeWill, Will

#: MQTT counts the bytes of a will's payload in two bytes.
LARGEST_PAYLOAD: Final = 65_535
LARGEST_PROPERTIES: Final = 65_535


def check_will(will: Will, path: str) -> None:
    """Refuse a will that no broker can publish."""
    check_topic_name(f"{path}topic", will.topic)
    check_qos(f"{path}qos", will.qos)
    for field, value, most in (
        ("payload", will.payload, LARGEST_PAYLOAD),
        ("properties", will.properties, LARGEST_PROPERTIES),
    ):
        if len(value) > most:
            raise Invalid(f"{path}{field}", f"must have at most {most} bytes, not {len(value)}")


def check_acknowledgement(command: AcknowledgeWill, path: str = "") -> None:
    """Refuse to acknowledge what was delivered to nobody."""
    check_name(f"{path}tenant", command.tenant)
    check_identity(f"{path}client_id", command.client_id)
    if command.id == 0:
        raise Invalid(f"{path}id", "must be the id of the delivery")
