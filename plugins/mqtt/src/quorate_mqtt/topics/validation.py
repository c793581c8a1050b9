"""What is wrong with a topic whatever the rows say."""

from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_description

from quorate_mqtt.v1 import topics_pb2 as pb

MOST_PARTITIONS: Final = 1_024
MOST_COPIES: Final = 9
#: Of the fields of a configuration: larger ones do not fit the engines' signed numbers.
_LARGEST: Final = (1 << 63) - 1
_STORAGES: Final = frozenset(pb.TopicStorage.values())
_SOURCES: Final = frozenset(pb.TopicSource.values())


def check_topic(topic: pb.Topic, path: str = "") -> None:
    """Refuse a topic without partitions or copies, or with more than there can be."""
    check_description(f"{path}description", topic.description)
    if topic.storage not in _STORAGES:
        raise Invalid(f"{path}storage", f"{topic.storage} is no storage that this version knows")
    if topic.source not in _SOURCES:
        raise Invalid(f"{path}source", f"{topic.source} is no source that this version knows")
    check_growth(topic, path)
    if not 1 <= topic.replication <= MOST_COPIES:
        reason = f"must be from 1 to {MOST_COPIES}, not {topic.replication}"
        raise Invalid(f"{path}replication", reason)
    _check_config(f"{path}config", topic.config)


def check_update(update: pb.UpdateTopicRequest, path: str) -> None:
    """Refuse a configuration that no topic can have."""
    check_description(f"{path}description", update.description)
    _check_config(f"{path}config", update.config)


def check_growth(growth: pb.GrowTopicRequest | pb.Topic, path: str) -> None:
    """Refuse a number of partitions that no topic can have."""
    if not 1 <= growth.partitions <= MOST_PARTITIONS:
        reason = f"must be from 1 to {MOST_PARTITIONS}, not {growth.partitions}"
        raise Invalid(f"{path}partitions", reason)


def _check_config(field: str, config: pb.TopicConfig) -> None:
    for name in ("segment_bytes", "records", "retention_s"):
        value = getattr(config, name)
        if value > _LARGEST:
            raise Invalid(f"{field}.{name}", f"must be at most {_LARGEST}, not {value}")
