"""Backups of this node's shards, streamed part by part."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from quorate.groups.refusals import UnreadableError
from quorate.groups.snapshots.backup import parts
from quorate.groups.snapshots.parts import BackupError, FilePart
from quorate.node.replicas import Replicas


class Backups:
    """One at a time: each holds copies of shards on the disk."""

    def __init__(self, replicas: Replicas, loop: asyncio.AbstractEventLoop) -> None:
        self._replicas: Final = replicas
        self._loop: Final = loop
        self._under_way = False
        self._stopped = False

    async def back_up(self) -> AsyncGenerator[FilePart, None]:
        """Yield a backup; a caller that does not read all of it has to close it.

        Raises `BackupError`, `EngineError` and `OSError`, and `UnreadableError` at the node's end.
        """
        if self._under_way:
            raise BackupError(
                f"a backup of {self._replicas.shards.me.node} is under way: try again when it has"
                " ended, or ask another node."
            )
        self._under_way = True
        cluster, shards = self._replicas.cluster, self._replicas.shards.all()
        data = {shard.id: shard.data for shard in shards if shard.stopped is None}
        try:
            async with aclosing(parts(data, cluster=cluster, loop=self._loop)) as coming:
                async for part in coming:
                    if self._stopped:
                        raise UnreadableError("this node is stopping; back up another node")
                    yield part
        finally:
            self._under_way = False

    def stop(self) -> None:
        """End the backup that is under way, with its next part."""
        self._stopped = True
