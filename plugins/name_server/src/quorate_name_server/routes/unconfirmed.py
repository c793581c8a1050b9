"""What a node has heard of members while no majority could be reached."""

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
class Heard:
    """A registration, and when this node heard it."""

    said: pb.Registration
    at_s: float
    bytes: int

    @property
    def until_s(self) -> float:
        """For how long it is good."""
        return self.at_s + (self.said.heartbeat_timeout_ms or HEARTBEAT_TIMEOUT_MS) / 1_000


class Unconfirmed:
    """Registrations that could not be proposed: what each member said, for its own timeout."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock: Final = clock
        #: All registrations together have at most so many bytes.
        self.most_bytes = 1 << 26
        #: By broker, by address.
        self._heard: Final[dict[str, dict[str, Heard]]] = {}
        #: By topic, by broker.
        self._queues: Final[dict[str, dict[str, rows.Queues]]] = {}
        self._bytes = 0
        #: Nothing ends before.
        self._good_until_s = float("inf")

    def __len__(self) -> int:
        return sum(map(len, self._heard.values()))

    # What is heard, and what becomes of it.

    def hear(self, said: pb.Registration) -> bool:
        """Remember a registration on top of an earlier one; False: there is no room."""
        self._expire()
        earlier = self._heard.get(said.name, {}).get(said.address)
        if earlier is not None:
            said = _merged(earlier.said, said)
            self.forget(said.name, said.address)
        size = said.ByteSize()
        if self._bytes + size > self.most_bytes:
            return False
        heard = Heard(said, self._clock(), size)
        self._heard.setdefault(said.name, {})[said.address] = heard
        for each in said.topics:
            self._queues.setdefault(each.topic, {})[said.name] = each.queues
        self._bytes += size
        self._good_until_s = min(self._good_until_s, heard.until_s)
        return True

    def forget(self, name: str, address: str) -> None:
        """Forget what was heard of a member."""
        members = self._heard.get(name, {})
        heard = members.pop(address, None)
        if heard is None:
            return
        self._bytes -= heard.bytes
        for each in heard.said.topics:
            queues = self._queues.get(each.topic, {})
            queues.pop(name, None)
            if not queues:
                self._queues.pop(each.topic, None)
        if not members:
            del self._heard[name]

    def late(self) -> list[tuple[Heard, pb.Registration]]:
        """Return what is to be proposed, each with how long ago it was heard; the oldest first."""
        self._expire()
        every = [heard for members in self._heard.values() for heard in members.values()]
        found = []
        for heard in sorted(every, key=lambda each: each.at_s):
            said = pb.Registration()
            said.CopyFrom(heard.said)
            said.heard_ms_ago = max(1, int((self._clock() - heard.at_s) * 1_000))
            found.append((heard, said))
        return found

    def confirmed(self, heard: Heard) -> None:
        """Forget what was proposed, unless the member has said something else since."""
        said = heard.said
        if self._heard.get(said.name, {}).get(said.address) is heard:
            self.forget(said.name, said.address)

    # What reads make of it.

    def names(self) -> list[str]:
        """Return the brokers that members were heard of, by name."""
        self._expire()
        return sorted(self._heard)

    def topics(self) -> Iterator[tuple[str, str, rows.Queues]]:
        """Yield the topics that were heard of, each with its broker's cluster and its queues."""
        self._expire()
        for topic, queues in self._queues.items():
            for name, each in queues.items():
                for heard in self._heard[name].values():
                    yield topic, heard.said.cluster, each

    def merge_route(self, route: answers.Route) -> None:
        """Put what was heard into a route, which may be empty."""
        self._expire()
        queues = {each.broker: each for each in route.queues}
        brokers = {each.name: each for each in route.brokers}
        told = self._queues.get(route.topic, {})
        for name in {*told, *(name for name in brokers if name in self._heard)}:
            brokers[name] = self._merge(name, brokers.get(name))
            if name in told:
                queues[name] = pb.BrokerQueues(topic=route.topic, broker=name, queues=told[name])
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
            merged = self._merge(name, brokers.get(name))
            if is_asked_for(merged, query):
                brokers[name] = merged
        return [brokers[name] for name in sorted(brokers)]

    def _merge(self, name: str, known: rows.Broker | None) -> rows.Broker:
        """Return a broker with the members that were heard of, each in the place of its id."""
        broker = rows.Broker(name=name)
        if known is not None:
            broker.CopyFrom(known)
        for heard in self._heard[name].values():
            said = heard.said
            broker.cluster = broker.cluster or said.cluster
            broker.zone = said.zone
            broker.enable_acting_master = said.enable_acting_master
            member = rows.Member(
                id=said.id,
                address=said.address,
                ha_address=said.ha_address,
                data_version=said.data_version,
                heartbeat_timeout_ms=said.heartbeat_timeout_ms or HEARTBEAT_TIMEOUT_MS,
                filter_servers=said.filter_servers.addresses,
                cluster=said.cluster,
                unconfirmed=True,
            )
            others = [
                each
                for each in broker.members
                if each.id != said.id and each.address != said.address
            ]
            del broker.members[:]
            broker.members.extend(sorted([*others, member], key=lambda each: each.id))
        return broker

    def _expire(self) -> None:
        now_s = self._clock()
        if now_s < self._good_until_s:
            return
        every = [heard for members in self._heard.values() for heard in members.values()]
        for heard in every:
            if heard.until_s <= now_s:
                self.forget(heard.said.name, heard.said.address)
        left = (each.until_s for each in every if each.until_s > now_s)
        self._good_until_s = min(left, default=float("inf"))


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
