"""Runs one replica in this process: `python -m quorate.testing.replica_process --help`."""

import asyncio
import gc
import logging
import signal
import sys
from typing import Final

import uvloop

from quorate.apply.outcomes import ReplicaStoppedError as ApplyStoppedError
from quorate.consensus.formation import FormationRefusedError
from quorate.consensus.journal import JournalDamagedError
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.groups.shard.removal import RemovedError
from quorate.storage.engine.port import EngineError
from quorate.testing.replica_process.control import Control
from quorate.testing.replica_process.node import Node
from quorate.testing.replica_process.settings import Settings

#: The thread that syncs must not wait long for the interpreter when it is done.
SWITCH_INTERVAL_S: Final = 0.0003

_ENDS: Final = (
    ApplyStoppedError,
    EngineError,
    FormationRefusedError,
    JournalDamagedError,
    RemovedError,
    ReplicaStoppedError,
)


async def serve(settings: Settings) -> None:
    """Run the node until it is told to stop, or cannot go on."""
    node = Node(settings)
    server = node.server()
    Control(node).add_to_server(server)
    loop = asyncio.get_running_loop()
    told = loop.create_task(_run(node))
    loop.add_signal_handler(signal.SIGTERM, told.cancel)
    await server.start()
    try:
        await told
    except asyncio.CancelledError:
        pass
    finally:
        await server.stop(None)
        await node.stop()


async def _run(node: Node) -> None:
    await node.start()
    gc.collect()
    gc.freeze()
    await node.ended()


def main() -> int:
    """Run, and say in one line why it ended when it had to."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        uvloop.run(serve(Settings.parse()))
    except _ENDS as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
