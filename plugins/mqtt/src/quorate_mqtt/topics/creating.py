"""How topics are made: each once, and no more than their tenants may have."""

from typing import Final

from quorate.plugin import Rejected, Txn

from quorate_mqtt.tenants.rows import LIMIT_REACHED, TENANTS, limit_of, there
from quorate_mqtt.topics import counts
from quorate_mqtt.topics.families import IDS, LIMIT
from quorate_mqtt.v1.topics_pb2 import (
    TOPIC_SOURCE_MQTT,
    TOPIC_STORAGE_ENGINE_SEGMENT,
    Topic,
    TopicConfig,
)

SEGMENT_BYTES: Final = 1 << 30
RETENTION_S: Final = 7 * 86_400


class Creation:
    """The topics that one command makes; their tenants are read, and counted, once."""

    __slots__ = ("_made", "_rooms", "_txn")

    def __init__(self, txn: Txn) -> None:
        self._txn: Final = txn
        #: How many topics each tenant had, and how many it may have.
        self._rooms: Final[dict[str, tuple[int, int | None]]] = {}
        self._made: Final[dict[str, int]] = {}

    def row(self, wanted: Topic) -> bytes:
        """Return the row of a new topic; refuse one that has no room."""
        tenant = wanted.tenant
        had, limit = self._room(tenant)
        made = self._made.get(tenant, 0)
        if limit is not None and had + made >= limit:
            self._txn.refresh(TENANTS)
            raise Rejected(
                LIMIT_REACHED,
                f"tenant {tenant} has {had + made} topics, and its limit {LIMIT} is {limit}: "
                "delete topics, or raise the limit",
            )
        self._made[tenant] = made + 1
        topic = placed(wanted)
        topic.id = self._txn.next_id(IDS)
        topic.created_at_ms = topic.updated_at_ms = self._txn.proposed_at_ms
        return topic.SerializeToString(deterministic=True)

    def close(self) -> None:
        """Write how many topics the tenants have now."""
        for tenant, made in self._made.items():
            counts.write(self._txn, tenant, self._rooms[tenant][0] + made)

    def _room(self, tenant: str) -> tuple[int, int | None]:
        room = self._rooms.get(tenant)
        if room is None:
            limit = limit_of(there(self._txn, tenant), LIMIT)
            room = self._rooms[tenant] = counts.read(self._txn, tenant), limit
        return room


def placed(wanted: Topic) -> Topic:
    """Return what a topic is asked to be, with what that leaves open."""
    return Topic(
        tenant=wanted.tenant,
        name=wanted.name,
        description=wanted.description,
        storage=wanted.storage or TOPIC_STORAGE_ENGINE_SEGMENT,
        source=wanted.source or TOPIC_SOURCE_MQTT,
        partitions=wanted.partitions,
        replication=wanted.replication,
        config=completed(wanted.config),
    )


def completed(config: TopicConfig) -> TopicConfig:
    """Return a configuration with what it leaves open."""
    return TopicConfig(
        segment_bytes=config.segment_bytes or SEGMENT_BYTES,
        records=config.records,
        retention_s=config.retention_s or RETENTION_S,
    )
