"""Notifies replicas when their master or the set in sync changes."""

from __future__ import annotations

import asyncio
from typing import Final

from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.plugin.batches import in_parts

from quorate_name_server.config import NameServerConfig
from quorate_name_server.families import GROUP
from quorate_name_server.remoting.notifying import send
from quorate_name_server.remoting.replicas import in_sync, master_fields
from quorate_name_server.remoting.settings import OF_CONTROLLER, Settings
from quorate_name_server.replication.known import KnownReplicas
from quorate_name_server.replication.rows import SETS
from quorate_name_server.v1 import replica_sets_pb2 as pb

_ROLE_CHANGED: Final = 1008
#: Sets notified at a time.
_AT_A_TIME: Final = 64
#: Memory may receive a change a moment after it has woken the controller.
_INTERVAL_S: Final = 1.0


async def notify(node: NodeApi, _: ShardRef) -> None:
    """Notify the living replicas of each set of changes since the last notification.

    A new leader notifies all of them; a replica ignores a change that it already knows.
    """
    if not node.config(NameServerConfig).controller_port:
        return
    if not Settings(node, OF_CONTROLLER).on("notifyBrokerRoleChanged"):
        return
    known = node.cache(KnownReplicas)
    changed = [
        each for name, each in known.sets.items() if known.notified.get(name) != _epochs(each)
    ]
    for part in in_parts(changed, _AT_A_TIME):
        await asyncio.gather(*map(_notify, part))
    known.notified.update((each.name, _epochs(each)) for each in changed)


async def _notify(replicas: pb.ReplicaSet) -> None:
    if replicas.master:
        fields, body = master_fields(replicas), in_sync(replicas)
        notified = [each.address for each in replicas.replicas if each.alive and each.address]
        await asyncio.gather(*(send(address, _ROLE_CHANGED, fields, body) for address in notified))


def _epochs(replicas: pb.ReplicaSet) -> tuple[int, int]:
    return replicas.master_epoch, replicas.in_sync_epoch


NOTIFYING: Final = Controller(
    name="name_server.role_notifying",
    group=GROUP,
    run_once=notify,
    interval_s=_INTERVAL_S,
    wake_on=(SETS,),
)
