"""When a node is good for its shards: all are there, and have what their leaders had committed."""

import asyncio
import logging
from typing import Final

from quorate.apply.control import METADATA
from quorate.groups.node_shards import NodeShards
from quorate.groups.refusals import ReadTimeoutError, UnknownShardError
from quorate.groups.shard.shard import Shard
from quorate.plugin.shard_id import ShardId

_log = logging.getLogger(__name__)

#: How often it is said what is waited for.
_TELL_S: Final = 10.0


class Readiness:
    """Waits for the shards of a node, and says from time to time what is missing."""

    def __init__(self, shards: NodeShards, loop: asyncio.AbstractEventLoop) -> None:
        self._shards: Final = shards
        self._loop: Final = loop
        self._caught_up: Final = set[ShardId]()

    async def hosted(self) -> list[Shard]:
        """Return the replicas here, once all shards are founded and opened.

        Raises what says that one of them cannot be opened.
        """
        changed = asyncio.Event()
        metadata = self._shards.replica(METADATA)
        cancel = metadata.subscribe(lambda _: changed.set()) if metadata is not None else None
        try:
            while True:
                for error in self._shards.broken.values():
                    raise error
                missing = self._missing()
                if not missing:
                    return list(self._shards.all())
                changed.clear()
                try:
                    async with asyncio.timeout(_TELL_S):
                        await changed.wait()
                except TimeoutError:
                    _log.warning("not ready: there is no %s yet", ", ".join(missing))
        finally:
            if cancel is not None:
                cancel()

    async def caught_up(self, shard: Shard) -> None:
        """Return once a shard has what its leader had committed; raises `UnreadableError`."""
        while True:
            try:
                await shard.read_barrier(_TELL_S)
            except ReadTimeoutError as error:
                _log.warning("not ready: shard %s: %s", shard.id, error)
            else:
                self._caught_up.add(shard.id)
                return

    def missing(self) -> list[str]:
        """Say what the node still waits for, in a sentence each."""
        absent = [f"there is no {each} yet" for each in self._missing()]
        behind = [shard.id for shard in self._shards.all() if shard.id not in self._caught_up]
        return absent + [f"{shard} has not caught up with its leader yet" for shard in behind]

    def _missing(self) -> list[str]:
        """Return the groups without shards, and the shards of this node that are not open."""
        here = {shard.id for shard in self._shards.all()}
        missing: list[str] = []
        for group, declared in self._shards.declared.items():
            try:
                shards = self._shards.slot_map.shards(group)
            except UnknownShardError:
                missing.append(f"shard of group {group}")
                continue
            if len(shards) < declared and not any(map(self._shards.slot_map.members, shards)):
                # Of its own group, metadata/0 is known before the group is founded.
                missing.append(f"shard of group {group} beside {shards[0]}")
                continue
            missing += [
                f"replica of {shard}"
                for shard in shards
                if shard not in here and self._shards.me in self._shards.slot_map.members(shard)
            ]
        return missing
