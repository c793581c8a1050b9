"""Checks of the names of topics, clients, users and brokers."""

from collections.abc import Callable
from typing import Any, Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_text

from quorate_mqtt.topic_filters import fault_of_filter, fault_of_topic

#: Maximum length of the name of a user, a client or a broker, in bytes.
LONGEST_IDENTITY: Final = 512
#: In bytes; MQTT itself allows 65,535, and no key of a row is longer than 4 KiB.
LONGEST_TOPIC: Final = 3_072


def check_identity(field: str, identity: str) -> None:
    """Reject an invalid name of a user, client or broker: MQTT allows almost any text."""
    check_text(field, identity, LONGEST_IDENTITY)


def check_topic_name(field: str, topic: str) -> None:
    """Reject an invalid topic name."""
    _check_topic(field, topic, fault_of_topic(topic))


def check_topic_filter(field: str, topic_filter: str) -> None:
    """Reject an invalid topic filter, shared or not."""
    _check_topic(field, topic_filter, fault_of_filter(topic_filter))


def check_qos(field: str, qos: int) -> None:
    """Reject a quality of service that MQTT does not define."""
    if qos > 2:
        raise Invalid(field, f"must be 0, 1 or 2, not {qos}")


def check_epoch(field: str, epoch: int) -> None:
    """Reject an epoch that no registration of a broker has."""
    if epoch == 0:
        raise Invalid(field, "must be the epoch that the registration was answered with")


def when_given(**checks: Callable[[str, Any], None]) -> Callable[[Any], None]:
    """Return a check that rejects a list request with an invalid condition; empty ones pass."""

    def check_given(request: Any) -> None:
        for field, check in checks.items():
            if value := getattr(request, field):
                check(field, value)

    return check_given


def _check_topic(field: str, topic: str, fault: str) -> None:
    if fault:
        raise Invalid(field, fault)
    check_text(field, topic, LONGEST_TOPIC)
