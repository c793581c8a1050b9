"""The timer that expires sessions, and the controller that disconnects clients of gone brokers."""

from typing import Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Controller, NodeApi, ShardRef, Timer
from quorate.plugin.batches import in_parts
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.sessions import families
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1 import sessions_pb2 as pb

#: Few enough that deleting their rows does not delay other commands.
BATCH: Final = 250


async def disconnect_orphans(node: NodeApi, shard: ShardRef) -> None:
    """Disconnect the clients of brokers that are gone: their wills and deadlines begin to run."""
    after, goes_on = b"", True
    while goes_on:
        pages = [page async for page in node.query(pb.FindOrphans(after=after), pb.OrphanPage)]
        orphans = sorted({key for page in pages for key in page.keys})
        # Keys after the position of the slowest shard may be found again.
        unfinished = [page.reached for page in pages if not page.finished]
        goes_on = bool(unfinished)
        after = min(unfinished, default=b"")
        for part in in_parts(orphans, BATCH):
            await node.propose(pb.DisconnectOrphans(keys=part), BatchReply, if_leader=shard)


EXPIRY: Final = Timer(
    name=families.EXPIRY,
    group=GROUP,
    due=lambda keys: pb.ExpireSessions(keys=keys),
    batch=BATCH,
)

#: The copies of the brokers' rows lag behind: a later run handles a change that this one misses.
ORPHANS: Final = Controller(
    name="mqtt.orphan_disconnecting",
    group=GROUP,
    run_once=disconnect_orphans,
    interval_s=1.0,
    wake_on=(BROKERS,),
)
