"""The codes of requests to a name server and to a controller, with their handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from quorate_name_server.remoting import changes, lookups, registering, replicas
from quorate_name_server.remoting.controller import Controller
from quorate_name_server.remoting.door import Door
from quorate_name_server.remoting.headers import Request, Response

if TYPE_CHECKING:
    from quorate_name_server.remoting.connection import Connection

T = TypeVar("T")

Handle = Callable[[T, "Connection", Request], Response | Awaitable[Response]]

CODES: Final[Mapping[int, Handle[Door]]] = {
    100: changes.put_setting,
    101: changes.get_setting,
    102: changes.delete_setting,
    103: registering.register,
    104: registering.unregister,
    105: lookups.route,
    106: lookups.clusters,
    205: changes.wipe_write_permission,
    206: lookups.all_topics,
    216: changes.delete_topic,
    217: changes.register_topic,
    219: changes.list_settings,
    224: lookups.topics_of_cluster,
    304: lookups.system_topics,
    311: lookups.unit_topics,
    312: lookups.unit_subscription_topics,
    313: lookups.subscription_topics_of_no_unit,
    318: changes.update_properties,
    319: changes.get_properties,
    322: registering.query_data_version,
    327: changes.add_write_permission,
    901: lookups.member_group,
    904: registering.heartbeat,
}

#: 904 has another meaning than for a name server.
CONTROLLER_CODES: Final[Mapping[int, Handle[Controller]]] = {
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
