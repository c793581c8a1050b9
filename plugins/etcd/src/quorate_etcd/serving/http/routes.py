"""The paths of the gateway and the methods behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from google.protobuf.descriptor import ServiceDescriptor

from quorate_etcd.wire import election_pb2, lock_pb2, rpc_pb2

_RPC: Final = rpc_pb2.DESCRIPTOR.services_by_name

KV: Final = _RPC["KV"]
WATCH: Final = _RPC["Watch"]
LEASE: Final = _RPC["Lease"]
CLUSTER: Final = _RPC["Cluster"]
MAINTENANCE: Final = _RPC["Maintenance"]
AUTH: Final = _RPC["Auth"]
LOCK: Final = lock_pb2.DESCRIPTOR.services_by_name["Lock"]
ELECTION: Final = election_pb2.DESCRIPTOR.services_by_name["Election"]

#: By service: the paths of its methods, below the version of the API.
_PATHS: Final[dict[ServiceDescriptor, dict[str, str]]] = {
    KV: {
        "Range": "kv/range",
        "Put": "kv/put",
        "DeleteRange": "kv/deleterange",
        "Txn": "kv/txn",
        "Compact": "kv/compaction",
    },
    WATCH: {"Watch": "watch"},
    LEASE: {
        "LeaseGrant": "lease/grant",
        "LeaseRevoke": "lease/revoke kv/lease/revoke",
        "LeaseKeepAlive": "lease/keepalive",
        "LeaseTimeToLive": "lease/timetolive kv/lease/timetolive",
        "LeaseLeases": "lease/leases kv/lease/leases",
    },
    CLUSTER: {
        f"Member{verb}": f"cluster/member/{verb.lower()}"
        for verb in ("Add", "Remove", "Update", "List", "Promote")
    },
    MAINTENANCE: {
        **{
            name: f"maintenance/{name.lower()}"
            for name in ("Alarm", "Status", "Defragment", "Hash", "HashKV", "Snapshot", "Downgrade")
        },
        "MoveLeader": "maintenance/transfer-leadership",
    },
    AUTH: {
        "AuthEnable": "auth/enable",
        "AuthDisable": "auth/disable",
        "AuthStatus": "auth/status",
        "Authenticate": "auth/authenticate",
        **{
            f"{kind}{verb}": f"auth/{kind.lower()}/{verb.lower()}"
            for kind in ("User", "Role")
            for verb in ("Add", "Get", "List", "Delete")
        },
        "UserChangePassword": "auth/user/changepw",
        "UserGrantRole": "auth/user/grant",
        "UserRevokeRole": "auth/user/revoke",
        "RoleGrantPermission": "auth/role/grant",
        "RoleRevokePermission": "auth/role/revoke",
    },
    LOCK: {name: f"lock/{name.lower()}" for name in ("Lock", "Unlock")},
    ELECTION: {
        name: f"election/{name.lower()}"
        for name in ("Campaign", "Proclaim", "Leader", "Observe", "Resign")
    },
}


def routes() -> Iterator[tuple[str, ServiceDescriptor, str]]:
    """Yield the paths below the version of the API, each with a service and a method of it."""
    for service, methods in _PATHS.items():
        for name, paths in methods.items():
            for path in paths.split():
                yield path, service, name
