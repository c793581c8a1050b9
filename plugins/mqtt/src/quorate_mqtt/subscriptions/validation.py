"""What is wrong with a subscription whatever the rows say."""

from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_bytes

from quorate_mqtt.names import check_qos
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1 import subscriptions_pb2 as pb

#: MQTT writes it in four bytes of seven bits.
LARGEST_IDENTIFIER: Final = 268_435_455
LARGEST_PROPERTIES: Final = 16 * 1024


def check_set(command: pb.SetSubscription, path: str) -> None:
    """Refuse a subscription with options that MQTT does not have."""
    check_generation(command, path)
    check_qos(f"{path}qos", command.qos)
    if command.retain_handling not in pb.RetainHandling.values():
        raise Invalid(f"{path}retain_handling", f"{command.retain_handling} is none that is known")
    if command.identifier > LARGEST_IDENTIFIER:
        raise Invalid(
            f"{path}identifier", f"must be at most {LARGEST_IDENTIFIER}, not {command.identifier}"
        )
    check_bytes(f"{path}properties", command.properties, LARGEST_PROPERTIES)
    if command.no_local and group_of(command.filter):
        raise Invalid(f"{path}no_local", "must not be set for a shared subscription")


def check_generation(command: pb.SetSubscription | pb.DeleteSubscription, path: str) -> None:
    """Refuse a generation that no connect was answered with."""
    if command.HasField("generation") and command.generation == 0:
        raise Invalid(f"{path}generation", "must be the one that the connect was answered with")
