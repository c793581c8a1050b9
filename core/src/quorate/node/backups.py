"""Backups of this node's shards, for whoever takes them part by part."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

from quorate.groups.node_shards import NodeShards
from quorate.groups.refusals import UnreadableError
from quorate.groups.snapshots.backup import parts
from quorate.groups.snapshots.parts import BackupError, Part


class Backups:
    """One at a time: each holds copies of shards on the disk."""

    def __init__(
        self, shards: NodeShards, cluster: Callable[[], bytes], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._shards: Final = shards
        self._cluster: Final = cluster
        self._loop: Final = loop
        self._under_way = False
        self._stopped = False

    async def back_up(self) -> AsyncGenerator[Part, None]:
        """Yield a backup; it has to be closed by whoever does not take all of it.

        Raises `BackupError`, `EngineError` and `OSError`, and `UnreadableError` at the node's end.
        """
        if self._under_way:
            raise BackupError(
                f"a backup of {self._shards.me.node} is under way: try again when it has ended, or"
                " ask another node."
            )
        self._under_way = True
        data = {shard.id: shard.data for shard in self._shards.all() if shard.stopped is None}
        try:
            async with aclosing(parts(data, cluster=self._cluster(), loop=self._loop)) as coming:
                async for part in coming:
                    if self._stopped:
                        raise UnreadableError("this node is stopping; back up another node")
                    yield part
        finally:
            self._under_way = False

    def stop(self) -> None:
        """End the backup that is under way, with its next part."""
        self._stopped = True
