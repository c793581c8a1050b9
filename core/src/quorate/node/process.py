"""The life of a process that is a node: until a signal, or until it cannot go on."""

import asyncio
import gc
import signal
import sys
from collections.abc import Mapping
from typing import Final

import uvloop

from quorate.apply.outcomes import ReplicaStoppedError as ApplyStoppedError
from quorate.config import Settings
from quorate.consensus.formation import FormationRefusedError
from quorate.consensus.journal import JournalDamagedError
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.groups.node_shards import GroupsDifferError, StoppedBeforeError
from quorate.groups.shard.removal import RemovedError
from quorate.node.certificates import CertificateError
from quorate.node.directory import (
    OtherClusterError,
    OtherProcessesError,
    UnfinishedRestoreError,
)
from quorate.node.issuer import IssuerError
from quorate.node.node import Node
from quorate.node.replicas import UnclaimedDataError
from quorate.node.supervision import keep_alive, tell
from quorate.observe.audit import AuditError
from quorate.observe.http import Site
from quorate.plugin.catalog import Catalog
from quorate.rpc.server import ServingRefusedError
from quorate.storage.engine.port import EngineError

#: The thread that syncs must not wait long for the interpreter when it is done.
SWITCH_INTERVAL_S: Final = 0.0003
#: A collection of garbage stops the node for as long as there are objects: at most 12,000 younger
#: ones take a few milliseconds, all of those of 10,000 watches hundreds.
COLLECTING: Final = 2_000, 5, 1_000

_ENDS: Final = (
    ApplyStoppedError,
    AuditError,
    EngineError,
    FormationRefusedError,
    GroupsDifferError,
    IssuerError,
    JournalDamagedError,
    OSError,
    OtherClusterError,
    OtherProcessesError,
    ReplicaStoppedError,
    CertificateError,
    ServingRefusedError,
    StoppedBeforeError,
    UnclaimedDataError,
    UnfinishedRestoreError,
)


class NodeEndedError(Exception):
    """The node could not start, or not go on; the text says why, and what to do."""


class NodeRemovedError(NodeEndedError):
    """The cluster goes on without the node: to start it again as it is would be in vain."""


def run(
    settings: Settings,
    catalog: Catalog,
    sites: Mapping[str, Site],
    client_port: int | None = None,
) -> None:
    """Be a node until SIGTERM or SIGINT, which end it in order; raises `NodeEndedError`.

    A worker also serves clients at `client_port`.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        uvloop.run(_live(settings, catalog, sites, client_port))
    except RemovedError as error:
        raise NodeRemovedError(str(error)) from error
    except _ENDS as error:
        raise NodeEndedError(str(error)) from error


async def _live(
    settings: Settings, catalog: Catalog, sites: Mapping[str, Site], client_port: int | None
) -> None:
    node = Node(settings, catalog, sites, client_port)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop.set)
    serving = loop.create_task(_serve(node))
    waiting = loop.create_task(stop.wait())
    watched = loop.create_task(keep_alive())
    try:
        await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving
    finally:
        tell("STOPPING=1")
        for task in (serving, waiting):
            task.cancel()
        await asyncio.gather(serving, waiting, return_exceptions=True)
        await node.stop()
        watched.cancel()


async def _serve(node: Node) -> None:
    await node.start()
    await node.ready()
    tell("READY=1")
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTING)
    await node.ended()
