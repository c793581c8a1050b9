"""Topics, offsets and groups in the store of a RocketMQ broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from quorate_name_server.remoting.java_json import BodyError, loads
from quorate_name_server.remoting.register_body import data_version
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

_SETTINGS: Final = {
    "retryQueueNums": "retry_queue_nums",
    "retryMaxTimes": "retry_max_times",
    "brokerId": "broker_id",
    "whichBrokerWhenConsumeSlowly": "which_broker_when_consume_slowly",
    "groupSysFlag": "group_sys_flag",
    "consumeTimeoutMinute": "consume_timeout_minutes",
    "consumeEnable": "consume_enable",
    "consumeFromMinEnable": "consume_from_min_enable",
    "consumeBroadcastEnable": "consume_broadcast_enable",
    "consumeMessageOrderly": "consume_message_orderly",
    "notifyConsumerIdsChangedEnable": "notify_consumer_ids_changed_enable",
}


class UnreadableFileError(Exception):
    """A file of the store is not in a broker's format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A subscription group."""

    name: str
    #: By the names that they have in the offset plugin.
    settings: Mapping[str, Any]
    attributes: Mapping[str, str]
    #: Bits by topic.
    forbidden: Mapping[str, int]


class BrokerStore:
    """Reads the files of a broker, running or stopped: a broker writes each file as a whole."""

    def __init__(self, path: Path) -> None:
        self._config: Final = path / "config"

    def missing(self) -> list[str]:
        """Return the names of the missing files."""
        names = ("topics.json", "consumerOffset.json", "subscriptionGroup.json")
        return [name for name in names if not (self._config / name).is_file()]

    def topics(self) -> tuple[list[pb.TopicQueues], rows.DataVersion]:
        """Return the topics, with their common data version."""
        name = "topics.json"
        read = self._read(name)
        with _reading(name):
            found = [
                pb.TopicQueues(
                    topic=topic,
                    queues=rows.Queues(
                        read_queues=config["readQueueNums"],
                        write_queues=config["writeQueueNums"],
                        perm=config["perm"],
                        topic_sys_flag=config.get("topicSysFlag", 0),
                    ),
                )
                for topic, config in sorted(_table(read, "topicConfigTable").items())
            ]
            return found, data_version(_table(read, "dataVersion"))

    def offsets(self) -> Iterator[tuple[str, str, Mapping[int, int]]]:
        """Yield the offsets of groups: a group, a topic, and offsets by queue."""
        name = "consumerOffset.json"
        read = self._read(name)
        with _reading(name):
            for key, queues in sorted(_table(read, "offsetTable").items()):
                topic, _, group = key.partition("@")
                yield group, topic, {int(queue): int(offset) for queue, offset in queues.items()}

    def groups(self) -> Iterator[Group]:
        """Yield the subscription groups, by name."""
        name = "subscriptionGroup.json"
        read = self._read(name)
        with _reading(name):
            forbidden = _table(read, "forbiddenTable")
            for group, config in sorted(_table(read, "subscriptionGroupTable").items()):
                yield Group(
                    name=group,
                    settings={
                        ours: config[theirs]
                        for theirs, ours in _SETTINGS.items()
                        if theirs in config
                    },
                    attributes={
                        key: str(value) for key, value in _table(config, "attributes").items()
                    },
                    forbidden=_table(forbidden, group),
                )

    def _read(self, name: str) -> Mapping[str, Any]:
        path = self._config / name
        if not path.is_file():
            return {}
        with _reading(name):
            found = loads(path.read_text("utf-8"), strict=False)
            if not isinstance(found, dict):
                raise TypeError("it does not contain an object")
            return found


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Turn errors of reading a file into `UnreadableFileError`, which names the file."""
    try:
        yield
    except (BodyError, ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise UnreadableFileError(f"{name} is not in a broker's format: {error!r}") from error


def _table(read: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = read.get(name) or {}
    return found
