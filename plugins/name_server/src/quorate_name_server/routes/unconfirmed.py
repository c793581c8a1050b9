"""What a node has heard of members while no majority could be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from quorate_name_server.brokers.rows import HEARTBEAT_TIMEOUT_MS
from quorate_name_server.routes.making import is_asked_for, permit
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as answers,
)


@dataclass(frozen=True, slots=True)
class Heard:
    """A registration, and when this node heard it."""

    said: pb.Registration
    at_s: float
    bytes: int
    queues: dict[str, rows.Queues]

    @property
    def timeout_s(self) -> float:
        """How long it is good for."""
        return (self.said.heartbeat_timeout_ms or HEARTBEAT_TIMEOUT_MS) / 1_000


@dataclass(slots=True)
class Unconfirmed:
    """Registrations that could not be proposed: the last of each member, for its own timeout."""

    clock: Callable[[], float]
    #: All registrations together have at most so many bytes.
    most_bytes: int = 1 << 26
    #: By broker and address.
    _heard: dict[tuple[str, str], Heard] = field(default_factory=dict)
    _bytes: int = 0

    def __len__(self) -> int:
        return len(self._heard)

    def hear(self, said: pb.Registration) -> bool:
        """Remember a registration on top of an earlier one; False: there is no room."""
        earlier = self._heard.get((said.name, said.address))
        if earlier is not None:
            said = _merged(earlier.said, said)
            self.forget(said.name, said.address)
        size = said.ByteSize()
        if self._bytes + size > self.most_bytes:
            self._expire()
            if self._bytes + size > self.most_bytes:
                return False
        queues = {each.topic: each.queues for each in said.topics}
        self._heard[said.name, said.address] = Heard(said, self.clock(), size, queues)
        self._bytes += size
        return True

    def forget(self, name: str, address: str) -> None:
        """Forget what was heard of a member."""
        heard = self._heard.pop((name, address), None)
        if heard is not None:
            self._bytes -= heard.bytes

    def late(self) -> list[tuple[Heard, pb.Registration]]:
        """Return what is to be proposed, each with how long ago it was heard; the oldest first."""
        self._expire()
        found = []
        for heard in self._heard.values():
            said = pb.Registration()
            said.CopyFrom(heard.said)
            said.heard_ms_ago = max(1, int((self.clock() - heard.at_s) * 1_000))
            found.append((heard, said))
        return found

    def confirmed(self, heard: Heard) -> None:
        """Forget what was proposed, unless the member has said something else since."""
        said = heard.said
        if self._heard.get((said.name, said.address)) is heard:
            self.forget(said.name, said.address)

    def names(self) -> set[str]:
        """Return the brokers that members were heard of."""
        self._expire()
        return {name for name, _ in self._heard}

    def of(self, name: str) -> Iterator[Heard]:
        """Yield what was heard of the members of a broker."""
        return (heard for (broker, _), heard in self._heard.items() if broker == name)

    def topics(self) -> Iterator[tuple[str, str, rows.Queues]]:
        """Yield the topics that were heard of, each with its broker's cluster and its queues."""
        self._expire()
        for heard in self._heard.values():
            for topic, queues in heard.queues.items():
                yield topic, heard.said.cluster, queues

    def merged(self, name: str, known: rows.Broker | None) -> rows.Broker:
        """Return a broker with the members that were heard of, each in the place of its id."""
        broker = rows.Broker(name=name)
        if known is not None:
            broker.CopyFrom(known)
        for heard in self.of(name):
            said = heard.said
            broker.cluster = broker.cluster or said.cluster
            broker.zone = said.zone
            broker.enable_acting_master = said.enable_acting_master
            kept = [
                each
                for each in broker.members
                if each.id != said.id and each.address != said.address
            ]
            del broker.members[:]
            broker.members.extend(kept)
            broker.members.add(
                id=said.id,
                address=said.address,
                ha_address=said.ha_address,
                data_version=said.data_version,
                heartbeat_timeout_ms=said.heartbeat_timeout_ms or HEARTBEAT_TIMEOUT_MS,
                filter_servers=said.filter_servers.addresses,
                cluster=said.cluster,
                unconfirmed=True,
            )
            broker.members.sort(key=lambda each: each.id)
        return broker

    def merge_route(self, route: answers.Route) -> None:
        """Put what was heard into a route, which may be empty."""
        queues = {each.broker: each for each in route.queues}
        brokers = {each.name: each for each in route.brokers}
        for name in self.names():
            held = {topic: each for heard in self.of(name) for topic, each in heard.queues.items()}
            if name not in brokers and route.topic not in held:
                continue
            brokers[name] = self.merged(name, brokers.get(name))
            if route.topic in held:
                queues[name] = pb.BrokerQueues(
                    topic=route.topic, broker=name, queues=held[route.topic]
                )
            permit(queues[name], brokers[name])
        del route.queues[:], route.brokers[:]
        route.queues.extend(queues[name] for name in sorted(queues))
        route.brokers.extend(brokers[name] for name in sorted(brokers))

    def merge_brokers(
        self, known: list[rows.Broker], query: asked.ReadBrokers
    ) -> list[rows.Broker]:
        """Return brokers with those that were heard of, as far as they are asked for."""
        brokers = {each.name: each for each in known}
        for name in self.names():
            merged = self.merged(name, brokers.get(name))
            if is_asked_for(merged, query):
                brokers[name] = merged
        return [brokers[name] for name in sorted(brokers)]

    def _expire(self) -> None:
        now = self.clock()
        for (name, address), heard in list(self._heard.items()):
            if now - heard.at_s >= heard.timeout_s:
                self.forget(name, address)


def _merged(earlier: pb.Registration, later: pb.Registration) -> pb.Registration:
    """Return what a member says by two registrations, of which the later may hold few topics."""
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
