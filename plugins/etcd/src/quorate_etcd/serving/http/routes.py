"""The paths of the gateway and the methods behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor

from quorate_etcd.wire import election_pb2, lock_pb2, rpc_pb2


def _service(file: FileDescriptor, name: str) -> ServiceDescriptor:
    return file.services_by_name[name]


KV: Final = _service(rpc_pb2.DESCRIPTOR, "KV")
WATCH: Final = _service(rpc_pb2.DESCRIPTOR, "Watch")
LEASE: Final = _service(rpc_pb2.DESCRIPTOR, "Lease")
CLUSTER: Final = _service(rpc_pb2.DESCRIPTOR, "Cluster")
MAINTENANCE: Final = _service(rpc_pb2.DESCRIPTOR, "Maintenance")
AUTH: Final = _service(rpc_pb2.DESCRIPTOR, "Auth")
LOCK: Final = _service(lock_pb2.DESCRIPTOR, "Lock")
ELECTION: Final = _service(election_pb2.DESCRIPTOR, "Election")

#: By service: the paths of its methods, below the version of the API.
_PATHS: Final = (
    (
        KV,
        {
            "Range": "kv/range",
            "Put": "kv/put",
            "DeleteRange": "kv/deleterange",
            "Txn": "kv/txn",
            "Compact": "kv/compaction",
        },
    ),
    (WATCH, {"Watch": "watch"}),
    (
        LEASE,
        {
            "LeaseGrant": "lease/grant",
            "LeaseRevoke": "lease/revoke kv/lease/revoke",
            "LeaseKeepAlive": "lease/keepalive",
            "LeaseTimeToLive": "lease/timetolive kv/lease/timetolive",
            "LeaseLeases": "lease/leases kv/lease/leases",
        },
    ),
    (
        CLUSTER,
        {
            "MemberAdd": "cluster/member/add",
            "MemberRemove": "cluster/member/remove",
            "MemberUpdate": "cluster/member/update",
            "MemberList": "cluster/member/list",
            "MemberPromote": "cluster/member/promote",
        },
    ),
    (
        MAINTENANCE,
        {
            "Alarm": "maintenance/alarm",
            "Status": "maintenance/status",
            "Defragment": "maintenance/defragment",
            "Hash": "maintenance/hash",
            "HashKV": "maintenance/hashkv",
            "Snapshot": "maintenance/snapshot",
            "MoveLeader": "maintenance/transfer-leadership",
            "Downgrade": "maintenance/downgrade",
        },
    ),
    (
        AUTH,
        {
            "AuthEnable": "auth/enable",
            "AuthDisable": "auth/disable",
            "AuthStatus": "auth/status",
            "Authenticate": "auth/authenticate",
            "UserAdd": "auth/user/add",
            "UserGet": "auth/user/get",
            "UserList": "auth/user/list",
            "UserDelete": "auth/user/delete",
            "UserChangePassword": "auth/user/changepw",
            "UserGrantRole": "auth/user/grant",
            "UserRevokeRole": "auth/user/revoke",
            "RoleAdd": "auth/role/add",
            "RoleGet": "auth/role/get",
            "RoleList": "auth/role/list",
            "RoleDelete": "auth/role/delete",
            "RoleGrantPermission": "auth/role/grant",
            "RoleRevokePermission": "auth/role/revoke",
        },
    ),
    (LOCK, {"Lock": "lock/lock", "Unlock": "lock/unlock"}),
    (
        ELECTION,
        {
            "Campaign": "election/campaign",
            "Proclaim": "election/proclaim",
            "Leader": "election/leader",
            "Observe": "election/observe",
            "Resign": "election/resign",
        },
    ),
)


def routes() -> Iterator[tuple[str, ServiceDescriptor, str]]:
    """Yield the paths below the version of the API, each with a service and a method of it."""
    for service, methods in _PATHS:
        for name, paths in methods.items():
            for path in paths.split():
                yield path, service, name
