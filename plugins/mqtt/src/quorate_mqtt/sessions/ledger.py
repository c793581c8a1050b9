"""What a shard counts of its sessions: connected ones by broker, all of them by tenant."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, Txn, keys, read_range

from quorate_mqtt.activity import Counts, count
from quorate_mqtt.counts import add_to, count_in
from quorate_mqtt.session_quota.quota import QuotaLeft, add_sessions, quota_left
from quorate_mqtt.sessions.families import CONNECTIONS
from quorate_mqtt.v1.sessions_pb2 import Session


class Ledger:
    """Counts what one command changes, and writes it once: `close` when all is done."""

    __slots__ = ("_quotas", "_txn", "connections", "expired", "sessions", "taken_over")

    def __init__(self, txn: Txn) -> None:
        self._txn: Final = txn
        #: How many more clients each registration of a broker serves.
        self.connections: Final[defaultdict[int, int]] = defaultdict(int)
        #: How many more sessions each tenant has.
        self.sessions: Final[defaultdict[str, int]] = defaultdict(int)
        #: Clients that another broker served until now.
        self.taken_over = 0
        #: Sessions whose time was over.
        self.expired = 0
        self._quotas: Final[dict[str, QuotaLeft]] = {}

    def quota(self, tenant: str) -> QuotaLeft:
        """Return the quota that a tenant has for new sessions; refuse one that takes nothing."""
        quota = self._quotas.get(tenant)
        if quota is None:
            quota = self._quotas[tenant] = quota_left(self._txn, tenant)
        return quota

    def began(self, tenant: str) -> None:
        """Count a new session, which its quota had room for."""
        self.sessions[tenant] += 1

    def ended(self, tenant: str) -> None:
        """Count a session that has ended."""
        self.sessions[tenant] -= 1

    def connected(self, epoch: int) -> None:
        """Count a client that a broker serves from now on."""
        self.connections[epoch] += 1

    def disconnected(self, epoch: int) -> None:
        """Count a client that a broker no longer serves."""
        self.connections[epoch] -= 1

    def close(self, *, connects: int = 0) -> None:
        """Write what was recorded, after this many connects."""
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
    """Count a session no more that went to another shard, where it is counted as well."""
    session, tenant = Session.FromString(value), keys.unpack(key)[0]
    assert isinstance(tenant, str)
    add_sessions(txn, tenant, -1)
    if not session.disconnected_at_ms:
        add_to(txn, CONNECTIONS, keys.pack(session.broker_epoch), -1)


def connections(reader: Reader) -> Iterator[tuple[int, int]]:
    """Yield the registrations that have connected clients here, each with how many they are."""
    for row in read_range(reader, CONNECTIONS, *keys.prefix()):
        epoch = keys.unpack(row.key)[0]
        assert isinstance(epoch, int)
        yield epoch, count_in(row.value)
