"""Logs the number of clients' protocol violations, at most once a minute."""

from __future__ import annotations

import logging
from collections import Counter
from math import inf
from typing import Final

from quorate.http2.errors import ErrorCode

_log = logging.getLogger(__name__)

#: Minimum interval between two lines.
_QUIET_S: Final = 60.0
#: Maximum number of addresses named; faults of others are counted together.
_NAMED: Final = 8
_OTHERS: Final = "others"


class FaultLog:
    """Counts faults, and logs one line for all faults since the last."""

    def __init__(self) -> None:
        self._codes: Final = Counter[ErrorCode]()
        self._hosts: Final = Counter[str]()
        self._why = ""
        self._next_at = -inf

    def add(self, code: ErrorCode, peer: str, why: str) -> None:
        """Count a fault of a client at an address."""
        self._codes[code] += 1
        # Without the port, which each connection has of its own.
        host = peer.rpartition(":")[0] or peer
        if host not in self._hosts and len(self._hosts) >= _NAMED:
            host = _OTHERS
        self._hosts[host] += 1
        self._why = why

    def tell(self, now: float = inf) -> None:
        """Write the line, unless nothing has happened or the last one is young."""
        if not self._codes or now < self._next_at:
            return
        self._next_at = now + _QUIET_S
        _log.warning(
            "clients broke rules of HTTP/2: %s; from %s; the last: %s",
            ", ".join(f"{code.name} {count}" for code, count in self._codes.most_common()),
            ", ".join(f"{host} ({count})" for host, count in self._hosts.most_common()),
            self._why,
        )
        self._codes.clear()
        self._hosts.clear()
