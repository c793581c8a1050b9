"""The watches of a node, of shards on any node, for clients, plugins, caches and mirrors."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Final

from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.rpc.channels import NodeChannels
from quorate.rpc.feeds import NodeFeeds
from quorate.shards.refusals import UnreadableError
from quorate.shards.routing.quotas import FAMILIES, Quotas
from quorate.shards.shard.shard import Shard
from quorate.shards.watching.caches import CacheKeeper
from quorate.shards.watching.mirrors import Mirrors
from quorate.shards.watching.watch import Watch
from quorate.shards.watching.watches import Watches
from quorate.topology.replicas.node_shards import NodeShards


class Watching:
    """Opens watches once the node has a cluster, and maintains caches and mirrors from them."""

    def __init__(
        self,
        catalog: Catalog,
        shards: NodeShards,
        channels: NodeChannels,
        *,
        quotas: Quotas,
        loop: asyncio.AbstractEventLoop,
        read_timeout_s: float,
    ) -> None:
        self._catalog: Final = catalog
        self._shards: Final = shards
        self._loop: Final = loop
        self._read_timeout_s: Final = read_timeout_s
        self._feeds: Final = NodeFeeds(
            channels,
            lambda shard: shards.slot_map.others(shard, shards.me.node),
            lambda shard: None if shards.get(shard) is None else self._watches,
            lambda shard: shards.heir(shard) != shard,
            loop,
        )
        self._watches: Watches | None = None
        self.caches: Final[Sequence[CacheKeeper]] = [
            CacheKeeper(
                cache.name,
                cache.factory(),
                partial(self._open, cache.group, dict.fromkeys(cache.families, b"")),
                loop=loop,
            )
            for cache in catalog.caches.values()
        ]
        self._quotas: Final = CacheKeeper(
            "quotas",
            quotas,
            partial(self._open, METADATA.group, dict.fromkeys(FAMILIES, b"")),
            loop=loop,
        )
        self._mirrors: Final = Mirrors(catalog, self._open_mirrored, self._newest_mirrored, loop)

    # Life.

    def join(self, cluster: bytes) -> None:
        """Allow watches, with tokens of this cluster."""
        self._watches = Watches(
            cluster,
            self._shards.get,
            self._feeds.open,
            self._feeds.read_point,
            moved=self._shards.has_left,
            offshoots=self._shards.offshoots,
            heir=self._shards.heir,
            loop=self._loop,
            timeout_s=self._read_timeout_s,
        )
        self._shards.on_map(self._watches.grow)

    def start(self) -> None:
        """Fill the caches, and maintain the mirrors of the shards that are led here."""
        cluster = self.watches().cluster
        for keeper in self.caches:
            keeper.start()
        if all(family in self._catalog.families for family in FAMILIES):
            self._quotas.start()
        self._mirrors.start(cluster)
        self._shards.on_open(self._mirrors.keep)
        self._shards.on_close(self._mirrors.drop)

    async def stop(self) -> None:
        """Stop caches and mirrors, and end the feeds from other nodes."""
        await self._mirrors.stop()
        await asyncio.gather(*(cache.stop() for cache in (self._quotas, *self.caches)))
        await self._feeds.stop()

    async def catch_up(self, shard: Shard, timeout_s: float) -> bool:
        """Return whether the copies of a shard have, in time, all writes answered before."""
        return await self._mirrors.catch_up(shard, timeout_s)

    # Watches.

    @property
    def open_now(self) -> int:
        """The number of open watches."""
        return 0 if self._watches is None else self._watches.open_now

    def watches(self) -> Watches:
        """Return the watches of this node; raises `UnreadableError` without a cluster."""
        if self._watches is None:
            raise UnreadableError("this node has no cluster yet; try again, or ask another node")
        return self._watches

    async def changes(self, family: str) -> AsyncIterator[object]:
        """Yield once at the start, and after each change of a family's rows on any shard."""
        watches, shards = self.watches(), self._shards_of(family)
        watch = await watches.open_fresh({family: b""}, shards, changes_only=True)
        try:
            # Changes before the watch began have not been seen.
            yield None
            async for event in watch:
                if event.event is not None or event.resync:
                    yield event
        finally:
            watch.close()

    async def rows(self, family: str, prefix: bytes, token: bytes) -> Watch:
        """Watch after a token, or from rows that hold every write before the call."""
        return await self.watches().open_fresh({family: prefix}, self._shards_of(family), token)

    def _open(self, group: str, families: dict[str, bytes], token: bytes = b"") -> Watch:
        if self._watches is None:
            raise RuntimeError("nothing can be watched before the node has a cluster")
        return self._watches.open(families, self._shards.slot_map.shards(group), token)

    def _open_mirrored(self, family: str, token: bytes) -> Watch:
        return self.watches().open({family: b""}, [METADATA], token, grows=False)

    async def _newest_mirrored(self, timeout_s: float) -> int:
        return (await self.watches().read_point(METADATA, timeout_s)).revision

    def _shards_of(self, family: str) -> Sequence[ShardId]:
        return self._shards.slot_map.shards(self._catalog.families[family].group)
