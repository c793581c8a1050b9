"""Whether anything listens where a cluster is said to be, before it is asked."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Final

from quorate.cli.failures import ExitCode, failure

_PATIENCE_S: Final = 1.0


def demand_listener(endpoints: Sequence[str]) -> None:
    """Fail unless one of these addresses takes connections: a call would wait for its deadline."""
    if not any(_listens(address) for address in endpoints):
        raise failure(
            f"no node answers at {', '.join(endpoints)}",
            "start a cluster with `quorate dev`, or name the nodes of one that runs with "
            "--endpoints or QUORATE_ENDPOINTS",
            ExitCode.UNAVAILABLE,
        )


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE_S).close()
    except OSError:
        return False
    return True
