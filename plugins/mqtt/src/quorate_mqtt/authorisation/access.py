"""The access that a client requests, and the identity of the client."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

from quorate.plugin import Invalid

from quorate_mqtt.topic_filters import Levels, fault_of_filter, fault_of_topic, levels_of, unshared

Address = IPv4Address | IPv6Address

_HIGHEST_QOS: Final = 2


class Action(StrEnum):
    """An action that is permitted or denied."""

    CONNECT = "connect"
    PUBLISH = "publish"
    SUBSCRIBE = "subscribe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One action that a client requests."""

    client_id: str
    #: Empty: the client gave none.
    username: str = ""
    #: The IP address of the client; empty: unknown, so that no rule for an address matches.
    address: str = ""
    action: Action
    #: The name of a topic to publish to, a filter to subscribe to; empty to connect.
    topic: str = ""
    qos: int = 0
    #: The message to publish is to be retained.
    retain: bool = False


class Asked(NamedTuple):
    """A valid access in parsed form."""

    access: Access
    #: Of the topic or filter; empty to connect.
    levels: Levels
    address: Address | None


def take_apart(access: Access) -> Asked:
    """Parse an access; raises `Invalid` for an invalid one."""
    if not access.client_id:
        raise Invalid("client_id", "must not be empty")
    if not 0 <= access.qos <= _HIGHEST_QOS:
        raise Invalid("qos", f"must be 0, 1 or 2, not {access.qos}")
    fault = _fault_of_what(access)
    if fault:
        raise Invalid("topic", fault)
    levels = levels_of(unshared(access.topic)) if access.topic else ()
    return Asked(access, levels, _address_of(access.address))


def address_of(text: str) -> Address:
    """Parse an IP address; raises `ValueError`. An IPv4-mapped IPv6 address becomes IPv4."""
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _address_of(text: str) -> Address | None:
    try:
        return address_of(text) if text else None
    except ValueError:
        raise Invalid("address", f"must be an IP address without a port, not {text!r}") from None


def _fault_of_what(access: Access) -> str:
    if access.action is Action.PUBLISH:
        return fault_of_topic(access.topic)
    if access.action is Action.SUBSCRIBE:
        return fault_of_filter(access.topic)
    return "must be empty to connect" if access.topic else ""
