"""What is wrong with a command whatever the rows say; it is refused before it is logged."""

from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_name

from quorate_mqtt.names import check_identity, check_qos, check_topic_filter
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1.subscriptions_pb2 import (
    DeleteSubscription,
    RetainHandling,
    SetSubscription,
)

#: MQTT writes it in four bytes of seven bits.
LARGEST_IDENTIFIER: Final = 268_435_455
LARGEST_PROPERTIES: Final = 16 * 1024


def check_set(command: SetSubscription, path: str = "") -> None:
    """Refuse a subscription of nobody, to nothing, or with options that MQTT does not have."""
    _check_named(command, path)
    check_qos(f"{path}qos", command.qos)
    if command.retain_handling not in RetainHandling.values():
        raise Invalid(f"{path}retain_handling", f"{command.retain_handling} is none that is known")
    if command.identifier > LARGEST_IDENTIFIER:
        raise Invalid(
            f"{path}identifier", f"must be at most {LARGEST_IDENTIFIER}, not {command.identifier}"
        )
    if len(command.properties) > LARGEST_PROPERTIES:
        raise Invalid(
            f"{path}properties",
            f"must have at most {LARGEST_PROPERTIES} bytes, not {len(command.properties)}",
        )
    if command.no_local and group_of(command.filter):
        raise Invalid(f"{path}no_local", "must not be set for a shared subscription")


def check_delete(command: DeleteSubscription, path: str = "") -> None:
    """Refuse to end what cannot be a subscription."""
    _check_named(command, path)


def _check_named(command: SetSubscription | DeleteSubscription, path: str) -> None:
    check_name(f"{path}tenant", command.tenant)
    check_identity(f"{path}client_id", command.client_id)
    check_topic_filter(f"{path}filter", command.filter)
    if command.HasField("generation") and command.generation == 0:
        raise Invalid(f"{path}generation", "must be the one that the connect was answered with")
