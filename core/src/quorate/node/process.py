"""Runs a process as a node, until a signal or until the node cannot go on."""

import asyncio
import gc
import logging
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping
from typing import Final

import uvloop

from quorate.apply.outcomes import ReplicaStoppedError as ApplyStoppedError
from quorate.config import Settings
from quorate.config.files import raise_open_files
from quorate.consensus.formation import FormationRefusedError
from quorate.consensus.journal import JournalDamagedError
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.healing.giving_up import give_up
from quorate.node.certificates import CertificateError
from quorate.node.directory import (
    OtherClusterError,
    OtherProcessesError,
    UnfinishedRestoreError,
    directory_of,
)
from quorate.node.issuer import IssuerError
from quorate.node.memory import FreedMemory
from quorate.node.node import Node
from quorate.node.peers import addresses_of
from quorate.node.replicas import UnclaimedDataError
from quorate.node.supervision import keep_alive, tell
from quorate.observe.audit import AuditError
from quorate.observe.http import Site
from quorate.plugin.catalog import Catalog
from quorate.rpc.asking import wall_ms
from quorate.rpc.server import ServingRefusedError
from quorate.shards.shard.removal import RemovedError
from quorate.storage.engine.port import EngineError
from quorate.topology.replicas.damage import StoppedBeforeError, is_damage
from quorate.topology.replicas.declaration import GroupsDifferError, ReleaseTooOldError

_log = logging.getLogger(__name__)

#: Short, so that the syncing thread soon gets the interpreter back after a sync.
SWITCH_INTERVAL_S: Final = 0.0003
#: A collection of garbage stops the node in proportion to the objects: at most 30,000 young ones
#: take a few milliseconds, all objects of 10,000 watches hundreds. A hundred calls in flight hold
#: fewer objects, so they trigger no collection, which would take a sixth of the time of a read.
COLLECTING: Final = 10_000, 2, 1_000

#: A node that gives up its directory this often within this time is not started again.
MOST_GIVEN_UP: Final = 10
GIVEN_UP_WITHIN_S: Final = 600.0

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
    ReleaseTooOldError,
    ReplicaStoppedError,
    CertificateError,
    ServingRefusedError,
    StoppedBeforeError,
    UnclaimedDataError,
    UnfinishedRestoreError,
)


class NodeEndedError(Exception):
    """The node could not start or go on; the text gives the reason and the remedy."""


class NodeRemovedError(NodeEndedError):
    """The cluster has removed the node: starting it again unchanged would fail."""


class NodeTooOldError(NodeEndedError):
    """The cluster requires a newer release than the node's: starting it again would fail."""


def run(
    settings: Settings,
    catalog: Catalog,
    sites: Mapping[str, Site],
    client_port: int | None = None,
) -> None:
    """Run a node until SIGTERM or SIGINT, which stop it in order; raises `NodeEndedError`.

    A worker also serves clients at `client_port`.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    raise_open_files()
    try:
        given_up: deque[float] = deque(maxlen=MOST_GIVEN_UP)
        while not _lived(settings, catalog, sites, client_port):
            # Objects that the error refers to hold the unreadable database, and its lock.
            gc.collect()
            given_up.append(time.monotonic())
            if len(given_up) == MOST_GIVEN_UP and given_up[-1] - given_up[0] < GIVEN_UP_WITHIN_S:
                raise NodeEndedError(
                    f"this node gave up its directory {MOST_GIVEN_UP} times within"
                    f" {GIVEN_UP_WITHIN_S:g} s: replace the disk of {settings.node.dir.absolute()},"
                    " and start it again"
                )
    except RemovedError as error:
        raise NodeRemovedError(str(error)) from error
    except ReleaseTooOldError as error:
        raise NodeTooOldError(str(error)) from error
    except _ENDS as error:
        raise NodeEndedError(str(error)) from error


def _lived(
    settings: Settings, catalog: Catalog, sites: Mapping[str, Site], client_port: int | None
) -> bool:
    """Run the node to its end; False: its directory was given up, and it must start again."""
    try:
        uvloop.run(_live(settings, catalog, sites, client_port))
    except _ENDS as error:
        if (damage := _damage_of(error)) is None or not _give_up(settings, damage):
            raise
        return False
    return True


def _damage_of(error: BaseException | None) -> BaseException | None:
    """Return the damage that ended the node, also if its shutdown failed in turn."""
    while error is not None and not is_damage(error):
        error = error.__context__
    return error


def _give_up(settings: Settings, error: BaseException) -> bool:
    """Give up the node's damaged directory, if other nodes exist that can add it again."""
    node = settings.node
    if not addresses_of(settings).keys() - {node.name}:
        return False
    _log.error("this node gives up its directory, and starts as a new replica: %s", error)
    give_up(node.dir.absolute(), directory_of(settings).me.replica, str(error), wall_ms())
    return True


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
    beside = (loop.create_task(keep_alive()), loop.create_task(FreedMemory(loop).run()))
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
        for task in beside:
            task.cancel()


async def _serve(node: Node) -> None:
    # Before the start, which creates many lasting objects with a thousand shards.
    gc.set_threshold(*COLLECTING)
    await node.start()
    await node.ready()
    tell("READY=1")
    gc.collect()
    gc.freeze()
    await node.ended()
