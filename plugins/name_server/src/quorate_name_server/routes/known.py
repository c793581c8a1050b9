"""The cache of routes on every node, which serves them without a call to a shard."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from sys import intern
from typing import Any, Final

from quorate.plugin import Cache, keys

from quorate_name_server.brokers.registering import speaks_for
from quorate_name_server.brokers.rows import HEARTBEAT_TIMEOUT_MS, clusters_of, member_of
from quorate_name_server.families import (
    BROKERS,
    GROUP,
    KV_CONFIGS,
    MAPPINGS,
    QUEUES,
    RENEWALS,
)
from quorate_name_server.routes.making import (
    ORDER_TOPICS,
    flags_fit,
    has_flags,
    is_asked_for,
    make_route,
)
from quorate_name_server.routes.unconfirmed import Unconfirmed
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as answers,
)


class RouteWatch:
    """The topics whose routes may have changed since the last `take`."""

    def __init__(self) -> None:
        self._touched: Final[dict[str, None]] = {}
        self._woken: Final = asyncio.Event()

    def touch(self, topic: str) -> None:
        """Note that the route of a topic may have changed."""
        self._touched[topic] = None
        self._woken.set()

    async def take(self) -> list[str]:
        """Wait for topics whose routes may have changed, and return them."""
        await self._woken.wait()
        self._woken.clear()
        topics = list(self._touched)
        self._touched.clear()
        return topics


class KnownRoutes:
    """Brokers, queues and settings, indexed for look-ups; the host feeds it on every node."""

    def __init__(self) -> None:
        #: Returns seconds; tests replace it.
        self.clock = time.monotonic
        #: Grows with every change: derived values are valid while it is unchanged.
        self.changes = 0
        #: By name.
        self.brokers: Final[dict[str, rows.Broker]] = {}
        #: The names of brokers by the addresses of their members.
        self.names: Final[dict[str, str]] = {}
        self.unconfirmed: Final = Unconfirmed(lambda: self.clock(), self.touch_all)
        #: By broker and address: the time at which this node last extended a member's life.
        self._prolonged: Final[dict[str, dict[str, float]]] = {}
        #: By topic, by broker.
        self._queues: Final[dict[str, dict[str, rows.Queues]]] = {}
        self._mappings: Final[dict[str, dict[str, rows.QueueMapping]]] = {}
        #: By namespace, by key.
        self._settings: Final[dict[str, dict[str, str]]] = {}
        self._by_family: Final[dict[str, Any]] = {
            QUEUES: self._queues,
            MAPPINGS: self._mappings,
            KV_CONFIGS: self._settings,
        }
        #: Most queues are equal, and share one object.
        self._alike: Final[dict[bytes, rows.Queues]] = {}
        self._in_order: list[str] | None = None
        #: By topic.
        self._watches: Final[dict[str, set[RouteWatch]]] = {}

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same rows."""
        if not isinstance(other, KnownRoutes):
            return NotImplemented
        return self.brokers == other.brokers and self._by_family == other._by_family

    __hash__ = None  # type: ignore[assignment]

    # Fed by the host.

    def reset(self) -> None:
        """Forget all rows, before the host lists them again."""
        self.changes += 1
        for held in (self.brokers, self.names, self._queues, self._mappings, self._settings):
            held.clear()
        self._alike.clear()
        self._in_order = None
        self.touch_all()

    def put(self, family: str, key: bytes, row: bytes) -> None:
        """Store a new or changed row."""
        self.changes += 1
        first, *rest = map(str, keys.unpack(key))
        if family == BROKERS:
            self._drop_broker(first)
            self.brokers[first] = broker = rows.Broker.FromString(row)
            self.names.update((member.address, intern(first)) for member in broker.members)
            self._touch_broker(first)
        elif family == QUEUES:
            known = self._queues.get(first)
            if known is None:
                known = self._queues[first] = {}
                self._in_order = None
            queues = self._alike.get(row)
            if queues is None:
                if len(self._alike) == _MOST_ALIKE:
                    self._alike.clear()
                queues = self._alike[row] = rows.Queues.FromString(row)
            known[intern(rest[0])] = queues
        elif family == MAPPINGS:
            mapping = rows.QueueMapping.FromString(row)
            self._mappings.setdefault(first, {})[rest[0]] = mapping
        else:
            value = rows.KvConfig.FromString(row).value
            self._settings.setdefault(first, {})[rest[0]] = value
        if family != BROKERS:
            self.touch([rest[0] if family == KV_CONFIGS else first])

    def delete(self, family: str, key: bytes) -> None:
        """Forget a row."""
        self.changes += 1
        first, *rest = map(str, keys.unpack(key))
        if family == BROKERS:
            self._drop_broker(first)
            self._prolonged.pop(first, None)
            self._touch_broker(first)
            return
        self.touch([rest[0] if family == KV_CONFIGS else first])
        held: dict[str, dict[str, Any]] = self._by_family[family]
        inner = held.get(first, {})
        inner.pop(rest[0], None)
        if not inner and held.pop(first, None) is not None and family == QUEUES:
            self._in_order = None

    def _drop_broker(self, name: str) -> None:
        broker = self.brokers.pop(name, None)
        for member in () if broker is None else broker.members:
            self.names.pop(member.address, None)

    def touch(self, topics: Iterable[str]) -> None:
        """Notify watchers of topics that their routes may have changed."""
        for topic in topics:
            for watch in self._watches.get(topic, ()):
                watch.touch(topic)

    def touch_all(self) -> None:
        """Notify all watchers that any route may have changed."""
        self.touch(list(self._watches))

    def _touch_broker(self, name: str) -> None:
        self.touch([each for each in self._watches if name in self._queues.get(each, ())])

    @contextmanager
    def watched(self, topics: Sequence[str]) -> Iterator[RouteWatch]:
        """Provide a watch of the routes of topics, all marked as changed at first."""
        watch = RouteWatch()
        for topic in topics:
            self._watches.setdefault(topic, set()).add(watch)
            watch.touch(topic)
        try:
            yield watch
        finally:
            for topic in set(topics):
                self._watches[topic].discard(watch)
                if not self._watches[topic]:
                    del self._watches[topic]

    # Reads.

    def route(self, topic: str) -> answers.Route | None:
        """Return the route of a topic by the rows, or None."""
        queues = self._queues.get(topic)
        if queues is None:
            return None
        order = self._settings.get(ORDER_TOPICS, {}).get(topic, "")
        return make_route(topic, queues, self.brokers, self._mappings.get(topic, {}), order)

    def select(self, query: asked.ReadBrokers) -> list[rows.Broker]:
        """Return the requested brokers, by name."""
        names = sorted(set(query.names) if query.names else self.brokers)
        found = (self.brokers[name] for name in names if name in self.brokers)
        return [broker for broker in found if is_asked_for(broker, query)]

    def settings(self, namespace: str) -> dict[str, str] | None:
        """Return the settings of a namespace by key; None if it has none."""
        return self._settings.get(namespace)

    def topics(self, request: answers.ListTopicsRequest, limit: int) -> tuple[list[str], str]:
        """Return a page of the topics with routes, and the token of the next page."""
        if self._in_order is None:
            self._in_order = sorted(self._queues)
        wanted = {
            name
            for name, broker in self.brokers.items()
            if not request.cluster or request.cluster in clusters_of(broker)
        }
        order = self._in_order
        received = self.unconfirmed_topics(request)
        if received:
            order = sorted({*order, *received})
        found: list[str] = []
        for topic in order[bisect_right(order, request.page_token) :]:
            queues = self._queues.get(topic, {})
            stored = not wanted.isdisjoint(queues) and has_flags(queues, self.brokers, request)
            if stored or topic in received:
                if len(found) == limit:
                    return found, found[-1]
                found.append(topic)
        return found, ""

    def unconfirmed_topics(self, request: answers.ListTopicsRequest) -> set[str]:
        """Return the requested topics of unconfirmed members."""
        return {
            topic
            for topic, cluster, queues in self.unconfirmed.topics()
            if request.cluster in ("", cluster) and flags_fit(queues.topic_sys_flag, request)
        }

    # Renewals of members.

    def stands(self, registration: pb.Registration) -> bool:
        """Return whether a registration changes nothing and only keeps its member alive."""
        broker = self.brokers.get(registration.name)
        member = member_of(broker, "address", registration.address)
        if broker is None or member is None or registration.partial:
            return False
        alike = (
            registration.id == member.id
            and registration.data_version == member.data_version
            and registration.cluster == member.cluster
            and registration.ha_address == member.ha_address
            and registration.zone == broker.zone
            and registration.enable_acting_master == broker.enable_acting_master
            and (registration.heartbeat_timeout_ms or HEARTBEAT_TIMEOUT_MS)
            == member.heartbeat_timeout_ms
            and (not registration.door or registration.door in member.doors)
            and (
                not registration.HasField("filter_servers")
                or list(registration.filter_servers.addresses) == list(member.filter_servers)
            )
        )
        if not alike or not speaks_for(registration, broker):
            return alike
        known = self._queues
        return all(registration.name in known.get(each.topic, ()) for each in registration.topics)

    def renewal(self, registration: pb.Registration) -> pb.Registration | None:
        """Return a registration without its topics; None if it changes anything."""
        if not self.stands(registration):
            return None
        return pb.Registration(
            cluster=registration.cluster,
            name=registration.name,
            id=registration.id,
            address=registration.address,
            data_version=registration.data_version,
            unchanged=True,
        )

    def is_fresh(self, name: str, address: str) -> bool:
        """Return whether this node has recently extended the life of a member."""
        member = member_of(self.brokers.get(name), "address", address)
        at_s = self._prolonged.get(name, {}).get(address)
        if member is None or at_s is None:
            return False
        rest_s = member.heartbeat_timeout_ms / RENEWALS / 1_000
        return self.clock() - at_s < rest_s

    def prolonged(self, name: str, address: str) -> None:
        """Record that a member's life was extended."""
        if name in self.brokers:
            self._prolonged.setdefault(name, {})[address] = self.clock()


#: The most distinct queues kept for sharing.
_MOST_ALIKE: Final = 10_000


CACHE: Final = Cache(
    name="name_server.known_routes",
    group=GROUP,
    families=(BROKERS, QUEUES, MAPPINGS, KV_CONFIGS),
    factory=KnownRoutes,
)
