"""The codes of requests to a controller; 904 has another meaning than on the door."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from quorate_name_server.remoting import changes, replicas
from quorate_name_server.remoting.controller import Controller
from quorate_name_server.remoting.headers import Request, Response

if TYPE_CHECKING:
    from quorate_name_server.remoting.connection import Connection

Handle = Callable[[Controller, "Connection", Request], Response | Awaitable[Response]]

CONTROLLER_CODES: Final[Mapping[int, Handle]] = {
    904: replicas.heartbeat,
    1001: replicas.alter_in_sync,
    1002: replicas.elect,
    1003: replicas.register,
    1004: replicas.replica_info,
    1005: replicas.metadata,
    1006: replicas.in_sync_data,
    1009: changes.update_properties,
    1010: changes.get_properties,
    1011: replicas.clean,
    1012: replicas.next_id,
    1013: replicas.apply_id,
}
