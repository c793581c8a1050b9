"""Blacklist entries, prepared for being asked many times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from quorate_mqtt.authorisation.access import Asked
from quorate_mqtt.authorisation.patterns import fits_pattern
from quorate_mqtt.authorisation.rules import Network, holds, network_of
from quorate_mqtt.v1 import blacklist_pb2
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry, BlacklistKind

_NETWORKS: Final = frozenset({blacklist_pb2.BLACKLIST_KIND_IP, blacklist_pb2.BLACKLIST_KIND_CIDR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ban:
    """Keeps clients out, whatever else is permitted to them."""

    name: str
    kind: BlacklistKind
    #: A name, a pattern, an address or a network, as the kind says.
    subject: str
    #: Of an address or a network; None for the other kinds.
    network: Network | None = None

    def fits(self, asked: Asked) -> bool:
        """Tell whether the entry keeps out whoever asks."""
        client_id, username = asked.access.client_id, asked.access.username
        match self.kind:
            case blacklist_pb2.BLACKLIST_KIND_CLIENT_ID:
                return client_id == self.subject
            case blacklist_pb2.BLACKLIST_KIND_USER:
                return username == self.subject
            case blacklist_pb2.BLACKLIST_KIND_CLIENT_ID_PATTERN:
                return fits_pattern(self.subject, client_id)
            case blacklist_pb2.BLACKLIST_KIND_USER_PATTERN:
                return bool(username) and fits_pattern(self.subject, username)
            case _:
                return self.network is not None and holds(self.network, asked.address)


def ban_of(row: BlacklistEntry) -> Ban:
    """Return what a blacklist entry does."""
    network = network_of(row.subject) if row.kind in _NETWORKS else None
    return Ban(name=row.name, kind=row.kind, subject=row.subject, network=network)
