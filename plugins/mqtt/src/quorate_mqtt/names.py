"""What may be a name of a tenant, a rule, a topic, a client or a user; what may not is refused."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from quorate.plugin import Invalid

from quorate_mqtt.topic_filters import fault_of_filter, fault_of_topic

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference

LONGEST_NAME: Final = 128
#: Of a user, a client or a broker, in bytes.
LONGEST_IDENTITY: Final = 512
#: In bytes; MQTT itself allows 65,535, and no key of a row is longer than 4 KiB.
LONGEST_TOPIC: Final = 3_072
LONGEST_DESCRIPTION: Final = 1_024

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


def check_each(field: str, items: Sequence[I], check: Callable[[I, str], None]) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    for position, item in enumerate(items):
        check(item, f"{field}[{position}].")


def check_name(field: str, name: str) -> None:
    """Refuse what is no name of a tenant, a rule or a group."""
    if not name:
        raise Invalid(field, "must not be empty")
    if len(name) > LONGEST_NAME:
        raise Invalid(field, f"must have at most {LONGEST_NAME} characters, not {len(name)}")
    if not _is_name(name):
        raise Invalid(field, "must be letters, digits, '.', '_' and '-'")


def check_identity(field: str, identity: str) -> None:
    """Refuse what no user, client or broker can be called: MQTT leaves nearly everything open."""
    check_text(field, identity, LONGEST_IDENTITY)


def check_topic_name(field: str, topic: str) -> None:
    """Refuse what nothing can be published to."""
    _check_topic(field, topic, fault_of_topic(topic))


def check_topic_filter(field: str, topic_filter: str) -> None:
    """Refuse what is no filter, shared or not."""
    _check_topic(field, topic_filter, fault_of_filter(topic_filter))


def check_text(field: str, text: str, longest: int) -> None:
    """Refuse text that is empty, too long in bytes, or has control characters."""
    if not text:
        raise Invalid(field, "must not be empty")
    # Few texts are long enough for their bytes to be counted.
    if len(text) * 4 > longest and (size := len(text.encode())) > longest:
        raise Invalid(field, f"must have at most {longest} bytes, not {size}")
    # Nearly every text can be printed, which is known at once.
    if not text.isprintable() and _CONTROL.search(text):
        raise Invalid(field, "must not have control characters")


def check_choice(field: str, value: int, choices: EnumTypeWrapper) -> None:
    """Refuse a value of an enumeration that is unspecified or unknown here."""
    if not value or value not in choices.values():
        raise Invalid(field, f"must be one of {', '.join(choices.keys()[1:])}")


def check_qos(field: str, qos: int) -> None:
    """Refuse a quality of service that MQTT does not have."""
    if qos > 2:
        raise Invalid(field, f"must be 0, 1 or 2, not {qos}")


def check_description(field: str, description: str) -> None:
    """Refuse a description that is too long."""
    if len(description) > LONGEST_DESCRIPTION:
        length = len(description)
        raise Invalid(field, f"must have at most {LONGEST_DESCRIPTION} characters, not {length}")


@lru_cache(maxsize=1_024)
def _is_name(name: str) -> bool:
    """Tell whether short text is a name; thousands of rows name few tenants."""
    return _NAME.fullmatch(name) is not None


def _check_topic(field: str, topic: str, fault: str) -> None:
    if fault:
        raise Invalid(field, fault)
    check_text(field, topic, LONGEST_TOPIC)
