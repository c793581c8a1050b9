"""Registrations that a node received while no majority could be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from quorate_name_server.brokers.rows import HEARTBEAT_TIMEOUT_MS
from quorate_name_server.routes.making import is_asked_for, permit
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as answers,
)


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """A registration, with the time of its receipt by this node."""

    registration: pb.Registration
    at_s: float
    bytes: int

    @property
    def until_s(self) -> float:
        """The time at which it expires."""
        return self.at_s + (self.registration.heartbeat_timeout_ms or HEARTBEAT_TIMEOUT_MS) / 1_000


class Unconfirmed:
    """Registrations without a majority: the latest of each member, kept for its timeout."""

    def __init__(self, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self._clock: Final = clock
        #: Called after each change.
        self._changed: Final = changed
        #: Maximum size of all registrations together, in bytes.
        self.most_bytes = 1 << 26
        #: By broker, by address.
        self._received: Final[dict[str, dict[str, Received]]] = {}
        #: By topic, by broker.
        self._queues: Final[dict[str, dict[str, rows.Queues]]] = {}
        self._bytes = 0
        #: No registration expires earlier.
        self._good_until_s = float("inf")

    def __len__(self) -> int:
        return sum(map(len, self._received.values()))

    # Registrations.

    def remember(self, registration: pb.Registration) -> bool:
        """Store a registration, merged with an earlier one; return False if there is no room."""
        self._expire()
        earlier = self._received.get(registration.name, {}).get(registration.address)
        if earlier is not None:
            registration = _merged(earlier.registration, registration)
            self.forget(registration.name, registration.address)
        size = registration.ByteSize()
        if self._bytes + size > self.most_bytes:
            return False
        received = Received(registration, self._clock(), size)
        self._received.setdefault(registration.name, {})[registration.address] = received
        self._index(registration)
        self._bytes += size
        self._good_until_s = min(self._good_until_s, received.until_s)
        self._changed()
        return True

    def forget(self, name: str, address: str) -> None:
        """Forget the registration of a member."""
        members = self._received.get(name, {})
        received = members.pop(address, None)
        if received is None:
            return
        self._bytes -= received.bytes
        for each in received.registration.topics:
            queues = self._queues.get(each.topic, {})
            queues.pop(name, None)
            if not queues:
                self._queues.pop(each.topic, None)
        if not members:
            del self._received[name]
        for other in members.values():
            self._index(other.registration)
        self._changed()

    def _index(self, registration: pb.Registration) -> None:
        for each in registration.topics:
            self._queues.setdefault(each.topic, {})[registration.name] = each.queues

    def pending(self) -> list[tuple[Received, pb.Registration]]:
        """Return the registrations to propose, each with its age, oldest first."""
        self._expire()
        every = [received for members in self._received.values() for received in members.values()]
        found = []
        for received in sorted(every, key=lambda each: each.at_s):
            registration = pb.Registration()
            registration.CopyFrom(received.registration)
            registration.received_ms_ago = int((self._clock() - received.at_s) * 1_000)
            found.append((received, registration))
        return found

    def confirmed(self, received: Received) -> None:
        """Forget a proposed registration, unless the member has registered again since."""
        registration = received.registration
        if self._received.get(registration.name, {}).get(registration.address) is received:
            self.forget(registration.name, registration.address)

    # Reads.

    def names(self) -> list[str]:
        """Return the names of brokers with unconfirmed members, in order."""
        self._expire()
        return sorted(self._received)

    def topics(self) -> Iterator[tuple[str, str, rows.Queues]]:
        """Yield the topics of unconfirmed members, with their cluster and their queues."""
        self._expire()
        for topic, queues in self._queues.items():
            for name, each in queues.items():
                for received in self._received[name].values():
                    yield topic, received.registration.cluster, each

    def merge_route(self, route: answers.Route) -> None:
        """Add unconfirmed members and their queues to a route, which may be empty."""
        self._expire()
        queues = {each.broker: each for each in route.queues}
        brokers = {each.name: each for each in route.brokers}
        queued = self._queues.get(route.topic, {})
        for name in {*queued, *(name for name in brokers if name in self._received)}:
            brokers[name] = self._merge(name, brokers.get(name))
            if name in queued:
                queues[name] = pb.BrokerQueues(topic=route.topic, broker=name, queues=queued[name])
            permit(queues[name], brokers[name])
        del route.queues[:], route.brokers[:]
        route.queues.extend(queues[name] for name in sorted(queues))
        route.brokers.extend(brokers[name] for name in sorted(brokers))

    def merge_brokers(
        self, known: list[rows.Broker], query: asked.ReadBrokers
    ) -> list[rows.Broker]:
        """Return the requested brokers with their unconfirmed members."""
        brokers = {each.name: each for each in known}
        for name in self.names():
            merged = self._merge(name, brokers.get(name))
            if is_asked_for(merged, query):
                brokers[name] = merged
        return [brokers[name] for name in sorted(brokers)]

    def _merge(self, name: str, known: rows.Broker | None) -> rows.Broker:
        """Return a broker with its unconfirmed members, each in the place of its id."""
        broker = rows.Broker(name=name)
        if known is not None:
            broker.CopyFrom(known)
        for received in self._received[name].values():
            registration = received.registration
            broker.cluster = broker.cluster or registration.cluster
            broker.zone = registration.zone
            broker.enable_acting_master = registration.enable_acting_master
            member = rows.Member(
                id=registration.id,
                address=registration.address,
                ha_address=registration.ha_address,
                data_version=registration.data_version,
                heartbeat_timeout_ms=registration.heartbeat_timeout_ms or HEARTBEAT_TIMEOUT_MS,
                filter_servers=registration.filter_servers.addresses,
                cluster=registration.cluster,
                unconfirmed=True,
            )
            others = [
                each
                for each in broker.members
                if each.id != registration.id and each.address != registration.address
            ]
            del broker.members[:]
            broker.members.extend(sorted([*others, member], key=lambda each: each.id))
        return broker

    def _expire(self) -> None:
        now_s = self._clock()
        if now_s < self._good_until_s:
            return
        every = [received for members in self._received.values() for received in members.values()]
        for received in every:
            if received.until_s <= now_s:
                self.forget(received.registration.name, received.registration.address)
        left = (each.until_s for each in every if each.until_s > now_s)
        self._good_until_s = min(left, default=float("inf"))


def _merged(earlier: pb.Registration, later: pb.Registration) -> pb.Registration:
    """Merge two registrations of a member; the later one may contain only some topics."""
    both = pb.Registration()
    both.CopyFrom(later)
    if not later.drops_absent_topics:
        topics = {each.topic for each in later.topics}
        both.topics.extend(each for each in earlier.topics if each.topic not in topics)
    mapped = {(each.topic, each.broker) for each in later.mappings}
    both.mappings.extend(
        each for each in earlier.mappings if (each.topic, each.broker) not in mapped
    )
    if earlier.HasField("filter_servers") and not later.HasField("filter_servers"):
        both.filter_servers.CopyFrom(earlier.filter_servers)
    return both
