"""The sessions of a tenant without a reachable broker: a publisher's broker queues messages
for them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from quorate.client import ChangeKind, WatchedChange
from quorate.plugin import keys
from quorate_mqtt.sessions.families import SESSIONS, SUBSCRIPTIONS
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1 import sessions_pb2, subscriptions_pb2

from quorate_amqtt.clients import matching
from quorate_amqtt.messages import Delivery, Message, delivery_of
from quorate_amqtt.packets import Options
from quorate_amqtt.topic_trees import FilterTree

FAMILIES: Final = (SESSIONS, SUBSCRIPTIONS)


@dataclass(slots=True, eq=False)
class _Session:
    #: The registration of the broker that serves it; zero: none does, or that is not known yet.
    epoch: int = 0
    created_at_ms: int = 0
    filters: dict[str, Options] = field(default_factory=dict)
    away: bool = False


class Away:
    """Subscriptions of sessions that outlive a connection, fed by the watch."""

    def __init__(self, epoch: int) -> None:
        #: Brokers that serve their clients as far as this one can tell, itself among them.
        self._reachable: set[int] = {epoch}
        self._sessions: Final[dict[str, _Session]] = {}
        #: Filters of sessions that are away.
        self._filters: Final[FilterTree[Options]] = FilterTree()
        #: The sessions listed since the watch began anew.
        self._given: set[tuple[str, str]] | None = set()

    def reach(self, epochs: Collection[int]) -> None:
        """Record the brokers that can be reached now."""
        changed = self._reachable ^ set(epochs)
        self._reachable = set(epochs)
        if changed:
            for client_id, session in self._sessions.items():
                if session.epoch in changed:
                    self._judge(client_id, session)

    def match(self, message: Message) -> list[tuple[str, int, Delivery]]:
        """Return the clients that are away and wait for a message: their ids, when their sessions
        were created, and what they are to get.
        """
        found = []
        for client_id, options in matching(self._filters, message).items():
            delivery = delivery_of(message, options)
            if delivery.qos:
                found.append((client_id, self._sessions[client_id].created_at_ms, delivery))
        return found

    def see(self, change: WatchedChange) -> None:
        """Apply a change of `FAMILIES`."""
        match change.kind:
            case ChangeKind.RESYNC:
                self._given = set()
            case ChangeKind.LISTED:
                if self._given is not None:
                    self._keep_only(self._given)
                self._given = None
            case ChangeKind.BOOKMARK:
                pass
            case _ if change.family == SESSIONS:
                self._see_session(str(keys.unpack(change.key)[1]), change)
            case _:
                _, client_id, topic_filter = map(str, keys.unpack(change.key))
                self._see_subscription(client_id, topic_filter, change)

    def __len__(self) -> int:
        """Return the number of sessions that are away."""
        return sum(session.away for session in self._sessions.values())

    def _see_session(self, client_id: str, change: WatchedChange) -> None:
        if change.kind is ChangeKind.DELETED:
            self._forget(client_id)
            return
        if self._given is not None:
            self._given.add((client_id, ""))
        row = sessions_pb2.Session.FromString(change.value)
        session = self._sessions.setdefault(client_id, _Session())
        if session.created_at_ms not in (0, row.created_at_ms):
            # Its subscriptions have ended with it, whether the watch tells of that or not.
            self._forget(client_id)
            session = self._sessions[client_id] = _Session()
        session.created_at_ms = row.created_at_ms
        session.epoch = 0 if row.disconnected_at_ms else row.broker_epoch
        self._judge(client_id, session)

    def _see_subscription(self, client_id: str, topic_filter: str, change: WatchedChange) -> None:
        session = self._sessions.get(client_id)
        if change.kind is ChangeKind.DELETED:
            if session is not None and session.filters.pop(topic_filter, None) is not None:
                self._filters.drop(topic_filter, client_id)
            return
        if self._given is not None:
            self._given.add((client_id, topic_filter))
        if group_of(topic_filter):
            # A shared message is not queued.
            return
        if session is None:
            session = self._sessions[client_id] = _Session()
        options = options_of(subscriptions_pb2.Subscription.FromString(change.value))
        session.filters[topic_filter] = options
        if session.away:
            self._filters.put(topic_filter, client_id, options)

    def _judge(self, client_id: str, session: _Session) -> None:
        """Keep the filters of a session in the tree while it is away."""
        away = session.epoch not in self._reachable
        if away == session.away:
            return
        session.away = away
        for topic_filter, options in session.filters.items():
            if away:
                self._filters.put(topic_filter, client_id, options)
            else:
                self._filters.drop(topic_filter, client_id)

    def _forget(self, client_id: str) -> None:
        session = self._sessions.pop(client_id, None)
        if session is not None and session.away:
            for topic_filter in session.filters:
                self._filters.drop(topic_filter, client_id)

    def _keep_only(self, given: set[tuple[str, str]]) -> None:
        for client_id, session in list(self._sessions.items()):
            if (client_id, "") not in given:
                self._forget(client_id)
                continue
            for topic_filter in [
                each for each in session.filters if (client_id, each) not in given
            ]:
                del session.filters[topic_filter]
                self._filters.drop(topic_filter, client_id)


def options_of(stored: subscriptions_pb2.Subscription) -> Options:
    """Return the options of a subscription as Quorate keeps them."""
    return Options(
        qos=stored.qos,
        no_local=stored.no_local,
        retain_as_published=stored.retain_as_published,
        retain_handling=max(0, stored.retain_handling - 1),
        identifier=stored.identifier,
    )
