"""Checks of commands that need no rows; they run before a command is logged."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.plugin import Invalid
from quorate.plugin.checking import LARGEST_PAGE, check_bytes, check_count, check_most, check_text

from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

#: The longest name, in bytes.
LONGEST_NAME: Final = 255
#: The most filter servers of one member.
MOST_FILTER_SERVERS: Final = 100
#: The size limit of a setting's value, in bytes.
LARGEST_VALUE: Final = 65_536
#: Java's numbers have 31 bits and a sign.
LARGEST_NUMBER: Final = (1 << 31) - 1
LONGEST_TIMEOUT_MS: Final = 86_400_000


def check_name(field: str, name: str) -> None:
    """Refuse a name that is empty or too long in bytes."""
    check_text(field, name, LONGEST_NAME)


def check_texts(item: Any, path: str, *fields: str) -> None:
    """Refuse an item with a field that is empty or too long."""
    for field in fields:
        check_name(f"{path}{field}", getattr(item, field))


def check_registration(registration: pb.Registration, path: str) -> None:
    """Refuse a registration of an invalid member."""
    check_texts(registration, path, "cluster", "name", "address")
    for field in ("ha_address", "zone", "door"):
        check_wanted(f"{path}{field}", getattr(registration, field))
    if registration.id < -1:
        raise Invalid(f"{path}id", f"must be -1 or more, not {registration.id}")
    timeout_ms = registration.heartbeat_timeout_ms
    check_most(f"{path}heartbeat_timeout_ms", timeout_ms, LONGEST_TIMEOUT_MS)
    if registration.drops_absent_topics and registration.partial:
        raise Invalid(f"{path}drops_absent_topics", "must not be set in a part of a table")
    for topic in registration.topics:
        if not topic.topic or len(topic.topic) > LONGEST_NAME // 4:
            check_name(f"{path}topics.topic", topic.topic)
    for mapping in registration.mappings:
        check_name(f"{path}mappings.topic", mapping.topic)
        check_wanted(f"{path}mappings.broker", mapping.broker)
    servers = registration.filter_servers.addresses
    check_count(f"{path}filter_servers.addresses", servers, MOST_FILTER_SERVERS)
    for server in servers:
        check_name(f"{path}filter_servers.addresses", server)


def check_heartbeat(heartbeat: pb.Heartbeat, path: str) -> None:
    """Refuse a heartbeat without a member."""
    check_wanted(f"{path}name", heartbeat.name)
    check_name(f"{path}address", heartbeat.address)


def check_member(named: Any, path: str) -> None:
    """Refuse an item that does not name a member, by the broker's name and an address."""
    check_texts(named, path, "name", "address")


def check_setting(setting: rows.KvConfig, path: str) -> None:
    """Refuse a value that is too large."""
    check_bytes(f"{path}value", setting.value.encode(), LARGEST_VALUE)


def check_queues(item: pb.BrokerQueues, path: str) -> None:
    """Refuse numbers that RocketMQ cannot represent."""
    for field in ("read_queues", "write_queues", "perm", "topic_sys_flag"):
        check_most(f"{path}queues.{field}", getattr(item.queues, field), LARGEST_NUMBER)


def check_deletion(item: pb.TopicDeletion, path: str) -> None:
    """Refuse the deletion of an invalid topic."""
    check_name(f"{path}topic", item.topic)
    check_wanted(f"{path}cluster", item.cluster)


def check_names(field: str, names: Sequence[str]) -> None:
    """Refuse a read of too many names, or of invalid ones."""
    check_count(field, names, LARGEST_PAGE)
    for position, name in enumerate(names):
        # Nearly all names are short, which needs no further check: an invalid one is not found.
        if not name or len(name) > LONGEST_NAME // 4:
            check_name(f"{field}[{position}]", name)


def check_wanted(field: str, text: str) -> None:
    """Refuse a condition that no name can meet; an empty one is valid."""
    if text:
        check_name(field, text)
