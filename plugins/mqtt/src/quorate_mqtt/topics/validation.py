"""What is wrong with a topic whatever the rows say."""

from typing import Final

from quorate.plugin import Invalid, Updates
from quorate.plugin.checking import check_description, check_name

from quorate_mqtt.names import check_topic_name
from quorate_mqtt.topics.families import Named
from quorate_mqtt.v1.topics_pb2 import (
    GrowTopicRequest,
    Topic,
    TopicConfig,
    TopicSource,
    TopicStorage,
    UpdateTopicRequest,
)

UPDATES: Final = Updates(fixed=frozenset({"tenant", "name"}))

MOST_PARTITIONS: Final = 1_024
MOST_COPIES: Final = 9
#: Of the fields of a configuration: larger ones do not fit the engines' signed numbers.
_LARGEST: Final = (1 << 63) - 1
_STORAGES: Final = frozenset(TopicStorage.values())
_SOURCES: Final = frozenset(TopicSource.values())


def check_named(named: Named, path: str = "") -> None:
    """Refuse what names no tenant, or cannot name a topic."""
    check_name(f"{path}tenant", named.tenant)
    check_topic_name(f"{path}name", named.name)


def check_topic(topic: Topic, path: str = "") -> None:
    """Refuse a topic without partitions or copies, or with more than there can be."""
    check_named(topic, path)
    check_description(f"{path}description", topic.description)
    if topic.storage not in _STORAGES:
        raise Invalid(f"{path}storage", f"{topic.storage} is no storage that this version knows")
    if topic.source not in _SOURCES:
        raise Invalid(f"{path}source", f"{topic.source} is no source that this version knows")
    _check_partitions(f"{path}partitions", topic.partitions)
    if not 1 <= topic.replication <= MOST_COPIES:
        reason = f"must be from 1 to {MOST_COPIES}, not {topic.replication}"
        raise Invalid(f"{path}replication", reason)
    _check_config(f"{path}config", topic.config)


def check_update(update: UpdateTopicRequest, path: str = "") -> None:
    """Refuse a configuration that no topic can have."""
    check_named(update, path)
    UPDATES.check(update, path)
    check_description(f"{path}description", update.description)
    _check_config(f"{path}config", update.config)


def check_growth(growth: GrowTopicRequest, path: str = "") -> None:
    """Refuse a number of partitions that no topic can have."""
    check_named(growth, path)
    _check_partitions(f"{path}partitions", growth.partitions)


def _check_partitions(field: str, partitions: int) -> None:
    if not 1 <= partitions <= MOST_PARTITIONS:
        raise Invalid(field, f"must be from 1 to {MOST_PARTITIONS}, not {partitions}")


def _check_config(field: str, config: TopicConfig) -> None:
    for name in ("segment_bytes", "records", "retention_s"):
        value = getattr(config, name)
        if value > _LARGEST:
            raise Invalid(f"{field}.{name}", f"must be at most {_LARGEST}, not {value}")
