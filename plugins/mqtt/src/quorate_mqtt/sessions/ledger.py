"""The session counts of a shard: connected sessions by broker, all sessions by tenant."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, Txn, keys

from quorate_mqtt.activity import Counts, count
from quorate_mqtt.counts import add_to, count_in
from quorate_mqtt.session_quota.quota import QuotaLeft, add_sessions, quota_left
from quorate_mqtt.sessions.families import CONNECTIONS
from quorate_mqtt.v1.sessions_pb2 import Session


class Ledger:
    """Counts the changes of one command; `close` writes the counts once, at the end."""

    __slots__ = ("_quotas", "_txn", "connections", "expired", "sessions", "taken_over")

    def __init__(self, txn: Txn) -> None:
        self._txn: Final = txn
        #: The change in the number of clients, by the registration of their broker.
        self.connections: Final[defaultdict[int, int]] = defaultdict(int)
        #: The change in the number of sessions, by tenant.
        self.sessions: Final[defaultdict[str, int]] = defaultdict(int)
        #: The number of clients taken over from another broker.
        self.taken_over = 0
        #: The number of expired sessions.
        self.expired = 0
        self._quotas: Final[dict[str, QuotaLeft]] = {}

    def quota(self, tenant: str) -> QuotaLeft:
        """Return the quota of a tenant for new sessions; reject one unknown or being deleted."""
        quota = self._quotas.get(tenant)
        if quota is None:
            quota = self._quotas[tenant] = quota_left(self._txn, tenant)
        return quota

    def begin(self, tenant: str, epoch: int, sessions: int = 1) -> None:
        """Count new sessions whose clients a broker serves, by its registration."""
        self.sessions[tenant] += sessions
        self.connections[epoch] += sessions

    def take_over(self, old: int, new: int) -> None:
        """Count a client that another broker takes over, by the registrations of the two."""
        self.connections[old] -= 1
        self.connections[new] += 1
        self.taken_over += 1

    def close(self, *, connects: int = 0) -> None:
        """Write the counts, with this number of accepted connects."""
        count(
            self._txn,
            Counts(connects=connects, take_overs=self.taken_over, sessions_expired=self.expired),
        )
        for epoch, more in self.connections.items():
            if more:
                add_to(self._txn, CONNECTIONS, keys.pack(epoch), more)
        for tenant, more in self.sessions.items():
            if more:
                add_sessions(self._txn, tenant, more)


def departs(txn: Txn, key: bytes, value: bytes) -> None:
    """Stop counting a session that moved to another shard, where it is counted as well."""
    session, tenant = Session.FromString(value), keys.unpack(key)[0]
    assert isinstance(tenant, str)
    add_sessions(txn, tenant, -1)
    if not session.disconnected_at_ms:
        add_to(txn, CONNECTIONS, keys.pack(session.broker_epoch), -1)


def connections(reader: Reader) -> Iterator[tuple[int, int]]:
    """Yield each registration with connected clients in this shard, and their number."""
    for row in reader.scan(CONNECTIONS, *keys.prefix()):
        epoch = keys.unpack(row.key)[0]
        assert isinstance(epoch, int)
        yield epoch, count_in(row.value)
