"""What may be a topic, a client, a user or a broker; what may not is refused."""

from collections.abc import Callable
from typing import Any, Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_text

from quorate_mqtt.topic_filters import fault_of_filter, fault_of_topic

#: Of a user, a client or a broker, in bytes.
LONGEST_IDENTITY: Final = 512
#: In bytes; MQTT itself allows 65,535, and no key of a row is longer than 4 KiB.
LONGEST_TOPIC: Final = 3_072


def check_identity(field: str, identity: str) -> None:
    """Refuse what no user, client or broker can be called: MQTT leaves nearly everything open."""
    check_text(field, identity, LONGEST_IDENTITY)


def check_topic_name(field: str, topic: str) -> None:
    """Refuse what nothing can be published to."""
    _check_topic(field, topic, fault_of_topic(topic))


def check_topic_filter(field: str, topic_filter: str) -> None:
    """Refuse what is no filter, shared or not."""
    _check_topic(field, topic_filter, fault_of_filter(topic_filter))


def check_qos(field: str, qos: int) -> None:
    """Refuse a quality of service that MQTT does not have."""
    if qos > 2:
        raise Invalid(field, f"must be 0, 1 or 2, not {qos}")


def check_epoch(field: str, epoch: int) -> None:
    """Refuse the epoch of no registration of a broker."""
    if epoch == 0:
        raise Invalid(field, "must be the epoch that the registration was answered with")


def when_given(**checks: Callable[[str, Any], None]) -> Callable[[Any], None]:
    """Return what refuses a list whose conditions no row can meet; empty ones ask for nothing."""

    def check_given(request: Any) -> None:
        for field, check in checks.items():
            if value := getattr(request, field):
                check(field, value)

    return check_given


def _check_topic(field: str, topic: str, fault: str) -> None:
    if fault:
        raise Invalid(field, fault)
    check_text(field, topic, LONGEST_TOPIC)
